"""The workflow: decisions, the transitions that follow from them, audits, and a manager's control.

Pure: no clock, no chance, no database. Functions with a `ReviewState` check, apply events to
it, and return them for the store; they refuse before they change anything. Functions with a
`Recorder` are steps of those. The time and the randomness are arguments.

RFC-BENCH, sections 2.2.3 and 2.2.4, table 2; FIN-FORCE, section 3.3; CoBe, appendix C.3.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.review.answers import (
    Assignment,
    Decision,
    asked_questions,
    ballot_of,
    rule_for,
)
from contrafact.review.discussion import voices
from contrafact.review.events import Event, NotAllowed
from contrafact.review.project import OUTCOMES, Project, Stage
from contrafact.review.state import Recorder, ReviewItem, ReviewState, Vote, passages
from contrafact.stats.votes import majority

__all__ = [
    "LEASE", "agreed_answers", "answer", "audit_rows", "close_audit_if_complete", "draw_audit",
    "draw_sample", "located", "reissue", "release_due", "set_stage_open", "settle", "shortfall",
    "transition", "undo", "undoable",
]  # fmt: skip


LEASE = timedelta(minutes=30)
"""How long an item stays with somebody who does not answer."""


def answer(
    state: ReviewState,
    who: str,
    place: Assignment,
    decision: Decision,
    *,
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Take somebody's decision on an item, and make the transitions that follow from it.

    The same decision sent again changes nothing. One that comes after its lease ran out is taken
    where its place, or another that the person may take, is still free.

    Args:
        rng: Draws the audit's sample, where this decision completes a batch.

    Returns:
        What happened; nothing where all of it had happened before.

    Raises:
        NotAllowed: They were not shown the item, have decided otherwise, or the item has gone on.
        InputError: The answers are not whole.
    """
    if state.is_repeated(place, decision):
        return []
    item = state.items.get(place.item)
    if item is None:
        raise NotAllowed(f"there is no item '{place.item[:40]}'")
    stage = next((s for s in state.project.flow if s.id == place.stage), None)
    if stage is None:
        raise NotAllowed(f"there is no stage '{place.stage[:40]}'")
    ballot = ballot_of(state.project, stage, decision)
    marked = located(stage, item, decision.evidence)
    for vote in item.votes:
        if (vote.who, vote.stage, vote.round) == (who, stage.id, place.round):
            if vote.ballot == ballot and list(vote.evidence) == marked:
                return []
            raise NotAllowed("you have decided on this item already", hint="undo it first")
    if (item.stage, item.round) != (stage.id, place.round):
        raise NotAllowed("the item has gone on without this decision", hint="go on with the next")
    slot = slot_to_fill(state, item, who, now)
    if ballot.correction is not None and stage.corrects is not None:
        present = str(item.fields.get(stage.corrects.field, ""))
        if ballot.correction.strip() == present.strip():
            raise NotAllowed("the new text is the old one", hint="change it, or answer otherwise")
    record = Recorder(state, now)
    record.add(
        "answered",
        who,
        item=item.id,
        stage=stage.id,
        round=place.round,
        slot=slot,
        text_version=item.text_version,
        guidelines_version=decision.guidelines_version or state.project.guidelines_version,
        request=decision.request,
        body={
            "answers": dict(ballot.answers),
            "verdict": ballot.verdict,
            "flagged": ballot.flagged,
            "comment": ballot.comment,
            **({} if ballot.correction is None else {"correction": ballot.correction}),
            **({} if decision.origin is None else {"origin": dict(decision.origin)}),
            **({"evidence": marked} if marked else {}),
            **({"group": sorted(voices(item))} if stage.kind == "discussion" else {}),
        },
    )
    item = state.items[item.id]
    if stage.kind == "audit":
        close_audit_if_complete(record, stage, str(item.batch))
    elif all(one.filled for one in item.slots):
        transition(record, item, stage)
    release_due(record, rng)
    return record.events


def located(stage: Stage, item: ReviewItem, marked: Sequence[str]) -> list[dict[str, Any]]:
    """Return where passages stand in an item: field, start, end (in characters) and text.

    Raises:
        InputError: One stands in none of the fields that the stage asks for evidence in.
    """
    found = []
    for passage in passages(marked):
        words = re.compile(r"\s+".join(re.escape(word) for word in passage.split()))
        for field in stage.evidence:
            hit = words.search(str(item.fields.get(field) or ""))
            if hit is not None:
                place = {"field": field, "start": hit.start(), "end": hit.end()}
                found.append({**place, "text": hit.group()})
                break
        else:
            raise InputError(
                f"the passage “{passage[:60]}” is not in the item",
                hint="mark words as they stand there",
            )
    return found


