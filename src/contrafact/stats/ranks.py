"""Ranks that say no more than the comparisons behind them.

A system's rank is an interval: its best rank is one more than the number of systems that are
better than it, its worst the number of systems less those that it is better than, where "better"
is a paired difference that stands after Holm's correction over all pairs. At the level of the
correction all intervals hold at once (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic
Studies 91(1), 2024, who call these simultaneous confidence sets for ranks). Systems that cannot be
told apart from the same ones share their best rank.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contrafact.stats.paired import PairedResult, holm, paired_comparison
from contrafact.stats.resampling import Clusters, finite_values

__all__ = ["Difference", "Rank", "compare_all", "rank_intervals"]


@dataclass(frozen=True)
class Difference:
    """Two systems compared.

    Attributes:
        first: One system.
        second: The other.
        difference: The first's score less the second's.
        p_adjusted: The p-value, adjusted for all pairs; NaN where the pair was not compared.
    """

    first: Hashable
    second: Hashable
    difference: float
    p_adjusted: float


@dataclass(frozen=True)
class Rank:
    """Where a system stands, from 1.

    Attributes:
        best: The best rank that the comparisons leave it; what a table shows.
        worst: The worst rank that they leave it.
        better: How many systems are better than it.
        worse: How many it is better than.
    """

    best: int
    worst: int
    better: int
    worse: int


def rank_intervals(
    systems: Sequence[Hashable], differences: Iterable[Difference], *, level: float = 0.95
) -> dict[Hashable, Rank]:
    """Return each system's rank as an interval, higher scores first.

    Args:
        systems: The systems; those of a pair that was not compared are not told apart.
        differences: The pairs that were compared, p-values adjusted.
        level: One less the chance of any false "better".

    Raises:
        ValueError: If a pair names an unknown system, or a level lies outside (0, 1).
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    better = dict.fromkeys(systems, 0)
    worse = dict.fromkeys(systems, 0)
    for pair in differences:
        if pair.first not in better or pair.second not in better:
            raise ValueError(f"{pair.first} against {pair.second}: not both are ranked")
        if pair.difference == 0.0 or not pair.p_adjusted <= 1.0 - level:
            continue
        ahead, behind = pair.first, pair.second
        if pair.difference < 0.0:
            ahead, behind = behind, ahead
        worse[ahead] += 1
        better[behind] += 1
    return {
        system: Rank(1 + better[system], len(better) - worse[system], better[system], worse[system])
        for system in better
    }


def compare_all(
    values: Mapping[Any, ArrayLike],
    clusters: Clusters,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> list[tuple[Difference, PairedResult]]:
    """Compare every two systems on the same items, p-values adjusted by Holm over all pairs.

    Args:
        values: Each system's values on the same items in the same order, shape (n,); NaN where an
            item has none, which leaves it out of that system's pairs.
        clusters: One label per item, or None where each item stands for itself.
        level: Confidence level of the differences' intervals.
        resamples: How many resamples and random sign patterns.
        rng: Where randomness comes from.

    Raises:
        ValueError: On lengths that differ.
    """
    arrays = {name: np.asarray(given, dtype=np.float64) for name, given in values.items()}
    pairs = list(combinations(arrays, 2))
    results: list[PairedResult] = []
    for first, second in pairs:
        a, b = arrays[first], arrays[second]
        if a.shape != b.shape:
            raise ValueError(f"{first} and {second} do not have the same items")
        held = ~(np.isnan(a) | np.isnan(b))
        labels = None if clusters is None else np.asarray(clusters, dtype=object)[held]
        results.append(
            paired_comparison(
                finite_values(a[held]),
                finite_values(b[held]),
                labels,
                level=level,
                resamples=resamples,
                rng=rng,
            )
        )
    adjusted = holm([result.p_value for result in results]) if results else np.empty(0)
    return [
        (Difference(first, second, result.difference, float(p)), result)
        for (first, second), result, p in zip(pairs, results, adjusted, strict=True)
    ]
