"""What a plan gains: the same number of labels drawn as planned and drawn uniformly, many times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contrafact.review.plan import UNIFORM, Figure, Figures, Frame, figures_of, next_wave
from contrafact.stats.intervals import Interval
from contrafact.stats.sampling import Waves

__all__ = ["DESIGNS", "Gain", "gains"]

DESIGNS = ("planned", "uniform", "uniform, no judge")
"""As planned; uniformly, with the same estimator; uniformly, and the judge not looked at."""


@dataclass(frozen=True)
class Gain:
    """How one design does at one figure, over all rounds.

    Attributes:
        figure: ``overall``, or ``groups`` for the mean over groups.
        design: One of ``DESIGNS``.
        width: The mean width of the interval.
        rmse: The root of the mean squared error.
        coverage: The share of intervals that hold the true value.
        apart: The mean number of pairs of groups told apart; none for ``overall``.
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
    found: dict[tuple[str, str], list[tuple[float, float, bool]]] = {}
    apart: dict[str, list[int]] = {design: [] for design in DESIGNS}
    for _ in range(rounds):
        y = truth if truth is not None else (rng.random(len(expected)) < expected).astype(float)
        y = np.where(np.isnan(labels), y, labels)
        for design in DESIGNS:
            used = blind if design == DESIGNS[2] else frame
            share = uniform if design == DESIGNS[0] else 1.0
            made = _run(used, waves, labels, y, budget, figures, parts, share, rng)
            codes = frame.group_codes
            own = [
                _against(one, float(y[codes == code].mean()))
                for code, one in enumerate(made.by_group.values())
            ]
            found.setdefault(("overall", design), []).append(_against(made.overall, y.mean()))
            if made.pairs:
                found.setdefault(("groups", design), []).extend(own)
                apart[design].append(made.apart)
    return [
        _gain(figure, design, np.array(rows, dtype=np.float64), apart[design])
        for (figure, design), rows in sorted(
            found.items(), key=lambda pair: (pair[0][0] != "overall", DESIGNS.index(pair[0][1]))
        )
    ]


def _run(
    frame: Frame,
    waves: Waves,
    labels: NDArray[np.float64],
    y: NDArray[np.float64],
    budget: int,
    figures: Sequence[Figure],
    parts: int,
    uniform: float,
    rng: np.random.Generator,
) -> Figures:
    seen = labels
    for part in range(parts):
        size = budget * (part + 1) // parts - budget * part // parts
        waves = next_wave(frame, waves, seen, size, figures, uniform=uniform, rng=rng)
        seen = np.where(waves.drawn_in == waves.count, y, seen)
    return figures_of(frame, waves, seen)


def _against(one: Interval, truth: float) -> tuple[float, float, bool]:
    return one.high - one.low, one.estimate - truth, bool(one.low <= truth <= one.high)


def _gain(figure: str, design: str, rows: NDArray[np.float64], apart: Sequence[int]) -> Gain:
    bounded = ~np.isnan(rows[:, 0])
    return Gain(
        figure,
        design,
        float(rows[bounded, 0].mean()) if bounded.any() else float("nan"),
        float(np.sqrt((rows[:, 1] ** 2).mean())),
        float(rows[bounded, 2].mean()) if bounded.any() else float("nan"),
        float(np.mean(apart)) if figure == "groups" else None,
    )
