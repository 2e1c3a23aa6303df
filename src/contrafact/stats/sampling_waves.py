"""Figures from labels that were asked for in waves, each drawn in view of those before it.

Wave ``t`` draws from the items that no earlier wave drew, item ``i`` with probability ``p_ti``.
With an expected label ``m_i`` for every item, the total of all labels is estimated from each wave
by the difference estimator: what is known, what is expected of the rest, and how far the wave's
labels were from what was expected, each weighed by ``1 / p_ti``. Whatever ``m`` is, and however
the wave's probabilities were chosen from what was known before it, each wave's estimate is right
on average; good expectations (a good judge) only make it vary less. Waves are weighed by the
inverse of their anticipated variances.

Two things hold by construction: a wave may look at all labels before it, and still no figure is
biased by where it looked, which a plain mean over all labels would be (unlucky early labels that
hide errors would keep later waves from looking there); and expectations come from small cells of
items, smoothed, so that a cell in which no error was seen yet is not taken to have none.

Sarndal, Swensson and Wretman, Model Assisted Survey Sampling (1992), chapters 6 and 7; Zrnic and
Candes, Active Statistical Inference (ICML 2024).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from contrafact.stats._checks import check_settings
from contrafact.stats.intervals import MIN_CLUSTERS, Interval

__all__ = ["Expected", "Waves", "expected_labels", "wave_estimate", "wave_variance"]

Floats = NDArray[np.float64]

LEVEL_STRENGTH = 4.0
"""How many labels the guess made without any counts as, in each level of the judge."""
CELL_STRENGTH = 4.0
"""How many labels the level's mean counts as, at least, in each cell of a level and a group."""
CELL_EVENTS = 1.0
"""How many labels of the rarer kind it counts as, at least: what is rare is often not seen."""


@dataclass(frozen=True)
class Waves:
    """Who was drawn when, and with which probability.

    Attributes:
        probabilities: Each item's probability in each wave, shape (waves, items); NaN where an
            it had been drawn or labelled before.
        drawn_in: The wave that drew each item, from 1; 0 where none has, shape (items,).
        given_before: The wave before which an item that none drew had a label, however it came
            to it, from 1; 0 where it had none. Such an item is known, and stands for no other.
    """

    probabilities: Floats
    drawn_in: NDArray[np.intp]
    given_before: NDArray[np.intp]

    @property
    def count(self) -> int:
        """How many waves there were."""
        return len(self.probabilities)

    @classmethod
    def none(cls, items: int) -> "Waves":
        """Return what stands before the first wave."""
        nobody = np.zeros(items, dtype=np.intp)
        return cls(np.empty((0, items)), nobody, nobody)

    def open(self, labels: Floats) -> NDArray[np.bool_]:
        """Return which items the next wave may draw: those without a label that none drew."""
        free = (self.drawn_in == 0) & (self.given_before == 0)
        return np.asarray(free & np.isnan(labels))

    def known(self, wave: int) -> NDArray[np.bool_]:
        """Return which items had been drawn or labelled before a wave, counted from 0."""
        drawn = (self.drawn_in > 0) & (self.drawn_in <= wave)
        given = (self.given_before > 0) & (self.given_before <= wave + 1)
        return drawn | given

    def after(self, probabilities: Floats, drawn: NDArray[np.bool_], labels: Floats) -> "Waves":
        """Return these waves and one more.

        Args:
            probabilities: Of each item that was open, shape (items,).
            drawn: Whether the new wave drew it.
            labels: What was known before it; NaN where nothing was.
        """
        number = self.count + 1
        open_ = self.open(labels)
        given = (self.drawn_in == 0) & (self.given_before == 0) & ~open_
        own = np.where(open_, probabilities, np.nan)
        return Waves(
            np.vstack([self.probabilities, own[None, :]]),
            np.where(drawn & open_, number, self.drawn_in),
            np.where(given, number, self.given_before),
        )


@dataclass(frozen=True)
class Expected:
    """What is expected of each item's label.

    Attributes:
        mean: The chance that it is 1, shape (items,).
        variance: How far the label is expected to lie from that, squared: the label's own
            variance and the expectation's.
    """

    mean: Floats
    variance: Floats


def expected_labels(
    guess: Floats, level: NDArray[np.intp], group: NDArray[np.intp], labels: Floats
) -> Expected:
    """Return what to expect of each label, from the labels so far and a guess made without them.

    A level is what the judge said (a verdict, or a range of scores); its mean label starts from the
    guess and moves to what its labels say. A cell is one group's items of one level; its mean
    starts from its level's.

    Args:
        guess: The chance that each label is 1 as guessed without labels, shape (items,).
        level: A whole number from 0 for each item's level.
        group: The same for its group.
        labels: 0 or 1; NaN where there is none.
    """
    known = ~np.isnan(labels)
    y = np.where(known, labels, 0.0)
    levels = int(level.max(initial=-1)) + 1
    items = np.bincount(level, minlength=levels)
    start = np.bincount(level, guess, minlength=levels) / np.maximum(items, 1)
    ones = np.bincount(level, y, minlength=levels) + LEVEL_STRENGTH * start
    seen = np.bincount(level, known, minlength=levels) + LEVEL_STRENGTH
    of_level = ones / seen
    rarer = np.maximum(np.minimum(of_level, 1.0 - of_level), 1e-6)
    strength = np.maximum(CELL_STRENGTH, CELL_EVENTS / rarer)[level]
    cell = group * levels + level
    cells = int(cell.max(initial=-1)) + 1
    told = np.bincount(cell, known, minlength=cells)[cell] + strength
    mean = (np.bincount(cell, y, minlength=cells)[cell] + strength * of_level[level]) / told
    return Expected(mean, mean * (1.0 - mean) * (1.0 + 1.0 / told))


