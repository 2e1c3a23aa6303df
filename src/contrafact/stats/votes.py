"""Votes: what most of them say, and what is true where several people judged and nobody knows.

`majority` counts votes. `missed_at_most` bounds what somebody has overlooked.

`error_risk` takes votes to be of uncertain worth. Each item is right or wrong; each person passes
right items with one probability and wrong ones with another, and people err independently of each
other given the truth (Dawid and Skene, Applied Statistics 28(1), 1979; two people suffice where
groups of items differ in how many are right: Hui and Walter, Biometrics 36(1), 1980). How many are
right, how good each person is and which items are right are drawn together by Gibbs sampling
(Joseph, Gyorkos and Coupal, American Journal of Epidemiology 141(3), 1995).

Not every person has to judge every item: who judges which may hang on the votes so far (a dispute
goes to an adjudicator), not on the unknown truth beyond them. Items with the same group and the
same votes are drawn together, so that ten thousand items cost no more than a few hundred.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contrafact.stats.distributions import binomial_tail, expit, logit

__all__ = ["error_risk", "majority", "missed_at_most"]

Vote = TypeVar("Vote", bound=Hashable)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_BURN = 500
"""Draws that each chain throws away first."""
_CHAINS = 4
"""Chains that are drawn side by side."""
_RIGHT = (4.0, 1.0)
_TRIES = 200


def majority(votes: Iterable[Vote]) -> Vote | None:
    """Return what more than half of the votes say; None where nothing has so many."""
    counted = Counter(votes)
    if not counted:
        return None
    ((vote, count),) = counted.most_common(1)
    return vote if 2 * count > counted.total() else None


def missed_at_most(found: int, finds: float, miss: float) -> int:
    """Return how many wrong items somebody has missed at most who found so many.

    It is the largest number that somebody who finds each wrong item with at least the probability
    ``finds`` would leave, having found no more than these, with more than the probability ``miss``
    (how often the bound may fail). Items that were found and are right after all make it larger,
    and the bound more cautious.
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


def error_risk(
    votes: NDArray[np.int8],
    groups: NDArray[np.intp],
    *,
    draws: int = 1_000,
    rng: np.random.Generator,
) -> Floats:
    """Return each item's chance of being wrong, by the votes on all of them, shape (items,).

    Before any vote, the share of right items in a group is anything (uniform), and a person is
    right in four of five cases, as five items would say (Beta(4, 1)); nobody is worse than chance.

    Args:
        votes: 1 for a pass, 0 for a fail, -1 where a person did not vote, shape (items, people).
        groups: A whole number from 0 for each item's group: each has its own share of right items.
        draws: How many draws each chain keeps, after `_BURN` that it throws away.

    Raises:
        ValueError: If there are no items or no people, or lengths differ.
    """
    if votes.ndim != 2 or 0 in votes.shape or len(groups) != len(votes):
        raise ValueError("there must be items, people, and a group for each item")
    table = np.column_stack([groups, votes.astype(np.intp)])
    rows, pattern, size = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    group, seen = rows[:, 0], rows[:, 1:]
    passed = (seen == 1).astype(np.float64)
    failed = (seen == 0).astype(np.float64)
    of_group = (group[:, None] == np.arange(int(group.max()) + 1)).astype(np.float64)
    counted = passed.sum(axis=1) + failed.sum(axis=1)
    start = (passed.sum(axis=1) + 0.5) / (counted + 1.0)
    right = rng.binomial(size, start, size=(_CHAINS, len(size)))
    kept: list[Counts] = []
    for step in range(_BURN + draws):
        wrong = size - right
        share = rng.beta(1.0 + right @ of_group, 1.0 + wrong @ of_group)
        se, sp = _people(right, wrong, passed, failed, rng)
        odds = logit(_inside(share))[:, group]
        odds += np.log(se / (1.0 - sp)) @ passed.T + np.log((1.0 - se) / sp) @ failed.T
        right = rng.binomial(size, expit(odds))
        if step >= _BURN:
            kept.append(right)
    drawn = np.stack(kept, axis=1).reshape(-1, len(size))
    return np.asarray((1.0 - drawn.mean(axis=0) / size)[pattern.reshape(-1)])


def _people(
    right: Counts, wrong: Counts, passed: Floats, failed: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw each person's two probabilities, shape (chains, people), none worse than chance."""
    a, b = _RIGHT[0] + right @ passed, _RIGHT[1] + right @ failed
    c, d = _RIGHT[0] + wrong @ failed, _RIGHT[1] + wrong @ passed
    se, sp = _inside(rng.beta(a, b)), _inside(rng.beta(c, d))
    for _ in range(_TRIES):
        worse = se + sp <= 1.0
        if not worse.any():
            break
        se[worse] = _inside(rng.beta(a[worse], b[worse]))
        sp[worse] = _inside(rng.beta(c[worse], d[worse]))
    else:
        se, sp = np.where(worse, 0.5 + 1e-6, se), np.where(worse, 0.5 + 1e-6, sp)
    return se, sp


def _inside(share: Floats) -> Floats:
    return np.asarray(np.clip(share, 1e-9, 1.0 - 1e-9))
