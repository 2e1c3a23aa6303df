"""Means and medians with intervals that respect clusters.

Values of one cluster (the two counterfactuals of a headline) resemble each other; an interval
that takes them for independent is too narrow. Here clusters are what is drawn, with replacement
and whole (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8).

Small samples. The percentile interval of a mean of few clusters is too narrow, because the
bootstrap divides by n where the variance needs n - 1, and uses a normal quantile where t is
needed. The interval here is the *expanded* percentile interval (Hesterberg, What Teachers Should
Know About the Bootstrap, The American Statistician 69(4), 2015): the tail at which resamples are
cut is chosen so that for a mean it agrees with the t interval. From some hundreds of clusters on
it is the plain percentile interval. Under :data:`MIN_CLUSTERS` clusters no bounds are given.

What a 95% interval covers, in simulations of 1,500 studies with clusters of two values that
correlate by one half: with normal values, means 91% at 5 clusters and 93 to 95% from 6 on, medians
88% at 5 and 94 to 96% from 8 on; with log-normal values (perplexities look like them), means only
82% at 5 clusters, 88% at 20 and 92% at 50, medians 93 to 96% from 8 on. Quote the median of skewed
values. Proportions near 0 or 1 cover less than they say with few clusters, too.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from contrafact.stats.resampling import (
    Clusters,
    check_settings,
    cluster_codes,
    cluster_sums,
    column_totals,
    finite_values,
    resampled_counts,
    resampled_sums,
)

__all__ = [
    "MIN_CLUSTERS",
    "Interval",
    "Statistic",
    "cluster_bootstrap",
    "interval_from_resamples",
]

MIN_CLUSTERS = 5
"""Fewer clusters than this, and an interval has no bounds: five clusters are the fewest whose
most extreme resample (1 in 5**5) lies beyond the tail of a 95% interval."""

Statistic = Literal["mean", "median"]


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval around it.

    Attributes:
        estimate: The statistic of the values as given; NaN where it is undefined.
        low: Lower bound; NaN where no bound can be given (``method`` says why).
        high: Upper bound; NaN where no bound can be given.
        level: The confidence level, between 0 and 1.
        n: How many values the estimate rests on.
        clusters: How many clusters they come in.
        method: How the bounds were made, or why there are none, in a few words.
    """

    estimate: float
    low: float
    high: float
    level: float
    n: int
    clusters: int
    method: str

    def columns(self, name: str) -> dict[str, float]:
        """Return the estimate and its bounds as columns of a table, under this name."""
        return {name: self.estimate, f"{name}_low": self.low, f"{name}_high": self.high}


