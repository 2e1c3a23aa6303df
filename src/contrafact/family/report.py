"""What a family's chapter of a report shows, and what its functions are given.

A `ReportSpec` says the unit, the cluster, measures, breakdowns and criteria: this much is a whole
chapter. What only one family has is a function from `ChapterData` to a `Section`.

Every row of a run's ``items`` has ``system``, ``model``, ``method``, ``shots``, ``draw`` and
``sample_id``, ``invalid_reason``, and ``judge`` where anything is judged. The engine adds ``valid``
(1.0 or 0.0), ``was_judged``, and for a measure in two forms its strict column, ``<column>_strict``:
what is invalid counts as wrong.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from contrafact.family.display import Example, GridChart, Kind, Table, Warnings
from contrafact.family.run_facts import ReportMeta
from contrafact.stats.intervals import Interval, Resampling
from contrafact.stats.replicates import Bootstrap

__all__ = [
    "ROLES",
    "Breakdown",
    "ChapterData",
    "Estimate",
    "Examples",
    "Explorer",
    "Form",
    "JudgedColumn",
    "Measure",
    "Part",
    "ReportSpec",
    "Section",
    "TerminalColumn",
]

Form = Literal["valid", "strict", "all"]
"""``valid`` is over outputs and verdicts that could be read, ``strict`` counts the others as wrong,
``all`` has no such difference."""


ROLES = ("asked", "baseline", "mark")
"""What a system is in a report for: it is asked about; it asks no model, and shows what that gives;
or it is a reference or a control, a mark on the scale that is never ranked and never tested."""


@dataclass(frozen=True)
class Part:
    """Rows of one system: all of them, or those of one group of a breakdown (else None)."""

    rows: pd.DataFrame
    whole: pd.DataFrame
    breakdown: str | None
    group: str | None
    cluster: str
    bootstrap: Bootstrap

    def mean(self, rows: pd.DataFrame, column: str) -> Interval:
        return self.bootstrap.mean(rows[column], rows[self.cluster])


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval; its scope and its spread over few-shot draws, where there are."""

    measure: str
    form: Form
    interval: Interval
    scope: str | None = None
    spread: float = float("nan")


@dataclass(frozen=True)
class Measure:
    """A column of a report: what is measured, how it reads, which way is better.

    It is the mean of a column over rows: of a rate the column holds 1.0 and 0.0, and NaN where
    nothing was measured or a verdict could not be read. A row counts in the valid form where it has
    a value; in the strict form an invalid output and an unread verdict (``<column>_invalid`` holds
    a reason) count as wrong, which is 0, or 1 of a rate that is better when low. A row that was
    never measured counts in neither.

    Attributes:
        column: The column of the items, if not called as the measure.
        criterion: The judged column that it is the rate of, if that is another than its column: of
            one that is better when low, the share that failed.
        group: A heading of its own; without one, its forms head its columns.
        judged: It rests on a judge, and is compared and marked within one judge only.
        fluency: It rests on the fluency model: likewise.
        ranked: The best is marked.
        compared: What it is called in the paired comparisons; without it, it is not compared.
        family: Comparisons of one family share Holm's adjustment.
        headline: The chapter's first sentence may speak of it: it speaks of the first such measure
            that has figures, or of shares with a better direction if none is named.
        phrase: What it is called in a sentence, if not by its label: "average of the two scores".
        units: From rows to the rows that it is a mean over, if not the items: both members of a
            pair, all outputs for one input. They have the cluster's column, the measure's and
            ``system``; ``key`` are the columns that name one.
        compute: How it is computed of some rows if it is no mean; None gives no figure.
    """

    name: str
    label: str
    kind: Kind = "share"
    better: Literal["high", "low"] | None = "high"
    column: str = ""
    criterion: str = ""
    forms: tuple[Form, ...] = ("valid", "strict")
    group: str = ""
    judged: bool = False
    fluency: bool = False
    ranked: bool = True
    compared: str = ""
    family: str = ""
    headline: bool = False
    phrase: str = ""
    units: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    key: tuple[str, ...] = ()
    compute: Callable[[Part, Form], Interval | None] | None = None

    def column_of(self, form: Form) -> str:
        return (self.column or self.name) + ("_strict" if form == "strict" else "")

    def name_with_group(self, form: str = "") -> str:
        """Return what it is called where no heading stands above it, with its form if strict."""
        parts = [part.removesuffix(", %") for part in (self.group, self.label) if part]
        return ": ".join(parts) + (" (strict)" if form == "strict" else "")

    @property
    def scale(self) -> float:
        """What a difference is multiplied with to be read: 100 of shares and coefficients."""
        return 1.0 if self.kind in ("number", "signed") else 100.0