def wave_variance(
    variance: Floats, probabilities: Floats, among: NDArray[np.bool_] | None = None
) -> float:
    """Return the variance that a wave's estimate of a mean is expected to have.

    Args:
        variance: Each label's expected variance, shape (items,).
        probabilities: Each item's probability; NaN where an earlier wave drew it.
        among: Which items the mean is of; all if not said.
    """
    chosen = np.ones(len(variance), dtype=bool) if among is None else among
    open_ = chosen & ~np.isnan(probabilities)
    if not open_.any():
        return 0.0
    spread = variance[open_] * (1.0 / probabilities[open_] - 1.0)
    return float(spread.sum()) / int(chosen.sum()) ** 2


def wave_estimate(
    labels: Floats,
    expected: Expected,
    waves: Waves,
    *,
    among: NDArray[np.bool_] | None = None,
    parts: NDArray[np.intp] | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the mean label of all items, or of some of them, drawn or not.

    Items that a wave drew and nobody labelled are taken for missing at random within their wave.

    Each part has Wilson's interval, with as many labels as a simple random sample would need for
    the same variance, and the parts' distances from their bounds are added in squares (Zou and
    Donner, Statistics in Medicine 27(10), 2008): where one part's errors are rare and heavily
    weighed, the interval reaches further up than down, as it should. It speaks of these items, not
    of a process that they come from.

    Args:
        labels: 0 or 1; NaN where there is none, shape (items,).
        expected: What was expected of them, from the same labels.
        waves: Who was drawn when.
        among: Which items the mean is of; all if not said.
        parts: A whole number for each item's part, of few: what the judge said; one if not said.
        level: The confidence level.

    Returns:
        The interval; without bounds where fewer than five of the items are labelled.

    Raises:
        ValueError: If there are no items to speak of, or a level lies outside (0, 1).
    """
    check_settings(level, 1)
    chosen = np.ones(len(labels), dtype=bool) if among is None else among
    size = int(chosen.sum())
    if size == 0 or waves.count == 0:
        raise ValueError("there must be items, and a wave that drew some of them")
    counted = (waves.drawn_in > 0) | (waves.given_before > 0)
    n = int((chosen & counted & ~np.isnan(labels)).sum())
    codes = np.zeros(len(labels), dtype=np.intp) if parts is None else parts
    estimate = below = above = variance = 0.0
    for code in np.unique(codes[chosen]):
        own = chosen & (codes == code)
        weight = float(own.sum()) / size
        mean, spread = _together(
            [_one_wave(labels, expected, waves, wave, own) for wave in range(waves.count)]
        )
        share = min(1.0, max(0.0, mean))
        low, high = _wilson(share, float(expected.mean[own].mean()), spread, level)
        estimate += weight * mean
        variance += weight**2 * spread
        below += (weight * (share - low)) ** 2
        above += (weight * (high - share)) ** 2
    if n < MIN_CLUSTERS or math.isnan(estimate):
        why = f"no interval: fewer than {MIN_CLUSTERS} of these items are labelled"
        return Interval(estimate, math.nan, math.nan, level, n, n, why)
    estimate = min(1.0, max(0.0, estimate))
    low, high = max(0.0, estimate - math.sqrt(below)), min(1.0, estimate + math.sqrt(above))
    return Interval(estimate, low, high, level, n, n, _method(expected, chosen, waves, n, variance))


def _method(
    expected: Expected, chosen: NDArray[np.bool_], waves: Waves, n: int, variance: float
) -> str:
    if variance <= 0.0:
        return "all of these items are labelled"
    typical = float(expected.mean[chosen].mean())
    worth = typical * (1.0 - typical) / variance
    told = f"{waves.count} wave{'s' * (waves.count > 1)}, {n} labels"
    return f"difference estimator, {told} worth {worth:.0f} of a simple random sample"


def _one_wave(
    labels: Floats, expected: Expected, waves: Waves, wave: int, chosen: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return one wave's estimate of the mean, and its expected variance."""
    told = ~np.isnan(labels)
    before = waves.known(wave)
    own = waves.drawn_in == wave + 1
    # Who did not answer leaves the wave smaller than it was drawn.
    answered = float((own & told).sum()) / max(1, int(own.sum()))
    if not answered:
        return 0.0, math.inf
    p = waves.probabilities[wave] * answered
    value = np.where(before & told, labels, expected.mean)
    use = chosen & own & told
    correction = float(((labels[use] - expected.mean[use]) / p[use]).sum())
    mean = (float(value[chosen].sum()) + correction) / int(chosen.sum())
    return mean, wave_variance(expected.variance, p, chosen)


def _together(single: Sequence[tuple[float, float]]) -> tuple[float, float]:
    exact = [estimate for estimate, variance in single if variance == 0.0]
    if exact:
        return exact[-1], 0.0
    weights = [1.0 / variance for _, variance in single]
    total = sum(weights)
    if total == 0.0:
        return math.nan, math.nan
    mean = sum(w * estimate for w, (estimate, _) in zip(weights, single, strict=True)) / total
    return mean, 1.0 / total


def _wilson(share: float, typical: float, variance: float, level: float) -> tuple[float, float]:
    """Return Wilson's bounds for as many labels as a variance is worth at a typical share."""
    worth = typical * (1.0 - typical) / variance if variance > 0.0 else math.inf
    spread = float(special.ndtri(0.5 + level / 2.0)) ** 2 / worth
    middle = (share + spread / 2.0) / (1.0 + spread)
    reach = math.sqrt(share * (1.0 - share) * spread + spread**2 / 4.0) / (1.0 + spread)
    return max(0.0, middle - reach), min(1.0, middle + reach)
