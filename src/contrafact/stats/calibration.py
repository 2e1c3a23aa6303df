"""Whether probabilities of labels mean what they say, with intervals over clusters.

*Brier's score* is the mean squared distance of the probabilities from what was so: half the sum
over the labels, from 0 to 1, so that for two labels it is the squared error of one's probability.
The *expected calibration error* is the mean distance, over ten equal bins of the probability that
an answer was given, between that probability and the share of answers that are right: with n_b
items in bin b, the sum over b of n_b / n |right_b - probability_b| (Guo et al., 2017).

A resample has a larger calibration error than the items it is drawn from, as the differences of a
bin do not cancel; the interval is that of the resamples moved by how far their median lies from the
estimate.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats.intervals import (
    Clusters,
    Interval,
    check_settings,
    cluster_bootstrap,
    cluster_codes,
    cluster_sums,
    finite_values,
    interval_from_resamples,
    resampled_sums,
)

__all__ = ["BINS", "brier", "calibration_error", "squared_errors"]

BINS = 10
"""Equal bins of the probability, from 0 to 1."""


def squared_errors(
    gold: Sequence[str], probabilities: ArrayLike, labels: Sequence[str]
) -> NDArray[np.float64]:
    """Return each item's Brier score, from 0 to 1; probabilities have the shape (items, labels).

    Raises:
        ValueError: On lengths that differ, a probability outside 0 to 1, or a gold label that is
            not in ``labels``.
    """
    p = np.asarray(probabilities, dtype=np.float64).reshape(-1, len(labels))
    _check(p.ravel())
    if len(p) != len(gold):
        raise ValueError(f"{len(gold)} labels for {len(p)} rows of probabilities")
    place = {label: column for column, label in enumerate(labels)}
    if strays := [label for label in gold if label not in place]:
        raise ValueError(f"the label {strays[0]!r} is not in the label space")
    so = np.zeros_like(p)
    so[np.arange(len(p)), [place[label] for label in gold]] = 1.0
    return np.asarray(((p - so) ** 2).sum(axis=1) / 2)


def brier(
    gold: Sequence[str],
    probabilities: ArrayLike,
    labels: Sequence[str],
    clusters: Clusters,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Interval:
    """Return the mean of :func:`squared_errors` with an interval that resamples clusters."""
    errors = squared_errors(gold, probabilities, labels)
    return cluster_bootstrap(errors, clusters, level=level, resamples=resamples, rng=rng)


def calibration_error(
    right: ArrayLike,
    probabilities: ArrayLike,
    clusters: Clusters,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Interval:
    """Return the expected calibration error with an interval that resamples clusters.

    Args:
        right: Whether each answer is right, booleans or 0 and 1, shape (n,).
        probabilities: The probability that each answer was given, shape (n,).

    Raises:
        ValueError: On lengths that differ, or values outside 0 to 1.
    """
    check_settings(level, resamples)
    y, p, places = _binned(right, probabilities)
    if not len(y):
        return Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    codes, count = cluster_codes(clusters, len(y))
    features = np.zeros((len(y), BINS + 1))
    features[np.arange(len(y)), places] = y - p
    features[:, BINS] = 1.0
    sums = cluster_sums(features, codes, count)
    estimate = float(_error(sums.sum(axis=0)))
    draws = _error(resampled_sums(sums, resamples, rng))
    moved = np.maximum(draws - (np.median(draws) - estimate), 0.0)
    return interval_from_resamples(estimate, moved, n=len(y), clusters=count, level=level)


def _binned(
    right: ArrayLike, probabilities: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    y, p = finite_values(right, "right"), finite_values(probabilities, "probabilities")
    if len(y) != len(p):
        raise ValueError(f"{len(y)} answers for {len(p)} probabilities")
    _check(p)
    _check(y)
    return y, p, np.minimum((p * BINS).astype(np.intp), BINS - 1)


def _check(values: NDArray[np.float64]) -> None:
    finite_values(values, "probabilities")
    if ((values < 0) | (values > 1 + 1e-9)).any():
        raise ValueError("a probability lies outside 0 to 1")


def _error(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the calibration error of sums by bin, the number of items in the last column."""
    return np.asarray(np.abs(sums[..., :BINS]).sum(axis=-1) / sums[..., BINS])
