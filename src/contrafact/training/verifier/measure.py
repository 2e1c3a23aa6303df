"""What a verifier is worth on held-out items, beside readers of the surface trained on the same.

*Temperature* scaling (Guo et al., 2017): one number per criterion, by which logits are divided so
that the validation items are most likely. *Surface*: the best of the readers of
`contrafact.judges.surface`, trained on the items that the verifier learned from and scored on the
items that it is scored on. A criterion is *usable* where the interval of the difference in AUROC,
blocks resampled in pairs, is above zero, and that of its own AUROC above chance.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from contrafact.judges.surface import surface_scores, weighted_auroc
from contrafact.stats.calibration import Bin, brier, calibration_error, reliability
from contrafact.stats.classification import auroc
from contrafact.training.verifier.items import Asked

__all__ = ["Figures", "Surface", "figures_of", "surface_of", "temperature_of"]

_RESAMPLES = 1_000
_LABELS = ("false", "true")
_MOST_SURFACE = 6_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """The best reader of the surface on one criterion.

    Attributes:
        reader: Which: what it sees and what it learns by.
        scores: Its scores of the held-out items.
    """

    reader: str
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Figures:
    """What a verifier reached on one criterion.

    Attributes:
        criterion: ``FAMILY/NAME``.
        items: Held-out items, half of which hold.
        auroc: The area under the ROC curve, with its 95% interval.
        surface: The same of the best reader of the surface.
        reader: Which reader that is.
        above: The difference, with the interval of paired resamples.
        temperature: What logits are divided by.
        brier: The mean squared error of the calibrated probability.
        ece: The expected calibration error of the verdicts.
        coverage: The share of items that get a verdict.
        accuracy: The share of verdicts that are right; NaN without any.
        sensitivity: Of items that hold and got a verdict, the share that passed.
        specificity: Of items that do not and got one, the share that failed.
        usable: Whether the verifier is better than the surface, and than chance.
    """

    criterion: str
    items: int
    auroc: float
    auroc_low: float
    auroc_high: float
    surface: float
    surface_low: float
    surface_high: float
    reader: str
    above: float
    above_low: float
    above_high: float
    temperature: float
    brier: float
    brier_low: float
    brier_high: float
    ece: float
    ece_low: float
    ece_high: float
    coverage: float
    accuracy: float
    sensitivity: float
    specificity: float
    usable: bool

    def row(self) -> dict[str, object]:
        """Return them as a row of a table, nothing where a figure is undefined."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }


def temperature_of(logits: Floats, holds: NDArray[np.bool_]) -> float:
    """Return the temperature under which verdicts that are known are most likely.

    Args:
        logits: The logit of "true" of each item.
        holds: Whether it holds.
    """
    from scipy.optimize import minimize_scalar

    signed = np.where(holds, logits, -logits)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0.0, -signed / math.exp(log_temperature)).mean())

    found = minimize_scalar(loss, bounds=(math.log(0.05), math.log(50.0)), method="bounded")
    return float(math.exp(found.x))


def surface_of(name: str, train: Sequence[Asked], test: Sequence[Asked], *, seed: int) -> Surface:
    """Return the reader of the surface that does best on held-out items.

    The best is chosen by the items it is scored on, in its favour.

    Args:
        name: ``FAMILY/NAME`` of the criterion.
        train: What the verifier learns from; of very many, some.
        test: The held-out items.
        seed: Seed of the readers.
    """
    criterion = name.partition("/")[2]
    found = surface_scores(
        [one.item for one in train[:_MOST_SURFACE]],
        [one.item for one in test],
        criterion,
        seed=seed,
    )
    label = np.array([one.holds for one in test])
    ones = np.ones(len(label))
    best = max(found, key=lambda reader: weighted_auroc(label, found[reader], ones))
    return Surface(best, tuple(map(float, found[best])))


def figures_of(
    name: str,
    test: Sequence[Asked],
    logits: Floats,
    surface: Surface,
    temperature: float,
    *,
    decided: float,
    seed: int,
) -> tuple[Figures, list[Bin]]:
    """Return what a verifier reached on one criterion, and the bins of its reliability plot.

    Args:
        name: ``FAMILY/NAME`` of the criterion.
        test: The held-out items.
        logits: The verifier's logit of each.
        surface: The best reader of the surface.
        temperature: What logits are divided by.
        decided: The probability at which a verdict is given.
        seed: Seed of the resampling.
    """
    holds = np.array([one.holds for one in test])
    blocks = [one.item.block for one in test]
    probability = 1.0 / (1.0 + np.exp(-np.clip(logits / temperature, -60, 60)))
    sure = np.maximum(probability, 1.0 - probability)
    right = (probability >= 0.5) == holds

    def rng(at: int) -> np.random.Generator:
        return np.random.default_rng([seed, 11, at])

    area = auroc(holds, logits, blocks, resamples=_RESAMPLES, rng=rng(0))
    others = np.asarray(surface.scores)
    known = auroc(holds, others, blocks, resamples=_RESAMPLES, rng=rng(0))
    low, high = _difference(holds, logits, others, blocks, rng(1))
    both = np.column_stack([1.0 - probability, probability])
    gold = [_LABELS[int(one)] for one in holds]
    score = brier(gold, both, _LABELS, blocks, resamples=_RESAMPLES, rng=rng(2))
    error = calibration_error(right, sure, blocks, resamples=_RESAMPLES, rng=rng(3))
    given = sure >= decided

    def share(of: NDArray[np.bool_]) -> float:
        return float(right[of].mean()) if of.any() else math.nan

    figures = Figures(
        criterion=name,
        items=len(test),
        auroc=area.estimate,
        auroc_low=area.low,
        auroc_high=area.high,
        surface=known.estimate,
        surface_low=known.low,
        surface_high=known.high,
        reader=surface.reader,
        above=area.estimate - known.estimate,
        above_low=low,
        above_high=high,
        temperature=temperature,
        brier=score.estimate,
        brier_low=score.low,
        brier_high=score.high,
        ece=error.estimate,
        ece_low=error.low,
        ece_high=error.high,
        coverage=float(given.mean()),
        accuracy=share(given),
        sensitivity=share(given & holds),
        specificity=share(given & ~holds),
        usable=low > 0 and (area.estimate if math.isnan(area.low) else area.low) > 0.5,
    )
    return figures, reliability(right, sure)


def _difference(
    holds: NDArray[np.bool_],
    ours: Floats,
    others: Floats,
    blocks: Sequence[str],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the interval of how far one area is above another on the same resamples."""
    codes = np.unique(blocks, return_inverse=True)[1]
    size = int(codes.max()) + 1
    found = []
    for _ in range(_RESAMPLES):
        weights = np.bincount(rng.integers(0, size, size), minlength=size)[codes].astype(np.float64)
        found.append(weighted_auroc(holds, ours, weights) - weighted_auroc(holds, others, weights))
    low, high = np.nanpercentile(found, (2.5, 97.5))
    return float(low), float(high)
