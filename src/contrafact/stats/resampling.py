"""Clusters drawn with replacement, many times at once: the engine under every interval here.

A statistic that is a function of sums over clusters (a mean, a ratio, an agreement coefficient)
needs only those sums of each resample, so a resample costs one row of a matrix product and no
loop. Work goes in chunks of about :data:`CHUNK_CELLS` numbers, whatever the number of resamples.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CHUNK_CELLS",
    "Clusters",
    "check_settings",
    "chunk_sizes",
    "cluster_codes",
    "cluster_sums",
    "column_totals",
    "finite_values",
    "resampled_counts",
    "resampled_sums",
]


def check_settings(level: float, resamples: int) -> None:
    """Raise ValueError unless ``level`` lies between 0 and 1 and ``resamples`` is at least 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")


def finite_values(values: ArrayLike, name: str = "values") -> NDArray[np.float64]:
    """Return ``values`` as a float array; ValueError unless one-dimensional and all finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} hold NaN or infinity: drop or repair them first, and count them")
    return array


Clusters = Sequence[Hashable] | NDArray[Any] | None
"""One label per value; values with the same label stay together. None: each value by itself."""

CHUNK_CELLS = 1 << 19

# One binomial draw costs about as much as this many cells of the general path (measured).
_BINOMIAL_COST = 8


def cluster_codes(clusters: Clusters, n: int) -> tuple[NDArray[np.intp], int]:
    """Return a code from 0 for each of ``n`` values, and the number of clusters.

    Codes follow the sorted labels, so that the order of the rows does not change a seeded result.

    Raises:
        ValueError: If there is not one label per value, or a label is None or NaN.
    """
    if clusters is None:
        return np.arange(n), n
    labels: list[Hashable] = (
        clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    )
    if len(labels) != n:
        raise ValueError(f"{len(labels)} cluster labels for {n} values")
    if any(label is None or label != label for label in labels):
        raise ValueError("a cluster label is missing (None or NaN)")
    distinct = sorted(set(labels), key=lambda label: (type(label).__name__, repr(label)))
    code_of = {label: code for code, label in enumerate(distinct)}
    return np.array([code_of[label] for label in labels], dtype=np.intp), len(distinct)


def cluster_sums(
    features: NDArray[np.float64], codes: NDArray[np.intp], clusters: int
) -> NDArray[np.float64]:
    """Return the sums of the rows of ``features`` by cluster, of shape (clusters, columns).

    Rows are added in an order of their own, so that shuffled rows give the same sums to the bit.
    """
    order = np.lexsort((*features.T[::-1], codes))
    features, codes = features[order], codes[order]
    columns = [np.bincount(codes, column, minlength=clusters) for column in features.T]
    return np.stack(columns, axis=1)


def column_totals(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each column, exactly rounded, whatever the order of the rows."""
    return np.array([math.fsum(column) for column in rows.T])


def chunk_sizes(total: int, width: int) -> Iterator[int]:
    """Yield how many rows of ``width`` cells to work on at a time until ``total`` are done."""
    rows = max(1, CHUNK_CELLS // max(1, width))
    for start in range(0, total, rows):
        yield min(rows, total - start)


def resampled_counts(
    clusters: int, resamples: int, rng: np.random.Generator, *, width: int | None = None
) -> Iterator[NDArray[np.intp]]:
    """Yield chunks of shape (rows, clusters): how often each cluster is drawn in a resample.

    Each row is a draw of ``clusters`` clusters with replacement. ``width`` is the number of cells
    the caller needs per row, if more than ``clusters``.
    """
    for rows in chunk_sizes(resamples, max(clusters, width or 0)):
        drawn = rng.integers(0, clusters, size=(rows, clusters))
        drawn += (np.arange(rows) * clusters)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)


def resampled_sums(
    sums: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the column sums of each resample of the rows of ``sums``, (resamples, columns).

    Clusters with equal sums are interchangeable. Where there are few distinct ones (verdicts
    are), how many of each kind a resample holds is drawn at once from the multinomial
    distribution: the same distribution of results, at a fraction of the work.
    """
    clusters = len(sums)
    kinds, multiplicity = np.unique(sums, axis=0, return_counts=True)
    if len(kinds) * _BINOMIAL_COST <= clusters:
        probabilities = multiplicity / clusters
        parts = [
            rng.multinomial(clusters, probabilities, size=rows) @ kinds
            for rows in chunk_sizes(resamples, len(kinds))
        ]
    else:
        ordered = np.repeat(kinds, multiplicity, axis=0)
        parts = [
            counts.astype(np.float64) @ ordered
            for counts in resampled_counts(clusters, resamples, rng)
        ]
    return np.concatenate(parts)
