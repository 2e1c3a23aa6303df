"""The workflow: decisions, the transitions that follow from them, audits, and a manager's control.

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
from contrafact.family.review import rule_for
from contrafact.review.answers import Assignment, Decision, asked_questions, ballot_of
from contrafact.review.discussion import voices
from contrafact.review.events import NotAllowed
from contrafact.review.project import OUTCOMES, Project, Stage
from contrafact.review.state import Change, ReviewItem, ReviewState, Vote
from contrafact.stats.votes import majority

LEASE = timedelta(minutes=30)
"""How long an item stays with somebody who does not answer."""


def answer(change: Change, who: str, place: Assignment, decision: Decision) -> None:
    """Take somebody's decision on an item, and make the transitions that follow from it.

    The same decision sent again changes nothing. One that comes after its lease ran out is taken
    where a place that the person may take is still free.

    Raises:
        NotAllowed: They were not shown the item, have decided otherwise, or the item has gone on.
        InputError: The answers are not whole.
    """
    state = change.state
    if state.is_repeated(place, decision):
        return
    item = state.items.get(place.item)
    if item is None:
        raise NotAllowed(f"there is no item '{place.item[:40]}'")
    stage = next((s for s in state.project.flow if s.id == place.stage), None)
    if stage is None:
        raise NotAllowed(f"there is no stage '{place.stage[:40]}'")
    marked = _located(stage, item, decision.evidence)
    present = state.present_text(place)
    ballot = ballot_of(state.project, stage, decision, present)
    for vote in item.votes:
        if (vote.who, vote.stage, vote.round) == (who, stage.id, place.round):
            if vote.ballot == ballot and list(vote.evidence) == marked:
                return
            raise NotAllowed("you have decided on this item already", hint="undo it first")
    if (item.stage, item.round) != (stage.id, place.round):
        raise NotAllowed("the item has gone on without this decision", hint="go on with the next")
    slot = _slot_to_fill(state, item, who, change.now)
    if ballot.correction is not None and ballot.correction.strip() == present:
        raise InputError("the new text is the old one", hint="change it, or answer otherwise")
    change.add(
        *("answered", who),
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
            **({"evidence": marked} if marked else {}),
            **({"group": sorted(voices(item))} if stage.kind == "discussion" else {}),
        },
    )
    item = state.items[item.id]
    if stage.kind == "audit":
        close_audit_if_complete(change, stage, str(item.batch))
    elif all(one.filled for one in item.slots):
        transition(change, item, stage)
    release_due(change)


def _located(stage: Stage, item: ReviewItem, marked: Sequence[str]) -> list[dict[str, Any]]:
    """Return where passages stand in an item: field, start, end (in characters) and text."""
    found = []
    for words in dict.fromkeys(tuple(passage.split()) for passage in marked if passage.strip()):
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        hits = ((name, pattern.search(str(item.fields.get(name) or ""))) for name in stage.evidence)
        field, hit = next((one for one in hits if one[1]), ("", None))
        if hit is None:
            raise InputError(
                f"the passage “{' '.join(words)[:60]}” is not in the item",
                hint="mark words as they stand there",
            )
        found.append({"field": field, "start": hit.start(), "end": hit.end(), "text": hit.group()})
    return found


def undo(change: Change, who: str, *, request: str | None = None) -> None:
    """Take somebody's last decision back and return the item; `NotAllowed` if none, or built on."""
    state = change.state
    if request is not None and (before := state.requests.get(request)):
        if before.kind != "undone":
            raise NotAllowed("this form was sent before, as something else")
        return
    vote = undoable(state, who)
    if vote is None and who not in state.last:
        raise NotAllowed("there is no decision of yours to undo")
    if vote is None:
        raise NotAllowed("others have gone on from your last decision", hint="tell the manager")
    name, seq = state.last[who]
    body = {"answer": seq, "until": (change.now + LEASE).isoformat()}
    where = {"item": name, "stage": vote.stage, "round": vote.round, "slot": vote.slot}
    change.add("undone", who, request=request, body=body, **where)


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


def settle(change: Change, *, force: str | None = None) -> None:
    """Release what has waited long enough: draw audits that are due, end disagreement sets.

    At the stage that a manager names by ``force`` items go on now, complete or not.

    Raises:
        NotAllowed: Nothing waits at the stage named, or it is not one where items wait.
    """
    state = change.state
    if force is not None:
        stage = next((s for s in state.project.flow if s.id == force), None)
        if stage is None or not stage.barrier:
            raise NotAllowed(f"'{force[:40]}' is no stage where items wait for each other")
        if not _items_waiting(state, stage):
            raise NotAllowed(f"nothing waits at '{force}'")
    release_due(change, force)


