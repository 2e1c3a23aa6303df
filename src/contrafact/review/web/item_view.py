"""The parts of an item that pages show: fields, two texts side by side, earlier answers, thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from contrafact.errors import InputError
from contrafact.family import draft_check
from contrafact.review.answers import Assignment
from contrafact.review.assignment import visible_votes
from contrafact.review.discussion import thread
from contrafact.review.project import DELIBERATING, FirstStep, Project, Stage
from contrafact.review.state import ReviewItem, ReviewState, Vote
from contrafact.review.workflow import undoable
from contrafact.text.diff import DiffPart, word_diff

WHY = ("why", "explanation")
"""Columns of training items that explain the known answer; the first present one is shown."""
_SHORT = 160  # characters of an item's text in lists

Answered = tuple[tuple[str, str], ...]
"""The texts of questions, each with its answer."""


@dataclass(frozen=True)
class WorkProgress:
    """Progress of the review or, in training, of the round.

    Attributes:
        done: The items that have ended; in training, the answered ones.
        here: The items still open at this stage.
        decided: The person's decisions that count, without training.
    """

    done: int
    total: int
    here: int
    decided: int


@dataclass(frozen=True)
class ItemView:
    """An item as it is shown to the person it is assigned to.

    Attributes:
        earlier_votes: Others' earlier answers, as far as this stage shows them.
        undoable: Whether the person has a decision to undo.
        thread: The item's discussion, if this stage shows it.
        step: The first step if only that is shown; None for the whole item.
    """

    assignment: Assignment
    project: Project
    stage: Stage
    fields: Mapping[str, Any]
    progress: WorkProgress
    earlier_votes: tuple[dict[str, Any], ...] = ()
    undoable: bool = False
    thread: Sequence[tuple[str, datetime, str]] = ()
    step: FirstStep | None = None

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The labels and texts of the fields that are not compared."""
        among = None if self.step is None else self.step.sees
        return shown_fields(self.project, self.fields, among)

    @property
    def sides(self) -> list[tuple[str, tuple[DiffPart, ...]]]:
        """The two compared texts, with differences marked; empty if there are none."""
        if self.step is None:
            return compared_sides(self.project, self.fields)
        return [
            (_label(name), (DiffPart("same", _text(self.fields.get(name))),))
            for name in self.project.compare or ()
            if name in self.step.sees
        ]

    @property
    def undecided(self) -> bool:
        """Whether a check left it open if this item passes, so that people must decide."""
        return self.step is None and is_undecided(self.fields)

    @property
    def correctable(self) -> str | None:
        """The text that may be rewritten at this stage; None if there is none."""
        if self.stage.corrects is None:
            return None
        return _text(self.fields.get(self.stage.corrects.field))

    def findings(self, draft: str) -> dict[str, Any] | None:
        """Return the check's findings on a draft, or why it failed; None if there is no check."""
        corrects = self.stage.corrects
        if corrects is None or corrects.check is None:
            return None
        try:
            found = draft_check(corrects.check)({**self.fields, corrects.field: draft})
        except InputError as error:
            return {"not_checked": str(error)}
        return {"findings": list(found)}


def item_view(state: ReviewState, who: str, assignment: Assignment) -> ItemView:
    project, decided = state.project, state.decided[who]
    stage = project.stage(assignment.stage)
    if assignment.training:
        results = state.trainee(who, stage.id).rounds[-1]
        done = sum(right is not None for right in results.values())
        progress = WorkProgress(done, len(results), len(results) - done, decided)
        return ItemView(assignment, project, stage, state.gold_fields[assignment.item], progress)
    item = state.items[assignment.item]
    votes = visible_votes(project, item, stage.id, assignment.round)
    here = len(state.at[stage.id])
    return ItemView(
        assignment,
        project,
        stage,
        item.fields,
        WorkProgress(ended_items(state), len(state.items), here, decided),
        tuple(_earlier_vote(project, item, vote) for vote in votes),
        undoable(state, who) is not None,
        thread(item) if stage.kind in DELIBERATING else (),
    )


