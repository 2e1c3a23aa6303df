"""A manager's corrections: an item is reopened or withdrawn, with a reason, as an event. Pure.

Nothing is deleted: what is set aside stays in the history, and no longer counts.
"""

from datetime import datetime

import numpy as np

from contrafact.review.project import Project
from contrafact.review.state import Event, NotAllowed, Recorder, ReviewItem, ReviewState
from contrafact.review.workflow import release_due

__all__ = ["reopen", "set_aside_by", "withdraw"]


def reopen(
    state: ReviewState,
    who: str,
    item: str,
    reason: str,
    now: datetime,
    rng: np.random.Generator,
    *,
    stage: str | None = None,
) -> list[Event]:
    """Send an item back to a stage that it has been at, wherever it is now.

    Decisions made there and in the stages after it are set aside, and texts written there are taken
    back. What an audit found stays: it speaks of the text that it saw.

    Args:
        state: The review.
        who: Who says so.
        item: The item.
        reason: Why.
        now: The time.
        rng: Draws the samples of audits that are due.
        stage: The stage; the first if none is named.

    Raises:
        NotAllowed: There is no such item, no reason is given, the item was never at the stage or
            nobody decides there alone, or an audit is under way that speaks for it.
    """
    known = _correctable(state, item, reason)
    name = stage or state.project.start.id
    place = next((one for one in state.project.flow if one.id == name), None)
    if place is None or place.barrier or name not in known.rounds:
        able = [s.id for s in state.project.flow if s.id in known.rounds and not s.barrier]
        raise NotAllowed(
            f"'{name[:40]}' is no stage that people judged the item at",
            hint=f"use {', '.join(able)}" if able else None,
        )
    record = Recorder(state, now)
    body = {
        "to": name,
        "why": f"reopened: {reason.strip()}",
        "set_aside": [vote.seq for vote in known.votes if vote.stage in _from(state.project, name)],
    }
    record.add("reopened", who, item=item, stage=known.stage, round=known.round, body=body)
    release_due(record, rng)
    return record.events


def withdraw(
    state: ReviewState,
    who: str,
    item: str,
    reason: str,
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Take an item out of the review: its outcome is ``removed``, and its decisions do not count.

    It can be reopened.

    Args:
        state: The review.
        who: Who says so.
        item: The item.
        reason: Why.
        now: The time.
        rng: Draws the samples of audits that are due.

    Raises:
        NotAllowed: There is no such item, no reason is given, it is withdrawn already, or an audit
            is under way that speaks for it.
    """
    known = _correctable(state, item, reason)
    if known.withdrawn:
        raise NotAllowed(f"'{item[:40]}' is withdrawn already")
    record = Recorder(state, now)
    body = {"why": f"withdrawn: {reason.strip()}"}
    record.add("withdrawn", who, item=item, stage=known.stage, round=known.round, body=body)
    release_due(record, rng)
    return record.events


def set_aside_by(event: Event) -> tuple[int, ...]:
    """Return the numbers of the decisions that an event takes back or sets aside."""
    if event.kind == "undone":
        return (int(event.body["answer"]),)
    return tuple(event.body["set_aside"]) if event.kind == "reopened" else ()


def _correctable(state: ReviewState, item: str, reason: str) -> ReviewItem:
    if item not in state.items:
        raise NotAllowed(f"there is no item '{item[:40]}'", hint="see `review export --what items`")
    if not reason.strip():
        raise NotAllowed("a correction needs a reason", hint="say why in a few words")
    known = state.items[item]
    if known.batch is not None and state.batches[known.batch].result is None:
        raise NotAllowed(
            f"an audit that speaks for '{item[:40]}' is under way",
            hint="wait until its sample is judged",
        )
    return known


def _from(project: Project, name: str) -> frozenset[str]:
    """Return a stage and those that items can come to from it, without audits."""
    found = {name}
    for _ in project.flow:
        found |= {to for s in project.flow if s.id in found for to in s.targets()}
    return frozenset(s.id for s in project.flow if s.id in found and s.kind != "audit")
