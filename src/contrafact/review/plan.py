"""The planner: which items to label next, so that the reported figures get as tight as can be.

Items come with what a judge said of them (or with their way through a review) and with a group: a
system, a category. A wave of labels is drawn from those that have none, each item in proportion to
how far its label is expected to lie from what is expected, times what it weighs in the figures,
with a uniform share added; see `contrafact.stats.sampling`. The probabilities are
kept, and `figures_of` turns labels into figures that are right whatever was expected; see
`contrafact.stats.sampling`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contrafact.stats.distributions import normal_cdf, normal_quantile
from contrafact.stats.intervals import Interval
from contrafact.stats.paired import Difference, Rank, holm, rank_intervals
from contrafact.stats.sampling import (
    Expected,
    Waves,
    expected_labels,
    inclusion_probabilities,
    pivotal_sample,
    wave_estimate,
)

__all__ = [
    "DESIGNS",
    "FIGURES",
    "UNIFORM",
    "Figure",
    "Figures",
    "Frame",
    "Gain",
    "draw_sizes",
    "figures_of",
    "gains",
    "next_wave",
    "ranking_weights",
]

Figure = Literal["rate", "ranking", "residual"]
FIGURES: tuple[Figure, ...] = ("rate", "ranking", "residual")
UNIFORM = 0.2
"""The share of a wave that goes to all items alike."""
DESIGNS = ("planned", "uniform", "uniform, no judge")
"""As planned; uniformly, with the same estimator; uniformly, and the judge not looked at."""

_SETTLED = 0.05


@dataclass(frozen=True)
class Frame:
    """The items that the figures speak of.

    Attributes:
        items: Their ids.
        group: The system or category of each; the same text for all where there are none.
        judge_level: What the judge said of each, or how it came through a review, as a name.
        guess: The chance that each label is 1, guessed before any label, 0 to 1.
    """

    items: tuple[str, ...]
    group: tuple[str, ...]
    judge_level: tuple[str, ...]
    guess: NDArray[np.float64]

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups, in order of names."""
        return tuple(sorted(set(self.group)))

    @cached_property
    def group_codes(self) -> NDArray[np.intp]:
        """Each item's place in ``groups``."""
        return np.unique(np.array(self.group, dtype=object), return_inverse=True)[1]

    @cached_property
    def judge_level_codes(self) -> NDArray[np.intp]:
        """A whole number from 0 for each item's ``judge_level``."""
        return np.unique(np.array(self.judge_level, dtype=object), return_inverse=True)[1]

    @cached_property
    def cells(self) -> NDArray[np.intp]:
        """A whole number for each item's group and judge's level: the strata of a draw."""
        return self.group_codes * (int(self.judge_level_codes.max()) + 1) + self.judge_level_codes

    def expected(self, labels: NDArray[np.float64]) -> Expected:
        """Return what to expect of each label; see ``expected_labels``."""
        return expected_labels(self.guess, self.judge_level_codes, self.group_codes, labels)

    def without_judge(self) -> "Frame":
        """Return the same items as if nobody had judged them."""
        even = np.full(len(self.items), 0.5)
        return Frame(self.items, self.group, ("",) * len(self.items), even)


@dataclass(frozen=True)
class Figures:
    """What the labels say.

    Attributes:
        overall: The share of all items whose label is 1.
        by_group: The same for each group.
        ranks: Each group's rank as an interval, by that share; empty with one group.
        apart: Of how many pairs of groups it can be said which is better.
        pairs: How many pairs there are.
    """

    overall: Interval
    by_group: dict[str, Interval]
    ranks: dict[str, Rank]
    apart: int
    pairs: int


