"""A manager's corrections, each with a reason, as one kind of event. Pure.

An item is reopened, withdrawn, edited or added, and one decision is taken back. Nothing is deleted:
what is set aside stays in the history, and no longer counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from contrafact.review.assignment import may_take
from contrafact.review.events import Event, NotAllowed
from contrafact.review.project import Project
from contrafact.review.setup import import_items, needed_fields
from contrafact.review.state import Recorder, ReviewItem, ReviewState
from contrafact.review.workflow import release_due

__all__ = [
    "Correction", "add_item", "edit", "editable_fields", "reopen", "reserve", "retract",
    "set_aside_by", "withdraw",
]  # fmt: skip


@dataclass(frozen=True)
class Correction:
    """What a correction is about: who corrects which item, and why."""

    who: str
    item: str
    reason: str


def reopen(
    state: ReviewState,
    about: Correction,
    now: datetime,
    rng: np.random.Generator,
    *,
    stage: str | None = None,
) -> list[Event]:
    """Send an item back to a stage that it has been at, wherever it is now.

    Decisions made there and in the stages after it are set aside, and texts written there are taken
    back. What an audit found stays: it speaks of the text that it saw.

    Args:
        stage: The stage; the first if none is named.

    Raises:
        NotAllowed: There is no such item, no reason is given, the item was never at the stage or
            nobody decides there alone, or an audit is under way that speaks for it.
    """
    item = _correctable(state, about)
    name = stage or state.project.start.id
    place = next((one for one in state.project.flow if one.id == name), None)
    if place is None or place.barrier or name not in item.rounds:
        able = [s.id for s in state.project.flow if s.id in item.rounds and not s.barrier]
        raise NotAllowed(
            f"'{name[:40]}' is no stage that people judged the item at",
            hint=f"use {', '.join(able)}" if able else None,
        )
    body = {"to": name, "why": _why("reopened", about), "set_aside": _later(state, item, name)}
    return _corrected(state, about, body, now, rng)


def withdraw(
    state: ReviewState, about: Correction, now: datetime, rng: np.random.Generator
) -> list[Event]:
    """Take an item out of the review: its outcome is ``removed``, and its decisions do not count.

    It can be reopened.

    Raises:
        NotAllowed: There is no such item, no reason is given, it is withdrawn already, or an audit
            is under way that speaks for it.
    """
    if _correctable(state, about).withdrawn:
        raise NotAllowed(f"'{about.item[:40]}' is withdrawn already")
    return _corrected(state, about, {"why": _why("withdrawn", about)}, now, rng)


def edit(
    state: ReviewState,
    about: Correction,
    fields: Mapping[str, str],
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Change what an item shows; it begins anew, since decisions on another text say nothing of it.

    Decisions so far are set aside, but for those of an audit. Nothing happens where no field
    changes.

    Args:
        fields: The fields, as they are to be. Those left out stay as they are.

    Raises:
        NotAllowed: There is no such item or field, a field that is needed would be empty, no reason
            is given, or an audit is under way that speaks for the item.
    """
    item = _correctable(state, about)
    _check_fields(state, fields)
    needed = needed_fields(state.project)
    new = {
        name: text
        for name, text in fields.items()
        if text.strip() != str(item.fields.get(name) or "").replace("\r\n", "\n").strip()
    }
    empty = [name for name, text in new.items() if name in needed and not text.strip()]
    if empty:
        raise NotAllowed(f"'{empty[0]}' would be empty", hint="write it, or withdraw the item")
    if not new:
        return []
    start = state.project.start.id
    body = {
        "fields": new,
        "to": start,
        "why": _why("edited", about),
        "set_aside": _later(state, item, start),
    }
    return _corrected(state, about, body, now, rng)


