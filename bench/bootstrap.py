"""Intervals of macro-F1 and Matthews' coefficient: vectorised against a loop of scikit-learn.

1,826 items with two labels and a cluster each, 10,000 resamples. On identical resamples ours counts
the confusion matrix of each and the loop asks scikit-learn for both measures; the two have to be
equal to 1e-12. In the form that reports use by default ours draws the counts themselves, and gives
five measures in two forms, with their intervals.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.stats.classification import classification, resampled_measures

TARGET = 150.0
DEFAULT_TARGET = 1_000.0
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


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways in turns; the labels are made, whatever ``data`` is."""
    rng = np.random.default_rng(1)
    gold, predicted = made_labels(rng)
    drawn = rng.integers(0, ITEMS, size=(RESAMPLES, ITEMS))
    golds, guesses = gold.tolist(), predicted.tolist()
    loop(gold, predicted, drawn[:2])  # imports scikit-learn
    slices = np.array_split(np.arange(_QUICK_LOOPED if quick else _LOOPED), _SLICES)
    ours: list[Timing] = []
    default: list[Timing] = []
    baseline: list[Timing] = []
    apart = 0.0
    for part in slices:
        found, timing = timed(
            "given resamples, all at once",
            RESAMPLES,
            lambda: resampled_measures(golds, guesses, LABELS, drawn),
        )
        ours.append(timing)
        way = "a loop of f1_score and matthews_corrcoef"
        own = drawn[part]
        expected, timing = timed(way, len(part), lambda own=own: loop(gold, predicted, own))
        baseline.append(timing)
        both = np.stack([found["f1"][part], found["mcc"][part]], axis=1)
        apart = max(apart, float(np.abs(both - expected).max()))
        _, timing = timed(
            "as reports do",
            RESAMPLES,
            lambda: classification(
                golds, guesses, LABELS, None, resamples=RESAMPLES, rng=np.random.default_rng(2)
            ),
        )
        default.append(timing)
    ratio = added(default).per_second / added(baseline).per_second
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
            f"in the form that reports use, five measures in two forms with intervals, "
            f"{ratio:,.0f} times (target {DEFAULT_TARGET:,.0f})",
        ],
    )
