"""What one screen of work shows: an item, what is asked about it, and others' earlier answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from contrafact.errors import InputError
from contrafact.family import DraftFinding, draft_check
from contrafact.review.answers import Assignment
from contrafact.review.assignment import visible_votes
from contrafact.review.discussion import Entry, thread, under_discussion
from contrafact.review.project import DELIBERATING, FirstStep, Project, Stage
from contrafact.review.state import ReviewItem, ReviewState, Vote
from contrafact.review.workflow import undoable
from contrafact.text.diff import DiffPart, word_diff

__all__ = [
    "DraftReport", "Idle", "ItemView", "TrainingFeedback", "cached_diff", "idle", "item_view",
    "training_feedback", "when_shown",
]  # fmt: skip


WHY = ("why", "explanation")
"""Columns of training items that say why their known answer is right; the first that is there."""


@dataclass(frozen=True)
class WorkProgress:
    """How far things have come.

    Attributes:
        done: Items whose way has ended; in training, items of the round that are answered.
        total: All items; in training, the round's.
        here: Items at this stage that still need somebody.
        own: How many of the person's decisions stand; training apart.
    """

    done: int
    total: int
    here: int
    own: int


@dataclass(frozen=True)
class EarlierVote:
    """What somebody answered before; who it was is not shown, only their role and a number.

    Attributes:
        role: Their role, with a number where several have it.
        flagged: Whether they were not sure.
        earlier: Whether the text has been rewritten since.
    """

    role: str
    stage: str
    round: int
    verdict: str
    answers: tuple[tuple[str, str], ...]
    comment: str
    flagged: bool
    earlier: bool
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemView:
    """An item that is shown to whom it was given.

    Attributes:
        earlier_votes: What others answered before, as far as this stage shows it.
        undoable: Whether the person has a decision to take back.
        thread: What was said about the item, where others' answers are shown.
        step: The first step, where it alone is asked and shown; None for the whole item.
    """

    assignment: Assignment
    project: Project
    stage: Stage
    fields: Mapping[str, Any]
    earlier_votes: tuple[EarlierVote, ...]
    progress: WorkProgress
    undoable: bool
    thread: tuple[tuple[Entry, str], ...] = ()
    step: FirstStep | None = None

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The fields that are not compared, with what is in them."""
        apart = self.project.compare or ()
        return [
            (name.replace("_", " "), _text(self.fields.get(name)))
            for name in self.project.show
            if name not in apart and self._visible(name) and _text(self.fields.get(name))
        ]

    def _visible(self, name: str) -> bool:
        return self.step is None or name in self.step.sees

    @property
    def sides(self) -> list[tuple[str, tuple[DiffPart, ...]]]:
        """The two texts that are compared, with what only one of them has marked; or none."""
        if self.project.compare is None:
            return []
        before, after = self.project.compare
        if self.step is not None:
            return [
                (name.replace("_", " "), (DiffPart("same", _text(self.fields.get(name))),))
                for name in (before, after)
                if self._visible(name)
            ]
        parts = cached_diff(_text(self.fields.get(before)), _text(self.fields.get(after)))
        return [
            (before.replace("_", " "), tuple(p for p in parts if p.kind != "added")),
            (after.replace("_", " "), tuple(p for p in parts if p.kind != "removed")),
        ]

    @property
    def undecided(self) -> bool:
        """Whether a check could not tell if this item passes, so that it is for people to say."""
        return self.step is None and is_undecided(self.fields)

    @property
    def correctable(self) -> str | None:
        """The present text that may be rewritten here; None where none may."""
        if self.stage.corrects is None:
            return None
        return _text(self.fields.get(self.stage.corrects.field))

    def findings(self, draft: str) -> "DraftReport | None":
        """What the project's check finds in a draft of the text; None where it names no check."""
        corrects = self.stage.corrects
        if corrects is None or corrects.check is None:
            return None
        try:
            found = draft_check(corrects.check)({**self.fields, corrects.field: draft})
        except InputError as error:
            return DraftReport(not_checked=str(error))
        return DraftReport(tuple(found))


@dataclass(frozen=True)
class DraftReport:
    """What was found in a draft, or why it was not looked at."""

    findings: tuple[DraftFinding, ...] = ()
    not_checked: str = ""


@dataclass(frozen=True)
class Idle:
    """There is no item for somebody now.

    Attributes:
        open: Items whose way has not ended.
        undoable: Whether the person has a decision to take back.
        discussed: Items that are up for discussion by the person.
    """

    open: int
    total: int
    undoable: bool
    discussed: int = 0