def _slot_to_fill(state: ReviewState, item: ReviewItem, who: str, now: datetime) -> int:
    """Return the place that a person's vote fills: their own, or one that is free."""
    person = state.people.get(who)
    for place, slot in enumerate(item.slots):
        if slot.person == who and not slot.filled:
            if person is None or slot.role not in person.roles:
                raise NotAllowed("this stage is not yours any more", hint="ask who gives the roles")
            return place
    if person is None or (str(item.stage), item.round, who) not in item.shown:
        raise NotAllowed("this item is not yours", hint="ask for the next one")
    for place, slot in enumerate(item.slots):
        free = slot.person is None or slot.lapsed(now)
        if not slot.filled and free and slot.role in person.roles:
            return place
    raise NotAllowed(
        "the time for this item ran out, and it went to somebody else", hint="go on with the next"
    )


def release_due(change: Change, force: str | None = None) -> None:
    """Draw every audit that is due and release every disagreement set that is complete.

    Both are due when no item can come to them any more, or their window has run out; ``force``
    names one that is taken to be due.
    """
    state = change.state
    going = True
    while going:
        going = False
        for stage in state.project.flow:
            if not stage.barrier or not (stage.id == force or _is_due(state, stage, change.now)):
                continue
            items = _items_waiting(state, stage)
            going = going or bool(items)
            if stage.kind == "audit" and items:
                draw_audit(change, stage, items)
            else:
                for item in items:
                    transition(change, item, stage)
        force = None


def _is_due(state: ReviewState, stage: Stage, now: datetime) -> bool:
    """Return whether what waits at a stage goes on: nothing more can come, or time is up."""
    first = next((i for i in state.at[stage.id] if state.items[i].batch is None), None)
    if first is None:
        return False
    if not any(state.at[other] for other in state.project.upstream(stage.id)):
        return True
    window = stage.window_days
    return window is not None and now - state.items[first].arrived >= timedelta(days=window)


def _items_waiting(state: ReviewState, stage: Stage) -> list[ReviewItem]:
    """Return the items that wait at a stage and are in no batch yet, in order of arrival."""
    items = (state.items[name] for name in state.at[stage.id])
    return [item for item in items if item.batch is None]


def draw_audit(change: Change, stage: Stage, items: Sequence[ReviewItem]) -> None:
    """Make a batch of the items that wait at an audit, and draw its sample."""
    if stage.strata == "person":
        strata = {item.id: item.votes[-1].who if item.votes else "" for item in items}
    elif stage.strata:
        strata = {item.id: str(item.fields[stage.strata]) for item in items}
    else:
        strata = {item.id: "all" for item in items}
    drawn = draw_sample(stage, strata, change.rng)
    number = 1 + sum(batch.stage == stage.id for batch in change.state.batches.values())
    body = {
        "batch": f"{stage.id}-{number}",
        "members": list(strata),
        "drawn": drawn,
        "strata": strata,
    }
    change.add("drawn", stage=stage.id, round=number, body=body)


def close_audit_if_complete(change: Change, stage: Stage, name: str) -> None:
    """Decide an audit once its whole sample is judged: its batch goes on, or returns."""
    state = change.state
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
    change.add("closed", stage=stage.id, body=body)
    for member in batch.members:
        item = state.items[member]
        if short:
            _move(change, item, str(stage.returns_to), short, None, disputed=False)
        else:
            transition(change, item, stage)


def transition(change: Change, item: ReviewItem, stage: Stage) -> None:
    """Move an item on by the first rule that holds.

    An item is never final while a required question is open: it goes on to the stage that the
    last rule leads to, or is a hard case where that leads to none.
    """
    state = change.state
    votes = item.counted(stage)
    verdicts = [vote.ballot.verdict for vote in votes]
    flagged = any(vote.ballot.flagged for vote in item.here())
    rule = rule_for(stage.rules, verdicts, flagged=flagged, carried=item.verdict)
    to, why, missing = rule.to, rule.why, _open_questions(state.project, item)
    unsettled = to == "final" and bool(missing)
    if unsettled:
        # The last rule takes what nothing else settles.
        last = stage.rules[-1].to
        to = "hard case" if last in OUTCOMES else last
        why = f"no majority on {', '.join(missing)}"
    if stage.barrier:
        failed = stage.kind == "audit" and any(v not in stage.passes for v in verdicts)
        disputed = item.disputed or failed or unsettled
        _move(change, item, to, why, item.verdict, disputed=disputed)
        return
    agreed = majority(verdicts) if rule.majority else None
    if len(set(verdicts)) == 1:
        agreed = verdicts[0]
    _move(change, item, to, why, agreed, disputed=agreed is None or unsettled)


