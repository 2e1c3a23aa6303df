"""The independent checker: proves that every answer of a story is what it is said to be.

It is handed a story as it stands in a file. From the template it takes the causal model and the
phrases, and works out for itself, from the text alone, what is asserted and what the connectors
claim; from the facts that it reads, what must stay and change. It sees nothing of how the story
was made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from contrafact.families.cobe.synth.cases import Case, prove
from contrafact.families.cobe.synth.reading import Lexicon, Mention, Reading, read
from contrafact.families.cobe.synth.template import Asserted, Template

__all__ = ["check_story"]

_NUMERICAL, _LATENT = "Numerical change expected: ", "Latent: "
_WAYS = {"higher": "up", "lower": "down"}


@dataclass(frozen=True)
class _Situation:
    """What a story is about, as the checker has read it."""

    template: Template
    lexicon: Lexicon
    facts: Mapping[str, Asserted]
    case: Case


def check_story(template: Template, record: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a story, its criteria or its answers; nothing if all is proven.

    Args:
        template: The template that it names.
        record: The story in the form of a file.
    """
    lexicon = Lexicon(template, record["Proof"]["words"])
    told = read(lexicon, record["Variation text"])
    facts = {m.name: m.asserted for m in told.mentions if not m.noun}
    problems = [f"the story does not tell '{name}'" for name in template.told.keys() - facts.keys()]
    problems += [f"the story tells '{name}', a latent" for name in template.latents.keys() & facts]
    problems += _twofold(told)
    set_ = _interventions(lexicon, template, record["Query"])
    if len(set_) != 1:
        problems.append(f"the queries do not suppose one and the same thing: {sorted(set_)}")
    if problems:
        return problems
    variable, value = next(iter(set_))
    values = {name: asserted.value for name, asserted in facts.items()}
    case = Case(template, values, variable, value, prove(template, values, {variable: value}))
    situation = _Situation(template, lexicon, facts, case)
    problems += [f"the story: {p}" for p in _claims(template, told)]
    problems += _criteria(situation, record["Evaluation criteria"])
    if record["Right answers"][0]["text"] != record["Representative answer"]:
        problems.append("the representative answer is not the first right answer")
    for answer in record["Right answers"]:
        for name, why in _failures(situation, answer["text"]):
            problems.append(f"a right answer fails {name}: {why}: {answer['text']}")
    for answer in record["Wrong answers"]:
        failed = _failures(situation, answer["text"])
        if {name for name, _ in failed} != {answer["fails"]}:
            problems.append(f"a wrong answer for {answer['fails']}: {failed}: {answer['text']}")
    asked = {"E1", "E2", "E3"} | ({"E4"} if case.moved else set())
    asked |= {"E5"} if case.latents else set()
    missing = asked ^ {answer["fails"] for answer in record["Wrong answers"]}
    return problems + [f"wrong answers for {name}: too few or too many" for name in sorted(missing)]


def _failures(situation: _Situation, text: str) -> list[tuple[str, str]]:
    """Return the criteria that a text fails, with reasons."""
    case, facts = situation.case, situation.facts
    reading = read(situation.lexicon, text)
    said: dict[str, list[Asserted]] = {}
    for mention in reading.mentions:
        if not mention.noun or mention.asserted.value != _fact(facts, mention.name):
            said.setdefault(mention.name, []).append(mention.asserted)
        else:
            said.setdefault(mention.name, []).append(facts[mention.name])
    found = []
    for name in case.unchanged:
        if not said.get(name) or any(asserted != facts[name] for asserted in said[name]):
            found.append(("E1", f"'{name}' does not stay"))
    for name in case.changed:
        if any(asserted.value == facts[name].value for asserted in said.get(name, ())):
            found.append(("E2", f"'{name}' is as it was"))
    found += [("E3", problem) for problem in _claims(situation.template, reading)]
    for name, way in case.moved.items():
        moves = {_way(facts[name], asserted) for asserted in said.get(name, ())}
        if moves != {way}:
            found.append(("E4", f"'{name}' moves {sorted(map(str, moves))}, not {way}"))
    for name, value in case.latents.items():
        if any(asserted.value != value for asserted in said.get(name, ())):
            found.append(("E5", f"'{name}' is not {value}"))
    return found


def _fact(facts: Mapping[str, Asserted], name: str) -> str | None:
    """Return the value of a variable in fact; none for one that is not told."""
    return facts[name].value if name in facts else None


