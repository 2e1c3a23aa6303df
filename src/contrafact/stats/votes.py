"""Majority votes."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

__all__ = ["majority"]

Vote = TypeVar("Vote", bound=Hashable)


def majority(votes: Iterable[Vote]) -> Vote | None:
    """Return the vote of more than half, or None if there is no majority."""
    counted = Counter(votes)
    if not counted:
        return None
    ((vote, count),) = counted.most_common(1)
    return vote if 2 * count > counted.total() else None