def agreed_answers(project: Project, item: ReviewItem) -> dict[str, str | None]:
    """Return, for each question, the answer of more than half of an item's voters; else None.

    The latest answers count. Votes of an audit are ignored, as an audit asks about the answers of
    others. A voter who was not asked a question still counts in the total.
    """
    judged = [v for v in item.votes if project.stage(v.stage).kind != "audit"]
    last = [v for v in judged if (v.stage, v.round) == (judged[-1].stage, judged[-1].round)]
    agreed = {}
    for question in project.questions:
        answers = [vote.ballot.answers.get(question.id, "") for vote in last]
        agreed[question.id] = majority(answers) or None
    return agreed


def _open_questions(project: Project, item: ReviewItem) -> tuple[str, ...]:
    """Return the required questions on which the last votes have not come to an answer, in order.

    Those count that are asked given the other agreed answers. A question of free text has as many
    answers as people, and is never open.
    """
    judged = [v for v in item.votes if project.stage(v.stage).kind != "audit"]
    if not judged:
        return ()
    agreed = agreed_answers(project, item)
    answered = {name: answer for name, answer in agreed.items() if answer is not None}
    asked = asked_questions(project, project.stage(judged[-1].stage), answered)
    questions = (project.question(name) for name in asked)
    return tuple(q.id for q in questions if q.required and q.options and agreed[q.id] is None)


def _move(
    change: Change, item: ReviewItem, to: str, why: str, verdict: str | None, *, disputed: bool
) -> None:
    """Move an item to another stage or its outcome, with the verdict that voters agreed on."""
    body = {"to": to, "why": why, "verdict": verdict, "disputed": disputed}
    change.add("moved", item=item.id, stage=item.stage, round=item.round, body=body)


@dataclass(frozen=True)
class AuditRow:
    """A line of table 2: a stratum's (or ``overall``) sample and how much of it passed."""

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

    Of every stratum its rate's share is drawn, rounded as the stage says (down in RFC-BENCH's table
    2), and at least one item. ``strata`` has the stratum of each item.
    """
    members: dict[str, list[str]] = {}
    for item, stratum in strata.items():
        members.setdefault(stratum, []).append(item)
    drawn: set[str] = set()
    probability: dict[str, float] = {}
    for stratum in sorted(members):
        group = members[stratum]
        # 0.15 of 20 is 3 items, and 0.29 of 100 is 29: not the float's 28.999...
        share = round(stage.rates.get(stratum, stage.rate) * len(group), 9)
        size = max(1, math.ceil(share) if stage.rounding == "up" else math.floor(share))
        chosen = rng.choice(len(group), size=size, replace=False)
        drawn |= {group[int(index)] for index in chosen}
        probability |= dict.fromkeys(group, size / len(group))
    return {item: probability[item] for item in strata if item in drawn}


def audit_rows(
    stage: Stage, strata: Mapping[str, str], verdicts: Mapping[str, str]
) -> list[AuditRow]:
    """Return a row for each stratum, in order of names, and one over all."""
    names = sorted(set(strata.values()))
    rows = []
    for name in (*names, "overall"):
        group = [item for item, stratum in strata.items() if name in (stratum, "overall")]
        seen = [verdicts[item] for item in group if item in verdicts]
        passed = sum(verdict in stage.passes for verdict in seen)
        rows.append(AuditRow(name, len(group), len(seen), passed))
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


def set_stage_open(change: Change, who: str, stage: str, open_: bool) -> None:
    """Open or close a stage; nothing happens where it is so already.

    While a stage is closed nobody is given an item there. Whoever has one in hand may still answer.

    Raises:
        NotAllowed: It is no stage in which people work on items.
    """
    state = change.state
    place = next((s for s in state.project.flow if s.id == stage), None)
    if place is None or not place.roles:
        raise NotAllowed(f"'{stage[:40]}' is no stage in which people work on items")
    if (stage in state.closed) == open_:
        change.add("stage", who, stage=stage, body={"open": open_})
