"""How events come about: made, applied to the board, and kept for whoever stores them."""

from datetime import datetime
from typing import Any

from contrafact.errors import InputError
from contrafact.review.board import Board
from contrafact.review.events import SYSTEM, Event, EventKind

__all__ = ["Recorder", "Refused"]


class Refused(InputError):
    """What was asked for is against the rules, or comes too late. Nothing was changed."""


class Recorder:
    """Applies events to a board, one after another, and keeps them."""

    def __init__(self, board: Board, now: datetime) -> None:
        self.board = board
        self.now = now
        self.events: list[Event] = []

    def add(self, kind: EventKind, who: str = SYSTEM, **fields: Any) -> None:
        """Make an event, apply it and keep it."""
        event = Event(kind, who, self.now, seq=self.board.seq + 1, **fields)
        self.board.apply(event)
        self.events.append(event)
