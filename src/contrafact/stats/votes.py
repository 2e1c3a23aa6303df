"""Majority votes, and a bound on the wrong items that a reviewer has missed."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

from contrafact.stats.distributions import binomial_tail

__all__ = ["majority", "missed_at_most"]

Vote = TypeVar("Vote", bound=Hashable)


def majority(votes: Iterable[Vote]) -> Vote | None:
    """Return the vote that more than half share; None where there is none."""
    counted = Counter(votes)
    if not counted:
        return None
    ((vote, count),) = counted.most_common(1)
    return vote if 2 * count > counted.total() else None


def missed_at_most(found: int, finds: float, miss: float) -> int:
    """Return an upper bound on the wrong items that a reviewer who ``found`` so many has missed.

    It is the largest number that a reviewer who finds each wrong item with at least the probability
    ``finds`` would leave, having found no more than these, with more than the probability ``miss``
    (how often the bound may fail). Items that were found but are right make it larger, and so more
    cautious.
    """
    low, high = 0, 1
    while binomial_tail(found, found + high, finds) > miss:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_tail(found, found + middle, finds) > miss:
            low = middle
        else:
            high = middle
    return low
