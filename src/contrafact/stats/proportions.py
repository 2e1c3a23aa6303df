"""Proportions of clustered outcomes: how often a judge is right, say, on several texts per story.

Near 0 or 1, where judges' rates lie, a bootstrap interval of a proportion is too narrow. Here the
Wilson score interval (Journal of the American Statistical Association 22, 1927) is taken at the
*effective* number of outcomes: their number over the design effect (Kish; Rao and Scott,
Biometrics 48, 1992), lowered for few clusters as Korn and Graubard do (Survey Methodology 24,
1998). The same number says what a clustered rate is worth to a calculation that takes independent
outcomes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from contrafact.stats.intervals import MIN_CLUSTERS, Interval, interval_from_resamples
from contrafact.stats.resampling import (
    Clusters,
    check_settings,
    cluster_codes,
    cluster_sums,
    finite_values,
    resampled_sums,
)

__all__ = [
    "Proportion",
    "clustered_proportion",
    "difference_between_groups",
    "effective_number",
    "standard_error",
    "variance_of_mean",
]


@dataclass(frozen=True)
class Proportion:
    """A proportion and its interval.

    Attributes:
        k: How many outcomes are 1.
        n: How many outcomes there are.
        n_effective: How many independent outcomes would say as much.
        clusters: How many clusters they come in.
        estimate: ``k / n``; NaN without outcomes.
        low: Lower bound; NaN with fewer than five clusters.
        high: Upper bound; NaN with fewer than five clusters.
        level: The confidence level.
    """

    k: int
    n: int
    n_effective: float
    clusters: int
    estimate: float
    low: float
    high: float
    level: float


def clustered_proportion(
    outcomes: ArrayLike, clusters: Clusters = None, *, level: float = 0.95
) -> Proportion:
    """Return the share of outcomes that are 1, with a Wilson interval that respects clusters.

    In simulations of 2,000 studies (rates 0.7 to 0.97, 20 to 80 clusters of two outcomes that
    correlate by one half), the 95% interval covers 94 to 98% of the time.

    Args:
        outcomes: Booleans, or 0 and 1, shape (n,).
        clusters: One label per outcome, or None where each stands for itself.
        level: Confidence level.

    Raises:
        ValueError: On other outcomes, lengths that differ, or a level outside (0, 1).
    """
    check_settings(level, 1)
    x = finite_values(outcomes, "outcomes")
    if not np.isin(x, (0.0, 1.0)).all():
        raise ValueError("outcomes must be 0 or 1")
    codes, groups = cluster_codes(clusters, len(x))
    k, n = int(x.sum()), len(x)
    if not n:
        return Proportion(0, 0, 0.0, 0, math.nan, math.nan, math.nan, level)
    share = k / n
    effective = effective_number(x, codes)
    if groups < MIN_CLUSTERS:
        return Proportion(k, n, effective, groups, share, math.nan, math.nan, level)
    z = float(special.ndtri(0.5 + level / 2.0))
    if groups < n:
        # The design effect is itself an estimate, from few clusters a rough one.
        t = float(special.stdtrit(groups - 1, 0.5 + level / 2.0))
        effective *= (z / t) ** 2
    spread = z**2 / effective
    middle = (share + spread / 2.0) / (1.0 + spread)
    reach = math.sqrt(share * (1.0 - share) * spread + spread**2 / 4.0) / (1.0 + spread)
    low = 0.0 if k == 0 else max(0.0, middle - reach)
    high = 1.0 if k == n else min(1.0, middle + reach)
    return Proportion(k, n, effective, groups, share, low, high, level)


def effective_number(values: ArrayLike, clusters: Clusters = None) -> float:
    """Return how many independent outcomes say as much about a rate as these clustered ones.

    It is the number of values over the design effect, and never more than their number; where all
    are equal, which tells nothing of how clusters vary, it is the number of clusters.

    Args:
        values: Numbers from 0 to 1, shape (n,).
        clusters: One label per value, or None where each value stands for itself.
    """
    x = finite_values(values)
    codes, groups = cluster_codes(clusters, len(x))
    if not len(x):
        return 0.0
    mean = float(x.mean())
    variance = variance_of_mean(x, codes, groups)
    if variance <= 0.0 or not 0.0 < mean < 1.0:
        return float(groups)
    return min(float(len(x)), mean * (1.0 - mean) / variance)


def standard_error(values: ArrayLike, clusters: Clusters = None) -> float:
    """Return the standard error of a mean of clustered values; NaN with fewer than two clusters.

    Args:
        values: The values; NaN are left out.
        clusters: Their clusters, of the same length; each value its own where none are given.
    """
    x = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(x)
    labels = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    codes, number = cluster_codes(labels[known], int(known.sum()))
    if number < 2:
        return math.nan
    return math.sqrt(variance_of_mean(x[known], codes, number))


def variance_of_mean(values: NDArray[np.float64], codes: NDArray[np.intp], clusters: int) -> float:
    """Return the variance of a mean of clustered values, by the sums over clusters.

    Args:
        values: Shape (n,).
        codes: Each value's cluster, from 0.
        clusters: How many there are; infinite variance with fewer than two.
    """
    if clusters < 2:
        return math.inf
    sums = cluster_sums((values - values.mean())[:, None], codes, clusters)[:, 0]
    return float((sums**2).sum() / len(values) ** 2 * clusters / (clusters - 1))


def difference_between_groups(
    values: ArrayLike,
    group: ArrayLike,
    clusters: Clusters,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Interval:
    """Return the mean of one group of values less that of the other, resampling clusters.

    A cluster may have values in both groups; it is drawn whole.

    Args:
        values: Shape (n,).
        group: Whether each value is of the first group, booleans, shape (n,).
        clusters: One label per value, or None where each stands for itself.
        level: Confidence level.
        resamples: How many times the clusters are drawn.
        rng: Where randomness comes from. The order of rows does not change a seeded result.

    Returns:
        The difference; NaN where a group is empty.

    Raises:
        ValueError: On NaN or infinity, or lengths that differ.
    """
    check_settings(level, resamples)
    x, g = finite_values(values), finite_values(group, "group")
    if len(x) != len(g) or not np.isin(g, (0.0, 1.0)).all():
        raise ValueError("group must be true or false for each value")
    codes, count = cluster_codes(clusters, len(x))
    if not len(x):
        return Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    columns = np.stack([x * g, g, x * (1.0 - g), 1.0 - g], axis=1)
    sums = cluster_sums(columns, codes, count)
    estimate = float(_difference(sums.sum(axis=0)))
    draws = _difference(resampled_sums(sums, resamples, rng))
    return interval_from_resamples(estimate, draws, n=len(x), clusters=count, level=level)


def _difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    first, second = sums[..., 1], sums[..., 3]
    both = (first > 0) & (second > 0)
    difference = sums[..., 0] / np.where(both, first, 1) - sums[..., 2] / np.where(both, second, 1)
    return np.asarray(np.where(both, difference, math.nan))
