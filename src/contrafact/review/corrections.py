"""A manager's corrections, each with a reason, as one kind of event.

An item is reopened, withdrawn or edited, and one decision is taken back. Nothing is deleted:
what is set aside stays in the history, and no longer counts.
"""

from collections.abc import Mapping
from typing import Any

from contrafact.review.events import Event, NotAllowed
from contrafact.review.project import Project
from contrafact.review.setup import needed_fields
from contrafact.review.state import Change, ReviewItem
from contrafact.review.workflow import release_due


def reopen(change: Change, who: str, item: str, reason: str, stage: str | None = None) -> None:
    """Send an item back to a stage that it has been at, wherever it is now.

    Decisions made there and in the stages after it are set aside, and texts written there are taken
    back. What an audit found stays: it speaks of the text that it saw.

    Raises:
        NotAllowed: There is no such item, no reason is given, the item was never at the stage (the
            first if none is named), or an audit is under way that speaks for it.
    """
    state, found = change.state, _correctable(change, item, reason)
    name = stage or state.project.start.id
    place = next((one for one in state.project.flow if one.id == name), None)
    if place is None or place.barrier or name not in found.rounds:
        able = [s.id for s in state.project.flow if s.id in found.rounds and not s.barrier]
        raise NotAllowed(
            f"'{name[:40]}' is no stage that people judged the item at",
            hint=f"use {', '.join(able)}" if able else None,
        )
    aside = _later(state.project, found, name)
    _correct(change, who, found, f"reopened: {reason.strip()}", to=name, set_aside=aside)


def withdraw(change: Change, who: str, item: str, reason: str) -> None:
    """Take an item out of the review: its outcome is ``removed``, and its decisions do not count.

    It can be reopened.

    Raises:
        NotAllowed: There is no such item, no reason is given, it is withdrawn already, or an audit
            is under way that speaks for it.
    """
    found = _correctable(change, item, reason)
    if found.withdrawn:
        raise NotAllowed(f"'{item[:40]}' is withdrawn already")
    _correct(change, who, found, f"withdrawn: {reason.strip()}")


def edit(change: Change, who: str, item: str, reason: str, fields: Mapping[str, str]) -> bool:
    """Change what an item shows; it begins anew, since decisions on another text say nothing of it.

    Decisions so far are set aside, but for those of an audit. Fields left out stay as they are.

    Returns:
        Whether any field changes; nothing happens where none does.

    Raises:
        NotAllowed: There is no such item or field, a field that is needed would be empty, no reason
            is given, or an audit is under way that speaks for the item.
    """
    found, project = _correctable(change, item, reason), change.state.project
    able, needed = editable_fields(project), needed_fields(project)
    unknown = [name for name in fields if name not in able]
    if unknown:
        raise NotAllowed(f"'{unknown[0][:40]}' is no field here", hint=f"use {', '.join(able)}")
    new = {
        name: text
        for name, text in fields.items()
        if text.strip() != str(found.fields.get(name) or "").replace("\r\n", "\n").strip()
    }
    empty = [name for name, text in new.items() if name in needed and not text.strip()]
    if empty:
        raise NotAllowed(f"'{empty[0]}' would be empty", hint="write it, or withdraw the item")
    if new:
        to, aside = project.start.id, _later(project, found, project.start.id)
        why = f"edited: {reason.strip()}"
        _correct(change, who, found, why, fields=new, to=to, set_aside=aside)
    return bool(new)


def retract(change: Change, who: str, item: str, reason: str, decision: int) -> None:
    """Take one decision back, by its event's number; the item waits for another where it was made.

    Others' decisions of the same round stand, those that were made after the item went on from
    there are set aside. Its place is free again, for whoever made it too.

    Raises:
        NotAllowed: There is no such item or decision, no reason is given, an audit is under way
            that speaks for the item or has ended with the decision, or the item has been at the
            stage again since.
    """
    found, project = _known(change, item, reason), change.state.project
    vote = next((one for one in found.votes if one.seq == decision), None)
    if vote is None:
        raise NotAllowed(f"no decision {decision} on '{item[:40]}' stands")
    if project.stage(vote.stage).kind != "audit":
        _correctable(change, item, reason)
    elif vote.batch is None or change.state.batches[vote.batch].result is not None:
        raise NotAllowed(
            "the audit has ended with this decision, and its figures stand",
            hint="send the item back to an earlier stage",
        )
    if found.rounds[vote.stage] != vote.round:
        raise NotAllowed(
            "the item has been at this stage again since", hint="send it back to the stage instead"
        )
    # Audits speak of the text that they saw, and stand.
    built = [
        one.seq
        for one in found.votes
        if one.seq > vote.seq
        and (one.stage, one.round) != (vote.stage, vote.round)
        and project.stage(one.stage).kind != "audit"
    ]
    why = f"a decision of {vote.who} was taken back: {reason.strip()}"
    body = {"answer": vote.seq, "by": vote.who, "why": why, "set_aside": [vote.seq, *built]}
    where = {"stage": vote.stage, "round": vote.round, "slot": vote.slot}
    change.add("corrected", who, item=item, body=body, **where)
    release_due(change)


def editable_fields(project: Project) -> tuple[str, ...]:
    """Return the fields that a manager may write: those shown, and those that figures rest on."""
    others = (project.category, project.cluster)
    return tuple(dict.fromkeys((*project.show, *needed_fields(project), *filter(None, others))))


def set_aside_by(event: Event) -> tuple[int, ...]:
    """Return the numbers of the decisions that an event takes back or sets aside."""
    if event.kind == "undone":
        return (int(event.body["answer"]),)
    return tuple(event.body.get("set_aside", ()))


def _known(change: Change, name: str, reason: str) -> ReviewItem:
    item = change.state.items.get(name)
    if item is None:
        raise NotAllowed(f"there is no item '{name[:40]}'", hint="see `review export --what items`")
    if not reason.strip():
        raise NotAllowed("a correction needs a reason", hint="say why in a few words")
    return item


def _correctable(change: Change, name: str, reason: str) -> ReviewItem:
    item = _known(change, name, reason)
    if item.batch is not None and change.state.batches[item.batch].result is None:
        raise NotAllowed(
            f"an audit that speaks for '{name[:40]}' is under way",
            hint="wait until its sample is judged",
        )
    return item


def _correct(change: Change, who: str, item: ReviewItem, why: str, **body: Any) -> None:
    """Record a correction of an item where it is, and what follows from it."""
    where = {"item": item.id, "stage": item.stage, "round": item.round}
    change.add("corrected", who, body={"why": why, **body}, **where)
    release_due(change)


def _later(project: Project, item: ReviewItem, name: str) -> list[int]:
    """Return the decisions made at a stage and after it; those of audits stand."""
    later = {name}
    for _ in project.flow:
        later |= {to for s in project.flow if s.id in later for to in s.targets()}
    able = {s.id for s in project.flow if s.id in later and s.kind != "audit"}
    return [vote.seq for vote in item.votes if vote.stage in able]