def next_wave(
    frame: Frame,
    waves: Waves,
    labels: NDArray[np.float64],
    budget: int,
    figures: Sequence[Figure],
    *,
    uniform: float = UNIFORM,
    rng: np.random.Generator,
) -> Waves:
    """Return the waves and one more, which draws ``budget`` items to label.

    Args:
        frame: The items.
        waves: The waves so far.
        labels: 0 or 1; NaN where there is none, shape (items,).
        budget: How many to draw.
        figures: What is to get tight. ``rate`` and ``residual`` weigh all items alike; ``ranking``
            weighs groups so that those can be distinguished that cannot be yet.
        uniform: The share of the draw that goes to all items alike.
        rng: Where randomness comes from.
    """
    open_ = waves.open(labels)
    sizes = np.where(open_, draw_sizes(frame, waves, labels, figures), 0.0)
    probabilities = np.zeros(len(labels))
    probabilities[open_] = inclusion_probabilities(sizes[open_], budget, uniform=uniform)
    drawn = pivotal_sample(probabilities, rng, strata=frame.cells)
    return waves.after(probabilities, drawn, labels)


def figures_of(
    frame: Frame, waves: Waves, labels: NDArray[np.float64], *, level: float = 0.95
) -> Figures:
    """Return the figures that the labels of the waves give, with intervals.

    A group is better than another where the difference of their shares stands after Holm's
    correction over all pairs.

    Args:
        frame: The items.
        waves: The waves, labelled.
        labels: 0 or 1; NaN where there is none, shape (items,).
        level: The level of the intervals, and one less the chance of any false "better".

    Raises:
        ValueError: If there is no wave.
    """
    expected = frame.expected(labels)
    parts = frame.judge_level_codes
    overall = wave_estimate(labels, expected, waves, parts=parts, level=level)
    if len(frame.groups) == 1:
        return Figures(overall, {frame.groups[0]: overall}, {}, 0, 0)
    by_group = {
        name: wave_estimate(
            labels, expected, waves, among=frame.group_codes == code, parts=parts, level=level
        )
        for code, name in enumerate(frame.groups)
    }
    pairs = list(combinations(frame.groups, 2))
    adjusted = holm([_p_value(by_group[one], by_group[two]) for one, two in pairs])
    differences = [
        Difference(one, two, by_group[one].estimate - by_group[two].estimate, float(p))
        for (one, two), p in zip(pairs, adjusted, strict=True)
    ]
    ranks = rank_intervals(frame.groups, differences, level=level)
    apart = sum(bool(one.p_adjusted <= 1.0 - level) for one in differences)
    named = {str(name): rank for name, rank in ranks.items()}
    return Figures(overall, by_group, named, apart, len(pairs))


def draw_sizes(
    frame: Frame, waves: Waves, labels: NDArray[np.float64], figures: Sequence[Figure]
) -> NDArray[np.float64]:
    """Return what items are drawn in proportion to, shape (items,), for all figures together.

    For one figure it is the standard deviation of each item's label around what is expected
    (Neyman's allocation), times what the item weighs in the figure.
    """
    spread = np.sqrt(frame.expected(labels).variance)
    squares = np.zeros(len(labels))
    for figure in dict.fromkeys("rate" if one == "residual" else one for one in figures):
        weights = ranking_weights(frame, waves, labels) if figure == "ranking" else 1.0
        own = spread * weights
        squares += (own / own.sum()) ** 2
    return np.sqrt(squares)


