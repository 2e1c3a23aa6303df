"""Two systems on the same items: the difference, its interval and its p-value.

The permutation test flips the sign of whole clusters: under the hypothesis that the two systems
are exchangeable within each cluster, every pattern of signs is equally likely (Fisher, The Design
of Experiments, 1935, section 21; for clusters, Winkler et al., NeuroImage 123, 2015). McNemar's
test is for 0/1 outcomes of independent items; Holm's procedure is for several tests at once.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from contrafact.stats.intervals import interval_from_resamples
from contrafact.stats.resampling import (
    Clusters,
    check_settings,
    chunk_sizes,
    cluster_codes,
    cluster_sums,
    finite_values,
    resampled_sums,
)

__all__ = [
    "EXACT_CLUSTERS",
    "McNemarResult",
    "PairedResult",
    "holm",
    "mcnemar",
    "paired_comparison",
]

EXACT_CLUSTERS = 16
"""Up to this many clusters that differ, all sign patterns are enumerated (65,536 at most)."""


@dataclass(frozen=True)
class PairedResult:
    """The comparison of two systems on the same items.

    Attributes:
        difference: Mean of ``a - b`` over values; NaN without values.
        low: Lower bound of its interval; NaN where none can be given.
        high: Upper bound of its interval; NaN where none can be given.
        p_value: Two-sided, by sign flips of clusters; NaN without values.
        n: How many pairs of values there are.
        clusters: How many clusters they come in.
        method: How interval and p-value were made, in a few words.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int
    clusters: int
    method: str


@dataclass(frozen=True)
class McNemarResult:
    """McNemar's test of two systems' 0/1 outcomes on the same items.

    Attributes:
        both: Items on which both succeed.
        only_a: Items on which only the first succeeds.
        only_b: Items on which only the second succeeds.
        neither: Items on which neither does.
        p_exact: Two-sided exact conditional p-value; never too small, often too large.
        p_mid: Two-sided mid-p value, close to the nominal error rate and the one to quote
            (Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91, 2013).
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p_exact: float
    p_mid: float


def paired_comparison(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Clusters,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> PairedResult:
    """Compare two systems' values on the same items, cluster by cluster.

    The interval of the mean difference resamples clusters (the expanded percentile interval of
    :mod:`contrafact.stats.intervals`). The p-value is the share of sign patterns over clusters
    whose mean difference is at least as far from 0 as the one seen: of all patterns where at most
    :data:`EXACT_CLUSTERS` clusters differ, else of ``resamples`` random ones and the one seen,
    so that it is never 0 and never too small (Phipson and Smyth, Statistical Applications in
    Genetics and Molecular Biology 9(1), 2010). Clusters whose differences sum to 0 move no
    pattern's mean and are left out of the patterns.

    Args:
        a: The first system's values, shape (n,); 0/1 or any numbers. NaN is refused.
        b: The second system's values on the same items in the same order.
        clusters: One label per item, or None where each item stands for itself.
        level: Confidence level of the interval.
        resamples: How many resamples, and how many random sign patterns.
        rng: Where randomness comes from. The order of rows does not change a seeded result.

    Returns:
        The comparison. Where all differences are equal (two systems that agree everywhere) no
        bounds can be given, and ``method`` says so.

    Raises:
        ValueError: On NaN or infinity, lengths that differ, a level outside (0, 1) or no
            resamples.
    """
    check_settings(level, resamples)
    first, second = finite_values(a, "a"), finite_values(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a and b must pair up: {len(first)} values against {len(second)}")
    n = len(first)
    codes, count = cluster_codes(clusters, n)
    if n == 0:
        return PairedResult(math.nan, math.nan, math.nan, math.nan, 0, 0, "no values")
    sums = cluster_sums(np.stack([first - second, np.ones(n)], axis=1), codes, count)
    difference = math.fsum(sums[:, 0]) / n
    draws = resampled_sums(sums, resamples, rng)
    interval = interval_from_resamples(
        difference, draws[:, 0] / draws[:, 1], n=n, clusters=count, level=level
    )
    p_value, how = _sign_flip_p_value(sums[:, 0], resamples, rng)
    method = f"{interval.method}; {how}"
    return PairedResult(difference, interval.low, interval.high, p_value, n, count, method)


def _sign_flip_p_value(
    sums: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> tuple[float, str]:
    """Return the two-sided sign-flip p-value of the clusters' sums, and how it was made."""
    # Sorted, so that neither the order of rows nor the clusters' names matter.
    moving = np.sort(np.abs(sums[sums != 0.0]))
    # A pattern as extreme as the one seen must not be lost to rounding.
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
    return p_value, how


def mcnemar(a: ArrayLike, b: ArrayLike) -> McNemarResult:
    """Return McNemar's test of two systems' outcomes, exact and mid-p.

    Items are taken for independent; where they come in clusters, :func:`paired_comparison` is
    the test. Where the two never differ there is no evidence, and both p-values are 1.

    Args:
        a: The first system's outcomes, shape (n,): booleans, or 0 and 1.
        b: The second system's outcomes on the same items in the same order.

    Raises:
        ValueError: On lengths that differ, or outcomes other than 0 and 1.
    """
    first, second = finite_values(a, "a"), finite_values(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a and b must pair up: {len(first)} values against {len(second)}")
    if not (np.isin(first, (0.0, 1.0)).all() and np.isin(second, (0.0, 1.0)).all()):
        raise ValueError("McNemar's test is for outcomes of 0 and 1")
    cells = np.bincount((2 * first + second).astype(np.intp), minlength=4)
    neither, only_b, only_a, both = (int(cell) for cell in cells)
    p_exact = p_mid = 1.0
    differing = only_a + only_b
    if differing:
        smaller = min(only_a, only_b)
        tail = float(special.bdtr(smaller, differing, 0.5))
        less = float(special.bdtr(smaller - 1, differing, 0.5)) if smaller else 0.0
        p_exact = min(1.0, 2.0 * tail)
        # Outcomes as likely as the one seen count half: both tails' unless the two are one.
        p_mid = 1.0 - (tail - less) / 2.0 if only_a == only_b else tail + less
    return McNemarResult(both, only_a, only_b, neither, p_exact, p_mid)


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Return p-values adjusted for testing several hypotheses, by Holm's step-down procedure.

    The chance of any false rejection stays under the level at which these are read (Holm,
    Scandinavian Journal of Statistics 6, 1979).

    Args:
        pvalues: Shape (tests,). NaN (a test that could not be made) stays NaN and does not count.

    Returns:
        The adjusted p-values in the same order, shape (tests,), none above 1.

    Raises:
        ValueError: On anything else outside 0 to 1.
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values must be one-dimensional, not of shape {p.shape}")
    made = ~np.isnan(p)
    if ((p[made] < 0) | (p[made] > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = np.full(len(p), np.nan)
    order = np.flatnonzero(made)[np.argsort(p[made], kind="stable")]
    remaining = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * remaining))
    return adjusted
