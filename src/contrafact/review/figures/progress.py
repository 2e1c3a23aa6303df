"""How far a review has come, and how fast: items by stage and category, decisions by person."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import nan
from statistics import median

from contrafact.review.corrections import set_aside_by
from contrafact.review.events import Event
from contrafact.review.project import OUTCOMES, StageKind
from contrafact.review.state import ReviewItem, ReviewState

__all__ = ["ReviewProgress", "Throughput", "agreement_by_person", "review_progress", "throughput"]

ALL = "all"
"""What stands for the category where a project has none."""
PAUSE = timedelta(minutes=10)
"""A gap longer than this between two acts of a person is a pause, and no work."""

_ACTS = ("assigned", "answered", "undone")


@dataclass(frozen=True)
class StageProgress:
    """One stage, as it is now.

    Attributes:
        closed: Whether nothing is given out there at present.
        votes: Decisions made here that stand, also those on items that have gone on.
        waiting: Items that wait here for each other (audits, disagreement sets).
        forced: Of these, those that a manager can let go on now: they are in no batch yet.
    """

    stage: str
    title: str
    kind: StageKind
    closed: bool
    items: int
    by_category: Mapping[str, int]
    votes: int
    places: int
    held: int
    waiting: int
    forced: int


@dataclass(frozen=True)
class ReviewProgress:
    """A whole review, as it is now.

    Attributes:
        stages: The stages that items go through, in order.
        outcomes: By outcome and category, how many items ended so.
        places: Decisions that are open now; items that go on to later stages will need more.
    """

    items: int
    ended: int
    categories: tuple[str, ...]
    by_category: Mapping[str, int]
    stages: tuple[StageProgress, ...]
    outcomes: Mapping[str, Mapping[str, int]]
    places: int
    by_role: Mapping[str, int]

    @property
    def share(self) -> float:
        """The share of items that have an outcome, from 0 to 1; NaN without items."""
        return self.ended / self.items if self.items else nan


def category_of(state: ReviewState, item: ReviewItem) -> str:
    """Return the category that figures count an item under."""
    field = state.project.category
    category = str(item.fields.get(field) or "").strip() if field else ""
    return category or ALL


def review_progress(state: ReviewState, now: datetime) -> ReviewProgress:
    """Return how far a review has come.

    Args:
        now: The time, which decides whether an item is held or abandoned.
    """
    category = {item.id: category_of(state, item) for item in state.items.values()}
    votes = Counter(vote.stage for item in state.items.values() for vote in item.votes)
    roles: Counter[str] = Counter()
    stages = []
    for stage in state.project.flow:
        here = [state.items[name] for name in state.at[stage.id]]
        open_ = [slot for item in here for slot in item.slots if not slot.filled]
        roles.update(slot.role for slot in open_)
        held = sum(slot.until is not None and slot.until > now for slot in open_)
        waiting = [item for item in here if not item.slots] if stage.barrier else []
        stages.append(
            StageProgress(
                stage.id,
                stage.title,
                stage.kind,
                stage.id in state.closed,
                len(here),
                Counter(category[item.id] for item in here),
                votes[stage.id],
                len(open_),
                held,
                len(waiting),
                sum(item.batch is None for item in waiting),
            )
        )
    ended = [item for item in state.items.values() if item.outcome is not None]
    return ReviewProgress(
        len(state.items),
        len(ended),
        tuple(sorted(set(category.values()))),
        Counter(category.values()),
        tuple(stages),
        {
            outcome: Counter(category[item.id] for item in ended if item.outcome == outcome)
            for outcome in OUTCOMES
        },
        sum(stage.places for stage in stages),
        roles,
    )


@dataclass(frozen=True)
class Throughput:
    """One person's work, training and decisions imported from elsewhere apart.

    Attributes:
        hours: How long they worked, in hours, pauses left out.
        per_hour: Decisions per hour of work; NaN where it is not known.
        seconds: Median seconds from being given an item to deciding; NaN where it is not known.
        times: When each of the decisions was made, in order.
    """

    person: str
    decisions: int
    hours: float
    per_hour: float
    seconds: float
    times: tuple[datetime, ...]


def throughput(events: Iterable[Event], *, pause: timedelta = PAUSE) -> list[Throughput]:
    """Return everybody's throughput, in order of their first act.

    Time worked is the time between one act and the next of the same person, where it is no longer
    than a pause. A decision that took longer than that says how long the pause was, and does not
    enter the median.
    """
    acts: dict[str, list[datetime]] = {}
    given: dict[tuple[str, str, str | None, int], datetime] = {}
    answers: dict[str, dict[int, tuple[datetime, float | None]]] = {}
    of_whom: dict[int, str] = {}
    for event in events:
        for seq in set_aside_by(event):
            answers.get(of_whom.get(seq, ""), {}).pop(seq, None)
        if event.kind not in _ACTS or event.item is None or "origin" in event.body:
            continue
        acts.setdefault(event.who, []).append(event.when)
        key = (event.who, event.item, event.stage, event.round)
        own = answers.setdefault(event.who, {})
        if event.kind == "answered":
            began = given.pop(key, None)
            took = None if began is None else (event.when - began).total_seconds()
            own[event.seq] = (event.when, took)
            of_whom[event.seq] = event.who
            continue
        given[key] = event.when
    found = []
    for who, times in acts.items():
        gaps = [later - earlier for earlier, later in pairwise(times)]
        worked = sum((gap for gap in gaps if gap <= pause), timedelta())
        hours = worked.total_seconds() / 3600.0
        decided = answers[who].values()
        seconds = [s for _, s in decided if s is not None and s <= pause.total_seconds()]
        found.append(
            Throughput(
                who,
                len(decided),
                hours,
                len(decided) / hours if hours > 0 else nan,
                median(seconds) if seconds else nan,
                tuple(when for when, _ in decided),
            )
        )
    return found


def agreement_by_person(state: ReviewState) -> dict[str, tuple[int, int]]:
    """Return by person how often they came to another's verdict on one item, and of how many pairs.

    A pair is two people's decisions on an item in one visit to a blind stage.
    """
    found: dict[str, tuple[int, int]] = {}
    blind = {stage.id for stage in state.project.flow if stage.kind == "independent"}
    for item in state.items.values():
        here = [vote for vote in item.votes if vote.stage in blind]
        for one in here:
            for other in here:
                together = (one.stage, one.round) == (other.stage, other.round)
                if together and one.who != other.who:
                    same, all_ = found.get(one.who, (0, 0))
                    agree = one.ballot.verdict == other.ballot.verdict
                    found[one.who] = (same + agree, all_ + 1)
    return found
