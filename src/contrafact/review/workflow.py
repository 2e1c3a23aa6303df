"""The workflow: what may happen next, and what follows. Pure: no clock, no chance, no database.

Every function takes a board, checks, and applies events to it, which it returns for whoever keeps
them. It refuses before it changes anything. The time and the randomness are arguments.

RFC-BENCH, sections 2.2.3 and 2.2.4; FIN-FORCE, section 3.3; CoBe, appendix C.3.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from contrafact.review.answers import Ballot, ballot_of
from contrafact.review.board import Board, Item, Vote
from contrafact.review.events import Event
from contrafact.review.moves import close_if_complete, leave, release, waiting_at
from contrafact.review.project import Stage
from contrafact.review.recorder import Recorder, Refused

__all__ = ["LEASE", "answer", "settle", "undo", "undoable"]

LEASE = timedelta(minutes=30)
"""How long an item stays with somebody who does not answer."""


def answer(
    board: Board,
    who: str,
    item: str,
    stage: str,
    round_: int,
    answers: Mapping[str, str],
    *,
    now: datetime,
    rng: np.random.Generator,
    flagged: bool = False,
    comment: str = "",
    correction: str | None = None,
    guidelines_version: str | None = None,
    request: str | None = None,
    origin: Mapping[str, Any] | None = None,
) -> list[Event]:
    """Take somebody's decision on an item, and move on what it moves.

    The same decision sent again changes nothing. One that comes after its lease ran out is taken
    where its place, or another that the person may take, is still free.

    Args:
        board: The board.
        who: The person.
        item: The item.
        stage: The stage they were shown it at.
        round_: The round they were shown it in.
        answers: By question, the answer.
        now: The time.
        rng: Draws the audit's sample, where this decision completes a batch.
        flagged: Whether they are not sure.
        comment: What they say besides.
        correction: The text as it is to be.
        guidelines_version: The guidelines they saw; the present ones if not said.
        request: A key under which the same decision may be sent again.
        origin: Where a decision that was made elsewhere comes from.

    Returns:
        What happened; nothing where all of it had happened before.

    Raises:
        Refused: They were not shown the item, have decided otherwise, or the item has gone on.
        InputError: The answers are not whole.
    """
    if request is not None and request in board.requests:
        return []
    known = board.items.get(item)
    if known is None:
        raise Refused(f"there is no item '{item[:40]}'")
    place = next((s for s in board.project.flow if s.id == stage), None)
    if place is None:
        raise Refused(f"there is no stage '{stage[:40]}'")
    ballot = ballot_of(
        board.project, place, answers, flagged=flagged, comment=comment, correction=correction
    )
    cast = _cast(known, who, stage, round_)
    if cast is not None:
        if cast.ballot == ballot:
            return []
        raise Refused("you have decided on this item already", hint="undo it first")
    if (known.stage, known.round) != (stage, round_):
        raise Refused("the item has gone on without this decision", hint="go on with the next")
    slot = _slot_of(board, known, who, now)
    _check_correction(known, place, ballot)
    record = Recorder(board, now)
    record.add(
        "answered",
        who,
        item=item,
        stage=stage,
        round=round_,
        slot=slot,
        text_version=known.text_version,
        guidelines_version=guidelines_version or board.project.guidelines_version,
        request=request,
        body={
            "answers": dict(ballot.answers),
            "verdict": ballot.verdict,
            "flagged": ballot.flagged,
            "comment": ballot.comment,
            **({} if ballot.correction is None else {"correction": ballot.correction}),
            **({} if origin is None else {"origin": dict(origin)}),
        },
    )
    if place.kind == "audit":
        close_if_complete(record, place, str(board.items[item].batch))
    elif all(slot.filled for slot in board.items[item].slots):
        leave(record, board.items[item], place)
    release(record, rng)
    return record.events


def undo(
    board: Board, who: str, now: datetime, *, lease: timedelta = LEASE, request: str | None = None
) -> list[Event]:
    """Take somebody's last decision back, and give them the item again.

    Raises:
        Refused: There is none, or something has been built on it.
    """
    if request is not None and request in board.requests:
        return []
    vote = undoable(board, who)
    if vote is None and who not in board.last:
        raise Refused("there is no decision of yours to undo")
    if vote is None:
        raise Refused("others have gone on from your last decision", hint="tell the manager")
    name, seq = board.last[who]
    record = Recorder(board, now)
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


def undoable(board: Board, who: str) -> Vote | None:
    """Return the vote that somebody may take back: their last, if nobody has built on it."""
    if who not in board.last:
        return None
    name, seq = board.last[who]
    item = board.items[name]
    vote = next((v for v in item.votes if v.seq == seq), None)
    if vote is None or (item.batch is not None and board.batches[item.batch].result is not None):
        return None
    here = (item.stage, item.round) == (vote.stage, vote.round)
    latest = item.before is not None and item.votes[-1].seq == seq
    return vote if here or latest else None


def settle(
    board: Board, now: datetime, rng: np.random.Generator, *, force: str | None = None
) -> list[Event]:
    """Let go on what has waited long enough: draw audits that are due, release complete sets.

    Args:
        board: The board.
        now: The time, for windows that have run out.
        rng: Draws the samples.
        force: A stage whose waiting items go on now, complete or not: the manager's choice.

    Raises:
        Refused: Nothing waits at the stage named, or it is not one where items wait.
    """
    if force is not None:
        stage = next((s for s in board.project.flow if s.id == force), None)
        if stage is None or not stage.barrier:
            raise Refused(f"'{force[:40]}' is no stage where items wait for each other")
        if not waiting_at(board, stage):
            raise Refused(f"nothing waits at '{force}'")
    record = Recorder(board, now)
    release(record, rng, force)
    return record.events


def _cast(item: Item, who: str, stage: str, round_: int) -> Vote | None:
    votes = (v for v in item.votes if (v.who, v.stage, v.round) == (who, stage, round_))
    return next(votes, None)


def _slot_of(board: Board, item: Item, who: str, now: datetime) -> int:
    """Return the place that a person's vote fills: the one they hold, or one that is free."""
    for place, slot in enumerate(item.slots):
        if slot.person == who and not slot.filled:
            return place
    person = board.people.get(who)
    if person is None or (str(item.stage), item.round, who) not in item.shown:
        raise Refused("this item is not yours", hint="ask for the next one")
    for place, slot in enumerate(item.slots):
        free = slot.person is None or (slot.until is not None and slot.until <= now)
        if not slot.filled and free and slot.role in person.roles:
            return place
    raise Refused(
        "the time for this item ran out, and it went to somebody else", hint="go on with the next"
    )


def _check_correction(item: Item, stage: Stage, ballot: Ballot) -> None:
    if ballot.correction is None or stage.corrects is None:
        return
    if ballot.correction.strip() == str(item.fields.get(stage.corrects.field, "")).strip():
        raise Refused("the new text is the old one", hint="change it, or answer otherwise")
