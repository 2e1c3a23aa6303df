"""The independent checker: proves that every answer of a story is what it claims to be.

It is handed a story as it stands in a file, and nothing else. From its ``Proof`` it takes the
causal model and what each value of each variable may be called; everything else it works out
again: what the text tells, what the queries suppose, what follows by both algorithms of
`contrafact.causal`, what each answer asserts and what its connectors claim. It shares no code with
the telling of stories: texts are searched for the wordings, and the words between them are read by
rules for English connectors.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from contrafact.causal.counterfactual import Disagreement, ImpossibleFacts, Proof, consequences
from contrafact.causal.model import Model, Value
from contrafact.errors import InputError
from contrafact.families.cobe.synth.expressions import ScmText, build, graph_name
from contrafact.families.cobe.synth.reading import NUMBER, Claim, Reader
from contrafact.families.cobe.synth.relations import Family, Joining, Relation, family_of
from contrafact.families.cobe.synth.response import ResponseReader
from contrafact.records import content_id

_NUMERICAL, _LATENT = "Numerical change expected: ", "Latent: "
_WAYS = {
    "up": ("is higher than", "goes up from", "is more than", "goes above"),
    "down": ("is lower than", "goes down from", "is less than", "drops below"),
}


@dataclass(frozen=True)
class Facts:
    """What a story is about, as it was read and worked out.

    Attributes:
        responses: Reads responses to the story whole, or not at all.
        implied: The latent facts that the story implies.
        family: The models that agree with the text.
        settings: The sentences of the file that tell no fact: where it is, and the rules.
        worlds: The values of all variables in each world that the facts allow.
    """

    text: ScmText
    model: Model
    reader: Reader
    responses: ResponseReader
    proof: Proof
    implied: Mapping[str, Value]
    family: Family
    settings: tuple[str, ...]
    worlds: Sequence[tuple[Mapping[str, Value], Mapping[str, int]]]

    def due(self, *kinds: str) -> dict[str, Value]:
        """Return the told variables of some kinds of consequences, with their values in fact."""
        return {
            c.variable: self.proof.facts[c.variable]
            for c in self.proof.consequences
            if c.kind in kinds and c.variable in self.text.told
        }

    @property
    def unchanged(self) -> dict[str, Value]:
        """What is told and must stay (E1)."""
        return self.due("stays")

    @property
    def changed(self) -> dict[str, Value]:
        """What is set, and what is told, is no quantity and must change (E2)."""
        return {
            n: v for n, v in self.due("set", "changes").items() if n not in self.text.quantities
        }

    @property
    def moved(self) -> dict[str, str]:
        """The quantities that must move, and which way (E4)."""
        return {
            c.variable: c.direction
            for c in self.proof.consequences
            if c.kind == "changes" and c.variable in self.text.quantities and c.direction
        }

    @property
    def about(self) -> dict[str, Mapping[str, object]]:
        """The variables that each criterion but E3 is about."""
        return {
            "E1": self.unchanged,
            "E2": self.changed,
            "E4": self.moved,
            "E5": self.implied,
        }

    @property
    def asked(self) -> list[str]:
        """The criteria that the story asks."""
        return ["E1", "E2", "E3"] + ["E4"] * bool(self.moved) + ["E5"] * bool(self.implied)


_PARTS = ("graph", "mechanisms", "noise", "told", "quantities", "wordings")


@lru_cache(maxsize=8)
def _opened(parts: str) -> tuple[ScmText, Model, Reader, ResponseReader]:
    """Return a proof's model and readers; the last few are kept, as a block shares them."""
    *given, wordings = json.loads(parts)
    text = ScmText(*given)
    model = build(text)
    latent = [name for name in model.order if name not in text.told]
    shields = {name: frozenset(model.graph.children[name]) for name in latent}
    return text, model, Reader(wordings), ResponseReader(wordings, shields)


