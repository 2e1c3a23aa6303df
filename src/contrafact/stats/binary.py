"""One rater against another that is taken for the truth, for two categories.

Precision, recall and specificity are shares of items and have Wilson intervals at the effective
number of items (:mod:`contrafact.stats.proportions`); F1 is none, and its interval resamples
clusters.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats._checks import check_settings, finite_values
from contrafact.stats._resampling import Clusters, cluster_codes, cluster_sums, resampled_sums
from contrafact.stats.intervals import Interval, interval_from_resamples
from contrafact.stats.proportions import Proportion, clustered_proportion

__all__ = ["BinaryFigures", "binary_figures"]


@dataclass(frozen=True)
class BinaryFigures:
    """How a rater does against a reference.

    Attributes:
        both: Items that both call positive (true positives).
        only_rater: Items that only the rater does (false positives).
        only_reference: Items that only the reference does (false negatives).
        neither: Items that neither does (true negatives).
        accuracy: Share on which they agree.
        precision: Of what the rater calls positive, the share that the reference does.
        recall: Of what the reference calls positive, the share that the rater does; sensitivity.
        specificity: Of what the reference calls negative, the share that the rater does.
        f1: The harmonic mean of precision and recall.
    """

    both: int
    only_rater: int
    only_reference: int
    neither: int
    accuracy: Proportion
    precision: Proportion
    recall: Proportion
    specificity: Proportion
    f1: Interval


def binary_figures(
    reference: ArrayLike,
    rater: ArrayLike,
    clusters: Clusters = None,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> BinaryFigures:
    """Return how a rater does against a reference.

    Args:
        reference: 1 where the reference says positive, else 0, shape (n,).
        rater: The same of the rater.
        clusters: One label per item, or None where each item stands for itself.
        level: Confidence level.
        resamples: How many times clusters are drawn.
        rng: Where randomness comes from.

    Raises:
        ValueError: On lengths that differ, or anything but 0 and 1.
    """
    check_settings(level, resamples)
    y, x = finite_values(reference, "reference"), finite_values(rater, "rater")
    if len(y) != len(x) or not (np.isin(y, (0.0, 1.0)).all() and np.isin(x, (0.0, 1.0)).all()):
        raise ValueError("reference and rater must pair up, and be 0 or 1")
    codes, count = cluster_codes(clusters, len(y))
    cells = np.stack([y * x, (1 - y) * x, y * (1 - x), (1 - y) * (1 - x)], axis=1)
    both, only_rater, only_reference, neither = (int(cell) for cell in cells.sum(axis=0))

    def share(outcomes: NDArray[np.bool_], among: NDArray[np.bool_]) -> Proportion:
        return clustered_proportion(outcomes[among].astype(float), codes[among], level=level)

    f1 = Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    if len(y):
        sums = cluster_sums(cells, codes, count)
        f1 = interval_from_resamples(
            float(_f1(sums.sum(axis=0))),
            _f1(resampled_sums(sums, resamples, rng)),
            n=len(y),
            clusters=count,
            level=level,
        )
    return BinaryFigures(
        both,
        only_rater,
        only_reference,
        neither,
        accuracy=share(x == y, np.ones(len(y), dtype=bool)),
        precision=share(y == 1, x == 1),
        recall=share(x == 1, y == 1),
        specificity=share(x == 0, y == 0),
        f1=f1,
    )


def _f1(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    twice = 2.0 * cells[..., 0]
    below = twice + cells[..., 1] + cells[..., 2]
    return np.asarray(np.where(below > 0, twice / np.where(below > 0, below, 1.0), math.nan))
