"""Agreement of independent labels: the figures of `contrafact agree`.

The ratings are those that `contrafact review export --what ratings` writes, and the functions are
those that `contrafact agree` calls, with the same seed, so that both print the same figures.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from contrafact.review.export import rating_rows
from contrafact.review.state import ReviewState
from contrafact.study.agreement import Agreement, agreement
from contrafact.study.ratings import Rating, RatingsTable, ratings_of

__all__ = [
    "StageRatings", "disagreement_matrix", "rated_agreement", "rated_questions",
    "stage_ratings",
]  # fmt: skip

SEED = 0
"""The seed that `contrafact agree` takes where none is given."""

Cells = tuple[tuple[str, str, str], ...]
"""Item, rater and rating of each answer, in order of time."""


@dataclass(frozen=True)
class StageRatings:
    """The independent answers at one stage to one question.

    Attributes:
        question: The question; None for the verdict.
        why: Why nobody can agree yet; empty where two people have answered on one item.
    """

    stage: str
    title: str
    question: str | None
    cells: Cells
    why: str


@dataclass(frozen=True)
class DisagreementMatrix:
    """What two people say of one item.

    Attributes:
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


def rated_questions(state: ReviewState, stage: str) -> tuple[str | None, ...]:
    """Return what agreement can be asked about at a stage: the verdict, then its questions."""
    place = state.project.stage(stage)
    asked = [q for q in place.questions if state.project.question(q).options]
    # Where one question is the verdict, it would be shown twice.
    return (None, *(q for q in asked if q != place.verdict))


def stage_ratings(state: ReviewState) -> list[StageRatings]:
    """Return the answers at every stage where several people answer apart from each other.

    A stage where nobody has answered twice on an item yet has its verdict alone.
    """
    found = []
    for stage in state.project.flow:
        if stage.kind != "independent" or len(stage.roles) < 2:
            continue
        for question in rated_questions(state, stage.id):
            rows = rating_rows(state, stages=(stage.id,), question=question)
            cells = tuple((row["item"], row["rater"], row["rating"]) for row in rows)
            why = ""
            if len({rater for _, rater, _ in cells}) < 2:
                why = "fewer than two people have answered here"
            elif len({item for item, _, _ in cells}) == len(cells):
                why = "no item has two answers yet"
            found.append(StageRatings(stage.id, stage.title, question, cells, why))
            if why:
                break
    return found


# The intervals of thousands of items take seconds, and a page is looked at again and again.
@lru_cache(maxsize=64)
def rated_agreement(cells: Cells) -> Agreement:
    """Return what `contrafact agree` says of answers."""
    return agreement(_table(cells), seed=SEED)


def _table(cells: Cells) -> RatingsTable:
    names = ("item", "rater", "rating")
    rows = [(line, dict(zip(names, one, strict=True))) for line, one in enumerate(cells, start=2)]
    return ratings_of(rows, "ratings")


def disagreement_matrix(cells: Cells) -> DisagreementMatrix:
    """Return how often two people give which answers to one item."""
    table = _table(cells)
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
