"""The independent checker: proves that every answer of a story is what it claims to be.

It is handed a story as it stands in a file. From the template it takes the causal model and the
phrases, and works out for itself, from the text alone, what is asserted and what the connectors
claim; from the facts that it reads, what must stay and change. It sees nothing of how the story
was made, and shares no code with `realization`: the text is searched for the clauses and noun
phrases of the template, and the words between them are read by rules for English connectors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from contrafact.families.cobe.synth.cases import Case, prove
from contrafact.families.cobe.synth.reading import (
    MARK,
    NUMBER,
    SENTENCE_END,
    Sentence,
    is_whole,
    masked,
)
from contrafact.families.cobe.synth.template import Asserted, Phrase, Template, Words

__all__ = ["Claim", "Lexicon", "Mention", "Reading", "check_story", "read"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a text asserts something.

    Attributes:
        name: The variable, stated or latent.
        asserted: What is asserted of it.
        noun: Whether it is only referred to by a noun phrase.
    """

    name: str
    asserted: Asserted
    noun: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """What a connector says: that an effect follows from a cause, or comes in spite of it."""

    cause: Mention
    effect: Mention
    follows: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says.

    Attributes:
        mentions: Everything it asserts, in its order.
        claims: What its connectors say.
        loose: Connectors that join nothing.
    """

    mentions: tuple[Mention, ...]
    claims: tuple[Claim, ...]
    loose: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    head: str
    tail: str | None  # after the number, where there is one
    name: str
    value: str
    beyond: bool
    noun: bool


class Lexicon:
    """All phrases of one story, to be searched for; what was read once is kept."""

    def __init__(self, template: Template, words: Words) -> None:
        self.words = words
        self.entries = tuple(_entries(template, words))
        self._read: dict[str, Sentence[Mention]] = {}

    def sentence(self, text: str) -> Sentence[Mention]:
        """Return what a sentence says. The answers of a story have most sentences in common."""
        if text not in self._read:
            self._read[text] = Sentence(*_masked(self, text), _left_open)
        return self._read[text]


def read(lexicon: Lexicon, text: str) -> Reading:
    """Return what a text asserts of the variables, and what its connectors claim."""
    mentions: list[Mention] = []
    claims: list[Claim] = []
    loose: list[str] = []
    before: list[Mention] = []
    for part in SENTENCE_END.split(text):
        sentence = lexicon.sentence(part)
        if sentence.mentions:
            mentions += sentence.mentions
            claims += [
                Claim(cause, effect, follows)
                for group, effect, follows in sentence.claims(before, loose)
                for cause in group
            ]
            before = sentence.conclusions
    return Reading(tuple(mentions), tuple(claims), tuple(loose))


def _masked(lexicon: Lexicon, text: str) -> tuple[str, tuple[Mention, ...]]:
    """Return a sentence with marks for what it mentions, and the mentions."""
    lowered = text.lower()
    found = []
    for entry in lexicon.entries:
        start = lowered.find(entry.head)
        while start >= 0:
            end, number = start + len(entry.head), None
            if entry.tail is not None:
                digits = NUMBER.match(lowered, end)
                fits = digits is not None and lowered.startswith(entry.tail, digits.end())
                if digits is not None and fits:
                    number = int(digits[0].replace(",", ""))
                    end = digits.end() + len(entry.tail)
            if (entry.tail is None or number is not None) and is_whole(lowered, start, end):
                asserted = Asserted(entry.value, number, entry.beyond)
                found.append((start, end, Mention(entry.name, asserted, entry.noun)))
            start = lowered.find(entry.head, start + 1)
    return masked(lowered, found)


def _left_open(mention: Mention) -> Mention:
    raise ValueError(f"a hand-written plot leaves '{mention.name}' open")


def _entries(template: Template, words: Words) -> Iterator[_Entry]:
    for name, variable in template.stated.items():
        for value, phrase in variable.clauses.items():
            yield _entry(phrase, words, name, value)
        for value, phrase in variable.beyond.items():
            yield _entry(phrase, words, name, value, beyond=True)
        for value, noun in variable.nouns.items():
            yield _Entry(noun.format_map(words).lower(), None, name, value, False, True)
    for name, latent in template.latents.items():
        for value, phrase in latent.clauses.items():
            yield _entry(phrase, words, name, value)


def _entry(phrase: Phrase, words: Words, name: str, value: str, *, beyond: bool = False) -> _Entry:
    text = phrase.realized({**words, "n": MARK}).lower()
    head, mark, tail = text.partition(MARK)
    return _Entry(head, tail if mark else None, name, value, beyond, False)


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
    story = read(lexicon, record["Variation text"])
    facts = {m.name: m.asserted for m in story.mentions if not m.noun}
    problems = [
        f"the story does not tell '{name}'" for name in template.stated.keys() - facts.keys()
    ]
    problems += [f"the story tells '{name}', a latent" for name in template.latents.keys() & facts]
    values: dict[str, set[str]] = {}
    for mention in story.mentions:
        values.setdefault(mention.name, set()).add(mention.asserted.value)
    problems += [
        f"the story tells '{name}' in two ways" for name, ways in values.items() if len(ways) > 1
    ]
    set_ = _interventions(lexicon, template, record["Query"])
    if len(set_) != 1:
        problems.append(f"the queries do not suppose one and the same thing: {sorted(set_)}")
    if problems:
        return problems
    variable, value = next(iter(set_))
    known = {name: asserted.value for name, asserted in facts.items()}
    case = Case(template, known, variable, value, prove(template, known, {variable: value}))
    situation = _Situation(template, lexicon, facts, case)
    problems += [f"the story: {p}" for p in _claims(template, story)]
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
    asserted_of: dict[str, list[Asserted]] = {}
    for mention in reading.mentions:
        fact = facts.get(mention.name)
        # A noun phrase refers to a fact with all that the story asserts of it.
        asserted = mention.asserted
        if mention.noun and fact is not None and asserted.value == fact.value:
            asserted = fact
        asserted_of.setdefault(mention.name, []).append(asserted)
    found = []
    for name in case.unchanged:
        if not asserted_of.get(name) or any(
            asserted != facts[name] for asserted in asserted_of[name]
        ):
            found.append(("E1", f"'{name}' does not stay"))
    for name in case.changed:
        if any(asserted.value == facts[name].value for asserted in asserted_of.get(name, ())):
            found.append(("E2", f"'{name}' is as it was"))
    cut = frozenset([case.variable])
    found += [("E3", problem) for problem in _claims(situation.template, reading, cut)]
    for name, way in case.moved.items():
        moves = {_way(facts[name], asserted) for asserted in asserted_of.get(name, ())}
        if moves != {way}:
            found.append(("E4", f"'{name}' moves {sorted(map(str, moves))}, not {way}"))
    for name, value in case.latents.items():
        if any(asserted.value != value for asserted in asserted_of.get(name, ())):
            found.append(("E5", f"'{name}' is not {value}"))
    return found


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


def _claims(template: Template, reading: Reading, cut: frozenset[str] = frozenset()) -> list[str]:
    """Return what the connectors of a text say that is not so; ``cut`` is what was set."""
    problems = [f"'{text}' joins nothing" for text in reading.loose]
    for claim in reading.claims:
        cause, effect = claim.cause, claim.effect
        if (cause.name, effect.name) not in template.signs or cause.name not in template.stated:
            problems.append(f"'{cause.name}' is no cause of '{effect.name}'")
        elif effect.name in cut:
            problems.append(f"'{effect.name}' was set, and '{cause.name}' has no part in it")
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


def _interventions(
    lexicon: Lexicon, template: Template, queries: list[str]
) -> set[tuple[str, str]]:
    """Return what the queries suppose, by finding each "had …" or "if …" clause in them."""
    words = {**lexicon.words, "n": ""}
    found: set[tuple[str, str]] = set()
    for query in queries:
        here = set()
        for name, variable in template.stated.items():
            for value, phrase in variable.clauses.items():
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
        for name, variable in situation.template.stated.items():
            what = (
                variable.what.format_map(situation.lexicon.words).lower() if variable.what else None
            )
            if what and clause.strip().startswith(f"{what} "):
                found[name] = next((way for word, way in _WAYS.items() if word in clause), "")
    return found