def undo(
    state: ReviewState,
    who: str,
    now: datetime,
    *,
    lease: timedelta = LEASE,
    request: str | None = None,
) -> list[Event]:
    """Take somebody's last decision back, and give them the item again.

    Raises:
        NotAllowed: There is none, or something has been built on it.
    """
    if request is not None and (before := state.requests.get(request)):
        if before.kind != "undone":
            raise NotAllowed("this form was sent before, as something else")
        return []
    vote = undoable(state, who)
    if vote is None and who not in state.last:
        raise NotAllowed("there is no decision of yours to undo")
    if vote is None:
        raise NotAllowed("others have gone on from your last decision", hint="tell the manager")
    name, seq = state.last[who]
    record = Recorder(state, now)
    body = {"answer": seq, "until": (now + lease).isoformat()}
    record.add(
        "undone",
        who,
        item=name,
        stage=vote.stage,
        round=vote.round,
        slot=vote.slot,
        request=request,
        body=body,
    )
    return record.events


def undoable(state: ReviewState, who: str) -> Vote | None:
    """Return the vote that somebody may take back: their last, if nobody has built on it."""
    if who not in state.last:
        return None
    name, seq = state.last[who]
    item = state.items[name]
    vote = next((v for v in item.votes if v.seq == seq), None)
    if vote is None or (item.batch is not None and state.batches[item.batch].result is not None):
        return None
    here = (item.stage, item.round) == (vote.stage, vote.round)
    latest = item.before is not None and item.votes[-1].seq == seq
    return vote if here or latest else None


def settle(
    state: ReviewState, now: datetime, rng: np.random.Generator, *, force: str | None = None
) -> list[Event]:
    """Release what has waited long enough: draw audits that are due, end disagreement sets.

    Args:
        force: A stage whose waiting items go on now, complete or not: the manager's choice.

    Raises:
        NotAllowed: Nothing waits at the stage named, or it is not one where items wait.
    """
    if force is not None:
        stage = next((s for s in state.project.flow if s.id == force), None)
        if stage is None or not stage.barrier:
            raise NotAllowed(f"'{force[:40]}' is no stage where items wait for each other")
        if not items_waiting(state, stage):
            raise NotAllowed(f"nothing waits at '{force}'")
    record = Recorder(state, now)
    release_due(record, rng, force)
    return record.events


def slot_to_fill(state: ReviewState, item: ReviewItem, who: str, now: datetime) -> int:
    """Return the place that a person's vote fills: the one they hold, or one that is free.

    Raises:
        NotAllowed: They were not shown the item, or it went to somebody else.
    """
    for place, slot in enumerate(item.slots):
        if slot.person == who and not slot.filled:
            return place
    person = state.people.get(who)
    if person is None or (str(item.stage), item.round, who) not in item.shown:
        raise NotAllowed("this item is not yours", hint="ask for the next one")
    for place, slot in enumerate(item.slots):
        free = slot.person is None or slot.lapsed(now)
        if not slot.filled and free and slot.role in person.roles:
            return place
    raise NotAllowed(
        "the time for this item ran out, and it went to somebody else", hint="go on with the next"
    )


def release_due(record: Recorder, rng: np.random.Generator, force: str | None = None) -> None:
    """Draw every audit that is due and release every disagreement set that is complete.

    Both are due when no item can come to them any more, or their window has run out; ``force``
    names one that is taken to be due.
    """
    state = record.state
    going = True
    while going:
        going = False
        for stage in state.project.flow:
            if not stage.barrier or not (stage.id == force or is_due(state, stage, record.now)):
                continue
            items = items_waiting(state, stage)
            going = going or bool(items)
            if stage.kind == "audit" and items:
                draw_audit(record, stage, items, rng)
            else:
                for item in items:
                    transition(record, item, stage)
        force = None


def is_due(state: ReviewState, stage: Stage, now: datetime) -> bool:
    """Return whether what waits at a stage goes on: nothing more can come, or time is up."""
    first = next((i for i in state.at[stage.id] if state.items[i].batch is None), None)
    if first is None:
        return False
    if not any(state.at[other] for other in state.project.upstream(stage.id)):
        return True
    window = stage.window_days
    return window is not None and now - state.items[first].arrived >= timedelta(days=window)


def items_waiting(state: ReviewState, stage: Stage) -> list[ReviewItem]:
    """Return the items that wait at a stage and are in no batch yet, in order of arrival."""
    items = (state.items[name] for name in state.at[stage.id])
    return [item for item in items if item.batch is None]


