"""The independent checker: proves that every answer of a story is what it claims to be.

It is handed a story as it stands in a file, and nothing else. From its ``Proof`` it takes the
causal model and what each value of each variable may be called; everything else it works out
again: what the text tells, what the queries suppose, what follows by both algorithms of
`contrafact.causal`, what each answer asserts and what its connectors claim. It shares no code with
the telling of stories: texts are searched for the wordings, and the words between them are read by
rules for English connectors.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from contrafact.causal.counterfactual import Disagreement, ImpossibleFacts, Proof, consequences
from contrafact.causal.model import Model, Value
from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.expressions import ScmText, build, graph_name
from contrafact.families.cobe.synth.reading import NUMBER, Claim, Reader, Reading
from contrafact.families.cobe.synth.relations import (
    ConnectorClaim,
    Family,
    Relation,
    family_of,
    family_read,
)
from contrafact.families.cobe.synth.response import ResponseReader
from contrafact.records import content_id

_NUMERICAL, _LATENT = "Numerical change expected: ", "Latent: "
_WAYS = {
    "up": ("is higher than", "goes up from", "is more than", "goes above"),
    "down": ("is lower than", "goes down from", "is less than", "drops below"),
}
_GOES = {"below": "down", "above": "up"}

TEXT, STRUCTURE = "text", "structure"
"""What a proof rests on: every model that agrees with the text; or the structure in the file, which
readers who are named in it found told by the text."""


def basis_of(proof: Mapping[str, Any] | None) -> str:
    """Return what a proof rests on; `TEXT` where it does not say so, as in files before."""
    return str((proof or {}).get("basis", TEXT))


@dataclass(frozen=True)
class Facts:
    """What a story tells, what its queries suppose, and what follows.

    Attributes:
        responses: Reads responses to the story whole, or not at all; None if only a reader can.
        family: The models that agree with the text.
        settings: The sentences of the file that tell no fact: where the story is, and the rules.
    """

    text: ScmText
    model: Model
    reader: Reader
    responses: ResponseReader | None
    proof: Proof
    family: Family
    settings: tuple[str, ...]

    def words(self, name: str) -> str:
        """Return what people read for a variable: its clause in the story, or what is counted."""
        forms = self.reader.wordings.get(name, {})
        value = self.proof.facts.get(name, self.implied.get(name))
        told = forms.get(str(value).lower())
        return str(told["clauses"][0] if told else forms.get("entity", name))

    @cached_property
    def implied(self) -> dict[str, Value]:
        """The latent facts that the story implies, of those that the file has words for."""
        return {
            consequence.variable: consequence.before
            for consequence in self.proof.consequences
            if consequence.variable not in self.text.told
            and consequence.variable in self.reader.wordings
            and consequence.kind == "stays"
            and consequence.before is not None
        }

    @cached_property
    def about(self) -> dict[str, dict[str, Value]]:
        """The variables that each criterion but E3 is about (CoBe, section 3.2).

        E1 has what is told and must stay, E2 what is set and the events that must change, E5 what
        is implied, each with its value in fact; E4 has the quantities that must move, with the way.
        """
        about: dict[str, dict[str, Value]] = {"E1": {}, "E2": {}, "E4": {}, "E5": {**self.implied}}
        for consequence in self.proof.consequences:
            name = consequence.variable
            if name not in self.text.told:
                continue
            if consequence.kind == "stays":
                about["E1"][name] = self.proof.facts[name]
            elif name in self.text.quantities:
                if consequence.kind == "changes" and consequence.direction:
                    about["E4"][name] = consequence.direction
            elif consequence.kind != "undetermined":
                about["E2"][name] = self.proof.facts[name]
        return about

    @property
    def asked(self) -> list[str]:
        optional = [name for name in ("E4", "E5") if self.about[name]]
        return ["E1", "E2", "E3", *optional]


_PARTS = ("graph", "mechanisms", "noise", "told", "quantities", "wordings")


@lru_cache(maxsize=8)
def _opened(parts: str) -> tuple[ScmText, Model, Reader, ResponseReader]:
    """Return a proof's model and readers; the last few are kept, as a block shares them.

    ``parts`` is JSON: a text can be a key of the cache, and what is read from it shares nothing
    with the caller's row, which may be changed later.
    """
    *fields, wordings = json.loads(parts)
    text = ScmText(*fields)
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
        if basis_of(proof) == STRUCTURE:
            return _situation_by_structure(row["Query"], proof)
        text, model, reader, responses = _opened(json.dumps([proof[name] for name in _PARTS]))
        relations = [Relation.of(fields) for fields in proof["relations"]]
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise ValueError(f"'Proof' is incomplete: {error}") from None
    # Section 1, step 1, the factual events: what the text tells, read in two ways that must agree.
    story = row["Variation text"]
    settings = [*proof.get("setting", ()), *(relation.says for relation in relations)]
    reading = reader.read(_without(story, settings))
    facts = _facts_told(reading, reader, text)
    # Step 2, the intervention: what the queries suppose.
    intervention = _intervention(reader, row["Query"], facts)
    responses = responses.of_story(intervention, settings)
    response = responses.read(story)
    if isinstance(response, str) or response.unread:
        raise ValueError(f"the story: {response if isinstance(response, str) else response.unread}")
    if response.mentions != reading.mentions:
        raise ValueError("the story's clauses can be read in two ways")
    # Step 3, the effects: by abduction, action and prediction, and by the twin network.
    try:
        derived = consequences(model, facts, intervention)
    except (ImpossibleFacts, Disagreement, ValueError) as error:
        raise ValueError(str(error)) from None
    # The same from the text alone: every model that agrees with what it tells.
    parents = {
        name: [parent for parent in model.graph.parents[name] if parent in text.told]
        for name in model.order
        if name in text.told
    }
    claims = []
    for claim in reading.claims:
        causes = tuple(cause.name for cause in claim.causes)
        claims.append(ConnectorClaim(causes, claim.effect.name, claim.follows))
    told = [relation for relation in relations if relation.says in story]
    family = family_of(facts, parents, text.quantities, told, claims)
    return Facts(text, model, reader, responses, derived, family, tuple(settings))


def _situation_by_structure(asked: Sequence[str], proof: Mapping[str, Any]) -> Facts:
    """Return what a written story is about, from the structure in its file.

    That the text tells it was read by readers; their readings are the rows of its mechanisms.
    """
    text = ScmText(*(proof[name] for name in _PARTS[:-1]))
    model, wordings, supposed = build(text), proof["wordings"], dict(proof["intervention"])
    clauses = [wordings[name]["false"]["supposed"][0] for name in supposed]
    if not supposed or any(value is not False for value in supposed.values()):
        raise ValueError("what is supposed is not that told events are otherwise")
    if list(asked) != list(queries(clauses)):
        raise ValueError("the queries do not state the intervention")
    facts = {name: proof["facts"][name] for name in text.told}
    try:
        derived = consequences(model, facts, supposed)
    except (ImpossibleFacts, Disagreement) as error:
        raise ValueError(str(error)) from None
    parents = {name: model.graph.parents[name] for name in model.order if name in wordings}
    rows = ((one["suppose"], one["after"]) for one in proof["readings"])
    family = family_read(parents, [(dict.fromkeys(names, False), after) for names, after in rows])
    return Facts(text, model, Reader(wordings), None, derived, family, ())


def _facts_told(reading: Reading, reader: Reader, text: ScmText) -> dict[str, Value]:
    """Return the value of every told variable, or raise a ValueError where that is not told."""
    facts: dict[str, Value] = {}
    for name, values in reading.values.items():
        if len(values) > 1:
            raise ValueError(f"the story tells in two ways {_question_of(reader, name)}")
        value = next(iter(values))
        if name not in text.told or value is None:
            raise ValueError(f"the story tells {_question_of(reader, name)}, which it should not")
        facts[name] = value
    missing = set(text.told) - facts.keys()
    if missing:
        raise ValueError(f"the story does not tell {_question_of(reader, min(missing))}")
    return facts


def _intervention(
    reader: Reader, queries: Sequence[str], facts: Mapping[str, Value]
) -> dict[str, Value]:
    """Return what all of the queries suppose, or raise a ValueError."""
    first, *others = [reader.intervention(query) for query in queries]
    if not first or any(supposed != first for supposed in others):
        raise ValueError("the queries do not state the same intervention")
    if any(facts[name] == value for name, value in first.items()):
        raise ValueError("the queries suppose what is already the case")
    return first


def opened_proof(text: str, queries: Sequence[str], proof: object) -> Facts | str:
    """Return what a story is about, or why its proof cannot be used."""
    try:
        return situation_of({"Variation text": text, "Query": queries, "Proof": proof})
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        return f"the proof cannot be used: {error}"


def _without(text: str, sentences: Iterable[str]) -> str:
    for sentence in sentences:
        text = text.replace(sentence, "")
    return text


def judge_text(facts: Facts, text: str) -> dict[str, list[str]]:
    """Return why a text fails each criterion asked (CoBe, section 3.2); an empty list if not."""
    reading = facts.reader.read(text)
    values = reading.values
    problems: dict[str, list[str]] = {name: [] for name in facts.asked}
    for criterion, variables in facts.about.items():
        for name in variables:
            if why := criterion_problem(facts, criterion, name, values.get(name, set())):
                problems[criterion].append(why)
    settled = {name: next(iter(v)) for name, v in values.items() if len(v) == 1}
    problems["E3"] += [f"'{text}' joins nothing" for text in reading.loose]
    problems["E3"] += [
        f"'{claim.effect.name}': {why}"
        for claim, why in wrong_connectors(facts, reading.claims, settled)
    ]
    return problems


def wrong_connectors(
    facts: Facts, claims: Iterable[Claim], told: Mapping[str, Value | None]
) -> list[tuple[Claim, str]]:
    """Return the connectors that are wrong by what the text itself tells, with the reason.

    CoBe, section 3.2, criterion 3, and appendix C.2 (Q0: "every causal connector accurately
    reflects the causal relationship described"). Only the text counts, and what everyone takes for
    granted: which effect a cause favours. "Because it rained, the ground stayed dry" is wrong
    whatever the story was. ``told`` has the one value that the text asserts of each variable.
    """
    wrong: list[tuple[Claim, str]] = []
    for claim in claims:
        effect, names = claim.effect.name, [cause.name for cause in claim.causes]
        if not set(names) <= set(facts.model.mechanism(effect).parents):
            wrong.append((claim, f"{names} are not causes of it"))
        elif any(told.get(name) is None for name in (*names, effect)):
            wrong.append((claim, "what is joined is told in two ways, or left open"))
        elif effect in facts.text.quantities:
            if not claim.follows:  # a number is what its causes make it
                wrong.append((claim, f"it comes of {names}"))
        elif any(
            (_favoured(facts.model, name, effect, told[name]) == told[effect]) != claim.follows
            for name in names
        ):
            way = "does not come of" if claim.follows else "comes of"
            wrong.append((claim, f"it {way} {names}"))
    return wrong


def criterion_problem(facts: Facts, criterion: str, name: str, told: set[Value | None]) -> str:
    """Return what is wrong, by E1, E2, E4 or E5, with what is told of a variable; or nothing.

    CoBe, section 3.2, criteria 1, 2, 4 and 5; the table in `contrafact.families.cobe.read.told`
    has every case. ``told`` has values, for a quantity ways as well, and None for "left open".
    """
    clause = facts.words(name)
    if criterion == "E1":
        if name in facts.text.quantities:
            stays = {direction_of(facts, name, now) for now in told} == {"nowhere"}
        else:
            stays = told == {facts.about["E1"][name]}
        return "" if stays else f"'{clause}' does not stay"
    if criterion == "E2":
        if facts.about["E2"][name] in told:
            return f"'{clause}' is as it was"
        supposed = facts.proof.intervention.get(name)
        missing = supposed is not None and told != {supposed}
        return f"'{clause}', which is supposed, is not told" if missing else ""
    if criterion == "E5":
        value = facts.implied[name]
        return "" if told <= {value, None} else f"'{clause}' is not {value}"
    ways = {direction_of(facts, name, now) for now in told}
    if None in ways or not ways:
        return f"'{clause}' is not told"
    way = facts.about["E4"][name]
    return "" if ways == {way} else f"'{clause}' does not go {way}"


def direction_of(facts: Facts, name: str, now: Value | None) -> str | None:
    """Return which way a figure goes in a text: up, down or nowhere; None where that is not told.

    "Below 204" goes down from 204 and from more; from less it may go anywhere.
    """
    if now in ("up", "down", "nowhere"):
        return str(now)
    before = facts.proof.facts[name]
    if isinstance(now, str) and isinstance(before, int):
        way, number = now.split()
        goes = int(number) <= before if way == "below" else int(number) >= before
        return _GOES[way] if goes else None
    if not isinstance(before, int) or not isinstance(now, int):
        return None
    return "up" if now > before else "down" if now < before else "nowhere"


def _connector_problem(facts: Facts, claim: Claim) -> str:
    """Return why a connector of the story is wrong; nothing if it is right.

    "Because" needs that the effect is what its mechanism gives in every world that the facts allow,
    and would not be without the causes. "Although" needs that the effect is not the value that the
    causes favour.
    """
    told = facts.proof.facts
    effect, names = claim.effect.name, [cause.name for cause in claim.causes]
    mechanism = facts.model.mechanism(effect)
    if not set(names) <= set(facts.text.told) or not set(names) <= set(mechanism.parents):
        return f"{names} are not causes of it"
    quantity = effect in facts.text.quantities
    favoured = [_favoured(facts.model, name, effect, told[name]) for name in names]
    if not claim.follows:
        if quantity or any(value == told[effect] for value in favoured):
            return f"it comes of {names}, not in spite of them"
        return ""
    if not quantity and any(value != told[effect] for value in favoured):
        return f"it does not come of {names}"
    names_of_noise = [noise.name for noise in facts.model.noises]
    for setting in facts.proof.posterior.settings:  # the worlds that the facts allow
        values = facts.model.predict(setting)
        noise = dict(zip(names_of_noise, setting, strict=True))
        terms = [noise[term] for term in mechanism.noise]
        parents = [values[name] for name in mechanism.parents]
        actual = mechanism.table[(*parents, *terms)]
        turned = [
            (not value) if name in names else value
            for name, value in zip(mechanism.parents, parents, strict=True)
        ]
        without = mechanism.table[(*turned, *terms)]
        if without == actual or (not quantity and actual != told[effect]):
            return f"it would be so without {names}"
    return ""


def _favoured(model: Model, cause: str, effect: str, value: Value | None) -> bool:
    """Return the value of an event that goes with a value of its cause in most of the mechanism."""
    return bool(value) == (edge_sign(model, cause, effect) == 1)


def edge_sign(model: Model, cause: str, effect: str) -> int:
    """Return which way a direct cause moves an effect in most settings: 1, -1, or 0 for neither."""
    mechanism = model.mechanism(effect)
    index = mechanism.parents.index(cause)
    with_cause = sum(int(v) for key, v in mechanism.table.items() if key[index])
    without = sum(int(v) for key, v in mechanism.table.items() if not key[index])
    return (with_cause > without) - (with_cause < without)


def check_story(row: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a story, its criteria or its answers; nothing if all is proven."""
    try:
        facts = situation_of(row)
    except ValueError as error:
        return [str(error)]
    problems = list(_open_problems(facts))
    problems += record_problems(facts, row)
    problems += _criteria_problems(facts, row["Evaluation criteria"])
    reading = facts.reader.read(_without(row["Variation text"], facts.settings))
    problems += [f"the story: '{text}' joins nothing" for text in reading.loose]
    problems += [
        f"the story: '{claim.effect.name}': {why}"
        for claim in reading.claims
        if (why := _connector_problem(facts, claim))
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
    """Yield what the text leaves open, or decides otherwise than the model of the file does."""
    after = facts.family.after(facts.proof.intervention)
    for consequence in facts.proof.consequences:
        name, determined = consequence.variable, consequence.kind != "undetermined"
        if name in facts.text.quantities:
            ways = facts.family.directions(name, after)
            if determined and ways != {consequence.direction or "nowhere"}:
                number = _named(facts.reader, name)
                yield f"the text leaves open which way {number} goes: {sorted(ways)}"
        elif name in after:
            if len(after[name]) > 1 and determined:
                yield f"the text leaves open whether {_named(facts.reader, name)}"
            elif len(after[name]) == 1 and consequence.after not in after[name]:
                by_model = consequence.after
                yield f"by the text '{name}' is {min(after[name])}, by the model {by_model}"
    implied = facts.family.implied()
    for name, value in facts.implied.items():
        if implied.get(name) is None:
            yield f"the text leaves open whether {_named(facts.reader, name)}"
        elif implied[name] != value:
            yield f"by the text '{name}' is {implied[name]}, by the model {value}"


def _question_of(reader: Reader, name: str) -> str:
    """Return a variable in the words of the file, after "tells": "whether the pump broke down"."""
    if name not in reader.wordings:
        return f"'{name}'"
    named = _named(reader, name)
    return named if "entity" in reader.wordings[name] else f"whether {named}"


def _named(reader: Reader, name: str) -> str:
    forms = reader.wordings[name]
    return str(forms["entity"] if "entity" in forms else forms["true"]["clauses"][0])


@dataclass(frozen=True, slots=True)
class Proven:
    """The result of proving one story.

    ``case`` is an id of its graph, mechanisms, facts and intervention; empty without a proof.
    ``basis`` is what the proof rests on.
    """

    problems: tuple[str, ...]
    answers: int
    case: str
    basis: str


def with_proofs(
    rows: Iterable[tuple[int, Mapping[str, Any]]], file: str | Path
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a file; an `InputError` if none has a proof."""
    before: list[tuple[int, Mapping[str, Any]]] = []  # rows before the first that has a proof
    remaining = iter(rows)
    for line, row in remaining:
        before.append((line, row))
        if isinstance(row.get("Proof"), Mapping):
            yield from before
            yield from remaining
            return
    hint = "give what `contrafact cobe synth` or `cobe write` wrote"
    raise InputError("no story in it has a proof", file=file, hint=hint)


Check = Callable[[Mapping[str, Any]], list[str]]
"""Returns what is wrong with a story, its criteria or its answers."""


def prove_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], checks: Mapping[str, Check] | None = None
) -> Iterator[tuple[int, Proven]]:
    """Prove each story by the check for its basis; by the text alone without ``checks``."""
    checks = checks or {TEXT: check_story}
    for line, row in rows:
        proof = row.get("Proof")
        if not isinstance(proof, Mapping):
            yield line, Proven(("the story has no proof",), 0, case_of(row), TEXT)
            continue
        basis = basis_of(proof)
        try:
            problems = checks[basis](row) if basis in checks else [f"its basis is '{basis}'"]
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            problems = [f"the story is incomplete: {type(error).__name__}: {error}"]
        answers = sum(len(row.get(key) or ()) for key in ("Right answers", "Wrong answers"))
        yield line, Proven(tuple(problems), answers, case_of(row), basis)


def case_of(row: Mapping[str, Any]) -> str:
    """Return an id that two stories share only if they are one case in other words or orders.

    A case is the events at the nodes, the graph, the mechanisms, the facts and the intervention.
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


def record_problems(facts: Facts, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a file records of its story otherwise than it is worked out."""
    proof = row["Proof"]
    if dict(facts.proof.facts) != proof["facts"]:
        yield f"the text tells {dict(facts.proof.facts)}, the proof {proof['facts']}"
    if dict(facts.proof.intervention) != proof["intervention"]:
        yield f"the queries suppose {dict(facts.proof.intervention)}, not {proof['intervention']}"
    if not facts.about["E1"]:
        yield "nothing has to stay"
    told = {name: facts.model.graph.parents[name] for name in facts.text.told}
    told = {name: tuple(p for p in parents if p in told) for name, parents in told.items()}
    terms = [
        [n for n in facts.text.told if noise.name in facts.model.mechanism(n).noise]
        for noise in facts.model.noises
    ]
    latents = [n for n in facts.model.order if n not in told]
    terms += [[n for n in facts.model.graph.children[latent] if n in told] for latent in latents]
    if row.get("Graph type") != graph_name(told, terms):
        yield f"the graph is of type '{graph_name(told, terms)}', not '{row.get('Graph type')}'"
    for derived in facts.proof.consequences:
        name = derived.variable
        claimed = proof["consequences"].get(name)
        if claimed is None:
            if name in facts.text.told or name in facts.implied:
                yield f"the proof says nothing of '{name}'"
        # A table of files has no nulls: "after" may be missing where it is not determined. By how
        # much a number of a written story moves, no structure says.
        elif (
            claimed["kind"] != derived.kind
            or (
                claimed.get("after") != derived.after
                and not (facts.responses is None and name in facts.text.quantities)
            )
            or ("direction" in claimed and claimed["direction"] != derived.direction)
        ):
            yield f"the proof says {claimed} of '{name}', which is {derived.kind}, {derived.after}"


def _criteria_problems(facts: Facts, criteria: Sequence[str]) -> Iterator[str]:
    for criterion, text in (("E1", criteria[0]), ("E2", criteria[1])):
        values, due = facts.reader.read(text).values, facts.about[criterion]
        if values != {name: {value} for name, value in due.items()}:
            yield f"{criterion} is about {values}, not {due}: {text}"
    rest = list(criteria[2:])
    numerical = [c.removeprefix(_NUMERICAL) for c in rest if c.startswith(_NUMERICAL)]
    latent = [c.removeprefix(_LATENT) for c in rest if c.startswith(_LATENT)]
    if len(rest) != len(numerical) + len(latent) or max(len(numerical), len(latent)) > 1:
        yield "there are criteria of no known kind, or two of one"
    moved = facts.about["E4"]
    if bool(numerical) != bool(moved):
        yield f"E4 does not say {moved}"
    for text in numerical:
        for name, direction in moved.items():
            forms = facts.reader.wordings[name]
            lowered, figure = text.lower(), NUMBER.findall(text)
            told = [way for way, cues in _WAYS.items() if any(cue in lowered for cue in cues)]
            before = f"{facts.proof.facts[name]:,}"
            if (
                not lowered.startswith(forms["entity"].lower())
                or told != [direction]
                or figure[-1:] != [before]
            ):
                yield f"E4 does not say that '{name}' goes {direction} from {before}: {text}"
    values = facts.reader.read(" ".join(latent)).values
    if values != {name: {value} for name, value in facts.implied.items()}:
        yield f"E5 does not say {dict(facts.implied)}: {latent}"
