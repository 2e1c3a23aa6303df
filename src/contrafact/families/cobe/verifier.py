"""The verifier ``proof``: decides the criteria of an edit from the proof of its story.

CoBe, section 3.2. A story with a proof (`contrafact.families.cobe.synth`, or anybody's file with
graph, mechanisms and wordings) says what must stay, change and move. What a response tells is read
by the grammar, if it is made of the file's wordings; order, tense and connectors are free. Else it
is read from the replies of a reader (`contrafact.families.cobe.read`), where the subject has any.
What neither can read is undecided, with the reason.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from contrafact.families.cobe.read.question import asked_facts, read_reply
from contrafact.families.cobe.read.told import CRITERIA, ToldReading, decide, read_by_grammar
from contrafact.families.cobe.synth.prove import Facts, opened_proof
from contrafact.judges.verifier import Decision, Subject

RECORD = (
    "wrong in 0 of 13,720 verdicts that it decided on proven answers, and in 0 of 334 on edits by "
    "hand (5 of which a reader may see otherwise)"
)
"""What was measured of the verifier without a reader; docs/verifiers.md has the tables."""

GRAMMAR, READER = "grammar", "reader"
"""Who read the text that a decision rests on."""

_KEPT = 64


def proof(criterion: str, subject: Subject) -> Decision:
    """Decide a criterion, ``E1`` to ``E5``, about a subject of `data.subject_of`."""
    return decisions(subject)[criterion]


def decisions(subject: Subject) -> Mapping[str, Decision]:
    """Return `proof`'s decision on every criterion, including those that the story does not ask."""
    facts = opened(subject)
    if isinstance(facts, str):
        return _all_open(facts)
    return _decisions(_key(subject), subject["response"], tuple(subject.get("readings", ())))


def opened(subject: Subject) -> Facts | str:
    """Return the opened proof of a subject's story, or why it cannot be used."""
    return _opened(_key(subject)) if subject.get("proof") else "the story has no proof"


def _key(subject: Subject) -> str:
    return json.dumps([subject[key] for key in ("text", "queries", "proof")])


@lru_cache(maxsize=_KEPT)
def _opened(asked: str) -> Facts | str:
    return opened_proof(*json.loads(asked))


@lru_cache(maxsize=_KEPT)
def _decisions(asked: str, response: str, replies: tuple[str, ...]) -> Mapping[str, Decision]:
    facts = _opened(asked)
    if isinstance(facts, str):
        return _all_open(facts)
    decided = _decided(facts, read_by_grammar(facts, response), GRAMMAR)
    if not replies:
        return decided
    by_reader = _decided(facts, reading_of(facts, response, replies, json.loads(asked)[0]), READER)
    return {
        name: by_reader[name] if decision.passed is None else decision
        for name, decision in decided.items()
    }


def _decided(facts: Facts, read: ToldReading | str, who: str) -> dict[str, Decision]:
    decided = _all_open(read) if isinstance(read, str) else decide(facts, read)
    return {
        name: decision if decision.passed is None else replace(decision, read=who)
        for name, decision in decided.items()
    }


def reading_of(
    facts: Facts, response: str, replies: Sequence[str], story: str
) -> ToldReading | str:
    """Return the reading from a reader's replies; a second one confirms facts as not said."""
    readings = [
        read_reply(reply, asked_facts(facts, response, attempt), response, story)
        for attempt, reply in enumerate(replies)
    ]
    first, *others = readings
    if isinstance(first, str):
        return first
    unread = dict(first.unread)
    for name in unsaid(facts, first):
        second = others[0] if others else "the reader was not asked twice"
        if isinstance(second, str):
            unread[name] = f"not said, by one reading: {second}"
        elif second.told.get(name, {None}):
            unread[name] = "one reading finds it not said, the other does not"
    read = {name: values for name, values in first.told.items() if name not in unread}
    return replace(first, told=read, unread=unread)


def unsaid(facts: Facts, reading: ToldReading) -> list[str]:
    """Return the facts that a text does not mention and that thereby decide a criterion.

    They do not decide E5, which fails only if a fact is denied.
    """
    decide_by_it = {name for key, about in facts.about.items() if key != "E5" for name in about}
    return [name for name, values in reading.told.items() if not values and name in decide_by_it]


def _all_open(reason: str) -> dict[str, Decision]:
    return {name: Decision(None, reason) for name in CRITERIA}
