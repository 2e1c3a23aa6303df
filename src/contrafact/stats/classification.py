"""Classification measures from a confusion matrix, with intervals over clusters.

RFC-BENCH, appendix F. Every measure but AUROC is a function of the confusion matrix, so a resample
of clusters costs one sum of small matrices and no loop over items.

Two forms. *Valid* leaves out items whose prediction is not a label, as the paper does. *Strict*
counts them as wrong: they count in a class's recall and in accuracy's denominator, and for
Matthews' coefficient they are predictions of a class that no item has.

Missing classes. A class that is in neither gold labels nor predictions of a sample (or resample) is
left out of the averages; one that is never predicted has precision 0, and one that occurs only
among predictions has recall 0. scikit-learn averages over the same classes if given no labels.
Matthews' coefficient is 0 if all items, or all predictions, are of one class.

`binary_figures` measures one rater against a reference. Precision, recall and specificity are
shares and have Wilson intervals at the effective number of items; F1 is not a share, and its
interval resamples clusters.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats.intervals import (
    Clusters,
    Interval,
    Proportion,
    Resampling,
    cluster_bootstrap,
    cluster_codes,
    cluster_sums,
    clustered_proportion,
    finite_values,
    interval_from_resamples,
    ratio,
    resampled_counts,
    resampled_sums,
    resampling,
)

__all__ = [
    "MEASURES",
    "Form",
    "auroc",
    "auroc_one_vs_rest",
    "binary_figures",
    "classification",
    "confusion_matrix",
    "measures",
]

Form = Literal["valid", "strict"]
MEASURES: tuple[str, ...] = ("accuracy", "precision", "recall", "f1", "mcc")
"""Accuracy; macro-averaged precision, recall and F1; Matthews' correlation coefficient."""


@dataclass(frozen=True)
class Classification:
    """The measures of predictions against gold labels.

    ``confusion`` has counts of gold by predicted labels, invalid ones in the last column, shape
    (labels, labels + 1); ``figures`` the interval by measure (of `MEASURES`) and form, from 0 to 1,
    Matthews' coefficient from -1 to 1; ``invalid_rate`` is the share of invalid predictions.
    """

    labels: tuple[Hashable, ...]
    confusion: NDArray[np.int64]
    figures: Mapping[tuple[str, Form], Interval]
    invalid_rate: Interval


def confusion_matrix(
    gold: Sequence[Hashable], predicted: Sequence[Hashable | None], labels: Sequence[Hashable]
) -> NDArray[np.int64]:
    """Return counts of gold by predicted labels, None in the last column, (labels, labels + 1).

    Raises:
        ValueError: On lengths that differ, labels that repeat, or a label outside ``labels``.
    """
    cells = _cells(gold, predicted, labels)
    width = len(labels) + 1
    counts = np.bincount(cells, minlength=len(labels) * width)
    return counts.reshape(len(labels), width).astype(np.int64)