def cluster_bootstrap(
    values: ArrayLike,
    clusters: Clusters,
    *,
    statistic: Statistic = "mean",
    weights: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Interval:
    """Return the mean or median of ``values`` with an interval that resamples clusters.

    The bounds are the expanded percentile interval (see the module's text). Where values are all
    0 or all 1 every resample has the same mean; such a proportion gets the exact binomial
    (Clopper-Pearson) bounds for as many trials as there are clusters, by their effective number
    (Kish) where clusters weigh differently: cautious, since each cluster counts once. A mean of
    values that are all equal otherwise gets no bounds.

    Args:
        values: One number per value, shape (n,). NaN is refused: the caller drops and counts.
        clusters: One label per value, or None where each value stands for itself.
        statistic: "mean", or "median" (of an even number, the middle of the middle two; with
            weights, the value that halves the total weight).
        weights: One positive number per value, of any scale; None for equal weights.
        level: Confidence level of the interval.
        resamples: How many times the clusters are drawn.
        rng: Where randomness comes from. The order of rows does not change a seeded result.

    Returns:
        The interval, in the unit of ``values``. Without values the estimate is NaN; with fewer
        than :data:`MIN_CLUSTERS` clusters the bounds are.

    Raises:
        ValueError: On NaN or infinity, weights that are not positive, lengths that differ, an
            unknown statistic, a level outside (0, 1) or no resamples.
    """
    check_settings(level, resamples)
    if statistic not in ("mean", "median"):
        raise ValueError(f"statistic must be 'mean' or 'median', not {statistic!r}")
    x = finite_values(values)
    w = None if weights is None else finite_values(weights, "weights")
    if w is not None and (len(w) != len(x) or (w <= 0).any()):
        raise ValueError("weights must be positive, one per value")
    codes, count = cluster_codes(clusters, len(x))
    if len(x) == 0:
        return Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    estimate, draws = (
        _means(x, w, codes, count, resamples, rng)
        if statistic == "mean"
        else _medians(x, w, codes, count, resamples, rng)
    )
    if statistic == "mean" and count >= MIN_CLUSTERS and (x == x[0]).all():
        sizes = np.bincount(codes, w).astype(np.float64)
        return _of_equal_values(float(x[0]), sizes, len(x), level)
    return interval_from_resamples(
        estimate, draws, n=len(x), clusters=count, level=level, ties=statistic == "median"
    )


def interval_from_resamples(
    estimate: float,
    draws: NDArray[np.float64],
    *,
    n: int,
    clusters: int,
    level: float,
    ties: bool = False,
) -> Interval:
    """Return the expanded percentile interval of a statistic from its values on resamples.

    Args:
        estimate: The statistic on the data as given.
        draws: The statistic on each resample, shape (resamples,); NaN where it was undefined.
        n: How many values there are.
        clusters: How many clusters each resample drew.
        level: Confidence level.
        ties: Whether the statistic may well be the same on every resample (a median of values
            most of which are equal); others that never vary get no bounds.

    Returns:
        The interval. Its bounds are NaN, and its method says why, where there are fewer than
        :data:`MIN_CLUSTERS` clusters, where the statistic is undefined on more than ``1 - level``
        of the resamples, and where a statistic that should vary came out the same on all of them.
    """

    def unbounded(why: str) -> Interval:
        return Interval(estimate, math.nan, math.nan, level, n, clusters, why)

    if clusters < MIN_CLUSTERS:
        return unbounded(f"no interval: too few clusters ({clusters} of {MIN_CLUSTERS} needed)")
    if math.isnan(estimate):
        return unbounded("no interval: the statistic is undefined on these data")
    defined = draws[~np.isnan(draws)]
    undefined = 1.0 - len(defined) / len(draws)
    if undefined > 1.0 - level:
        return unbounded(f"no interval: undefined on {undefined:.0%} of resamples")
    if not ties and float(np.ptp(defined)) <= 1e-12 * max(1.0, abs(estimate)):
        return unbounded("no interval: every resample gave the same value")
    tail = _expanded_tail(level, clusters)
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    method = f"expanded percentile bootstrap, {len(draws)} resamples of {clusters} clusters"
    if undefined:
        method += f", {undefined:.1%} of them undefined and left out"
    return Interval(estimate, float(low), float(high), level, n, clusters, method)


def _expanded_tail(level: float, clusters: int) -> float:
    """Return the tail probability at which resamples of so many clusters are cut."""
    t = float(special.stdtrit(clusters - 1, (1.0 - level) / 2.0))
    return float(special.ndtr(math.sqrt(clusters / (clusters - 1)) * t))


def _of_equal_values(
    value: float, cluster_weights: NDArray[np.float64], n: int, level: float
) -> Interval:
    """Return the interval of values that are all the same, in clusters of the given weights."""
    clusters = len(cluster_weights)
    if value not in (0.0, 1.0):
        why = "no interval: all values are equal"
        return Interval(value, math.nan, math.nan, level, n, clusters, why)
    trials = float(cluster_weights.sum() ** 2 / (cluster_weights**2).sum())
    reach = ((1.0 - level) / 2.0) ** (1.0 / trials)
    low, high = (reach, 1.0) if value == 1.0 else (0.0, 1.0 - reach)
    method = f"all values are {value:.0f}: exact binomial bounds, {trials:.4g} effective clusters"
    return Interval(value, low, high, level, n, clusters, method)


def _means(
    x: NDArray[np.float64],
    w: NDArray[np.float64] | None,
    codes: NDArray[np.intp],
    clusters: int,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.float64]]:
    """Return the (weighted) mean, and that of each resample."""
    w = np.ones_like(x) if w is None else w
    sums = cluster_sums(np.stack([w * x, w], axis=1), codes, clusters)
    draws = resampled_sums(sums, resamples, rng)
    total = column_totals(sums)
    return float(total[0] / total[1]), draws[:, 0] / draws[:, 1]


def _medians(
    x: NDArray[np.float64],
    w: NDArray[np.float64] | None,
    codes: NDArray[np.intp],
    clusters: int,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.float64]]:
    """Return the (weighted) median, and that of each resample.

    Values are sorted once. A resample's median lies where the running total of its counts along
    that order passes half.
    """
    weight = np.ones_like(x) if w is None else w
    order = np.lexsort((codes, weight, x))
    x, codes, weight = x[order], codes[order], weight[order]
    if clusters == len(x):
        # Each value is its own cluster: number them as sorted, so that row order does not matter.
        codes = np.arange(clusters)

    def medians(counts: NDArray[np.intp]) -> NDArray[np.float64]:
        # 32 bits hold any running count and halve the memory to go through.
        cells = counts.astype(np.int32)[:, codes]
        running: NDArray[Any]
        if w is None:
            running = np.cumsum(cells, axis=1, dtype=np.int32)
            total = running[:, -1:]
            reach_half, pass_half = (total + 1) // 2, total // 2 + 1
        else:
            running = np.cumsum(cells * weight, axis=1)
            total = running[:, -1:]
            # Rounding must not decide whether a total is halved exactly.
            reach_half, pass_half = total * (0.5 - 1e-12), total * (0.5 + 1e-12)
        lower = (running >= reach_half).argmax(axis=1)
        upper = (running >= pass_half).argmax(axis=1)
        middle: NDArray[np.float64] = (x[lower] + x[upper]) / 2.0
        return middle

    estimate = float(medians(np.ones((1, clusters), dtype=np.intp))[0])
    chunks = resampled_counts(clusters, resamples, rng, width=len(x))
    return estimate, np.concatenate([medians(counts) for counts in chunks])