@dataclass(frozen=True)
class JudgedColumn:
    """A judged column of the items: 1.0 passed, 0.0 failed, NaN where there is no verdict.

    ``<column>_invalid`` says why a verdict could not be read. ``short`` stands beside a verdict if
    not the label; from three systems on, a ``leaderboard`` ranks them; ``answers`` are what a judge
    answers to pass and to fail.
    """

    column: str
    label: str
    short: str = ""
    leaderboard: bool = True
    answers: tuple[str, str] = ("true", "false")


@dataclass(frozen=True)
class Breakdown:
    """What the rows are told apart by: a column, or ``parts`` of the rows, each with its name.

    Parts may share rows. ``measures`` are those estimated for every group, if not all.
    """

    name: str
    measures: tuple[str, ...] = ()
    parts: Callable[[pd.DataFrame], Iterable[tuple[str, pd.DataFrame]]] | None = None

    def groups(self, rows: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
        if self.parts is not None:
            return self.parts(rows)
        return ((str(name), part) for name, part in rows.groupby(self.name, sort=True))


@dataclass(frozen=True)
class Examples:
    """What an example looks like: a unit, and what systems made of it, edits marked.

    Attributes:
        by: The columns that name what an example shows, if not the spec's key.
        cluster: The column of which every value comes before a second example of a first.
        in_turn: An example shows one system only, the systems taken in turn.
        text: The column of the text that is changed; outputs are marked against it.
        where: What says which unit it is: ``"{sample_id}"``, ``"phrasing {phrasing}"``; what a row
            has not got is left out.
        facts: Labels and columns of what is shown besides.
        card: The column that stands above an output.
        chips: What is shown of an output besides its verdicts: ``"Perplexity {perplexity:.1f}"``.
        build: How an example is made of its rows, if that differs.
    """

    by: tuple[str, ...] = ()
    cluster: str = ""
    in_turn: bool = False
    text: str = ""
    where: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    card: str = "system"
    chips: tuple[str, ...] = ()
    caption: str = (
        "{count} drawn at random with seed {seed}; nothing is picked by hand. "
        "<ins>Underlined</ins> is what was put in, <del>struck through</del> what was taken out."
    )
    build: "Callable[[pd.DataFrame, ChapterData], Example] | None" = None


@dataclass(frozen=True)
class Explorer:
    """What the item explorer shows of a row, besides what it takes from the rest of the spec.

    It filters by system, by whether an output is an answer, by every criterion and by every measure
    whose column holds 1.0 and 0.0 and is better when high, and sorts by every other measure that is
    a column. A column ``details``, a mapping or the JSON of one, is shown as labels and texts.

    Attributes:
        filters: Columns and labels of what tells items apart, if not the key and the breakdowns.
        classes: Error classes: 1.0 where an output is of the class, or the class's name.
        columns: Besides measures, what is a yes or no and what are numbers to sort by.
        before: The column that texts are marked against, if not the examples'.
        text: The column of the text that is shown, if not the output's own.
        answer: The column of an answer, in families whose output is no text.
        note: The column of what a system said besides.
    """

    filters: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    before: str = ""
    text: str = ""
    answer: str = ""
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a chapter; one that shows nothing but None is left out.

    ``contents`` is what the contents call it, if not by its heading; ``results`` are parts of
    ``results.json``: frames by name.
    """

    anchor: str
    heading: str
    shows: Sequence[Table | GridChart | None] = ()
    contents: str = ""
    results: Mapping[str, object] = field(default_factory=dict)
    warnings: Warnings = field(default_factory=list)


@dataclass(frozen=True)
class TerminalColumn:
    """A column of what the terminal shows after a run: a measure in a form, times ``scale``.

    Columns of the highest ``rank`` are left out first where the terminal is narrow.
    """

    measure: str
    form: Form
    heading: str
    scale: float = 100
    digits: int = 1
    rank: int = 0


@dataclass(frozen=True)
class ChapterData:
    """What the engine has prepared, and a family's functions are given.

    Attributes:
        items: The items of all runs, checked and completed.
        systems: The systems in order: those asked about, then baselines, then marks.
        figures: Every figure, one row each; ``pairs`` are the paired comparisons.
        published: Whether the paper's rows are asked for.
        streams: Where randomness comes from, by the names of the spec.
        bootstrap: How the figures' own intervals were made; draws go on from there.
        rates: What judges said and what it is worth, as of
            `contrafact.exams.correct.corrected_scores`, NaN what cannot be used. Where people
            labelled items, it is as of `contrafact.exams.correct.corrected_by_labels`, with
            ``labelled``, the number of items.
        ranks: Those of `contrafact.exams.correct.ranked_systems`, with ``criterion``.
        examined: Whether there are exams.
    """

    spec: "ReportSpec"
    items: pd.DataFrame
    systems: Sequence[str]
    meta: ReportMeta
    figures: pd.DataFrame
    pairs: pd.DataFrame
    published: bool
    level: float
    resamples: int
    streams: Mapping[str, np.random.Generator]
    bootstrap: Bootstrap
    family: str
    rates: pd.DataFrame = field(default_factory=pd.DataFrame)
    ranks: pd.DataFrame = field(default_factory=pd.DataFrame)
    examined: bool = False

    def how(self, stream: str) -> Resampling:
        """Return how intervals are made from one of the streams."""
        return {"rng": self.streams[stream], "resamples": self.resamples, "level": self.level}

    @cached_property
    def judged(self) -> bool:
        return bool(self.items["was_judged"].any())

    @cached_property
    def one_judge(self) -> bool:
        """Whether all that was judged was judged by the same judge."""
        judged = self.items[self.items["was_judged"]]
        return "judge" not in judged or judged["judge"].astype(object).fillna("").nunique() <= 1

    @cached_property
    def scored(self) -> bool:
        columns = [measure.column_of("valid") for measure in self.spec.measures if measure.fluency]
        return any(self.items[name].notna().any() for name in columns if name in self.items)

    @cached_property
    def one_set(self) -> bool:
        """Whether all systems were asked about the same items."""
        return (
            len({frozenset(samples) for _, samples in self.items.groupby("system")["sample_id"]})
            == 1
        )

    @cached_property
    def several(self) -> bool:
        """Whether there are several clusters: of one, no system is better than another."""
        return bool(self.items[self.spec.cluster].nunique() > 1)

    def marks(self, measure: Measure) -> bool:
        """Whether the best of a measure may be marked."""
        judge = self.one_judge or not measure.judged
        fluency = self.meta.one_fluency_model or not measure.fluency
        return measure.ranked and self.several and judge and fluency

    @property
    def labelled(self) -> bool:
        """Whether people labelled any of the items that a judge judged."""
        return "labelled" in self.rates

    def systems_as(self, role: str) -> list[str]:
        named = set(self.items.loc[self.items["role"].eq(role), "system"])
        return [name for name in self.systems if name in named]

    def overall(
        self, measure: str, form: Form = "valid", *, scope: str | None = None
    ) -> pd.DataFrame:
        """Return the figures of a measure over all rows, one for each system that has it."""
        figures = self.spec.overall_figures(self.figures, scope)
        return figures[figures["measure"].eq(measure) & figures["form"].eq(form)]

    @property
    def asked_and_valid(self) -> tuple[int, int]:
        """How many outputs were asked for, and how many could be read."""
        return len(self.items), int(self.items["valid"].sum())

    @property
    def percent_level(self) -> str:
        """The confidence level as it reads: ``95%``."""
        return f"{100 * self.level:.0f}%"


@dataclass(frozen=True)
class ReportSpec:
    """What a task's chapter shows.

    Attributes:
        unit: What is sampled, one and several: ``("headline", "headlines")``.
        output: What a system makes of it: ``("rewrite", "rewrites")``.
        resampled: What is resampled, if not the unit: the column by which rows cluster, and what
            clusters are called: ``("article_id", "article", "articles")``.
        key: The columns that name a row, besides ``system`` and ``draw``.
        text: The column that is None where an output could not be read.
        columns: Columns besides: texts (``str``, which all items must have) and numbers
            (``float``).
        prepare: Completes the items before anything is counted.
        scopes: What figures are about, the whole first, where ``estimate`` gives several: such
            figures are means over few-shot draws, with their spread.
        estimate: The figures of some rows, if they are not the measures' own means.
        sections: Its sections in order: functions, and names of those that any chapter may have.
        how: Terms and texts of how to read the chapter, besides those that every chapter has;
            ``{level}`` and ``{resamples}`` are filled in.
        terminal: What the terminal shows, if not the first measures.
        streams: The streams of randomness, in the order in which they are spawned from the seed.
    """

    title: str
    unit: tuple[str, str]
    output: tuple[str, str]
    measures: tuple[Measure, ...]
    resampled: tuple[str, str, str] | None = None
    key: tuple[str, ...] = ("sample_id",)
    text: str = "text"
    columns: Mapping[str, type] = field(default_factory=dict)
    criteria: tuple[JudgedColumn, ...] = ()
    breakdowns: tuple[Breakdown, ...] = ()
    prepare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    scopes: tuple[str, ...] = ()
    estimate: Callable[[Part], Iterable[Estimate]] | None = None
    sections: tuple[Callable[[ChapterData], Section] | str, ...] = (
        *("results", "breakdowns", "paired", "judge", "agreement", "errors"),
    )
    examples: Examples = field(default_factory=Examples)
    explorer: Explorer = field(default_factory=Explorer)
    how: tuple[tuple[str, str], ...] = ()
    terminal: tuple[TerminalColumn, ...] = ()
    streams: tuple[str, ...] = ("figures", "pairs", "examples", "judged")

    @property
    def cluster(self) -> str:
        return self.resampled[0] if self.resampled else "sample_id"

    @property
    def cluster_noun(self) -> str:
        return self.resampled[1] if self.resampled else self.unit[0]

    @property
    def clusters(self) -> str:
        """What several are called, which names the column that counts them."""
        return self.resampled[2] if self.resampled else self.unit[1]

    @property
    def labels(self) -> dict[str, str]:
        return {criterion.column: criterion.label for criterion in self.criteria}

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of a figure that say over which rows it is.

        One breakdown has a column of its own name, None over all rows; several share ``scope``
        ("overall" or the breakdown) and ``group``.
        """
        if len(self.breakdowns) > 1:
            return ("scope", "group")
        return tuple(breakdown.name for breakdown in self.breakdowns)

    def is_overall(self, figures: pd.DataFrame) -> "pd.Series[bool]":
        """Return which figures are over all rows of a system."""
        overall = pd.Series(True, index=figures.index)
        for column in self.group_columns:
            overall &= (
                figures[column].eq("overall") if column == "scope" else figures[column].isna()
            )
        return overall

    def overall_figures(self, figures: pd.DataFrame, scope: str | None = None) -> pd.DataFrame:
        """Return the figures over all rows of a system, in the first scope if none is named."""
        figures = figures[self.is_overall(figures)]
        return figures[figures["scope"].eq(scope or self.scopes[0])] if self.scopes else figures

    @property
    def shown(self) -> tuple[TerminalColumn, ...]:
        """What the terminal shows: as said, else all measures, and the first in its strict form."""
        if self.terminal:
            return self.terminal
        columns = [
            TerminalColumn(
                measure.name,
                measure.forms[0],
                f"{measure.label} %" if measure.kind == "share" else measure.label,
                100 if measure.kind == "share" else 1,
                rank=rank,
            )
            for rank, measure in enumerate(self.measures)
        ]
        first = self.measures[0]
        if "strict" in first.forms:
            heading = f"strict {first.label} %"
            columns.append(TerminalColumn(first.name, "strict", heading, rank=1))
        return tuple(columns)

    def measure(self, name: str) -> Measure:
        """Return the measure of that name, which there must be."""
        return {measure.name: measure for measure in self.measures}[name]
