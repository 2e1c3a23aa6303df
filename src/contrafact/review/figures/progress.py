"""How far a review has come: items by stage, outcome and category, and the decisions still open."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from contrafact.review.board import Board, Item
from contrafact.review.project import OUTCOMES, StageKind

__all__ = ["ALL", "Progress", "StageProgress", "category_of", "progress"]

ALL = "all"
"""What stands for the category where a project has none."""


@dataclass(frozen=True)
class StageProgress:
    """One stage, as it is now.

    Attributes:
        stage: Its id.
        title: Its name, as people read it.
        kind: What happens in it.
        closed: Whether nothing is given out there at present.
        items: Items that are here now.
        by_category: The same, by category.
        votes: Decisions made here that stand, also those on items that have gone on.
        places: Decisions that the items here still need.
        held: Of these, how many somebody has in hand.
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
class Progress:
    """A whole review, as it is now.

    Attributes:
        items: How many items there are.
        ended: How many have an outcome.
        categories: The categories, in order of names.
        by_category: Items by category.
        stages: The stages that items go through, in order.
        outcomes: By outcome and category, how many items ended so.
        places: Decisions that are open now; items that go on to later stages will need more.
        by_role: The same, by the role that they are for.
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
        return self.ended / self.items if self.items else float("nan")


def category_of(board: Board, item: Item) -> str:
    """Return the category that figures count an item under."""
    field = board.project.category
    said = str(item.fields.get(field) or "").strip() if field else ""
    return said or ALL


def progress(board: Board, now: datetime) -> Progress:
    """Return how far a review has come.

    Args:
        board: The review.
        now: The time, which tells a held item from an abandoned one.
    """
    category = {item.id: category_of(board, item) for item in board.items.values()}
    votes = Counter(vote.stage for item in board.items.values() for vote in item.votes)
    roles: Counter[str] = Counter()
    stages = []
    for stage in board.project.flow:
        here = [board.items[name] for name in board.at[stage.id]]
        open_ = [slot for item in here for slot in item.slots if not slot.filled]
        roles.update(slot.role for slot in open_)
        held = sum(slot.until is not None and slot.until > now for slot in open_)
        waiting = [item for item in here if not item.slots] if stage.barrier else []
        stages.append(
            StageProgress(
                stage.id,
                stage.title,
                stage.kind,
                stage.id in board.closed,
                len(here),
                Counter(category[item.id] for item in here),
                votes[stage.id],
                len(open_),
                held,
                len(waiting),
                sum(item.batch is None for item in waiting),
            )
        )
    ended = [item for item in board.items.values() if item.outcome is not None]
    return Progress(
        len(board.items),
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