def draw_audit(
    record: Recorder, stage: Stage, items: Sequence[ReviewItem], rng: np.random.Generator
) -> None:
    """Make a batch of the items that wait at an audit, and draw its sample."""
    if stage.strata == "person":
        strata = {item.id: item.votes[-1].who if item.votes else "" for item in items}
    elif stage.strata:
        strata = {item.id: str(item.fields[stage.strata]) for item in items}
    else:
        strata = {item.id: "all" for item in items}
    drawn = draw_sample(stage, strata, rng)
    number = 1 + sum(batch.stage == stage.id for batch in record.state.batches.values())
    body = {
        "batch": f"{stage.id}-{number}",
        "members": list(strata),
        "drawn": drawn,
        "strata": strata,
    }
    record.add("drawn", stage=stage.id, round=number, body=body)


def close_audit_if_complete(record: Recorder, stage: Stage, name: str) -> None:
    """Decide an audit once its whole sample is judged: its batch goes on, or returns."""
    state = record.state
    batch = state.batches[name]
    verdicts = {i: v.ballot.verdict for i in batch.drawn for v in state.items[i].here()}
    if len(verdicts) < len(batch.drawn):
        return
    rows = audit_rows(stage, batch.strata, verdicts)
    short = shortfall(stage, rows)
    body = {
        "batch": name,
        "result": "returned" if short else "passed",
        "rows": [vars(row) for row in rows],
    }
    record.add("closed", stage=stage.id, body=body)
    for member in batch.members:
        item = state.items[member]
        if short:
            move(record, item, str(stage.returns_to), short, None, disputed=False)
        else:
            transition(record, item, stage)


def transition(record: Recorder, item: ReviewItem, stage: Stage) -> None:
    """Move an item on by the first rule that holds.

    An item is never final while a required question is open: it goes on to the stage that the
    last rule leads to, or is a hard case where that leads to none.
    """
    state = record.state
    votes = item.counted(stage)
    verdicts = [vote.ballot.verdict for vote in votes]
    flagged = any(vote.ballot.flagged for vote in item.here())
    rule = rule_for(stage, verdicts, flagged=flagged, carried=item.verdict)
    to, why, missing = rule.to, rule.why, open_questions(state.project, item)
    unsettled = to == "final" and bool(missing)
    if unsettled:
        # The last rule takes what nothing else settles.
        last = stage.rules[-1].to
        to = "hard case" if last in OUTCOMES else last
        why = f"no majority on {', '.join(missing)}"
    if stage.barrier:
        failed = stage.kind == "audit" and any(v not in stage.passes for v in verdicts)
        disputed = item.disputed or failed or unsettled
        move(record, item, to, why, item.verdict, disputed=disputed)
        return
    agreed = majority(verdicts) if rule.majority else None
    if len(set(verdicts)) == 1:
        agreed = verdicts[0]
    move(record, item, to, why, agreed, disputed=agreed is None or unsettled)


def agreed_answers(project: Project, item: ReviewItem) -> dict[str, str | None]:
    """Return by question what more than half of those who voted on an item last answered.

    An audit asks about others' answers: its votes are none of these. Who was not asked a question
    has not answered it, and counts against every answer to it.
    """
    judged = [v for v in item.votes if project.stage(v.stage).kind != "audit"]
    last = [v for v in judged if (v.stage, v.round) == (judged[-1].stage, judged[-1].round)]
    agreed = {}
    for question in project.questions:
        answers = [vote.ballot.answers.get(question.id, "") for vote in last]
        agreed[question.id] = majority(answers) or None
    return agreed


def open_questions(project: Project, item: ReviewItem) -> tuple[str, ...]:
    """Return the required questions on which the last votes have not come to an answer, in order.

    Those count that are asked given the other agreed answers. A question of free text has as many
    answers as people, and is never open.
    """
    judged = [v for v in item.votes if project.stage(v.stage).kind != "audit"]
    if not judged:
        return ()
    agreed = agreed_answers(project, item)
    given = {name: answer for name, answer in agreed.items() if answer is not None}
    asked = asked_questions(project, project.stage(judged[-1].stage), given)
    questions = (project.question(name) for name in asked)
    return tuple(q.id for q in questions if q.required and q.options and agreed[q.id] is None)


def move(
    record: Recorder, item: ReviewItem, to: str, why: str, verdict: str | None, *, disputed: bool
) -> None:
    """Move an item to another stage, or to its outcome.

    Args:
        verdict: What the voters agreed on, if they did.
    """
    body = {"to": to, "why": why, "verdict": verdict, "disputed": disputed}
    record.add("moved", item=item.id, stage=item.stage, round=item.round, body=body)


