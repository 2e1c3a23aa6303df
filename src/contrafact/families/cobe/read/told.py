"""What a text tells, and the verdicts that follow from it: the same table for every reader.

CoBe, section 3.2 and appendix C.2. For each fact of its story, a text tells that it stayed, that it
changed, that it is open, nothing, or both. The verdicts that follow:

========== ====== ============ ============= ============== =======
told       E1     E2, supposed E2, follows   E4             E5
========== ====== ============ ============= ============== =======
as it was  passes fails        fails         fails          passes
changed    fails  passes       passes        by direction   fails
left open  fails  fails        passes        fails          passes
not said   fails  fails        passes        fails          passes
both       fails  fails        fails         fails          fails
========== ====== ============ ============= ============== =======

From the appendix: E1 "T only if still present and correct, F if missing or changed", E2 "T only if
changed or removed". From section 3.2: E4 "the direction should align", E5 "should not be changed".
Ours: what is supposed has to be said (E2); what is left open is neither present (E1) nor as it was
(E2), and moves nowhere (E4); of two versions the wrong one counts; E5 fails only where it
is denied.

E3 looks at the text alone (Q0): a link fails where its effect goes the other way than its causes
bring about, on every path between them, and is open where paths or readers differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from contrafact.causal.model import Model, Value
from contrafact.families.cobe.synth.prove import Facts, criterion_problem, direction_of, edge_sign
from contrafact.families.cobe.synth.reading import Claim
from contrafact.judges.verifier import Decision

__all__ = ["CRITERIA", "ToldReading", "decide", "read_by_grammar"]

CRITERIA = ("E1", "E2", "E3", "E4", "E5")

_HOLDS = {
    "E1": "all that must stay is there",
    "E2": "all that must change has changed",
    "E3": "no connector is wrong",
    "E4": "it moves in the right direction",
    "E5": "no implied fact is denied",
}


@dataclass(frozen=True, slots=True)
class ToldReading:
    """What a text tells of the variables of its story.

    Attributes:
        told: For every variable the values that the text gives it: a value, or for a quantity the
            way it goes ("up", "down", "nowhere"); None where the text leaves it open. Of a variable
            that is not named, or has no value, the text says nothing.
        unread: By variable, why it is not known what the text says of it.
        claims: The causes and effects that its connectors join.
        unclear: Why it is not known what they join; empty if it is known.
    """

    told: Mapping[str, frozenset[Value | None]]
    unread: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    unclear: str = ""


def read_by_grammar(facts: Facts, response: str) -> ToldReading | str:
    """Return what a response tells, read by the grammar of its file, or why it cannot be read.

    If a sentence cannot be read, two things are open: the facts that it may be about or that no
    other sentence tells, and whether all links were seen.
    """
    if facts.responses is None:
        return "the story is written, and responses to it are read by a reader alone"
    read = facts.responses.read(response)
    if isinstance(read, str):
        return read
    reading = facts.reader.read(read.text)
    if reading.mentions != read.mentions:
        return "its clauses can be read in two ways"
    unclear = ""
    if read.unclear:
        unclear = f"it is unclear what the connector joins in '{read.unclear[0]}'"
    elif reading.loose:
        unclear = "a connector joins no fact that is told"
    links = () if unclear else reading.claims
    unclear = unclear or read.unread
    named = reading.values
    clauses: dict[str, set[Value | None]] = {}
    for mention in reading.mentions:
        if not mention.noun:
            clauses.setdefault(mention.name, set()).add(mention.value)
    # "The oven stayed hot … because of the cold oven": the name is what the story had, or an error.
    unread = {
        name: "its name contradicts its clause"
        for name, values in clauses.items()
        if values != named[name]
    }
    for name in facts.reader.wordings if read.unread else ():
        if name in read.open or name not in named:
            unread[name] = read.unread
    for name in named.keys() & set(facts.text.quantities):
        if None in {direction_of(facts, name, now) for now in named[name] - {None}}:
            unread[name] = "compared with that number, it may move in either direction"
    told = {name: frozenset(values) for name, values in named.items() if name not in unread}
    return ToldReading(told, unread, links, unclear)


def decide(facts: Facts, reading: ToldReading) -> dict[str, Decision]:
    """Decide every criterion by what a text tells, including those that the story does not ask."""
    decided = {"E3": _connectors(facts, reading)}
    for criterion, variables in facts.about.items():
        each = [_fact(facts, reading, criterion, name) for name in variables]
        decided[criterion] = _first(each, criterion)
    return decided


def _first(each: list[Decision], criterion: str) -> Decision:
    """Combine decisions on a criterion: it fails if one fails, is open if one is, else passes."""
    each = sorted(each, key=lambda one: (one.passed is not False, one.passed is True))
    passes = not each or each[0].passed
    return Decision(True, _HOLDS[criterion]) if passes else each[0]


def _fact(facts: Facts, reading: ToldReading, criterion: str, name: str) -> Decision:
    if name in reading.unread:
        return Decision(None, f"'{facts.words(name)}': {reading.unread[name]}")
    why = criterion_problem(facts, criterion, name, set(reading.told.get(name, ())))
    return Decision(not why, why)


def _connectors(facts: Facts, reading: ToldReading) -> Decision:
    each = [_link(facts, reading, claim) for claim in reading.claims]
    if reading.unclear:
        each.append(Decision(None, reading.unclear))
    return _first(each, "E3")


def _link(facts: Facts, reading: ToldReading, claim: Claim) -> Decision:
    """Decide E3 for one link: whether its effect moves in the direction that its causes require."""
    effect = claim.effect.name
    for name in (*(cause.name for cause in claim.causes), effect):
        if name in reading.unread:
            return Decision(None, f"'{facts.words(name)}': {reading.unread[name]}")
        if len(reading.told.get(name, ())) > 1:
            return Decision(None, f"'{facts.words(name)}', which is joined, is told in two ways")
    signs = [sign_of(facts.model, cause.name, effect) for cause in claim.causes]
    if None in signs:
        other = facts.words(claim.causes[signs.index(None)].name)
        return Decision(None, f"a link ties '{facts.words(effect)}' to '{other}', no cause of it")
    after = claim.effect.value
    if effect in facts.text.quantities:
        after = {"up": True, "down": False}.get(direction_of(facts, effect, after) or "")
    if after is None or any(cause.value is None for cause in claim.causes):
        return Decision(None, f"what is joined to '{facts.words(effect)}' is left open")
    goes = [
        ((bool(cause.value) == (sign == 1)) == after) == claim.follows if sign else None
        for cause, sign in zip(claim.causes, signs, strict=True)
    ]
    if all(goes):
        return Decision(True, _HOLDS["E3"])
    names = ", ".join(f"'{facts.words(cause.name)}'" for cause in claim.causes)
    way = "does not follow from" if claim.follows else "follows from"
    # "The driver drove on, but the delay was 5 minutes": with a number it can be plain contrast.
    contrast = effect in facts.text.quantities and not claim.follows
    reversed_ = not any(goes) and None not in goes and not contrast
    if reversed_ and claim.anaphoric and not claim.follows:
        # "The fridge was warm. The lift ran. Even so, they operated": in spite of the fridge.
        reversed_ = not _any_against(facts.model, reading, effect, bool(after))
    return Decision(False if reversed_ else None, f"'{facts.words(effect)}' {way} {names}")


def _any_against(model: Model, reading: ToldReading, effect: str, after: bool) -> bool:
    """Return whether a cause that is told, near or distant, would bring about the contrary."""
    for name, values in reading.told.items():
        value = next(iter(values)) if len(values) == 1 else None
        if name != effect and isinstance(value, bool):
            sign = sign_of(model, name, effect)
            if sign and (value == (sign == 1)) != after:
                return True
    return False


def sign_of(model: Model, cause: str, effect: str) -> int | None:
    """Return in which direction a cause moves an effect: 1, -1, 0 if mixed; None if it is no cause.

    For a direct cause, the mechanism decides, in most settings; for an indirect one, all paths
    must agree.
    """
    if cause in model.mechanism(effect).parents:
        return edge_sign(model, cause, effect)
    signs = set(_paths(model, cause, effect))
    if not signs:
        return None
    return signs.pop() if len(signs) == 1 else 0


def _paths(model: Model, cause: str, effect: str) -> Iterator[int]:
    """Yield the product of the signs along every path from a cause to an effect."""
    for parent in model.mechanism(effect).parents:
        edge = edge_sign(model, parent, effect)
        if parent == cause:
            yield edge
        else:
            yield from (edge * before for before in _paths(model, cause, parent))
