"""The workflow: decisions, the moves of items that follow from them, audits, and stage control.

RFC-BENCH, sections 2.2.3 and 2.2.4, table 2; FIN-FORCE, section 3.3; CoBe, appendix C.3.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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
"""How long an item stays assigned to a person who does not answer."""


def answer(change: Change, who: str, place: Assignment, decision: Decision) -> None:
    """Record a person's decision on an item, and move the item if a rule says so.

    The same decision sent again changes nothing. A decision that comes after the assignment's end
    is accepted if a slot is still free for the person.

    Raises:
        NotAllowed: The person was not shown the item or has decided otherwise, or the item has
            moved on.
        InputError: An answer is missing or invalid.
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
    present = state.present_text(place)
    ballot = ballot_of(state.project, stage, decision, present)
    for vote in item.votes:
        if (vote.who, vote.stage, vote.round) == (who, stage.id, place.round):
            if vote.ballot == ballot:
                return
            raise NotAllowed(
                "you have already decided on this item", hint="undo that decision first"
            )
    if (item.stage, item.round) != (stage.id, place.round):
        raise NotAllowed(
            "the item has moved on without this decision", hint="go on to the next item"
        )
    slot = _slot_to_fill(state, item, who, change.now)
    if ballot.correction is not None and ballot.correction.strip() == present:
        raise InputError(
            "the new text equals the old one", hint="change it, or choose another answer"
        )
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
            **({"group": sorted(voices(item))} if stage.kind == "discussion" else {}),
        },
    )
    item = state.items[item.id]
    if stage.kind == "audit":
        close_audit_if_complete(change, stage, str(item.batch))
    elif all(filled.filled for filled in item.slots):
        transition(change, item, stage)
    release_due(change)


def undo(change: Change, who: str, *, request: str | None = None) -> None:
    """Undo a person's last decision and give them the item again.

    Raises:
        NotAllowed: There is no decision to undo, or others have acted on it.
    """
    state = change.state
    if request is not None and (before := state.requests.get(request)):
        if before.kind != "undone":
            raise NotAllowed("this form was sent before for another action", hint="reload the page")
        return
    vote = undoable(state, who)
    if vote is None and who not in state.last:
        raise NotAllowed("you have no decision to undo")
    if vote is None:
        raise NotAllowed(
            "others have already acted on your last decision", hint="ask a manager to retract it"
        )
    name, seq = state.last[who]
    body = {"answer": seq, "until": (change.now + LEASE).isoformat()}
    where = {"item": name, "stage": vote.stage, "round": vote.round, "slot": vote.slot}
    change.add("undone", who, request=request, body=body, **where)


def undoable(state: ReviewState, who: str) -> Vote | None:
    """Return the vote that a person may undo: their last one, if nobody has acted on it."""
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
    """Draw the audits and release the disagreement sets that are due.

    The stage ``force``, which a manager names, is released even if it is not due.

    Raises:
        NotAllowed: No items wait at that stage, or it is not one where items wait.
    """
    state = change.state
    if force is not None:
        stage = next((s for s in state.project.flow if s.id == force), None)
        if stage is None or not stage.barrier:
            raise NotAllowed(f"'{force[:40]}' is not a stage where items wait for each other")
        if not _items_waiting(state, stage):
            raise NotAllowed(f"no items wait at '{force}'")
    release_due(change, force)


def _slot_to_fill(state: ReviewState, item: ReviewItem, who: str, now: datetime) -> int:
    """Return the index of the slot that a person's vote fills: their own, or a free one."""
    person = state.people.get(who)
    for place, slot in enumerate(item.slots):
        if slot.person == who and not slot.filled:
            if person is None or slot.role not in person.roles:
                raise NotAllowed("you no longer have a role in this stage", hint="ask a manager")
            return place
    if person is None or (str(item.stage), item.round, who) not in item.shown:
        raise NotAllowed("this item is not assigned to you", hint="go on to the next item")
    for place, slot in enumerate(item.slots):
        free = slot.person is None or slot.lapsed(now)
        if not slot.filled and free and slot.role in person.roles:
            return place
    raise NotAllowed(
        "the time for this item ran out and it went to somebody else", hint="go on to the next item"
    )