def shown_fields(
    project: Project, fields: Mapping[str, Any], among: tuple[str, ...] | None = None
) -> list[tuple[str, str]]:
    """Return the labels and texts of the fields that are not compared, without empty ones."""
    apart = project.compare or ()
    return [
        (_label(name), _text(fields.get(name)))
        for name in project.show
        if name not in apart and (among is None or name in among) and _text(fields.get(name))
    ]


def compared_sides(
    project: Project, fields: Mapping[str, Any]
) -> list[tuple[str, tuple[DiffPart, ...]]]:
    """Return the two compared texts, with differences marked; empty if there are none."""
    if project.compare is None:
        return []
    before, after = project.compare
    parts = _cached_diff(_text(fields.get(before)), _text(fields.get(after)))
    return [
        (_label(before), tuple(p for p in parts if p.kind != "added")),
        (_label(after), tuple(p for p in parts if p.kind != "removed")),
    ]


def summary(project: Project, item: ReviewItem) -> str:
    text = " · ".join(t for name in project.show if (t := str(item.fields.get(name) or "")))
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def is_undecided(fields: Mapping[str, Any]) -> bool:
    """Return whether a check left an item undecided: its field ``passed`` is there but empty."""
    return "passed" in fields and fields["passed"] in (None, "")


def ended_items(state: ReviewState) -> int:
    return len(state.items) - sum(len(waiting) for waiting in state.at.values())


def training_feedback(state: ReviewState, who: str, item: str) -> dict[str, Any] | None:
    """Return the result of a person's latest answer to a training item; None if there is none."""
    project = state.project
    for stage in project.stages:
        if stage.kind != "training":
            continue
        trainee = state.trainee(who, stage.id)
        for results in reversed(trainee.rounds[-2:]):
            right = results.get(item)
            if right is None:
                continue
            fields, hits = state.gold_fields[item], sum(map(bool, results.values()))
            complete = None not in results.values()
            shown = [name for name in project.show if fields.get(name)]
            return {
                "right": right,
                "shown": [(_label(name), _text(fields[name])) for name in shown],
                "answers": answered(project, trainee.answers.get(item, {}), stage.questions),
                "why": next((_text(fields[name]) for name in WHY if fields.get(name)), ""),
                "known": answered(project, state.gold[item], stage.questions),
                # If it ended a round: the right answers, all answers, and whether that passes.
                "closed": (hits, len(results), hits / len(results) >= stage.threshold)
                if complete
                else None,
            }
    return None


def answered(
    project: Project, answers: Mapping[str, str], order: tuple[str, ...] | None = None
) -> Answered:
    """Return answers with the texts of their questions, in the ``order`` given or their own."""
    names = answers if order is None else [name for name in order if name in answers]
    return tuple((project.question(name).text, answers[name]) for name in names)


@lru_cache(maxsize=1024)
def _cached_diff(before: str, after: str) -> tuple[DiffPart, ...]:
    # Cached, as several people look at each pair.
    return tuple(word_diff(before, after))


def _earlier_vote(project: Project, item: ReviewItem, vote: Vote) -> dict[str, Any]:
    """Return an earlier vote as it is shown: with the voter's role and number, but not the name."""
    stage = project.stage(vote.stage)
    role = stage.roles[vote.slot]
    number = 1 + stage.roles[: vote.slot].count(role)
    return {
        "role": f"{role} {number}" if stage.roles.count(role) > 1 else role,
        "stage": stage.title,
        "round": vote.round,
        "ballot": vote.ballot,
        "answers": answered(project, vote.ballot.answers),
        "rewritten": vote.text_version != item.text_version,
    }


def _label(name: str) -> str:
    return name.replace("_", " ")


def _text(value: object) -> str:
    return "" if value is None else str(value)
