"""Means from samples whose items were drawn with unequal probabilities.

A study that draws more items from small systems than from large ones must weigh them back before
it speaks of all of them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from contrafact.stats._checks import finite_values
from contrafact.stats.intervals import Clusters, Interval, cluster_bootstrap

__all__ = ["horvitz_thompson_mean"]


def horvitz_thompson_mean(
    values: ArrayLike,
    probabilities: ArrayLike,
    *,
    clusters: Clusters = None,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Interval:
    """Return the mean of a population from a sample of unequal inclusion probabilities.

    The estimate is the Hajek ratio ``sum(y / p) / sum(1 / p)``: the Horvitz-Thompson total over
    the Horvitz-Thompson size, not over the known size. It stays within the range of the values,
    gives a constant back exactly, and usually varies less; it is unbiased only as the sample
    grows (Horvitz and Thompson, Journal of the American Statistical Association 47, 1952;
    Sarndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992, section 5.7).

    The interval resamples clusters with replacement, weights and all, as
    :func:`contrafact.stats.intervals.cluster_bootstrap` does. It speaks of the process the
    population came from and makes no correction for a finite population, so where a large share
    of the population was drawn it is wider than that population's own mean needs.

    Args:
        values: One number per sampled item, shape (n,). NaN is refused.
        probabilities: The probability with which each item came into the sample, in (0, 1].
        clusters: One label per item, or None where each item stands for itself.
        level: Confidence level of the interval.
        resamples: How many times the clusters are drawn.
        rng: Where randomness comes from.

    Returns:
        The interval, in the unit of ``values``; NaN estimate and bounds without values.

    Raises:
        ValueError: On probabilities outside (0, 1], and as ``cluster_bootstrap``.
    """
    p = finite_values(probabilities, "probabilities")
    if ((p <= 0.0) | (p > 1.0)).any():
        raise ValueError("inclusion probabilities must be above 0 and at most 1")
    interval = cluster_bootstrap(
        values, clusters, weights=1.0 / p, level=level, resamples=resamples, rng=rng
    )
    return replace(interval, method=f"Hajek ratio; {interval.method}")