@dataclass(frozen=True)
class TrainingFeedback:
    """What came of an answer in training.

    Attributes:
        shown: What the item shows, by what it is called.
        why: Why the known answer is right, where the item says so.
        known: Question and the answer that is known to be right.
        closed: Where it ended a round: how many were right, of how many, and whether that passes.
    """

    right: bool
    shown: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    why: str
    known: tuple[tuple[str, str], ...]
    closed: tuple[int, int, bool] | None


def item_view(state: ReviewState, who: str, assignment: Assignment) -> ItemView:
    """Return what is shown to somebody who has been given an item."""
    project, stage = state.project, state.project.stage(assignment.stage)
    if assignment.training:
        answered = state.trainee(who, stage.id).rounds[-1]
        done = sum(right is not None for right in answered.values())
        progress = WorkProgress(done, len(answered), len(answered) - done, state.decided[who])
        fields: Mapping[str, Any] = state.gold_fields[assignment.item]
        return ItemView(assignment, project, stage, fields, (), progress, False)
    item = state.items[assignment.item]
    votes = visible_votes(project, item, stage.id, assignment.round)
    return ItemView(
        assignment,
        project,
        stage,
        item.fields,
        tuple(earlier_vote(project, item, vote) for vote in votes),
        WorkProgress(_ended(state), len(state.items), len(state.at[stage.id]), state.decided[who]),
        undoable(state, who) is not None,
        tuple((entry, when_shown(entry.when)) for entry in thread(item))
        if stage.kind in DELIBERATING and item.thread
        else (),
    )


def is_undecided(fields: Mapping[str, Any]) -> bool:
    """Return whether a check left an item undecided: it came with a verdict that is empty."""
    return "passed" in fields and fields["passed"] in (None, "")


def when_shown(time: datetime) -> str:
    """Return a time as pages show it."""
    return f"{time:%Y-%m-%d %H:%M}"


def idle(state: ReviewState, who: str) -> Idle:
    """Return what is shown to somebody for whom there is no item now."""
    total = len(state.items)
    discussed = len(under_discussion(state, state.people.get(who)))
    return Idle(total - _ended(state), total, undoable(state, who) is not None, discussed)


def training_feedback(state: ReviewState, who: str, item: str) -> TrainingFeedback | None:
    """Return what came of somebody's latest answer to a training item; None if there is none."""
    for stage in state.project.stages:
        if stage.kind != "training":
            continue
        trainee = state.trainee(who, stage.id)
        for results in reversed(trainee.rounds[-2:]):
            right = results.get(item)
            if right is None:
                continue
            fields = state.gold_fields[item]
            complete = all(r is not None for r in results.values())
            hits = sum(bool(r) for r in results.values())
            passed = hits / len(results) >= stage.threshold
            return TrainingFeedback(
                right,
                tuple(
                    (name.replace("_", " "), _text(fields[name]))
                    for name in state.project.show
                    if fields.get(name)
                ),
                _answered(state.project, stage, trainee.answers.get(item, {})),
                next((_text(fields[name]) for name in WHY if fields.get(name)), ""),
                _answered(state.project, stage, state.gold[item]),
                (hits, len(results), passed) if complete else None,
            )
    return None


def _answered(
    project: Project, stage: Stage, answers: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    asked = (name for name in stage.questions if name in answers)
    return tuple((project.question(name).text, answers[name]) for name in asked)


@lru_cache(maxsize=1024)
def cached_diff(before: str, after: str) -> tuple[DiffPart, ...]:
    """Return how one text becomes another; kept, since several people look at each pair."""
    return tuple(word_diff(before, after))


def earlier_vote(project: Project, item: ReviewItem, vote: Vote) -> EarlierVote:
    """Return what is shown of a vote on an item to those who come after."""
    stage = project.stage(vote.stage)
    role = stage.roles[vote.slot]
    several = stage.roles.count(role) > 1
    number = 1 + stage.roles[: vote.slot].count(role)
    return EarlierVote(
        f"{role} {number}" if several else role,
        stage.title,
        vote.round,
        vote.ballot.verdict,
        tuple((project.question(q).text, a) for q, a in vote.ballot.answers.items()),
        vote.ballot.comment,
        vote.ballot.flagged,
        vote.text_version != item.text_version,
        tuple(str(one["text"]) for one in vote.evidence),
    )


def _ended(state: ReviewState) -> int:
    return len(state.items) - sum(len(waiting) for waiting in state.at.values())


def _text(value: object) -> str:
    return "" if value is None else str(value)
