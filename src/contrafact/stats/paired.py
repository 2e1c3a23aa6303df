"""Comparisons of systems on the same items: differences, intervals and p-values.

The permutation test flips the sign of whole clusters: under the hypothesis that the two systems are
exchangeable within each cluster, all patterns of signs are equally likely (Fisher, The Design of
Experiments, 1935, section 21; for clusters, Winkler et al., NeuroImage 123, 2015). For
independent outcomes of 0 and 1 it is McNemar's exact test. Holm's procedure adjusts several tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats.distributions import normal_cdf, normal_quantile
from contrafact.stats.intervals import (
    Clusters,
    Resampling,
    chunk_sizes,
    cluster_codes,
    cluster_sums,
    finite_values,
    interval_from_resamples,
    resampled_sums,
    resampling,
)

__all__ = ["clusters_needed", "holm", "paired_comparison"]

EXACT_CLUSTERS = 16
"""Up to this many clusters that differ, all sign patterns are enumerated (65,536 at most)."""


@dataclass(frozen=True)
class PairedResult:
    """The comparison of two systems on the same items.

    ``difference`` is the mean of ``a - b``, NaN without values; its bounds are NaN if none can be
    given. ``p_value`` is two-sided, by sign flips of the ``differ`` clusters that differ: it cannot
    be smaller than ``2 ** (1 - differ)``. ``sums`` are these clusters' sums of ``a - b``.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int
    clusters: int
    differ: int
    method: str
    sums: tuple[float, ...] = ()


