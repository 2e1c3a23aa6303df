"""What a family says of a study with people: what is drawn, shown and asked, and what comes out.

A study draws outputs of systems (or pairs of a file), writes a sheet for people to fill in and a
key that is kept from them, and makes tables of their answers. Most of it is the same everywhere; a
`StudySpec` says what is particular. Where a family's tables are its own, they are made from an
`AnsweredStudy`, whose figures all have intervals that resample clusters.

A spec is loaded for help pages, too: import what is heavy in functions.
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
"""What people write for TRUE and FALSE."""

NOT_ASKED = "n/a"
"""What stands in a sheet where a question is none of an item's, as the judge was not asked it."""

_JOINED = re.compile(r"(?<=\w)[\s_-]+(?=\w)")


@dataclass(frozen=True)
class Question:
    """What people are asked of every item: a column of the sheet to fill in.

    Attributes:
        answers: If the question can pass and fail, the first passes the item, the second fails it,
            and others decide nothing.
        spellings: What people may write besides, in lower case, and the answer that it stands for.
        wanted: What people are asked to write, for messages; see `choices`.
        passes: Whether an item can pass and fail it; else its answers are classes.
        optional: A blank is no omission: a mark that is set or not.
        verdict: The key's column of what people's answers are held against, if any.
        criterion: The judged column of the per-item table that asks the same; the key's column
            ``verdict`` is then made of it, and people's labels can correct the judge's rate.
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
        """Return the answer that a cell holds; None where it holds none of them.

        Case does not matter, nor a full stop, what cannot be seen, how words are joined (space,
        hyphen, underscore), nor that a whole number ends in ".0".
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
        """Return whether an answer passes the item; None where it decides nothing."""
        return {self.answers[0]: True, self.answers[1]: False}.get(answer or "")


@dataclass(frozen=True)
class StudyTable:
    """A table that comes out of a study: without a name it is only shown, without a title not.

    ``frame`` may have a figure's bounds next to it, in ``_low`` and ``_high``. ``shares`` are
    columns shown in percent, ``coefficients`` with three digits; ``undefined`` say so in the file
    where a figure is.
    """

    name: str
    title: str
    frame: "pd.DataFrame"
    shares: tuple[str, ...] = ()
    coefficients: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnsweredStudy:
    """A study with people's answers: what its tables are made from.

    What figures are made of has an item's name as index, and may name an item several times.
    ``items`` are the key by the items' names: its columns as text, ``probability`` as a number, and
    the answer that a verdict stands for in its place. ``answers`` have ``item``, ``annotator``,
    ``question`` and ``answer``.
    """

    spec: "StudySpec"
    items: "pd.DataFrame"
    answers: "pd.DataFrame"
    rng: "np.random.Generator"
    level: float = 0.95
    resamples: int = 10_000

    def given(self, question: str) -> "pd.DataFrame":
        """Return the answers to a question: a row an item, a column a person who gave any."""
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
        """Return the mean over all that could be drawn, by inverse probability (Hajek)."""
        from contrafact.stats.sampling import horvitz_thompson_mean

        drawn = self.items["probability"].loc[values.index].to_numpy(float)
        return horvitz_thompson_mean(values.to_numpy(float), drawn, **self.how(values))

    def coefficient(self, function: Callable[..., float], ratings: "pd.DataFrame") -> "Interval":
        """Return a coefficient of `contrafact.stats.agreement`; ratings have a column a rater."""
        from contrafact.stats.agreement import with_interval

        return with_interval(function, ratings.to_numpy(object), **self.how(ratings))

    def how(self, rows: "pd.Series[Any] | pd.DataFrame") -> dict[str, Any]:
        """Return how an interval of rows of items is made."""
        clusters = self.items[self.spec.cluster].loc[rows.index].to_numpy(object)
        how = {"level": self.level, "resamples": self.resamples, "rng": self.rng}
        return {"clusters": clusters, **how}


Choose = Callable[["pd.DataFrame", int, "np.random.Generator"], Sequence[int]]
"""Chooses so many rows of a stratum, by their places."""


def at_random(stratum: "pd.DataFrame", size: int, rng: "np.random.Generator") -> Sequence[int]:
    return [int(row) for row in rng.permutation(len(stratum))[:size]]


def spread_over(column: str) -> Choose:
    """Return how rows are chosen at random, every value of a column before any again."""

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
        summary: What people are asked, as a short sentence for help.
        noun: What an item is, in the plural.
        shown: The sheet's columns that show an item, and the columns that they are taken from.
        guidelines: The file of guidelines for people, plain text.
        key: The key's columns, in order: with ``item``, ``probability`` and ``check`` those that
            lead back to an item, and each question's ``verdict``. One called ``kind`` is the kind
            of study.
        task: The task from whose run folders is drawn.
        load: Returns what is in a file, if it is drawn from one file instead.
        source: What is drawn from, as a help text.
        pool: Returns those rows that can be drawn. If not given: rows in which all that is shown is
            there, and that a judge judged where any question has a criterion.
        strata: Columns of the key: every combination of their values is drawn from.
        each: Whether ``--n`` is the number of each stratum; else that of all, shared evenly.
        n: How many are drawn if no number is given.
        assign: Fills in what hangs on the draw itself, of the drawn rows, which have their place
            within their stratum's in the column ``place``.
        together: The sheet has rows in the order in which they were chosen: several to what is
            drawn, those with one value of ``cluster``.
        calibrates: A judge's rates are to be corrected by it: ``--n`` is then the number of each
            system, shared out in proportion to its strata.
        cluster: The key's column by which figures are resampled.
        by: Columns of the key by whose values two raters are compared, too, and these values.
        reference: What people's answers are held against: ``judge``, or ``gold`` where it is right.
        labels: The key's columns that a table of labels has, which ``contrafact report --labels``
            takes.
        tables: Makes the tables, instead of those of `contrafact.study.score`.
        published: Returns what the paper found, as tables and sentences.
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
        """The questions that are to be answered for every item."""
        return [question for question in self.questions if not question.optional]


def _folded(text: str) -> str:
    return _JOINED.sub(" ", re.sub(r"\.0*$", "", seen(text).rstrip(".").casefold()))