def measures(confusion: ArrayLike, form: Form = "valid") -> dict[str, NDArray[np.float64]]:
    """Return the measures of one confusion matrix or of many, of shape (…, labels, labels + 1).

    The result has an array of the leading shape for each name in `MEASURES`, NaN without items.
    """
    matrix = np.asarray(confusion, dtype=np.float64)
    square = matrix[..., :-1]
    right = np.diagonal(square, axis1=-2, axis2=-1)
    predicted = square.sum(axis=-2)
    kept = matrix if form == "strict" else square
    actual = kept.sum(axis=-1)
    total = actual.sum(axis=-1)
    classes = ((actual + predicted) > 0).sum(axis=-1)

    def mean(
        numerator: NDArray[np.float64], denominator: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return ratio(np.nan_to_num(ratio(numerator, denominator)).sum(axis=-1), classes)

    # Gorodkin's R_K, which is Matthews' coefficient for two classes.
    correct = right.sum(axis=-1)
    among = predicted.sum(axis=-1)
    # Invalid predictions only count as predictions: no item has that class.
    stray = total - among
    covariance = correct * total - (actual * predicted).sum(axis=-1)
    spread = total**2 - (predicted**2).sum(axis=-1) - stray**2
    spread = spread * (total**2 - (actual**2).sum(axis=-1))
    mcc = np.divide(
        covariance, np.sqrt(np.maximum(spread, 0.0)), out=np.zeros_like(total), where=spread > 0
    )
    return {
        "accuracy": ratio(correct, total),
        "precision": mean(right, predicted),
        "recall": mean(right, actual),
        "f1": mean(2 * right, actual + predicted),
        "mcc": np.where(total > 0, mcc, math.nan),
    }


def classification(
    gold: Sequence[Hashable],
    predicted: Sequence[Hashable | None],
    labels: Sequence[Hashable],
    clusters: Clusters,
    **how: Unpack[Resampling],
) -> Classification:
    """Return every measure in both forms, with intervals that resample clusters.

    Predictions are None if a reply was not a label. Errors are those of `confusion_matrix`.
    """
    level, resamples, rng = resampling(how)
    cells = _cells(gold, predicted, labels)
    width = len(labels) + 1
    codes, count = cluster_codes(clusters, len(cells))
    valid = np.array([label is not None for label in predicted], dtype=bool)
    right = np.array([p == g for g, p in zip(gold, predicted, strict=True)], dtype=np.float64)
    invalid_rate = cluster_bootstrap((~valid).astype(np.float64), codes, **how)
    # Accuracies are plain means, and keep their exact bounds if all are right or all wrong.
    figures: dict[tuple[str, Form], Interval] = {
        ("accuracy", "valid"): cluster_bootstrap(right[valid], codes[valid], **how),
        ("accuracy", "strict"): cluster_bootstrap(right, codes, **how),
    }
    one_hot = np.zeros((len(cells), len(labels) * width))
    one_hot[np.arange(len(cells)), cells] = 1.0
    sums = cluster_sums(one_hot, codes, count)
    forms: tuple[Form, Form] = ("valid", "strict")
    drawn = (
        resampled_sums(sums, resamples, rng).reshape(-1, len(labels), width)
        if count
        else np.zeros((1, len(labels), width))
    )
    confusion = confusion_matrix(gold, predicted, labels)
    for form in forms:
        estimates, draws = measures(confusion, form), measures(drawn, form)
        kept = valid if form == "valid" else np.ones_like(valid)
        for name in MEASURES[1:]:
            figures[name, form] = interval_from_resamples(
                float(estimates[name]),
                draws[name],
                n=int(kept.sum()),
                clusters=len(set(codes[kept].tolist())),
                level=level,
            )
    return Classification(tuple(labels), confusion, figures, invalid_rate)


def auroc(
    positive: ArrayLike, scores: ArrayLike, clusters: Clusters, **how: Unpack[Resampling]
) -> Interval:
    """Return the area under the ROC curve with an interval that resamples clusters.

    It is the probability that a positive item scores above a negative one, ties counting half; NaN
    if positive or negative items are missing.

    Args:
        positive: Whether each item is positive, booleans or 0 and 1, shape (n,).
        scores: A finite score per item, higher for positive.

    Raises:
        ValueError: On NaN or infinity, lengths that differ, or labels other than 0 and 1.
    """
    y, x = finite_values(positive, "positive"), finite_values(scores, "scores")
    if len(y) != len(x):
        raise ValueError(f"{len(y)} labels for {len(x)} scores")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("positive must be 0 or 1")
    return _mean_area(y[:, None], x[:, None], clusters, how)


def auroc_one_vs_rest(
    gold: Sequence[Hashable],
    scores: ArrayLike,
    labels: Sequence[Hashable],
    clusters: Clusters,
    **how: Unpack[Resampling],
) -> Interval:
    """Return the mean over classes of the area under the ROC curve of a class against the rest.

    Classes have equal weight (macro average), whatever their sizes; one without items in the data
    or a resample is left out there. NaN with fewer than two classes.

    Args:
        scores: A finite score per item and label, higher where the label is likelier, of shape
            (items, labels).
        labels: The label space, in the order of the scores' columns.

    Raises:
        ValueError: On NaN or infinity, lengths that differ, a label that repeats or is not in
            ``labels``.
    """
    x = np.asarray(scores, dtype=np.float64).reshape(-1, len(labels))
    finite_values(x.ravel(), "scores")
    if len(gold) != len(x):
        raise ValueError(f"{len(gold)} labels for {len(x)} rows of scores")
    # A cell's row in the confusion matrix is the gold label's index.
    rows = _cells(gold, [None] * len(gold), labels) // (len(labels) + 1)
    one_hot = np.asarray(rows[:, None] == np.arange(len(labels)), dtype=np.float64)
    return _mean_area(one_hot, x, clusters, how)


def _mean_area(
    positive: NDArray[np.float64], scores: NDArray[np.float64], clusters: Clusters, how: Resampling
) -> Interval:
    """Return the mean of the columns' areas with its interval; both arrays are (items, columns)."""
    level, resamples, rng = resampling(how, 2_000)
    codes, count = cluster_codes(clusters, len(scores))
    if len(scores) == 0:
        return Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    if clusters is None:
        codes = np.empty_like(codes)
        codes[np.lexsort((*positive.T, *scores.T))] = np.arange(count)
    columns = [Areas(y, x, codes) for y, x in zip(positive.T, scores.T, strict=True)]

    def means(counts: NDArray[np.intp]) -> NDArray[np.float64]:
        areas = np.stack([column(counts) for column in columns])
        known = ~np.isnan(areas)
        return ratio(np.where(known, areas, 0.0).sum(axis=0), known.sum(axis=0))

    estimate = float(means(np.ones((1, count), dtype=np.intp))[0])
    chunks = resampled_counts(count, resamples, rng, width=len(scores))
    draws = np.concatenate([means(counts) for counts in chunks])
    return interval_from_resamples(estimate, draws, n=len(scores), clusters=count, level=level)


class Areas:
    """Computes the area under the ROC curve on resamples of clusters; NaN with only one label.

    Items have a label, 1 or 0, a score, and the code of their cluster; ties count half.
    """

    def __init__(
        self, y: NDArray[np.float64], x: NDArray[np.float64], codes: NDArray[np.intp]
    ) -> None:
        order = np.lexsort((codes, y, x))
        self._y, x, self._codes = y[order], x[order], codes[order]
        self._starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))

    def __call__(self, counts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the area of each resample; counts are of shape (resamples, clusters)."""
        cells = counts.astype(np.float64)[:, self._codes]
        above = np.add.reduceat(cells * self._y, self._starts, axis=1)
        below = np.add.reduceat(cells * (1.0 - self._y), self._starts, axis=1)
        beaten = np.cumsum(below, axis=1) - below / 2.0
        pairs = above.sum(axis=1) * below.sum(axis=1)
        return ratio((above * beaten).sum(axis=1), pairs)


def _cells(
    gold: Sequence[Hashable], predicted: Sequence[Hashable | None], labels: Sequence[Hashable]
) -> NDArray[np.intp]:
    """Return the index of each item's cell in the flattened confusion matrix."""
    code_of: dict[Hashable, int] = {label: code for code, label in enumerate(labels)}
    if len(code_of) != len(labels):
        raise ValueError("a label occurs twice in the label space")
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold labels for {len(predicted)} predictions")
    strays = [g for g in gold if g not in code_of]
    strays += [p for p in predicted if p is not None and p not in code_of]
    if strays:
        raise ValueError(f"the label {strays[0]!r} is not in the label space")
    width = len(labels) + 1
    columns = [len(labels) if p is None else code_of[p] for p in predicted]
    rows = [code_of[g] for g in gold]
    return np.array([row * width + c for row, c in zip(rows, columns, strict=True)], dtype=np.intp)


def binary_figures(
    reference: ArrayLike, rater: ArrayLike, clusters: Clusters = None, **how: Unpack[Resampling]
) -> tuple[dict[str, int], dict[str, Proportion | Interval]]:
    """Return counts and measures of a rater's 0 and 1 against a reference's, both of shape (n,).

    The counts are of items that ``both``, ``only_rater``, ``only_reference`` or ``neither`` calls
    positive; the measures are ``accuracy``, ``precision``, ``recall`` (sensitivity),
    ``specificity`` and ``f1``.

    Raises:
        ValueError: On lengths that differ, or anything but 0 and 1.
    """
    level, resamples, rng = resampling(how)
    y, x = finite_values(reference, "reference"), finite_values(rater, "rater")
    if len(y) != len(x) or not (np.isin(y, (0.0, 1.0)).all() and np.isin(x, (0.0, 1.0)).all()):
        raise ValueError("reference and rater must pair up, and be 0 or 1")
    codes, count = cluster_codes(clusters, len(y))
    cells = np.stack([y * x, (1 - y) * x, y * (1 - x), (1 - y) * (1 - x)], axis=1)
    names = ("both", "only_rater", "only_reference", "neither")
    counts = {name: int(cell) for name, cell in zip(names, cells.sum(axis=0), strict=True)}

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
    return counts, {
        "accuracy": share(x == y, np.ones(len(y), dtype=bool)),
        "precision": share(y == 1, x == 1),
        "recall": share(x == 1, y == 1),
        "specificity": share(x == 0, y == 0),
        "f1": f1,
    }


def _f1(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    twice = 2.0 * cells[..., 0]
    return ratio(twice, twice + cells[..., 1] + cells[..., 2])
