"""A manager's corrections: an item is reopened, withdrawn or edited, or a decision is retracted.

Every correction has a reason and is one kind of event. Nothing is deleted: decisions that are set
aside stay in the history but no longer count. All corrections raise `NotAllowed` if there is no
such item, no reason is given, or an audit of the item's batch is under way.
"""

from collections.abc import Mapping
from typing import Any

from contrafact.review.events import Event, NotAllowed
from contrafact.review.project import Project
from contrafact.review.setup import needed_fields
from contrafact.review.state import Change, ReviewItem
from contrafact.review.workflow import release_due


def reopen(change: Change, who: str, item: str, reason: str, stage: str | None = None) -> None:
    """Send an item back to a stage that it has been through (by default the first).

    Decisions made there and in later stages are set aside, and texts written there are undone. An
    audit's decisions stand, as they are about the text that the auditor saw.
    """
    state, known = change.state, _correctable(change, item, reason)
    name = stage or state.project.start.id
    able = [s.id for s in state.project.flow if s.id in known.rounds and not s.barrier]
    if name not in able:
        raise NotAllowed(
            f"nobody has worked on the item at a stage '{name[:40]}'",
            hint=f"use {', '.join(able)}" if able else None,
        )
    aside = _later(state.project, known, name)
    _correct(change, who, known, f"reopened: {reason.strip()}", to=name, set_aside=aside)


def withdraw(change: Change, who: str, item: str, reason: str) -> None:
    """Withdraw an item: until it is reopened, it is ``removed`` and its decisions do not count."""
    known = _correctable(change, item, reason)
    if known.withdrawn:
        raise NotAllowed(f"'{item[:40]}' is withdrawn already")
    _correct(change, who, known, f"withdrawn: {reason.strip()}")


def edit(change: Change, who: str, item: str, reason: str, fields: Mapping[str, str]) -> bool:
    """Change some of an item's fields and send it back to the first stage, if any really changes.

    Decisions on the old text are set aside, except those of an audit.

    Returns:
        Whether any field changed.
    """
    known, project = _correctable(change, item, reason), change.state.project
    able, needed = editable_fields(project), needed_fields(project)
    unknown = [name for name in fields if name not in able]
    if unknown:
        raise NotAllowed(
            f"there is no field '{unknown[0][:40]}' to edit", hint=f"use {', '.join(able)}"
        )
    new = {
        name: text
        for name, text in fields.items()
        if text.strip() != str(known.fields.get(name) or "").replace("\r\n", "\n").strip()
    }
    empty = [name for name, text in new.items() if name in needed and not text.strip()]
    if empty:
        raise NotAllowed(
            f"the field '{empty[0]}' must not be empty", hint="fill it in, or withdraw the item"
        )
    if new:
        to, aside = project.start.id, _later(project, known, project.start.id)
        why = f"edited: {reason.strip()}"
        _correct(change, who, known, why, fields=new, to=to, set_aside=aside)
    return bool(new)


def retract(change: Change, who: str, item: str, reason: str, decision: int) -> None:
    """Retract one decision, named by its event's number; the item returns to wait for another.

    Other decisions of the same round stand; decisions of later stages are set aside. Anybody who
    has the role, the author included, may then decide. A decision of an audit that has ended cannot
    be retracted, nor one of a stage that the item has since visited again.
    """
    known, project = _known(change, item, reason), change.state.project
    vote = next((vote for vote in known.votes if vote.seq == decision), None)
    if vote is None:
        raise NotAllowed(
            f"'{item[:40]}' has no decision {decision} that counts",
            hint="take the number from the item's history",
        )
    if project.stage(vote.stage).kind != "audit":
        _correctable(change, item, reason)
    elif vote.batch is None or change.state.batches[vote.batch].result is not None:
        raise NotAllowed(
            "the audit has ended with this decision, so it can no longer be retracted",
            hint="send the item back to an earlier stage",
        )
    if known.rounds[vote.stage] != vote.round:
        raise NotAllowed(
            "the item has since been at this stage again", hint="send it back to the stage instead"
        )
    # An audit's decisions are about the text that the auditor saw, and stand.
    built = [
        later.seq
        for later in known.votes
        if later.seq > vote.seq
        and (later.stage, later.round) != (vote.stage, vote.round)
        and project.stage(later.stage).kind != "audit"
    ]
    why = f"a decision of {vote.who} was taken back: {reason.strip()}"
    body = {"answer": vote.seq, "by": vote.who, "why": why, "set_aside": [vote.seq, *built]}
    where = {"stage": vote.stage, "round": vote.round, "slot": vote.slot}
    change.add("corrected", who, item=item, body=body, **where)
    release_due(change)


def editable_fields(project: Project) -> tuple[str, ...]:
    """Return the fields that a manager may edit: those shown, and those that figures depend on."""
    others = (project.category, project.cluster)
    return tuple(dict.fromkeys((*project.show, *needed_fields(project), *filter(None, others))))


def set_aside_by(event: Event) -> tuple[int, ...]:
    """Return the numbers of the decisions that an event undoes or sets aside."""
    if event.kind == "undone":
        return (int(event.body["answer"]),)
    return tuple(event.body.get("set_aside", ()))


def _known(change: Change, name: str, reason: str) -> ReviewItem:
    item = change.state.items.get(name)
    if item is None:
        raise NotAllowed(f"there is no item '{name[:40]}'", hint="see `review export --what items`")
    if not reason.strip():
        raise NotAllowed("a correction needs a reason", hint="give the reason")
    return item


def _correctable(change: Change, name: str, reason: str) -> ReviewItem:
    item = _known(change, name, reason)
    if item.batch is not None and change.state.batches[item.batch].result is None:
        raise NotAllowed(
            f"an audit of the batch of '{name[:40]}' is under way",
            hint="wait until its sample is judged",
        )
    return item


def _correct(change: Change, who: str, item: ReviewItem, why: str, **body: Any) -> None:
    """Record a correction of an item, and release stages that are due after it."""
    where = {"item": item.id, "stage": item.stage, "round": item.round}
    change.add("corrected", who, body={"why": why, **body}, **where)
    release_due(change)


def _later(project: Project, item: ReviewItem, name: str) -> list[int]:
    later = {name}
    for _ in project.flow:
        later |= {to for s in project.flow if s.id in later for to in s.targets()}
    able = {s.id for s in project.flow if s.id in later and s.kind != "audit"}
    return [vote.seq for vote in item.votes if vote.stage in able]
