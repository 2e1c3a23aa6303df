"""The verifier ``proof``: decides the criteria of an edit from the proof of its story.

CoBe, section 3.2. A story with a proof (`contrafact.families.cobe.synth`, or anybody's file with
graph, mechanisms and wordings) says what must stay, change and move. A response that is made of the
file's wordings gets the verdicts that ``contrafact cobe prove`` gives it; order, tense and
connectors are free. Any other word leaves every criterion undecided, with that word as the reason:
what free wording means is for a judge to say.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from contrafact.families.cobe.data import CRITERION_NAMES
from contrafact.families.cobe.settings import CAUSES
from contrafact.families.cobe.synth.prove import (
    Facts,
    criterion_problem,
    direction_of,
    opened_proof,
    reverses_cause,
    wrong_connectors,
)
from contrafact.families.cobe.synth.reading import Reading
from contrafact.families.cobe.synth.response import ReadResponse
from contrafact.judges.verifier import Decision, Subject

_KEPT = 64
_CRITERIA = (*CRITERION_NAMES, CAUSES)
_HOLDS = {
    "E1": "all that must stay is there",
    "E2": "all that must change has changed",
    "E3": "no connector is wrong",
    "E4": "it goes the right way",
    "E5": "nothing that is implied is denied",
    CAUSES: "every cause that is named is there",
}


def proof(criterion: str, subject: Subject) -> Decision:
    """Decide a criterion, ``E1`` to ``E5`` or ``causes``, on a subject of `data.subject_of`."""
    return decisions(subject)[criterion]


def decisions(subject: Subject) -> Mapping[str, Decision]:
    """Return the decision of `proof` on every criterion, also those that the story does not ask."""
    if not subject.get("proof"):
        return _all_open("the story has no proof")
    asked = json.dumps([subject[key] for key in ("text", "queries", "proof")])
    return _decisions(asked, subject["response"])


@lru_cache(maxsize=_KEPT)
def _opened(asked: str) -> Facts | str:
    return opened_proof(*json.loads(asked))


@lru_cache(maxsize=_KEPT)
def _decisions(asked: str, response: str) -> Mapping[str, Decision]:
    opened = _opened(asked)
    return _all_open(opened) if isinstance(opened, str) else decide(opened, response)


def _all_open(reason: str) -> dict[str, Decision]:
    return {name: Decision(None, reason) for name in _CRITERIA}


def decide(facts: Facts, response: str) -> dict[str, Decision]:
    """Return the decision on every criterion, E1 to E5 and ``causes``."""
    read = facts.responses.read(response)
    if isinstance(read, str):
        return _all_open(read)
    reading = facts.reader.read(read.text)
    if reading.mentions != read.mentions:
        return _all_open("its clauses can be read in two ways")
    if unclear := _unclear_connector(read, reading):
        decided = dict.fromkeys(("E3", CAUSES), Decision(None, unclear))
    else:
        decided = {"E3": _connectors(facts, reading), CAUSES: _causes(facts, reading)}
    for criterion, variables in facts.about.items():
        each = [_fact(facts, reading, criterion, name) for name in variables]
        # One fact that is told wrong decides; else one that is open leaves the criterion open.
        each.sort(key=lambda decision: (decision.passed is not False, decision.passed is True))
        holds = not each or each[0].passed
        decided[criterion] = Decision(True, _HOLDS[criterion]) if holds else each[0]
    return decided


def _fact(facts: Facts, reading: Reading, criterion: str, name: str) -> Decision:
    """Decide a criterion by what a response tells of one variable."""
    told = reading.values.get(name, set())
    one_way = criterion == "E4" and len({direction_of(facts, name, now) for now in told}) == 1
    if len(told) > 1 and not one_way:
        return Decision(None, f"'{name}' is told in two ways")
    if criterion in ("E2", "E4") and told <= {None}:
        return Decision(None, f"'{name}' is not told")
    why = criterion_problem(facts, criterion, name, told)
    return Decision(not why, why)


def _unclear_connector(read: ReadResponse, reading: Reading) -> str:
    """Return why it is unclear what the connectors join; nothing if it is clear."""
    if read.unclear:
        return f"cannot tell what joins what in '{read.unclear[0]}'"
    if reading.loose:
        return "a connector joins nothing that is told"
    joined = {part.name for claim in reading.claims for part in (*claim.causes, claim.effect)}
    twice = [name for name, told in reading.values.items() if len(told) > 1 and name in joined]
    return f"'{twice[0]}' is told in two ways" if twice else ""


def _causes(facts: Facts, reading: Reading) -> Decision:
    """Decide whether the causes that connectors name are so in the story after the intervention.

    An event that is set has no cause. What an outcome is in spite of has to be so as well.
    """
    opened = ""
    for claim in reading.claims:
        if claim.follows and claim.effect.name in facts.proof.intervention:
            why = "it is what was supposed, and nothing that is told brings it about"
            return Decision(False, f"'{claim.effect.name}': {why}")
        for cause in claim.causes:
            name = cause.name
            criterion = next((key for key, about in facts.about.items() if name in about), "")
            if not criterion or cause.value is None:
                opened = f"'{name}', which is named as a cause, is left open"
            elif criterion_problem(facts, criterion, name, {cause.value}):
                return Decision(False, f"'{name}', which is named as a cause, is not so")
    return Decision(None, opened) if opened else Decision(True, _HOLDS[CAUSES])


def _connectors(facts: Facts, reading: Reading) -> Decision:
    """Decide E3.

    A connector that reverses a cause fails it. One that is wrong in another way leaves it open, as
    readers may differ: "although" and "but" can be plain contrast.
    """
    told = {name: next(iter(values)) for name, values in reading.values.items()}
    wrong = wrong_connectors(facts, reading.claims, told)
    for claim, why in wrong:
        if reverses_cause(facts, claim):
            return Decision(False, f"'{claim.effect.name}': {why}")
    if wrong:
        claim, why = wrong[0]
        return Decision(None, f"readers differ on '{claim.effect.name}': {why}")
    return Decision(True, _HOLDS["E3"])
