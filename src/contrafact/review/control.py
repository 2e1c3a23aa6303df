"""What a manager may do to a review under way, besides importing and settling. Pure.

A stage can be closed, so that nothing is given out there, and opened again; an item can be taken
back from who has it in hand, before its lease runs out. Neither changes a decision.
"""

from datetime import datetime

from contrafact.review.board import Board
from contrafact.review.events import Event
from contrafact.review.recorder import Recorder, Refused

__all__ = ["reissue", "set_open"]


def set_open(board: Board, stage: str, open_: bool, who: str, now: datetime) -> list[Event]:
    """Open or close a stage; nothing happens where it is so already.

    While a stage is closed nobody is given an item there. Whoever has one in hand may still answer.

    Args:
        board: The board.
        stage: The stage.
        open_: Whether it is to be open.
        who: Who says so.
        now: The time.

    Raises:
        Refused: It is no stage in which people work on items.
    """
    place = next((s for s in board.project.flow if s.id == stage), None)
    if place is None or not place.roles:
        raise Refused(f"'{stage[:40]}' is no stage in which people work on items")
    record = Recorder(board, now)
    if (stage in board.closed) == open_:
        record.add("stage", who, stage=stage, body={"open": open_})
    return record.events


def reissue(
    board: Board, who: str, now: datetime, *, item: str | None = None, person: str | None = None
) -> list[Event]:
    """Take items back from who has them in hand, so that others are given them at once.

    They may still answer while the place is free, as after a lease that ran out.

    Args:
        board: The board.
        who: Who says so.
        now: The time.
        item: The item; every one that ``person`` has, if none is named.
        person: From whom; from everybody if none is named.

    Raises:
        Refused: There is no such item, or neither item nor person is named.
    """
    if item is None and person is None:
        raise Refused("say which item is taken back, or from whom")
    if item is not None and item not in board.items:
        raise Refused(f"there is no item '{item[:40]}'")
    record = Recorder(board, now)
    for name in list(board.items) if item is None else [item]:
        found = board.items[name]
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