@dataclass(frozen=True)
class AuditRow:
    """A line of table 2: a stratum's sample and how much of it passed.

    Attributes:
        stratum: The stratum; ``overall`` for all.
    """

    stratum: str
    size: int
    sample: int
    passed: int

    @property
    def rate(self) -> float:
        """The share of the sample that passed, from 0 to 1; NaN without a sample."""
        return self.passed / self.sample if self.sample else float("nan")


def draw_sample(
    stage: Stage, strata: Mapping[str, str], rng: np.random.Generator
) -> dict[str, float]:
    """Return an audit's sample: the drawn items, each with the probability of being drawn.

    The probability is recorded, so that figures of the sample speak for the batch.

    Of every stratum its rate's share is drawn, rounded as the stage says (down in RFC-BENCH's table
    2), and at least one item.

    Args:
        strata: By item, its stratum; in order.
    """
    members: dict[str, list[str]] = {}
    for item, stratum in strata.items():
        members.setdefault(stratum, []).append(item)
    drawn: set[str] = set()
    probability: dict[str, float] = {}
    for stratum in sorted(members):
        own = members[stratum]
        # 0.15 of 20 is 3 items, and 0.29 of 100 is 29: not the float's 28.999...
        share = round(stage.rates.get(stratum, stage.rate) * len(own), 9)
        size = max(1, math.ceil(share) if stage.rounding == "up" else math.floor(share))
        chosen = rng.choice(len(own), size=size, replace=False)
        drawn |= {own[int(index)] for index in chosen}
        probability |= dict.fromkeys(own, size / len(own))
    return {item: probability[item] for item in strata if item in drawn}


def audit_rows(
    stage: Stage, strata: Mapping[str, str], verdicts: Mapping[str, str]
) -> list[AuditRow]:
    """Return a row for each stratum, in order of names, and one over all."""
    names = sorted(set(strata.values()))
    rows = []
    for name in (*names, "overall"):
        own = [item for item, stratum in strata.items() if name in (stratum, "overall")]
        seen = [verdicts[item] for item in own if item in verdicts]
        passed = sum(verdict in stage.passes for verdict in seen)
        rows.append(AuditRow(name, len(own), len(seen), passed))
    return rows


def shortfall(stage: Stage, rows: Sequence[AuditRow]) -> str | None:
    """Return why the batch has to return, in a sentence; none where the audit lets it through."""
    short = [
        row
        for row in rows
        if (row.stratum == "overall") == (stage.floor_of == "batch") and row.rate < stage.floor
    ]
    if not short:
        return None
    rates = ", ".join(f"{row.stratum} {row.passed} of {row.sample}" for row in short)
    return f"the audit's pass rate is under {stage.floor:.0%}: {rates}"


def set_stage_open(
    state: ReviewState, stage: str, open_: bool, who: str, now: datetime
) -> list[Event]:
    """Open or close a stage; nothing happens where it is so already.

    While a stage is closed nobody is given an item there. Whoever has one in hand may still answer.

    Raises:
        NotAllowed: It is no stage in which people work on items.
    """
    place = next((s for s in state.project.flow if s.id == stage), None)
    if place is None or not place.roles:
        raise NotAllowed(f"'{stage[:40]}' is no stage in which people work on items")
    record = Recorder(state, now)
    if (stage in state.closed) == open_:
        record.add("stage", who, stage=stage, body={"open": open_})
    return record.events


def reissue(
    state: ReviewState,
    who: str,
    now: datetime,
    *,
    item: str | None = None,
    person: str | None = None,
) -> list[Event]:
    """Take items back from who has them in hand, so that others are given them at once.

    They may still answer while the place is free, as after a lease that ran out.

    Args:
        item: The item; every one that ``person`` has, if none is named.
        person: From whom; from everybody if none is named.

    Raises:
        NotAllowed: There is no such item, or neither item nor person is named.
    """
    if item is None and person is None:
        raise NotAllowed("say which item is taken back, or from whom")
    if item is not None and item not in state.items:
        raise NotAllowed(f"there is no item '{item[:40]}'")
    record = Recorder(state, now)
    for name in list(state.items) if item is None else [item]:
        found = state.items[name]
        for place, slot in enumerate(found.slots):
            if slot.filled or slot.person is None or person not in (None, slot.person):
                continue
            record.add(
                "reissued",
                who,
                item=name,
                stage=found.stage,
                round=found.round,
                slot=place,
                body={"from": slot.person},
            )
    return record.events