def situation_of(row: Mapping[str, Any]) -> Facts:
    """Return what a story is about, from its text, its queries and the causal model of its file.

    Raises:
        ValueError: If the proof is incomplete or wrong, the text does not tell the facts or holds
            what cannot be read, the queries do not suppose one and the same thing, or the
            algorithms disagree.
    """
    proof = row.get("Proof")
    if not isinstance(proof, Mapping):
        raise ValueError("there is no 'Proof'")
    try:
        text, model, reader, responses = _opened(json.dumps([proof[name] for name in _PARTS]))
        relations = [Relation.of(one) for one in proof["relations"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"'Proof' is incomplete: {error}") from None
    settings = [*proof.get("setting", ()), *(one.says for one in relations)]
    reading = reader.read(_without(row["Variation text"], settings))
    facts: dict[str, Value] = {}
    for name, values in reading.values.items():
        if len(values) > 1:
            raise ValueError(f"the story tells in two ways {_told(reader, name)}")
        value = next(iter(values))
        if name not in text.told or value is None:
            raise ValueError(f"the story tells {_told(reader, name)}, which it should not")
        facts[name] = value
    missing = set(text.told) - facts.keys()
    if missing:
        raise ValueError(f"the story does not tell {_told(reader, min(missing))}")
    supposed = [reader.intervention(query) for query in row["Query"]]
    first = supposed[0]
    if not first or any(one != first for one in supposed):
        raise ValueError("the queries do not suppose one and the same thing")
    if any(facts[name] == value for name, value in first.items()):
        raise ValueError("the queries suppose what is so")
    responses = responses.of_story(first, settings)
    whole = responses.read(row["Variation text"])
    if isinstance(whole, str):
        raise ValueError(f"the story: {whole}")
    if whole.mentions != reading.mentions:
        raise ValueError("the story's clauses can be read in two ways")
    try:
        found = consequences(model, facts, first)
    except (ImpossibleFacts, Disagreement, ValueError) as error:
        raise ValueError(str(error)) from None
    implied = {
        c.variable: c.before
        for c in found.consequences
        if c.variable not in text.told
        and c.kind == "stays"
        and c.before is not None
        # What no text can word, none is asked about.
        and c.variable in reader.wordings
    }
    told = [one for one in relations if one.says in row["Variation text"]]
    joinings = [
        Joining(tuple(cause.name for cause in claim.causes), claim.effect.name, claim.follows)
        for claim in reading.claims
    ]
    parents = {
        name: [one for one in model.graph.parents[name] if one in text.told]
        for name in model.order
        if name in text.told
    }
    family = family_of(facts, parents, text.quantities, told, joinings)
    names = [noise.name for noise in model.noises]
    worlds = [
        (model.predict(setting), dict(zip(names, setting, strict=True)))
        for setting in found.posterior.settings
    ]
    return Facts(text, model, reader, responses, found, implied, family, tuple(settings), worlds)


def opened_proof(text: str, queries: Sequence[str], proof: object) -> Facts | str:
    """Return what a story is about, or why its proof cannot be used."""
    try:
        return situation_of({"Variation text": text, "Query": queries, "Proof": proof})
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        return f"the proof cannot be used: {error}"


def _without(text: str, sentences: Iterable[str]) -> str:
    for one in sentences:
        text = text.replace(one, "")
    return text


def judge_text(facts: Facts, text: str) -> dict[str, list[str]]:
    """Return why a text fails each criterion asked (CoBe, section 3.2); an empty list if not."""
    reading = facts.reader.read(text)
    values = reading.values
    found: dict[str, list[str]] = {name: [] for name in facts.asked}
    for criterion, due in facts.about.items():
        for name in due:
            if why := criterion_problem(facts, criterion, name, values.get(name, set())):
                found[criterion].append(why)
    told = {name: next(iter(v)) for name, v in values.items() if len(v) == 1}
    found["E3"] += [f"'{text}' joins nothing" for text in reading.loose]
    found["E3"] += [
        f"'{claim.effect.name}': {why}" for claim, why in misjoined(facts, reading.claims, told)
    ]
    return found


def misjoined(
    facts: Facts, claims: Iterable[Claim], told: Mapping[str, Value | None]
) -> list[tuple[Claim, str]]:
    """Return the connectors that are wrong by what the text itself tells, with the reason.

    CoBe, appendix C.2 (Q0). Nothing is asked but the text and what everyone takes for granted:
    what a cause furthers. "Because it rained, the ground stayed dry" is wrong whatever the story
    was.
    """
    found = []
    for claim in claims:
        effect, names = claim.effect.name, [cause.name for cause in claim.causes]
        if not set(names) <= set(facts.model.mechanism(effect).parents):
            found.append((claim, f"{names} are not causes of it"))
        elif any(told.get(name) is None for name in (*names, effect)):
            found.append((claim, "what is joined is told in two ways, or left open"))
        elif effect in facts.text.quantities:
            if not claim.follows:  # a number is what its causes make it
                found.append((claim, f"it comes of {names}"))
        elif any(
            (_furthered(facts.model, name, effect, told[name]) == told[effect]) != claim.follows
            for name in names
        ):
            way = "does not come of" if claim.follows else "comes of"
            found.append((claim, f"it {way} {names}"))
    return found


def criterion_problem(facts: Facts, criterion: str, name: str, told: set[Value | None]) -> str:
    """Return what is wrong, by E1, E2, E4 or E5, with what is told of a variable; or nothing."""
    if criterion == "E1":
        return "" if told == {facts.unchanged[name]} else f"'{name}' does not stay"
    if criterion == "E2":
        return f"'{name}' is as it was" if facts.changed[name] in told else ""
    if criterion == "E5":
        value = facts.implied[name]
        return "" if told <= {value, None} else f"'{name}' is not {value}"
    ways = {direction_of(facts, name, now) for now in told}
    if None in ways or not ways:
        return f"'{name}' is not told"
    return "" if ways == {facts.moved[name]} else f"'{name}' does not go {facts.moved[name]}"


def direction_of(facts: Facts, name: str, now: Value | None) -> str | None:
    """Return which way a figure goes in a text: up, down or nowhere; None where none is told."""
    before = facts.proof.facts[name]
    if not isinstance(before, int) or not isinstance(now, int):
        return None
    return "up" if now > before else "down" if now < before else "nowhere"


def reverses_cause(facts: Facts, claim: Claim) -> bool:
    """Tell whether a claim turns round the way in which its causes work: no reader would let it be.

    "Because it rained, the ground stayed dry"; "although it rained, the ground got wet".
    """
    effect = claim.effect.name
    parents = facts.model.mechanism(effect).parents
    if effect in facts.text.quantities or not {one.name for one in claim.causes} <= set(parents):
        return False
    return all(
        (_furthered(facts.model, one.name, effect, one.value) == claim.effect.value)
        != claim.follows
        for one in claim.causes
    )


def _untrue(facts: Facts, claim: Claim) -> str:
    """Return why a connector of the story is wrong; nothing if it is right.

    "Because" needs that the effect is what its mechanism gives in every world that the facts allow,
    and would not be without the causes. "Although" needs that the effect is not what the causes
    further.
    """
    told = facts.proof.facts
    effect, names = claim.effect.name, [cause.name for cause in claim.causes]
    mechanism = facts.model.mechanism(effect)
    if not set(names) <= set(facts.text.told) or not set(names) <= set(mechanism.parents):
        return f"{names} are not causes of it"
    quantity = effect in facts.text.quantities
    furthered = [_furthered(facts.model, name, effect, told[name]) for name in names]
    if not claim.follows:
        if quantity or any(value == told[effect] for value in furthered):
            return f"it comes of {names}, not in spite of them"
        return ""
    if not quantity and any(value != told[effect] for value in furthered):
        return f"it does not come of {names}"
    for values, noise in facts.worlds:
        terms = [noise[term] for term in mechanism.noise]
        parents = [values[name] for name in mechanism.parents]
        whole = mechanism.table[(*parents, *terms)]
        turned = [
            (not value) if name in names else value
            for name, value in zip(mechanism.parents, parents, strict=True)
        ]
        without = mechanism.table[(*turned, *terms)]
        if without == whole or (not quantity and whole != told[effect]):
            return f"it would be so without {names}"
    return ""


def _furthered(model: Model, cause: str, effect: str, value: Value | None) -> bool:
    """Return which value of an event a value of its cause furthers, read off the mechanism."""
    mechanism = model.mechanism(effect)
    place = mechanism.parents.index(cause)
    there = sum(int(v) for key, v in mechanism.table.items() if key[place])
    not_there = sum(int(v) for key, v in mechanism.table.items() if not key[place])
    return bool(value) == (there > not_there)


def check_story(row: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a story, its criteria or its answers; nothing if all is proven."""
    try:
        facts = situation_of(row)
    except ValueError as error:
        return [str(error)]
    problems = list(_open_problems(facts))
    problems += _record_problems(facts, row)
    problems += _criteria_problems(facts, row["Evaluation criteria"])
    reading = facts.reader.read(_without(row["Variation text"], facts.settings))
    problems += [f"the story: '{text}' joins nothing" for text in reading.loose]
    problems += [
        f"the story: '{claim.effect.name}': {why}"
        for claim in reading.claims
        if (why := _untrue(facts, claim))
    ]
    right, wrong = row.get("Right answers", ()), row.get("Wrong answers", ())
    if right and right[0]["text"] != row["Representative answer"]:
        problems.append("the representative answer is not the first right answer")
    for kind, answers in (("right", right), ("wrong", wrong)):
        for answer in answers:
            judged = judge_text(facts, answer["text"])
            failed = {name for name, why in judged.items() if why}
            claimed = {name for name, passes in answer["verdicts"].items() if not passes}
            named = answer.get("fails")
            if (
                failed != claimed
                or answer["verdicts"].keys() != judged.keys()
                or bool(failed) != (kind == "wrong")
                or (kind == "wrong" and named not in failed)
            ):
                reasons = "; ".join(why for name in sorted(failed) for why in judged[name])
                problems.append(
                    f"a {kind} answer fails {', '.join(sorted(failed)) or 'nothing'}, not "
                    f"{', '.join(sorted(claimed)) or 'nothing'} ({reasons}): {answer['text']}"
                )
    return problems


def _open_problems(facts: Facts) -> Iterator[str]:
    """Yield what the text leaves open, or settles otherwise than the model of the file does."""
    after = facts.family.after(facts.proof.intervention)
    for one in facts.proof.consequences:
        name = one.variable
        if name in facts.text.quantities:
            ways = facts.family.directions(name, after)
            due = {one.direction} if one.direction else {"nowhere"}
            if one.kind != "undetermined" and ways != due:
                number = _named(facts.reader, name)
                yield f"the text leaves open which way {number} goes: {sorted(ways)}"
        elif name in after:
            if len(after[name]) > 1 and one.kind != "undetermined":
                yield f"the text leaves open whether {_named(facts.reader, name)}"
            elif len(after[name]) == 1 and one.after not in after[name]:
                yield f"by the text '{name}' is {min(after[name])}, by the model {one.after}"
    implied = facts.family.implied()
    for name, value in facts.implied.items():
        if implied.get(name) is None:
            yield f"the text leaves open whether {_named(facts.reader, name)}"
        elif implied[name] != value:
            yield f"by the text '{name}' is {implied[name]}, by the model {value}"


def _told(reader: Reader, name: str) -> str:
    if name not in reader.wordings:
        return f"'{name}'"
    named = _named(reader, name)
    return named if "entity" in reader.wordings[name] else f"whether {named}"


def _named(reader: Reader, name: str) -> str:
    forms = reader.wordings[name]
    return str(forms["entity"] if "entity" in forms else forms["true"]["clauses"][0])


@dataclass(frozen=True, slots=True)
class Proven:
    """What came of proving one story.

    ``case`` names its graph, mechanisms, facts and intervention; it is empty without a proof.
    """

    problems: tuple[str, ...]
    answers: int
    case: str


def with_proofs(
    rows: Iterable[tuple[int, Mapping[str, Any]]], file: str | Path
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a file; an `InputError` if none has a proof."""
    held: list[tuple[int, Mapping[str, Any]]] | None = []
    for line, row in rows:
        if held is None:
            yield line, row
            continue
        held.append((line, row))
        if isinstance(row.get("Proof"), Mapping):
            yield from held
            held = None
    if held is not None:
        raise InputError(
            "no story in it has a proof", file=file, hint="give what `contrafact cobe synth` wrote"
        )


def prove_rows(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[tuple[int, Proven]]:
    """Yield, for every row of a file with its line, what came of proving it."""
    for line, row in rows:
        if not isinstance(row.get("Proof"), Mapping):
            yield line, Proven(("the story has no proof",), 0, case_of(row))
            continue
        try:
            problems = tuple(check_story(row))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            problems = (f"the story is incomplete: {type(error).__name__}: {error}",)
        answers = sum(len(row.get(key) or ()) for key in ("Right answers", "Wrong answers"))
        yield line, Proven(problems, answers, case_of(row))


def case_of(row: Mapping[str, Any]) -> str:
    """Return what two stories share only if they are one case, told in other words and orders.

    That is the events at the nodes, the graph, the mechanisms, the facts and the intervention.
    """
    proof = row.get("Proof")
    if not isinstance(proof, Mapping):
        return ""
    wordings = proof.get("wordings") or {}
    events = {
        name: sorted(forms["true"]["nouns"])
        if "true" in forms and "nouns" in forms["true"]
        else forms.get("entity", "")
        for name, forms in wordings.items()
    }
    parts = [proof.get(key) for key in ("template", "mechanisms", "facts", "intervention")]
    return content_id(json.dumps([events, *parts], sort_keys=True), prefix="c")


def _record_problems(facts: Facts, row: Mapping[str, Any]) -> Iterator[str]:
    proof = row["Proof"]
    if dict(facts.proof.facts) != proof["facts"]:
        yield f"the text tells {dict(facts.proof.facts)}, the proof {proof['facts']}"
    if dict(facts.proof.intervention) != proof["intervention"]:
        yield f"the queries suppose {dict(facts.proof.intervention)}, not {proof['intervention']}"
    if not facts.unchanged:
        yield "nothing has to stay"
    told = {name: facts.model.graph.parents[name] for name in facts.text.told}
    told = {name: tuple(p for p in parents if p in told) for name, parents in told.items()}
    terms = [
        [n for n in facts.text.told if noise.name in facts.model.mechanism(n).noise]
        for noise in facts.model.noises
    ]
    latents = [n for n in facts.model.order if n not in told]
    terms += [[n for n in facts.model.graph.children[one] if n in told] for one in latents]
    if row.get("Graph type") != graph_name(told, terms):
        yield f"the graph is of type '{graph_name(told, terms)}', not '{row.get('Graph type')}'"
    for one in facts.proof.consequences:
        claimed = proof["consequences"].get(one.variable)
        if claimed is None:
            if one.variable in facts.text.told or one.variable in facts.implied:
                yield f"the proof says nothing of '{one.variable}'"
        elif (claimed["kind"], claimed["after"]) != (one.kind, one.after) or (
            "direction" in claimed and claimed["direction"] != one.direction
        ):
            yield f"the proof says {claimed} of '{one.variable}', which is {one.kind}, {one.after}"


def _criteria_problems(facts: Facts, criteria: Sequence[str]) -> Iterator[str]:
    for name, text, due in (
        ("E1", criteria[0], facts.unchanged),
        ("E2", criteria[1], facts.changed),
    ):
        values = facts.reader.read(text).values
        if values != {one: {value} for one, value in due.items()}:
            yield f"{name} is about {values}, not {due}: {text}"
    rest = list(criteria[2:])
    numerical = [c.removeprefix(_NUMERICAL) for c in rest if c.startswith(_NUMERICAL)]
    latent = [c.removeprefix(_LATENT) for c in rest if c.startswith(_LATENT)]
    if len(rest) != len(numerical) + len(latent) or max(len(numerical), len(latent)) > 1:
        yield "there are criteria of no known kind, or two of one"
    if bool(numerical) != bool(facts.moved):
        yield f"E4 does not say {facts.moved}"
    for text in numerical:
        for name, way in facts.moved.items():
            forms = facts.reader.wordings[name]
            lowered, figure = text.lower(), NUMBER.findall(text)
            here = [one for one, cues in _WAYS.items() if any(cue in lowered for cue in cues)]
            before = f"{facts.proof.facts[name]:,}"
            if (
                not lowered.startswith(forms["entity"].lower())
                or here != [way]
                or figure[-1:] != [before]
            ):
                yield f"E4 does not say that '{name}' goes {way} from {before}: {text}"
    values = facts.reader.read(" ".join(latent)).values
    if values != {name: {value} for name, value in facts.implied.items()}:
        yield f"E5 does not say {dict(facts.implied)}: {latent}"