def _way(before: Asserted, after: Asserted) -> str | None:
    """Return which way a quantity has moved; none where it has not."""
    if before.number is not None and after.number is not None:
        one, other = before.number, after.number
    else:
        one, other = (
            (1 if asserted.value == "high" else -1) * (2 if asserted.beyond else 1)
            for asserted in (before, after)
        )
    return None if one == other else "up" if other > one else "down"


def _claims(template: Template, reading: Reading) -> list[str]:
    """Return what the connectors of a text say that is not so."""
    problems = [f"'{text}' joins nothing" for text in reading.loose]
    for claim in reading.claims:
        cause, effect = claim.cause, claim.effect
        if (cause.name, effect.name) not in template.signs or cause.name not in template.told:
            problems.append(f"'{cause.name}' is no cause of '{effect.name}'")
        elif _pushes(template, cause, effect) != claim.follows:
            so = "follows" if claim.follows else "comes in spite of it"
            problems.append(f"'{effect.name}' is said to be what {so}, of '{cause.name}'")
    return problems


@cache
def _furthers(template: Template, cause: str, effect: str) -> bool:
    """Tell from the mechanism whether the effect is higher, on the whole, with the cause higher."""
    mechanism = template.model.mechanism(effect)
    place = mechanism.parents.index(cause)
    high = template.model.variable(cause).values[1]
    rank = template.model.variable(effect).rank
    with_, without = (
        sum(rank(v) for key, v in mechanism.table.items() if (key[place] == high) is raised)
        for raised in (True, False)
    )
    return with_ > without


def _pushes(template: Template, cause: Mention, effect: Mention) -> bool:
    """Tell whether the effect's value is the one that the cause's value furthers."""
    highs = [
        mention.asserted.value == template.model.variable(mention.name).values[1]
        for mention in (cause, effect)
    ]
    return (highs[0] == highs[1]) == _furthers(template, cause.name, effect.name)


def _twofold(reading: Reading) -> list[str]:
    said: dict[str, set[str]] = {}
    for mention in reading.mentions:
        said.setdefault(mention.name, set()).add(mention.asserted.value)
    return [f"the story tells '{name}' in two ways" for name, ways in said.items() if len(ways) > 1]


def _interventions(
    lexicon: Lexicon, template: Template, queries: list[str]
) -> set[tuple[str, str]]:
    """Return what the queries suppose, by finding each "had …" or "if …" clause in them."""
    words = {**lexicon.words, "n": ""}
    found: set[tuple[str, str]] = set()
    for query in queries:
        here = set()
        for name, told in template.told.items():
            for value, phrase in told.clauses.items():
                inverted = f"had {phrase.before}{phrase.participle}{phrase.after}"
                forms = (phrase.supposed(words), inverted.format_map(words))
                if any(query.endswith(f" {form}.") for form in forms):
                    here.add((name, value))
        found |= here or {("", query)}
    return found


def _criteria(situation: _Situation, criteria: list[str]) -> list[str]:
    """Return what the criteria say that does not follow from the model."""
    case, facts = situation.case, situation.facts
    problems = []
    for name, text, due in (("E1", criteria[0], case.unchanged), ("E2", criteria[1], case.changed)):
        quoted = read(situation.lexicon, text)
        if {m.name for m in quoted.mentions} != set(due):
            problems.append(f"{name} is not about {sorted(due)}: {text}")
        for mention in quoted.mentions:
            if facts.get(mention.name) != mention.asserted:
                problems.append(f"{name} does not quote '{mention.name}' as it was: {text}")
    rest = criteria[2:]
    numerical = [c.removeprefix(_NUMERICAL) for c in rest if c.startswith(_NUMERICAL)]
    latent = [c.removeprefix(_LATENT) for c in rest if c.startswith(_LATENT)]
    if len(rest) != len(numerical) + len(latent) or max(len(numerical), len(latent)) > 1:
        problems.append("there are criteria of no known kind, or two of one")
    if _moves(situation, numerical) != case.moved:
        problems.append(f"E4 does not say {case.moved}: {numerical}")
    implied = {
        m.name: m.asserted.value for text in latent for m in read(situation.lexicon, text).mentions
    }
    if implied != case.latents:
        problems.append(f"E5 does not say {case.latents}: {latent}")
    return problems


def _moves(situation: _Situation, numerical: list[str]) -> dict[str, str]:
    found = {}
    for clause in " ".join(numerical).lower().split("."):
        for name, told in situation.template.told.items():
            what = told.what.format_map(situation.lexicon.words).lower() if told.what else None
            if what and clause.strip().startswith(f"{what} "):
                found[name] = next((way for word, way in _WAYS.items() if word in clause), "")
    return found