def release_due(change: Change, force: str | None = None) -> None:
    """Draw every audit and release every disagreement set that is due.

    A stage is due if no further item can reach it, its window has run out, or ``force`` names it.
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
    """Return whether the items at a stage are due: no more can come, or the window has run out."""
    first = next((i for i in state.at[stage.id] if state.items[i].batch is None), None)
    if first is None:
        return False
    if not any(state.at[other] for other in state.project.upstream(stage.id)):
        return True
    window = stage.window_days
    return window is not None and now - state.items[first].arrived >= timedelta(days=window)


def _items_waiting(state: ReviewState, stage: Stage) -> list[ReviewItem]:
    items = (state.items[name] for name in state.at[stage.id])
    return [item for item in items if item.batch is None]


def draw_audit(change: Change, stage: Stage, items: Sequence[ReviewItem]) -> None:
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
    """Close an audit once its whole sample is judged: the batch passes or returns."""
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
    """Move an item by the first rule that holds.

    An item never becomes final while a required question is open: it goes to the stage of the last
    rule, or becomes a hard case if that rule leads to an outcome.
    """
    state = change.state
    votes = item.counted(stage)
    verdicts = [vote.ballot.verdict for vote in votes]
    flagged = any(vote.ballot.flagged for vote in item.here())
    rule = rule_for(stage.rules, verdicts, flagged=flagged, carried=item.verdict)
    to, why, missing = rule.to, rule.why, _open_questions(state.project, item)
    unsettled = to == "final" and bool(missing)
    if unsettled:
        # The last rule is for items that nothing else settles.
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
    """Return for each question the answer of more than half of an item's voters, or None.

    Only the latest round counts. An audit's votes are ignored, as they are about others' answers. A
    voter who was not asked a question still counts in the total.
    """
    judged = [v for v in item.votes if project.stage(v.stage).kind != "audit"]
    last = [v for v in judged if (v.stage, v.round) == (judged[-1].stage, judged[-1].round)]
    agreed = {}
    for question in project.questions:
        answers = [vote.ballot.answers.get(question.id, "") for vote in last]
        agreed[question.id] = majority(answers) or None
    return agreed


def _open_questions(project: Project, item: ReviewItem) -> tuple[str, ...]:
    """Return the required questions without an agreed answer among the last votes, in order.

    Questions that the agreed answers rule out are ignored, and so are questions with free text, on
    which people never agree.
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
    body = {"to": to, "why": why, "verdict": verdict, "disputed": disputed}
    change.add("moved", item=item.id, stage=item.stage, round=item.round, body=body)


@dataclass(frozen=True)
class AuditRow:
    """A row of table 2: the sizes of a stratum (or ``overall``) and its sample, and the passes."""

    stratum: str
    size: int
    sample: int
    passed: int

    @property
    def rate(self) -> float:
        """The share of the sample that passed, 0 to 1; NaN without a sample."""
        return self.passed / self.sample if self.sample else float("nan")


def draw_sample(
    stage: Stage, strata: Mapping[str, str], rng: np.random.Generator
) -> dict[str, float]:
    """Return an audit's sample: the drawn items, each with its inclusion probability.

    From every stratum, the stage's share is drawn, rounded as the stage says (down in RFC-BENCH's
    table 2), but at least one item. ``strata`` has the stratum of each item.
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
    names = sorted(set(strata.values()))
    rows = []
    for name in (*names, "overall"):
        group = [item for item, stratum in strata.items() if name in (stratum, "overall")]
        seen = [verdicts[item] for item in group if item in verdicts]
        passed = sum(verdict in stage.passes for verdict in seen)
        rows.append(AuditRow(name, len(group), len(seen), passed))
    return rows


def shortfall(stage: Stage, rows: Sequence[AuditRow]) -> str | None:
    """Return why a batch has to return, as a sentence; None if it passes the audit."""
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
    """Open or close a stage.

    While a stage is closed, no items are assigned there; items already assigned can be answered.

    Raises:
        NotAllowed: People do not work on items at the stage.
    """
    state = change.state
    place = next((s for s in state.project.flow if s.id == stage), None)
    if place is None or not place.roles:
        raise NotAllowed(f"'{stage[:40]}' is not a stage where people work on items")
    if (stage in state.closed) == open_:
        change.add("stage", who, stage=stage, body={"open": open_})