def paired_comparison(
    a: ArrayLike, b: ArrayLike, clusters: Clusters, **how: Unpack[Resampling]
) -> PairedResult:
    """Compare two systems' values on the same items, cluster by cluster.

    The interval of the mean difference resamples clusters (the expanded percentile interval of
    `contrafact.stats.intervals`); there is none if all differences are equal. The p-value is the
    share of sign patterns over clusters whose mean difference is at least as far from 0 as the
    observed one: of all patterns if at most `EXACT_CLUSTERS` clusters differ, else of ``resamples``
    random ones and the observed one, so that it is never too small (Phipson and Smyth, Statistical
    Applications in Genetics and Molecular Biology 9(1), 2010); if none of these is as far, it is
    Hoeffding's bound on the share of all patterns, if that is smaller. Exchanging the systems
    changes the sign of the difference and of its bounds, and nothing else.

    Raises:
        ValueError: On NaN or infinity, or lengths that differ.
    """
    level, resamples, rng = resampling(how)
    first, second = finite_values(a, "a"), finite_values(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a and b must pair up: {len(first)} values against {len(second)}")
    n = len(first)
    codes, count = cluster_codes(clusters, n)
    if n == 0:
        return PairedResult(math.nan, math.nan, math.nan, math.nan, 0, 0, 0, "no values")
    sums = cluster_sums(np.stack([first - second, np.ones(n)], axis=1), codes, count)
    difference = math.fsum(sums[:, 0]) / n
    sign = -1.0 if difference < 0.0 else 1.0
    sums[:, 0] *= sign
    draws = resampled_sums(sums, resamples, rng)
    interval = interval_from_resamples(
        sign * difference, draws[:, 0] / draws[:, 1], n=n, clusters=count, level=level
    )
    low, high = sorted((sign * interval.low, sign * interval.high))
    p_value, test = _sign_flip_p_value(sums[:, 0], resamples, rng)
    method = f"{interval.method}; {test}"
    moved = tuple(sorted((sign * sums[sums[:, 0] != 0.0, 0]).tolist()))
    bounds = low + 0.0, high + 0.0
    return PairedResult(difference, *bounds, p_value, n, count, len(moved), method, moved)


def _sign_flip_p_value(
    sums: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> tuple[float, str]:
    """Return the two-sided sign-flip p-value of the clusters' sums, and the test's name."""
    # Sorted, so that neither the order of rows nor the clusters' names matter.
    moving = np.sort(np.abs(sums[sums != 0.0]))
    # A pattern as extreme as the observed one must not be lost by rounding.
    threshold = abs(math.fsum(sums)) - 1e-9 * float(moving.sum())
    patterns = np.array([moving.sum()])
    if len(moving) <= EXACT_CLUSTERS:
        for size in moving:
            patterns = np.concatenate([patterns, patterns - 2.0 * size])
        p_value = float((np.abs(patterns) >= threshold).mean())
        return p_value, f"exact sign-flip test, all patterns of {len(moving)} clusters that differ"
    extreme = 0
    for rows in chunk_sizes(resamples, len(moving)):
        packed = rng.integers(0, 256, size=(rows, -(-len(moving) // 8)), dtype=np.uint8)
        flipped = np.unpackbits(packed, axis=1, count=len(moving))
        means = moving.sum() - 2.0 * (flipped.astype(np.float64) @ moving)
        extreme += int((np.abs(means) >= threshold).sum())
    p_value = (1 + extreme) / (1 + resamples)
    how = f"sign-flip test, {resamples} random patterns of {len(moving)} clusters that differ"
    # The smaller of the two is valid: only the bound can be below 1 / (1 + resamples), and it is
    # at least the share of all patterns.
    bound = 2.0 * math.exp(-(threshold**2) / (2.0 * float(moving @ moving)))
    if extreme == 0 and bound < p_value:
        return bound, f"{how}, none as extreme: Hoeffding's bound"
    return p_value, how


_STUDIES, _KINDS = 4_000, 20  # drawn for a power; so many different sums are not rounded


def clusters_needed(
    sums: Sequence[float], clusters: int, *, tests: int, rng: np.random.Generator
) -> int:
    """Return how many clusters give the sign-flip test a power of 80%, within two points.

    Studies are drawn from the ``clusters`` observed, which differ by these sums (`PairedResult`),
    and tested at 5% by the strictest of Holm's adjustments for ``tests``. 0 if the sums cancel.
    """
    x = np.asarray(sums) / np.abs(sums).max(initial=1e-300)
    if abs(x.sum()) < 1e-9 * max(1, len(x)):
        return 0
    kinds, seen = np.unique(x if len({*x}) <= _KINDS else x.round(1), return_counts=True)
    shares, level = np.append(seen, clusters - len(x)) / clusters, 0.05 / tests
    wanted = normal_quantile(1.0 - level / 2.0) + normal_quantile(0.8)
    enough = max(wanted**2 * (x @ x) / x.sum() ** 2, (2.0 - math.log2(level)) / len(x))
    low, high = 0, 2 * math.ceil(float(clusters * enough))
    while high - low > 1:
        middle = (low + high) // 2
        drawn = rng.multinomial(middle, shares, size=_STUDIES)[:, :-1].astype(np.float64)
        found = (_approximate_p_values(kinds, drawn) <= level).mean() >= 0.8
        low, high = (low, middle) if found else (middle, high)
    return high


def _approximate_p_values(
    kinds: NDArray[np.float64], drawn: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the p-values of rows that say how many clusters have each sum, by a lattice's
    saddlepoint approximation (Daniels, International Statistical Review 55(1), 1987).
    """
    size = np.abs(kinds)
    half = np.where(drawn * size > 0.0, size, np.inf).min(axis=1)
    reached = np.abs(drawn @ kinds) - half
    known = reached > 1e-9
    drawn, reached, half = drawn[known], reached[known], half[known]
    point = reached / (drawn @ size**2)
    for _ in range(12):  # Newton's steps, all from below
        tilt = point[:, None] * size
        spread = (drawn / np.cosh(tilt) ** 2) @ size**2
        point += (reached - (drawn * np.tanh(tilt)) @ size) / spread
    logs = (drawn * (np.logaddexp(tilt, -tilt) - math.log(2.0))).sum(axis=1)
    root = np.sqrt(2.0 * (point * reached - logs))
    step = np.sinh(half * point) / half * np.sqrt(spread)
    p_values = np.ones(len(known))
    p_values[known] = [2.0 * normal_cdf(-one) for one in root]
    p_values[known] += math.sqrt(2.0 / math.pi) * np.exp(-(root**2) / 2.0) * (1 / step - 1 / root)
    return p_values


def holm(pvalues: ArrayLike, tests: int = 0) -> NDArray[np.float64]:
    """Return p-values adjusted for testing several hypotheses, by Holm's step-down procedure.

    ``tests`` is the number of hypotheses, if more than are given: the others count as accepted.

    The probability of any false rejection stays under the level at which they are compared (Holm,
    Scandinavian Journal of Statistics 6, 1979). NaN (a test that could not be made) stays NaN and
    does not count.

    Raises:
        ValueError: On other values outside 0 to 1.
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values must be one-dimensional, not of shape {p.shape}")
    tested = ~np.isnan(p)
    if ((p[tested] < 0) | (p[tested] > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = np.full(len(p), np.nan)
    order = np.flatnonzero(tested)[np.argsort(p[tested], kind="stable")]
    remaining = max(tests, len(order)) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * remaining))
    return adjusted
