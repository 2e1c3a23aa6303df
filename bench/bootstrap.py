"""Intervals of macro-F1 and Matthews' coefficient: vectorised against a loop of scikit-learn.

1,826 items with two labels and a cluster each, 10,000 resamples. Ours is what reports do: it draws
the counts of each resample's confusion matrix, and gives five measures in two forms with their
intervals. The loop asks scikit-learn for two measures of each resample; the measures of the same
resamples' confusion matrices have to be equal to 1e-12.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.stats.classification import classification, confusion_matrix, measures

TARGET = 1_000.0
ITEMS = 1_826
RESAMPLES = 10_000
LABELS = (True, False)
_SLICES = 8
_LOOPED = 400
_QUICK_LOOPED = 80


def made_labels(rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return gold and predicted labels: right seven times in ten, a third of gold true."""
    gold = rng.random(ITEMS) < 1 / 3
    return gold, np.where(rng.random(ITEMS) < 0.7, gold, ~gold)


def loop(
    gold: NDArray[np.bool_], predicted: NDArray[np.bool_], drawn: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return macro-F1 and Matthews' coefficient of each resample, by scikit-learn."""
    from sklearn.metrics import f1_score, matthews_corrcoef

    rows = [(gold[places], predicted[places]) for places in drawn]
    return np.array([(f1_score(g, p, average="macro"), matthews_corrcoef(g, p)) for g, p in rows])


def counted(
    gold: NDArray[np.bool_], predicted: NDArray[np.bool_], drawn: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the same by the confusion matrix of each resample."""
    rows = [confusion_matrix(gold[own].tolist(), predicted[own].tolist(), LABELS) for own in drawn]
    found = measures(np.stack(rows))
    return np.stack([found["f1"], found["mcc"]], axis=1)


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways in turns; the labels are made, whatever ``data`` is."""
    rng = np.random.default_rng(1)
    gold, predicted = made_labels(rng)
    golds, guesses = gold.tolist(), predicted.tolist()
    looped = _QUICK_LOOPED if quick else _LOOPED
    drawn = rng.integers(0, ITEMS, size=(looped, ITEMS))
    loop(gold, predicted, drawn[:2])  # imports scikit-learn
    ours: list[Timing] = []
    baseline: list[Timing] = []
    apart = 0.0
    for own in np.array_split(drawn, _SLICES):
        _, timing = timed(
            "as reports do",
            RESAMPLES,
            lambda: classification(
                golds, guesses, LABELS, None, resamples=RESAMPLES, rng=np.random.default_rng(2)
            ),
        )
        ours.append(timing)
        way = "a loop of f1_score and matthews_corrcoef"
        expected, timing = timed(way, len(own), lambda own=own: loop(gold, predicted, own))
        baseline.append(timing)
        apart = max(apart, float(np.abs(counted(gold, predicted, own) - expected).max()))
    equal = "equal to 1e-12" if apart <= 1e-12 else "NOT equal to 1e-12"
    return BenchResult(
        name="bootstrap",
        unit="resamples",
        total_items=RESAMPLES,
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=f"{ITEMS:,} made items of two labels",
        notes=[
            f"on {added(baseline).items:,} identical resamples the two are {equal} "
            f"(at most {apart:.1e} apart)",
            "ours gives five measures in two forms with intervals, the loop two measures",
        ],
    )
