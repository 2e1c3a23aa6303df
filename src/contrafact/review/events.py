"""Events: everything that happens in a review, in order. Events are added, never changed.

==================  ==========================================  ===============================
kind                what happened                               checked in
==================  ==========================================  ===============================
project             the project was defined or reworded         `setup.define_project`
person              a person's roles were set                   `setup.set_roles`
imported            an item was imported, to review or train    `setup.import_items`, `…_gold`
stage               a stage was closed or opened again          `workflow.set_stage_open`
assigned            an item was assigned for a limited time     `assignment.assign`
answered            a person decided on an item                 `workflow.answer`
undone              a person undid their own decision           `workflow.undo`
said                a person wrote in an item's thread          `discussion.say`
corrected           a manager reopened, withdrew or edited an   `corrections`
                    item, or retracted a decision on it
drawn               an audit's sample was drawn from a batch    `workflow.draw_audit`
closed              an audit passed or returned its batch       `workflow.close_audit_if_complete`
moved               a rule moved an item, or gave its outcome   `workflow.transition`
training-drawn      a training round was drawn for a person     `assignment.next_training_item`
training-answered   a person answered a training item           `assignment.answer_training`
==================  ==========================================  ===============================

Each kind is applied by the method of `contrafact.review.state.ReviewState` that has its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contrafact.errors import InputError

EventKind = Literal[
    "project",
    "person",
    "imported",
    "stage",
    "assigned",
    "answered",
    "undone",
    "said",
    "corrected",
    "drawn",
    "closed",
    "moved",
    "training-drawn",
    "training-answered",
]
SYSTEM = "rule:workflow"
"""The author of events that a rule makes and no person."""

# Kinds of event in histories of earlier versions, and their present kinds; None: no longer used.
_EARLIER: Mapping[str, EventKind | None] = {
    "reopened": "corrected",
    "edited": "corrected",
    "withdrawn": "corrected",
    "retracted": "corrected",
    "reissued": "assigned",  # without an end time: the assignment was withdrawn
    "reserved": None,  # the person who was to get an item first
    "suggested": None,  # a model's answers, shown beside the form
    "training-closed": None,  # follows from the round's answers
}
_EARLIER_SETTINGS = ("suggestions", "suggestion_share", "evidence")


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        who: A person's name, or ``rule:workflow``.
        round: The number of the item's visit to the stage, from 1.
        slot: The index of the vote among the stage's votes, from 0.
        text_version: A content hash of the item's text as the person saw it.
        guidelines_version: A content hash of the guidelines as the person saw them.
        request: The sender's key; what is sent twice under the same key counts once.
        body: Further JSON data. A decision that was imported from another tool has an ``origin``.
        seq: The event's number in the review's history, from 1; 0 before it is added.
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


class NotAllowed(InputError):
    """A request is against the review's rules or too late; nothing was changed."""


def current_kind(event: Event) -> EventKind | None:
    """Return the present kind of an event of any version; None if it is no longer used."""
    return _EARLIER.get(event.kind, event.kind)


def current_definition(event: Event) -> dict[str, Any]:
    """Return the project definition in an event, without settings that no longer exist."""
    definition = dict(event.body["definition"])
    definition["stages"] = [
        {name: value for name, value in stage.items() if name not in _EARLIER_SETTINGS}
        for stage in definition["stages"]
    ]
    return definition
