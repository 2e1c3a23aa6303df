"""Agreement of independent labels: the figures of `contrafact agree`, and how they grow.

The ratings are those that `contrafact review export --what ratings` writes, and the functions are
those that `contrafact agree` calls, with the same seed, so that both print the same figures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from contrafact.review.export import rating_rows
from contrafact.review.state import ReviewState
from contrafact.stats.agreement import gwet_ac1, percent_agreement, with_interval
from contrafact.study.agreement import Agreement, agreement
from contrafact.study.ratings import Rating, RatingsTable, ratings_of

__all__ = [
    "AgreementFigures",
    "DisagreementMatrix",
    "GrowthPoint",
    "agreement_figures",
    "disagreement_matrix",
    "growth",
    "rated_questions",
    "rated_table",
    "twice_rated",
]

SEED = 0
"""The seed that `contrafact agree` takes where none is given."""


@dataclass(frozen=True)
class GrowthPoint:
    """Agreement on the items that had two ratings first.

    Attributes:
        items: How many of them.
        percent: Percent agreement, from 0 to 1, with ``percent_low`` and ``percent_high`` (NaN
            where there is no interval).
        ac1: Gwet's AC1, with its bounds.
    """

    items: int
    percent: float
    percent_low: float
    percent_high: float
    ac1: float
    ac1_low: float
    ac1_high: float


@dataclass(frozen=True)
class DisagreementMatrix:
    """What two people say of one item.

    Attributes:
        categories: The answers, in order.
        counts: Shape (answers, answers): pairs of ratings of one item, by what the two say. It is
            symmetric, since neither of the two is the first; a pair that agrees counts once, one
            that differs once in either place.
        directed: Where there are two raters only: rows are the first one's answers and columns the
            second's; none otherwise.
        raters: The two, or none.
    """

    categories: tuple[str, ...]
    counts: NDArray[np.int64]
    directed: NDArray[np.int64] | None
    raters: tuple[str, ...]

    @property
    def shown(self) -> NDArray[np.int64]:
        """The table to show: directed where it can be."""
        return self.counts if self.directed is None else self.directed


@dataclass(frozen=True)
class AgreementFigures:
    """Agreement at one stage on one question.

    Attributes:
        stage: The stage's id.
        question: The question; None for the verdict.
        found: As `contrafact agree` has it; None where nobody can agree yet.
        why: Where there is none, why.
        growth: Percent agreement and AC1 as ratings came in; the last point is all of them.
        matrix: Who says what where another says what; None as ``found``.
    """

    stage: str
    question: str | None
    found: Agreement | None
    why: str
    growth: tuple[GrowthPoint, ...]
    matrix: DisagreementMatrix | None


def rated_questions(state: ReviewState, stage: str) -> tuple[str | None, ...]:
    """Return what agreement can be asked about at a stage: the verdict, then its questions."""
    place = state.project.stage(stage)
    asked = [q for q in place.questions if state.project.question(q).options]
    # Where one question is the verdict, it would be shown twice.
    return (None, *(q for q in asked if q != place.verdict))


def rated_table(state: ReviewState, stage: str, question: str | None = None) -> RatingsTable | None:
    """Return the ratings of a stage; None while fewer than two people have rated."""
    rows = rating_rows(state, stages=(stage,), question=question)
    if len({row["rater"] for row in rows}) < 2:
        return None
    return ratings_of([(line, dict(row)) for line, row in enumerate(rows, start=2)], "ratings")


def agreement_figures(
    state: ReviewState, stage: str, question: str | None = None, *, points: int = 8
) -> AgreementFigures:
    """Return agreement at a stage on a question, with its growth and matrix.

    Args:
        state: The review.
        stage: The stage.
        question: The question; the verdict if none is named.
        points: How many points the growth has at most.
    """
    table = rated_table(state, stage, question)
    if table is None:
        why = "fewer than two people have answered here"
        return AgreementFigures(stage, question, None, why, (), None)
    if not twice_rated(table):
        why = "no item has two answers yet"
        return AgreementFigures(stage, question, None, why, (), None)
    found = agreement(table, seed=SEED)
    return AgreementFigures(
        stage, question, found, "", growth(table, points), disagreement_matrix(table)
    )


def growth(table: RatingsTable, points: int = 8) -> tuple[GrowthPoint, ...]:
    """Return agreement on the first items with two ratings, on more, and so on to all of them.

    Args:
        table: The ratings; its items in the order in which they were first rated.
        points: How many points at most, evenly over the items.
    """
    twice = twice_rated(table)
    sizes = sorted({math.ceil(len(twice) * k / points) for k in range(1, points + 1)})
    return tuple(_point(table, twice[:size]) for size in sizes if size)


def disagreement_matrix(table: RatingsTable) -> DisagreementMatrix:
    """Return how often two people give which answers to one item."""
    seen = {cell for row in table.cells for cell in row if cell is not None}
    known: list[Rating] = sorted(seen, key=lambda one: (isinstance(one, str), one))
    place = {category: number for number, category in enumerate(known)}
    counts = np.zeros((len(known), len(known)), dtype=np.int64)
    directed = np.zeros_like(counts) if len(table.raters) == 2 else None
    for row in table.cells:
        for one, other in combinations([cell for cell in row if cell is not None], 2):
            first, second = place[one], place[other]
            counts[first, second] += 1
            if first != second:
                counts[second, first] += 1
        if directed is not None and None not in row:
            directed[place[row[0]], place[row[1]]] += 1
    raters = table.raters if directed is not None else ()
    names = (str(int(one) if isinstance(one, float) and one.is_integer() else one) for one in known)
    return DisagreementMatrix(tuple(names), counts, directed, raters)


def twice_rated(table: RatingsTable) -> list[int]:
    """Return the places of the items with at least two ratings, in order."""
    return [
        place for place, row in enumerate(table.cells) if sum(cell is not None for cell in row) > 1
    ]


def _point(table: RatingsTable, places: Sequence[int]) -> GrowthPoint:
    whole = len(places) == len(twice_rated(table))
    rows = table.cells if whole else tuple(table.cells[place] for place in places)
    cells = np.array([list(row) for row in rows], dtype=object)
    seen = {cell for row in table.cells for cell in row if cell is not None}
    known = sorted(seen, key=lambda one: (isinstance(one, str), one))
    columns = range(len(table.raters))
    # The streams of `contrafact.study.agreement`, so that the last point is what it prints.
    percent = with_interval(
        percent_agreement, cells, rng=np.random.default_rng([SEED, 1, *columns])
    )
    ac1 = with_interval(
        partial(gwet_ac1, categories=known), cells, rng=np.random.default_rng([SEED, 3, *columns])
    )
    return GrowthPoint(
        len(places),
        *(percent.estimate, percent.low, percent.high),
        *(ac1.estimate, ac1.low, ac1.high),
    )
