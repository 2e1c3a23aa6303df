"""Bootstrap replicates of figures that combine several means, by resampling clusters.

A figure in a table is seldom one mean: Δ perplexity is a difference of two, an overall figure the
mean of two sides, a few-shot figure the mean over draws. Each is computed on the same resampled
clusters, as an array of the figure itself and its replicates. Arithmetic on these arrays gives the
tables' figures, and ``Sampler.interval`` turns an array into an interval. Few-shot draws are
averaged inside a resample; a draw is not a cluster.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.stats.intervals import (
    Interval,
    Resampling,
    cluster_bootstrap,
    interval_from_resamples,
    ratio,
    resampled_counts,
    resampling,
)

__all__ = ["Bootstrap", "Replicates", "Sampler", "mean_over"]

Replicates = NDArray[np.float64]

_CHUNK_CELLS = 1 << 22


class Sampler:
    """The resamples of a set of clusters, shared by all figures about them."""

    def __init__(
        self, clusters: "Sequence[str] | pd.Series[str]", **how: Unpack[Resampling]
    ) -> None:
        self.clusters = sorted(set(clusters))
        self.level, self.resamples, rng = resampling(how)
        self._position = {cluster: i for i, cluster in enumerate(self.clusters)}
        count = len(self.clusters)
        weights = np.ones((1 + self.resamples, count), dtype=np.float32)
        start = 1
        for counts in resampled_counts(count, self.resamples, rng):
            weights[start : start + len(counts)] = counts
            start += len(counts)
        self._weights = weights

    def means(
        self, columns: Sequence[tuple[NDArray[np.float64], NDArray[Any]]]
    ) -> list[Replicates]:
        """Return the mean of each column and its replicates.

        A column is its values, without NaN, and their clusters. The result has an array of shape
        (1 + resamples,) per column: the mean, then its replicates, NaN if a resample has no value.
        """
        count = len(self.clusters)
        sums = np.zeros((count, 2 * len(columns)))
        for i, (values, labels) in enumerate(columns):
            codes = np.array([self._position[label] for label in labels], dtype=np.intp)
            sums[:, 2 * i] = np.bincount(codes, values, minlength=count)
            sums[:, 2 * i + 1] = np.bincount(codes, minlength=count)
        rows = max(1, _CHUNK_CELLS // max(1, count))
        starts = range(0, len(self._weights), rows)
        chunks = (self._weights[start : start + rows].astype(np.float64) for start in starts)
        totals = np.concatenate([chunk @ sums for chunk in chunks])
        # The figure itself in full precision; the order of additions in a product may vary.
        totals[0] = sums.sum(axis=0)
        return list(ratio(totals[:, 0::2], totals[:, 1::2]).T)

    def interval(self, replicates: Replicates, *, n: int, clusters: int) -> Interval:
        """Return a figure's interval from its replicates, which are from ``means`` or derived."""
        return interval_from_resamples(
            float(replicates[0]), replicates[1:], n=n, clusters=clusters, level=self.level
        )


class Bootstrap:
    """The intervals of a report: their level, and one set of resamples.

    Every interval begins with the same random numbers. So figures about the same clusters rest on
    the same resamples, and none depends on what else was computed.
    """

    def __init__(self, **how: Unpack[Resampling]) -> None:
        self._how = how
        self.level, self.resamples, _ = resampling(how)
        self._samplers: dict[tuple[str, ...], Sampler] = {}

    @property
    def how(self) -> Resampling:
        """The arguments for making an interval."""
        return {**self._how, "rng": deepcopy(self._how["rng"])}

    def mean(
        self,
        values: "pd.Series[float]",
        clusters: "pd.Series[str]",
        weights: "pd.Series[int] | None" = None,
        statistic: Literal["mean", "median"] = "mean",
    ) -> Interval:
        """Return the (weighted) mean of values with its interval; NaN values are left out."""
        known = values.notna()
        return cluster_bootstrap(
            values[known].to_numpy(float),
            clusters[known].to_numpy(object),
            statistic=statistic,
            weights=None if weights is None else weights[known].to_numpy(float),
            **self.how,
        )

    def sampler(self, clusters: "pd.Series[str]") -> Sampler:
        """Return the sampler of a set of clusters; systems with the same set share it."""
        key = tuple(sorted(set(clusters)))
        if key not in self._samplers:
            self._samplers[key] = Sampler(key, **self.how)
        return self._samplers[key]


def mean_over(draws: Sequence[Replicates]) -> Replicates:
    """Return the mean over few-shot draws, ignoring draws without a value."""
    stack = np.stack(draws)
    known = ~np.isnan(stack)
    return ratio(np.where(known, stack, 0.0).sum(axis=0), known.sum(axis=0))
