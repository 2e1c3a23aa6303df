"""Votes: what most of them say, and what is true where several people judged and nobody knows.

`majority` counts votes. `missed_at_most` bounds what somebody has overlooked.

`latent_truth` takes votes to be of uncertain worth. Each item is right or wrong; each person passes
right items with one probability and wrong ones with another, and people err independently of each
other given the truth (Dawid and Skene, Applied Statistics 28(1), 1979; two people suffice where
groups of items differ in how many are right: Hui and Walter, Biometrics 36(1), 1980). How many are
right, how good each person is and which items are right are drawn together by Gibbs sampling
(Joseph, Gyorkos and Coupal, American Journal of Epidemiology 141(3), 1995), so that an interval
carries all of that uncertainty.

Not every person has to judge every item: who judges which may hang on the votes so far (a dispute
goes to an adjudicator), not on the unknown truth beyond them. Items with the same group and the
same votes are drawn together, so that ten thousand items cost no more than a few hundred.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contrafact.stats.distributions import binomial_tail, expit, logit

__all__ = ["Latent", "latent_truth", "majority", "missed_at_most"]

Vote = TypeVar("Vote", bound=Hashable)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

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
    ``finds`` would leave, having found no more than these, with more than the probability ``miss``.
    Items that were found and are right after all make it larger, and the bound more cautious.

    Args:
        found: How many items they found to be wrong.
        finds: Between 0 and 1.
        miss: How often the bound may fail, between 0 and 1.
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


@dataclass(frozen=True)
class Latent:
    """Draws from what the votes leave possible.

    Attributes:
        pattern: Each item's pattern: items of one group, kind and votes share it, shape (items,).
        size: How many items each pattern has, shape (patterns,).
        right: How many of them are right, shape (draws, patterns).
        sensitivity: The chance that each person passes a right item, shape (draws, people).
        specificity: The chance that each fails a wrong one, shape (draws, people).
        rhat: How far the chains differ in the share of right items; near 1 where they agree
            (Gelman and Rubin, Statistical Science 7(4), 1992).
    """

    pattern: NDArray[np.intp]
    size: Counts
    right: Counts
    sensitivity: Floats
    specificity: Floats
    rhat: float

    def wrong(self, items: NDArray[np.bool_]) -> Counts:
        """Return how many of some items are wrong in each draw, shape (draws,).

        Args:
            items: Which, shape (items,): all of a pattern's items, or none.

        Raises:
            ValueError: If a pattern is taken in part.
        """
        taken = np.bincount(self.pattern[items], minlength=len(self.size))
        if ((taken > 0) & (taken < self.size)).any():
            raise ValueError("items of one pattern cannot be told apart")
        chosen = taken > 0
        counted: Counts = (self.size[chosen] - self.right[:, chosen]).sum(axis=1)
        return counted

    def risk(self) -> Floats:
        """Return each item's chance of being wrong, shape (items,)."""
        share = 1.0 - self.right.mean(axis=0) / self.size
        return np.asarray(share[self.pattern])


def latent_truth(
    votes: NDArray[np.int8],
    groups: NDArray[np.intp],
    kinds: NDArray[np.intp] | None = None,
    *,
    draws: int = 1_000,
    burn: int = 500,
    chains: int = 4,
    rng: np.random.Generator,
) -> Latent:
    """Draw what is true of items that people voted on.

    Before any vote, the share of right items in a group is anything (uniform), and a person is
    right in four of five cases, as five items would say (Beta(4, 1)); nobody is worse than chance.

    Args:
        votes: 1 for a pass, 0 for a fail, -1 where a person did not vote, shape (items, people).
        groups: A whole number from 0 for each item's group: each has its own share of right items.
        kinds: A whole number for each item, by which draws can be told apart afterwards; it says
            nothing of the truth.
        draws: How many draws each chain keeps.
        burn: How many it throws away before.

    Raises:
        ValueError: If there are no items or no people, or lengths differ.
    """
    # Every judge counts votes, and few ask what lies behind them: SciPy is loaded for those alone.
    if votes.ndim != 2 or 0 in votes.shape or len(groups) != len(votes):
        raise ValueError("there must be items, people, and a group for each item")
    apart = np.zeros(len(votes), dtype=np.intp) if kinds is None else kinds
    table = np.column_stack([groups, apart, votes.astype(np.intp)])
    rows, pattern, size = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    group, seen = rows[:, 0], rows[:, 2:]
    passed = (seen == 1).astype(np.float64)
    failed = (seen == 0).astype(np.float64)
    of_group = (group[:, None] == np.arange(int(group.max()) + 1)).astype(np.float64)
    counted = passed.sum(axis=1) + failed.sum(axis=1)
    start = (passed.sum(axis=1) + 0.5) / (counted + 1.0)
    right = rng.binomial(size, start, size=(chains, len(size)))
    kept: list[tuple[Counts, Floats, Floats]] = []
    for step in range(burn + draws):
        wrong = size - right
        share = rng.beta(1.0 + right @ of_group, 1.0 + wrong @ of_group)
        se, sp = _people(right, wrong, passed, failed, rng)
        odds = logit(_inside(share))[:, group]
        odds += np.log(se / (1.0 - sp)) @ passed.T + np.log((1.0 - se) / sp) @ failed.T
        right = rng.binomial(size, expit(odds))
        if step >= burn:
            kept.append((right, se, sp))
    rights, ses, sps = (np.stack(column, axis=1) for column in zip(*kept, strict=True))
    return Latent(
        pattern.reshape(-1),
        size,
        rights.reshape(-1, len(size)),
        ses.reshape(-1, votes.shape[1]),
        sps.reshape(-1, votes.shape[1]),
        _rhat(rights.sum(axis=2) / len(votes)),
    )


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


def _rhat(chains: Floats) -> float:
    """Return the potential scale reduction of a figure drawn by several chains, by halves."""
    half = chains.shape[1] // 2
    if half < 2:
        return math.nan
    halves = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    return math.sqrt((half - 1) / half + between / within) if within > 0.0 else 1.0
