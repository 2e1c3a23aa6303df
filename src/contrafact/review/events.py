"""Events: what can happen in a review, in order; they are only ever added.

==================  ==========================================  ===============================
kind                what happened                               checked in
==================  ==========================================  ===============================
project             a project was defined, or its wording       `setup.define_project`
                    changed
person              somebody got roles, or lost them            `setup.set_roles`
imported            an item came in, to review or to train on   `setup.import_items`, `…_gold`
stage               a stage was closed or opened again          `workflow.set_stage_open`
assigned            an item was given to somebody, for a time   `assignment.assign`
answered            somebody decided                            `workflow.answer`
undone              and took it back                            `workflow.undo`
said                somebody wrote into an item's thread        `discussion.say`
corrected           a manager sent an item back, took it out,   `corrections`
                    edited it, or took one decision back
drawn               an audit's sample was drawn from a batch    `workflow.draw_audit`
closed              an audit was decided                        `workflow.close_audit_if_complete`
moved               a rule moved an item on, or ended its way   `workflow.transition`
training-drawn      somebody got a round of training            `assignment.next_training_item`
training-answered   and answered an item of it                  `assignment.answer_training`
==================  ==========================================  ===============================

Each kind is applied in one place, the method of `contrafact.review.state.ReviewState` of its name.
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
"""Who acts where a rule does and nobody in person."""

# What histories of earlier versions have besides; None for what counts no more.
_EARLIER: Mapping[str, EventKind | None] = {
    "reopened": "corrected",
    "edited": "corrected",
    "withdrawn": "corrected",
    "retracted": "corrected",
    "reissued": "assigned",  # to nobody: it has no time until which
    "reserved": None,  # whom an item was to be given to first
    "suggested": None,  # a model's answers, which were shown beside the form
    "training-closed": None,  # follows from the answers of the round
}
_EARLIER_SETTINGS = ("suggestions", "suggestion_share")


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    Attributes:
        who: A person's name, or ``rule:workflow``.
        round: On which visit of the item to that stage, from 1.
        slot: Which of the stage's votes, from 0.
        text_version: A content hash of the item's text as the person saw it.
        guidelines_version: A content hash of the guidelines as they saw them.
        request: A key of the sender's; what is sent twice under one key happens once.
        body: What else belongs to it; JSON. A decision that was imported from another tool has an
            ``origin`` in it.
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


class NotAllowed(InputError):
    """What was asked for is against the review's rules, or too late. Nothing was changed."""


def current_kind(event: Event) -> EventKind | None:
    """Return what an event of any version is now; None for one that counts no more."""
    return _EARLIER.get(event.kind, event.kind)


def current_definition(event: Event) -> dict[str, Any]:
    """Return the project's definition that an event brings, without settings that are gone."""
    definition = dict(event.body["definition"])
    definition["stages"] = [
        {name: value for name, value in stage.items() if name not in _EARLIER_SETTINGS}
        for stage in definition["stages"]
    ]
    return definition