def retract(
    state: ReviewState,
    about: Correction,
    decision: int,
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Take one decision back; the item waits for another where it was made.

    Others' decisions of the same round stand, those that were made after the item went on from
    there are set aside. Its place is free again, for whoever made it too.

    Args:
        decision: The number of the event in which it was made.

    Raises:
        NotAllowed: There is no such item or decision, no reason is given, an audit is under way
            that speaks for the item or has ended with the decision, or the item has been at the
            stage again since.
    """
    item = _known(state, about)
    vote = next((one for one in item.votes if one.seq == decision), None)
    if vote is None:
        raise NotAllowed(f"no decision {decision} on '{about.item[:40]}' stands")
    audit = state.project.stage(vote.stage).kind == "audit"
    if audit and (vote.batch is None or state.batches[vote.batch].result is not None):
        raise NotAllowed(
            "the audit has ended with this decision, and its figures stand",
            hint="send the item back to an earlier stage",
        )
    if not audit:
        _correctable(state, about)
    if item.rounds[vote.stage] != vote.round:
        raise NotAllowed(
            "the item has been at this stage again since", hint="send it back to the stage instead"
        )
    place = (vote.stage, vote.round)
    # Audits speak of the text that they saw, and stand.
    built = [
        one.seq
        for one in item.votes
        if one.seq > vote.seq
        and (one.stage, one.round) != place
        and state.project.stage(one.stage).kind != "audit"
    ]
    body = {
        "answer": vote.seq,
        "by": vote.who,
        "why": _why(f"a decision of {vote.who} was taken back", about),
        "set_aside": [vote.seq, *built],
    }
    return _corrected(
        state, about, body, now, rng, stage=vote.stage, round=vote.round, slot=vote.slot
    )


def add_item(
    state: ReviewState, about: Correction, fields: Mapping[str, str], now: datetime
) -> list[Event]:
    """Add one item to a review; the same item again changes nothing.

    Args:
        fields: What it shows, and what the project needs besides.

    Raises:
        NotAllowed: As `contrafact.review.setup.import_items`; or no reason is given.
    """
    if not about.reason.strip():
        raise NotAllowed("an item that is added needs a reason", hint="say why in a few words")
    _check_fields(state, fields)
    # The id is a field too, so that exported items name themselves for the commands after.
    written = {"id": about.item} | {name: text for name, text in fields.items() if text.strip()}
    return import_items(state, {about.item: written}, about.who, now, why=_why("added", about))


def reserve(
    state: ReviewState, who: str, item: str, person: str | None, now: datetime
) -> list[Event]:
    """Set an item aside for somebody, or for nobody again, at the stage where it is.

    It comes to them before all others of the stage, and to others when they have nothing else, so
    that no item waits for somebody who is away. Nothing happens where it is so already.

    Args:
        person: Whom it is for; None for nobody.

    Raises:
        NotAllowed: There is no such item, its way has ended, or the person may take none of its
            places.
    """
    known = state.items.get(item)
    if known is None:
        raise NotAllowed(f"there is no item '{item[:40]}'", hint="see `review export --what items`")
    if state.reserved.get(item) == person:
        return []
    if person is not None:
        worker = state.people.get(person)
        if worker is None or not worker.active:
            raise NotAllowed(f"nobody named '{person[:40]}' works in this review")
        if known.stage is None or not known.slots:
            raise NotAllowed(f"nobody decides on '{item[:40]}' now")
        if not any(may_take(state, worker, known, n, now) for n in range(len(known.slots))):
            raise NotAllowed(
                f"{person} may not decide on '{item[:40]}' at this stage",
                hint="their roles, or a part that they had in it, keep them from it, or others "
                "have it in hand",
            )
    record = Recorder(state, now)
    record.add(
        *("reserved", who),
        item=item,
        stage=known.stage,
        round=known.round,
        body={"for": person},
    )
    return record.events


def editable_fields(project: Project) -> tuple[str, ...]:
    """Return the fields that a manager may write: those shown, and those that figures rest on."""
    others = (project.category, project.cluster)
    return tuple(dict.fromkeys((*project.show, *needed_fields(project), *filter(None, others))))


def set_aside_by(event: Event) -> tuple[int, ...]:
    """Return the numbers of the decisions that an event takes back or sets aside."""
    if event.kind == "undone":
        return (int(event.body["answer"]),)
    return tuple(event.body.get("set_aside", ()))


def _check_fields(state: ReviewState, fields: Mapping[str, str]) -> None:
    able = editable_fields(state.project)
    unknown = [name for name in fields if name not in able]
    if unknown:
        raise NotAllowed(f"'{unknown[0][:40]}' is no field here", hint=f"use {', '.join(able)}")


def _why(what: str, about: Correction) -> str:
    return f"{what}: {about.reason.strip()}"


def _known(state: ReviewState, about: Correction) -> ReviewItem:
    if about.item not in state.items:
        raise NotAllowed(
            f"there is no item '{about.item[:40]}'", hint="see `review export --what items`"
        )
    if not about.reason.strip():
        raise NotAllowed("a correction needs a reason", hint="say why in a few words")
    return state.items[about.item]


def _correctable(state: ReviewState, about: Correction) -> ReviewItem:
    item = _known(state, about)
    if item.batch is not None and state.batches[item.batch].result is None:
        raise NotAllowed(
            f"an audit that speaks for '{about.item[:40]}' is under way",
            hint="wait until its sample is judged",
        )
    return item


def _corrected(
    state: ReviewState,
    about: Correction,
    body: Mapping[str, Any],
    now: datetime,
    rng: np.random.Generator,
    **place: Any,
) -> list[Event]:
    """Record a correction of an item where it is, or at another place, and what follows from it."""
    item, record = state.items[about.item], Recorder(state, now)
    where = {"stage": item.stage, "round": item.round} | place
    record.add("corrected", about.who, item=item.id, body=body, **where)
    release_due(record, rng)
    return record.events


def _later(state: ReviewState, item: ReviewItem, name: str) -> list[int]:
    """Return the decisions made at a stage and after it; those of audits stand."""
    later = _from(state.project, name)
    return [vote.seq for vote in item.votes if vote.stage in later]


def _from(project: Project, name: str) -> frozenset[str]:
    """Return a stage and those that items can come to from it, without audits."""
    found = {name}
    for _ in project.flow:
        found |= {to for s in project.flow if s.id in found for to in s.targets()}
    return frozenset(s.id for s in project.flow if s.id in found and s.kind != "audit")