def ranking_weights(frame: Frame, waves: Waves, labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each item's label weighs in a ranking of the groups, shape (items,).

    The variance of a group's mean counts once for each group that it cannot be distinguished from
    yet: by the p-value of their difference, and never by nothing.
    """
    counts = np.bincount(frame.group_codes)
    unsettled = np.full(len(frame.groups), float(len(frame.groups) - 1))
    if waves.count:
        unsettled = np.zeros(len(frame.groups))
        by_group = list(figures_of(frame, waves, labels).by_group.values())
        for one, two in combinations(range(len(by_group)), 2):
            p = _p_value(by_group[one], by_group[two])
            unsettled[[one, two]] += 1.0 if math.isnan(p) else max(p, _SETTLED)
    of_group = np.sqrt(unsettled) / counts
    return np.asarray(of_group[frame.group_codes])


def _p_value(one: Interval, two: Interval) -> float:
    """Return the two-sided p-value of two groups' shares being the same; NaN without intervals."""

    def variance_of(interval: Interval) -> float:
        half = (interval.high - interval.low) / 2.0
        return float((half / normal_quantile(0.5 + interval.level / 2.0)) ** 2)

    variance = variance_of(one) + variance_of(two)
    if math.isnan(variance):
        return math.nan
    difference = abs(one.estimate - two.estimate)
    if variance == 0.0:
        return float(difference == 0.0)
    return float(2.0 * normal_cdf(-difference / math.sqrt(variance)))


@dataclass(frozen=True)
class Gain:
    """How one design does at one figure, over all rounds.

    Attributes:
        figure: ``overall``, or ``groups`` for the mean over groups.
        design: One of ``DESIGNS``.
        width: The mean width of the interval.
        rmse: The root of the mean squared error.
        coverage: The share of intervals that hold the true value.
        apart: The mean number of pairs of groups that are distinguished; none for ``overall``.
    """

    figure: str
    design: str
    width: float
    rmse: float
    coverage: float
    apart: float | None = None


def gains(
    frame: Frame,
    waves: Waves,
    labels: NDArray[np.float64],
    budget: int,
    figures: Sequence[Figure],
    *,
    truth: NDArray[np.float64] | None = None,
    rounds: int = 200,
    parts: int = 1,
    uniform: float = UNIFORM,
    rng: np.random.Generator,
) -> list[Gain]:
    """Return how the designs compare, by simulation.

    Every round goes on from the waves and labels that there are, draws ``budget`` items by each
    design, and labels them: as ``truth`` says, or as is expected of them. What is expected is what
    the plan is made from, so that without ``truth`` the plan's gain is that of a plan that is
    right; where every item's label is known from an earlier study, ``truth`` shows the real one.

    Args:
        frame: The items.
        waves: The waves so far.
        labels: 0 or 1; NaN where there is none, shape (items,).
        budget: How many items each design draws.
        figures: What the plan is to make tight.
        truth: 0 or 1 for every item.
        rounds: How many rounds.
        parts: In how many waves the budget is drawn, each in view of those before.
        uniform: The uniform share of a planned draw.
        rng: Where randomness comes from.
    """
    expected = frame.expected(labels).mean
    blind = frame.without_judge()
    # By figure and design, of each round: the interval's width, its error, whether it covers.
    found: dict[tuple[str, str], list[tuple[float, float, bool]]] = {}
    apart: dict[str, list[int]] = {design: [] for design in DESIGNS}
    for _ in range(rounds):
        y = truth if truth is not None else (rng.random(len(expected)) < expected).astype(float)
        y = np.where(np.isnan(labels), y, labels)
        for design in DESIGNS:
            used = blind if design == DESIGNS[2] else frame
            share = uniform if design == DESIGNS[0] else 1.0
            drawn, seen = waves, labels
            for part in range(parts):
                size = budget * (part + 1) // parts - budget * part // parts
                drawn = next_wave(used, drawn, seen, size, figures, uniform=share, rng=rng)
                seen = np.where(drawn.drawn_in == drawn.count, y, seen)
            made = figures_of(used, drawn, seen)
            compared = [("overall", made.overall, float(y.mean()))]
            if made.pairs:
                apart[design].append(made.apart)
                compared += [
                    ("groups", one, float(y[used.group_codes == code].mean()))
                    for code, one in enumerate(made.by_group.values())
                ]
            for figure, one, true in compared:
                covers = bool(one.low <= true <= one.high)
                found.setdefault((figure, design), []).append(
                    (one.high - one.low, one.estimate - true, covers)
                )
    result = []
    for figure in ("overall", "groups"):
        for design in DESIGNS:
            if (figure, design) not in found:
                continue
            widths, errors, covers = np.array(found[figure, design], dtype=np.float64).T
            bounded = ~np.isnan(widths)
            result.append(
                Gain(
                    figure,
                    design,
                    float(widths[bounded].mean()) if bounded.any() else math.nan,
                    float(np.sqrt((errors**2).mean())),
                    float(covers[bounded].mean()) if bounded.any() else math.nan,
                    float(np.mean(apart[design])) if figure == "groups" else None,
                )
            )
    return result
