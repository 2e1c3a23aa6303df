"""The planner: which items to label next, so that a reported figure gets as tight as can be.

Items come with what a judge said of them (or with their way through a review) and with a group: a
system, a category. Those to label are drawn from those that have no label, each item in proportion
to how far its label is expected to lie from what is expected, with a uniform share added. The
probabilities are kept, and `figures_of` turns labels into figures that are right whatever was
expected; see `contrafact.stats.sampling`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contrafact.stats.intervals import Interval
from contrafact.stats.sampling import (
    Draw,
    Expected,
    difference_estimate,
    expected_labels,
    inclusion_probabilities,
    pivotal_sample,
)

__all__ = ["Frame", "Target", "draw_items", "figures_of"]

Target = Literal["rate", "residual"]
UNIFORM = 0.2
"""The share of a draw that goes to all items alike."""


@dataclass(frozen=True)
class Frame:
    """The items that the figures speak of, in groups: systems or categories.

    Attributes:
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


@dataclass(frozen=True)
class LabelledShares:
    """The share of items whose label is 1: of all, and of each group."""

    overall: Interval
    by_group: dict[str, Interval]


def draw_items(
    frame: Frame,
    labels: NDArray[np.float64],
    budget: int,
    *,
    uniform: float = UNIFORM,
    rng: np.random.Generator,
) -> Draw:
    """Draw ``budget`` items to label, of those that have no label.

    An item is drawn in proportion to the standard deviation of its label around what is expected
    (Neyman's allocation), each cell of items within one of its expected number.

    Args:
        labels: 0 or 1; NaN where there is none, shape (items,).
        uniform: The share of the draw that goes to all items alike.
    """
    open_ = np.isnan(labels)
    spread = np.sqrt(frame.expected(labels).variance)
    probabilities = np.zeros(len(labels))
    sizes = (spread / spread.sum())[open_]
    probabilities[open_] = inclusion_probabilities(sizes, budget, uniform=uniform)
    drawn = pivotal_sample(probabilities, rng, strata=frame.cells)
    return Draw(np.where(open_, probabilities, np.nan), drawn & open_, ~open_)


def figures_of(
    frame: Frame, draw: Draw, labels: NDArray[np.float64], *, level: float = 0.95
) -> LabelledShares:
    """Return the figures that the labels of a draw give, with intervals.

    Args:
        labels: 0 or 1; NaN where there is none, shape (items,).
    """
    expected = frame.expected(labels)
    parts = frame.judge_level_codes
    overall = difference_estimate(labels, expected, draw, parts=parts, level=level)
    if len(frame.groups) == 1:
        return LabelledShares(overall, {frame.groups[0]: overall})
    by_group = {
        name: difference_estimate(
            labels, expected, draw, among=frame.group_codes == code, parts=parts, level=level
        )
        for code, name in enumerate(frame.groups)
    }
    return LabelledShares(overall, by_group)
