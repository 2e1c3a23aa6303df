"""Events: what happened, in order. They are only ever added, and the present follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

__all__ = ["SYSTEM", "Event", "EventKind"]

EventKind = Literal[
    "project",  # a project was defined, or its guidelines were changed
    "person",  # somebody got roles, or lost them
    "imported",  # an item came in
    "assigned",  # an item was given to somebody, until a time
    "answered",  # somebody decided
    "undone",  # and took it back
    "moved",  # a rule moved an item on, or ended its way
    "drawn",  # an audit's sample was drawn from a batch
    "closed",  # an audit was decided
    "training-drawn",  # somebody got a round of training
    "training-answered",
    "training-closed",
    "stage",  # a stage was closed, so that nothing is given out there, or opened again
    "reissued",  # an item was taken back from who had it in hand
]
SYSTEM = "rule:workflow"
"""Who acts where a rule does and nobody in person."""


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Attributes:
        kind: What.
        who: A person's name, or ``rule:workflow``.
        when: The time, with its zone.
        item: The item it happened to.
        stage: At which stage.
        round: On which visit of the item to that stage, from 1.
        slot: Which of the stage's votes, from 0.
        text_version: A content hash of the item's text as the person saw it.
        guidelines_version: A content hash of the guidelines as they saw them.
        request: A key of the sender's; what is sent twice under one key happens once.
        body: What else belongs to it; JSON. A decision made elsewhere and brought in has an
            ``origin`` in it: the tool, the file, the person's name there, and the time.
        seq: Its place in the project's history, from 1; 0 before it has one.
    """

    kind: EventKind
    who: str
    when: datetime
    item: str | None = None
    stage: str | None = None
    round: int = 0
    slot: int | None = None
    text_version: str | None = None
    guidelines_version: str | None = None
    request: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
