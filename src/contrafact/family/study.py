"""How a family describes a study with people: what is drawn, shown, asked and computed.

A study draws outputs of systems (or pairs of a file), writes a sheet for people to fill in and a
key that they do not see, and makes tables of their answers. Most steps are the same for all
families; a `StudySpec` holds the differences. A family's special tables are made from an
`AnsweredStudy`, whose figures all have intervals that resample clusters.

Help pages load the spec as well, so import heavy modules inside functions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.text.delimit import seen

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from contrafact.stats.intervals import Interval

__all__ = ["NOT_ASKED", "AnsweredStudy", "Question", "StudySpec", "StudyTable", "spread_over"]

TRUE_FALSE: Mapping[str, str] = {
    **dict.fromkeys(("t", "yes", "y", "1", "pass"), "true"),
    **dict.fromkeys(("f", "no", "n", "0", "fail"), "false"),
}
"""The spellings of TRUE and FALSE that people may write."""

NOT_ASKED = "n/a"
"""The cell of a question that does not apply to an item, because the judge was not asked it."""

_JOINED = re.compile(r"(?<=\w)[\s_-]+(?=\w)")


@dataclass(frozen=True)
class Question:
    """A question about every item: a column of the sheet to fill in.

    Attributes:
        answers: The possible answers. If ``passes`` is set, the first passes the item, the second
            fails it, and the others decide nothing.
        spellings: Other accepted spellings, in lower case, and the answer that each stands for.
        wanted: The description of the possible answers in messages; see `choices`.
        passes: Whether an item can pass or fail the question; otherwise its answers are classes.
        optional: Whether a blank is a valid answer, as for a mark that may be set.
        verdict: The key's column with which people's answers are compared, if any.
        criterion: The judged column of the per-item table that asks the same; the key's column
            ``verdict`` is then made from it, and people's labels can correct the judge's rate.
    """

    name: str
    answers: tuple[str, ...] = ("true", "false")
    spellings: Mapping[str, str] = field(default_factory=lambda: TRUE_FALSE)
    wanted: str = ""
    passes: bool = True
    optional: bool = False
    verdict: str = ""
    criterion: str = ""

    def read(self, cell: str) -> str | None:
        """Return the answer that a cell holds; None if it holds no valid answer.

        Case, a full stop, invisible characters, the joining of words (space, hyphen, underscore)
        and ".0" after a whole number are ignored.
        """
        by_spelling = {_folded(answer): answer for answer in self.answers}
        meant = {_folded(text): _folded(answer) for text, answer in self.spellings.items()}
        return by_spelling.get(meant.get(_folded(cell), _folded(cell)))

    @property
    def choices(self) -> str:
        if self.wanted:
            return self.wanted
        return "TRUE or FALSE" if self.spellings is TRUE_FALSE else ", ".join(self.answers)

    def passed(self, answer: str | None) -> bool | None:
        """Return whether an answer passes the item; None if the answer decides nothing."""
        return {self.answers[0]: True, self.answers[1]: False}.get(answer or "")


@dataclass(frozen=True)
class StudyTable:
    """A result table of a study: without a name it is only shown, without a title only written.

    ``frame`` may hold a figure's bounds in columns ending in ``_low`` and ``_high``. ``shares`` are
    columns shown in percent, ``coefficients`` with three digits; columns in ``undefined`` state in
    the file that a figure is undefined.
    """

    name: str
    title: str
    frame: "pd.DataFrame"
    shares: tuple[str, ...] = ()
    coefficients: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnsweredStudy:
    """A study with people's answers, from which its tables are made.

    The values for figures are indexed by items' names; an item may occur several times. ``items``
    is the key, indexed by items' names: its columns are text, except that ``probability`` is a
    number, and verdicts are replaced by the answers that they stand for. ``answers`` has the
    columns ``item``, ``annotator``, ``question`` and ``answer``.
    """

    spec: "StudySpec"
    items: "pd.DataFrame"
    answers: "pd.DataFrame"
    rng: "np.random.Generator"
    level: float = 0.95
    resamples: int = 10_000

    def given(self, question: str) -> "pd.DataFrame":
        """Return the answers to a question: a row per item, a column per person who answered."""
        of_question = self.answers[self.answers["question"].eq(question)]
        table = of_question.pivot(index="item", columns="annotator", values="answer")
        people = [person for person in self.answers["annotator"].unique() if person in table]
        return table.reindex(index=self.items.index, columns=people).astype(object)

    def mean(
        self, values: "pd.Series[Any]", weights: "pd.Series[float] | None" = None
    ) -> "Interval":
        """Return the mean over the sample as it was drawn; NaN without values."""
        from contrafact.stats.intervals import cluster_bootstrap

        own = None if weights is None or values.empty else weights.to_numpy(float)
        return cluster_bootstrap(values.to_numpy(float), weights=own, **self.how(values))

    def weighted_mean(self, values: "pd.Series[Any]") -> "Interval":
        """Return the mean over the whole pool, weighted by inverse probability.

        It is Hajek's ratio ``sum(y / p) / sum(1 / p)`` (Sarndal, Swensson and Wretman, Model
        Assisted Survey Sampling, 1992, section 5.7), without a correction for a finite pool.
        """
        return self.mean(values, 1.0 / self.items["probability"].loc[values.index])

    def coefficient(self, function: Callable[..., float], ratings: "pd.DataFrame") -> "Interval":
        """Return a coefficient of `contrafact.stats.agreement`; ratings have a column per rater."""
        from contrafact.stats.agreement import with_interval

        return with_interval(function, ratings.to_numpy(object), **self.how(ratings))

    def how(self, rows: "pd.Series[Any] | pd.DataFrame") -> dict[str, Any]:
        """Return the arguments for making an interval from rows of items."""
        clusters = self.items[self.spec.cluster].loc[rows.index].to_numpy(object)
        how = {"level": self.level, "resamples": self.resamples, "rng": self.rng}
        return {"clusters": clusters, **how}


Choose = Callable[["pd.DataFrame", int, "np.random.Generator"], Sequence[int]]
"""Chooses a number of rows of a stratum; returns their positions."""


def at_random(stratum: "pd.DataFrame", size: int, rng: "np.random.Generator") -> Sequence[int]:
    return [int(row) for row in rng.permutation(len(stratum))[:size]]


def spread_over(column: str) -> Choose:
    """Return a function that draws rows at random, each value of a column once before any twice."""

    def choose(stratum: "pd.DataFrame", size: int, rng: "np.random.Generator") -> Sequence[int]:
        order = list(at_random(stratum, len(stratum), rng))
        values = stratum[column].reset_index(drop=True)[order]
        turns = values.groupby(values, sort=False, dropna=False).cumcount()
        return turns.sort_values(kind="stable").index[:size].tolist()

    return choose


@dataclass(frozen=True)
class StudySpec:
    """One kind of study of a family.

    Attributes:
        summary: The questions to people, as a short sentence for help.
        noun: The plural noun for items.
        shown: The sheet's columns that show an item, and the columns that they are taken from.
        guidelines: The file of guidelines for people, plain text.
        key: The key's columns, in order: ``item``, ``probability``, ``check``, columns that
            identify the item, and each question's ``verdict``. A column ``kind`` holds the kind of
            study.
        task: The task from whose run folders items are drawn.
        load: Reads a file, if items are drawn from a file instead.
        source: A help text on what items are drawn from.
        pool: Returns the rows that can be drawn. By default: rows that have everything that is
            shown and, if any question has a criterion, that a judge judged.
        strata: Columns of the key; items are drawn from every combination of their values.
        each: Whether ``--n`` is the number for each stratum; otherwise for all, shared evenly.
        n: The default number of items to draw.
        assign: Fills in columns that depend on the draw; the drawn rows have their position within
            the stratum in the column ``place``.
        together: Whether the sheet keeps the rows in the order in which they were chosen, because
            each draw has several rows, those with the same value of ``cluster``.
        calibrates: Whether the study corrects a judge's rates: ``--n`` is then the number for each
            system, distributed in proportion to its strata.
        cluster: The key's column by which figures are resampled.
        by: Columns of the key and values for which two raters are also compared separately.
        reference: What people's answers are compared with: ``judge``, or ``gold`` if it is right.
        labels: The key's columns in the table of labels for ``contrafact report --labels``.
        tables: Makes the tables, instead of those of `contrafact.study.score`.
        published: Returns the paper's results, as tables and sentences.
    """

    summary: str
    noun: str
    shown: Mapping[str, str]
    questions: tuple[Question, ...]
    guidelines: Path
    key: tuple[str, ...]
    task: str = ""
    load: Callable[[Path], "pd.DataFrame"] | None = None
    source: str = "Run folders, judged."
    pool: Callable[["pd.DataFrame"], "pd.DataFrame"] | None = None
    strata: tuple[str, ...] = ("system", "judge")
    each: bool = False
    n: int = 100
    choose: Choose = at_random
    assign: Callable[["pd.DataFrame"], "pd.DataFrame"] | None = None
    together: bool = False
    calibrates: bool = False
    cluster: str = "sample_id"
    by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reference: str = "judge"
    labels: tuple[str, ...] = ()
    tables: Callable[[AnsweredStudy], Sequence[StudyTable]] | None = None
    published: Callable[[], Sequence[StudyTable | str]] | None = None

    @property
    def asked(self) -> list[Question]:
        """The questions that must be answered for every item."""
        return [question for question in self.questions if not question.optional]


def _folded(text: str) -> str:
    return _JOINED.sub(" ", re.sub(r"\.0*$", "", seen(text).rstrip(".").casefold()))
