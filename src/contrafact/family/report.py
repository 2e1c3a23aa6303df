"""How a family describes its chapter of a report, and the data that its functions receive.

A `ReportSpec` names the unit, the cluster, measures, breakdowns and criteria, which are enough for
a whole chapter. A section that only one family has is a function from `ChapterData` to `Section`.

Every row of a run's ``items`` has ``system``, ``model``, ``method``, ``shots``, ``draw`` and
``sample_id``, ``invalid_reason``, and ``judge`` if anything is judged. The engine adds ``valid``
(1.0 or 0.0), ``was_judged``, and for a measure in two forms its strict column, ``<column>_strict``,
in which invalid outputs count as wrong.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any, Literal

import pandas as pd

from contrafact.family.display import GridChart, Kind, Table, Warnings
from contrafact.family.run_facts import ReportMeta
from contrafact.stats.intervals import MIN_CLUSTERS, Interval
from contrafact.stats.replicates import Bootstrap

__all__ = [
    "ROLES",
    "Breakdown",
    "ChapterData",
    "Estimate",
    "Explorer",
    "Form",
    "JudgedColumn",
    "Measure",
    "Part",
    "ReportSpec",
    "Section",
    "TerminalColumn",
    "report_terms",
]

Form = Literal["valid", "strict", "all"]
"""``valid`` is over outputs and verdicts that could be read, ``strict`` counts the others as wrong,
``all`` has no such difference."""


ROLES = ("asked", "baseline", "mark")
"""A system's role in a report: ``asked``, it is under test; ``baseline``, it asks no model;
``mark``, it is a reference or a control, shown on the same scale and never ranked or tested."""


@dataclass(frozen=True)
class Part:
    """Rows of one system: all of them (``group`` is None), or those of a breakdown's group."""

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
    """A figure with its interval and, if it has them, its scope and spread over few-shot draws."""

    measure: str
    form: Form
    interval: Interval
    scope: str | None = None
    spread: float = float("nan")


@dataclass(frozen=True)
class Measure:
    """A measure in a report: its column, label and format, and which direction is better.

    It is the mean of a column over rows: for a rate the column holds 1.0 and 0.0, and NaN where
    nothing was measured or a verdict could not be read. The valid form counts the rows that have a
    value; the strict form also counts invalid outputs and unread verdicts (``<column>_invalid``
    holds a reason) as wrong, which is 0, or 1 for a rate that is better when low. Rows that were
    never measured count in neither form.

    Attributes:
        column: The column of the items, if its name differs from the measure's.
        criterion: The judged column whose rate it is, if different from ``column``; for a measure
            that is better when low, the rate is the share that failed.
        parts: The judged columns of which it is the mean, if several.
        group: The heading over its columns; without one, the forms are the headings.
        judged: Whether it depends on a judge; only values from the same judge are compared or
            marked as best.
        fluency: Whether it depends on the fluency model, with the same restriction.
        ranked: Whether the best value is marked.
        compared: Its name in the paired comparisons; without one, it is not compared.
        headline: Whether the chapter's first sentence may report it: the first such measure that
            has figures, or shares with a better direction if there is no such measure.
        phrase: Its name in a sentence, if not its label: "average of the two scores".
        units: Returns the rows to average, if not the items: both members of a pair, all outputs
            for an input. They have the cluster's column, the measure's column and ``system``;
            ``key`` lists the columns that identify a row.
        compute: Computes the figure from rows if it is not a mean; None means no figure.
    """

    name: str
    label: str
    kind: Kind = "share"
    better: Literal["high", "low"] | None = "high"
    column: str = ""
    criterion: str = ""
    parts: tuple[str, ...] = ()
    forms: tuple[Form, ...] = ("valid", "strict")
    group: str = ""
    judged: bool = False
    fluency: bool = False
    ranked: bool = True
    compared: str = ""
    headline: bool = False
    phrase: str = ""
    units: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    key: tuple[str, ...] = ()
    compute: Callable[[Part, Form], Interval | None] | None = None

    def column_of(self, form: Form) -> str:
        return (self.column or self.name) + ("_strict" if form == "strict" else "")

    def name_with_group(self, form: str = "") -> str:
        """Return its name for places without a heading, marked if the form is strict."""
        parts = [part.removesuffix(", %") for part in (self.group, self.label) if part]
        return ": ".join(parts) + (" (strict)" if form == "strict" else "")

    @property
    def scale(self) -> float:
        """The factor that scales differences for display: 100 for shares and coefficients."""
        return 1.0 if self.kind in ("number", "signed") else 100.0


@dataclass(frozen=True)
class JudgedColumn:
    """A judged column of the items: 1.0 passed, 0.0 failed, NaN where there is no verdict.

    ``<column>_invalid`` says why a verdict could not be read. ``short`` is a shorter label beside a
    verdict; ``answers`` are a judge's answers for pass and fail.
    """

    column: str
    label: str
    short: str = ""
    answers: tuple[str, str] = ("true", "false")


@dataclass(frozen=True)
class Breakdown:
    """How rows are grouped: by the values of a column, or by ``parts``, which returns named groups.

    Groups may share rows. ``measures`` are estimated for every group; if empty, all are.
    """

    name: str
    measures: tuple[str, ...] = ()
    parts: Callable[[pd.DataFrame], Iterable[tuple[str, pd.DataFrame]]] | None = None

    def groups(self, rows: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
        if self.parts is not None:
            return self.parts(rows)
        return ((str(name), part) for name, part in rows.groupby(self.name, sort=True))


@dataclass(frozen=True)
class Explorer:
    """The columns that the item explorer shows in addition to those of the rest of the spec.

    It filters by system, by whether an output is an answer, by every criterion and by every measure
    whose column holds 1.0 and 0.0 and is better when high, and sorts by every other measure with a
    column. A column ``details``, which holds a mapping or its JSON, is shown as labels and texts.

    Attributes:
        filters: Columns to filter by and their labels, if not the key and the breakdowns.
        classes: Columns of error classes and their labels; a column holds 1.0 where an output is
            of the class, or the class's name.
        columns: Further columns, besides measures: yes or no to filter by, numbers to sort by.
        where: Templates that name the unit: ``"{sample_id}"``, ``"phrasing {phrasing}"``; those
            whose value a row lacks are left out.
        facts: Labels and columns of further facts to show.
        before: The column of the text to mark changes against.
        text: The column of the text to show, if not the output's text.
        answer: The column of an answer, in families whose output is not a text.
        note: The column of a system's further remarks.
        pair: The column of what outputs of one system belong together, to set side by side.
    """

    filters: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    where: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    before: str = ""
    text: str = ""
    answer: str = ""
    note: str = ""
    pair: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a chapter; a section whose ``shows`` are all None is left out.

    ``contents`` is its name in the table of contents, if not its heading; ``results`` are parts of
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
    """A column of the table shown in the terminal after a run: a measure, times ``scale``.

    ``form`` is the form of the measure that is shown, valid or strict.

    In a narrow terminal, columns of the highest ``rank`` are left out first.
    """

    measure: str
    form: Form
    heading: str
    scale: float = 100
    digits: int = 1
    rank: int = 0


@dataclass(frozen=True)
class ChapterData:
    """The data that the engine prepares for a family's section functions.

    Attributes:
        items: The items of all runs, checked and completed.
        systems: The systems in order: those under test, then baselines, then references.
        figures: Every figure, one per row; ``pairs`` are the paired comparisons.
        published: Whether the paper's rows are requested.
        bootstrap: The bootstrap of all intervals.
        rates: The judges' rates and their corrections, as from
            `contrafact.exams.correct.corrected_scores`, with NaN for unusable values. If people
            labelled items, as from `contrafact.exams.correct.corrected_by_labels`, with
            ``labelled``, the number of items.
        examined: Whether there are exams.
    """

    spec: "ReportSpec"
    items: pd.DataFrame
    systems: Sequence[str]
    meta: ReportMeta
    figures: pd.DataFrame
    pairs: pd.DataFrame
    published: bool
    bootstrap: Bootstrap
    family: str
    rates: pd.DataFrame = field(default_factory=pd.DataFrame)
    examined: bool = False

    @property
    def level(self) -> float:
        """The confidence level of all intervals."""
        return self.bootstrap.level

    @cached_property
    def judged(self) -> bool:
        return bool(self.items["was_judged"].any())

    @cached_property
    def one_judge(self) -> bool:
        """Whether the same judge gave all verdicts."""
        judged = self.items[self.items["was_judged"]]
        return "judge" not in judged or judged["judge"].astype(object).fillna("").nunique() <= 1

    @cached_property
    def scored(self) -> bool:
        columns = [measure.column_of("valid") for measure in self.spec.measures if measure.fluency]
        return any(self.items[name].notna().any() for name in columns if name in self.items)

    @cached_property
    def one_set(self) -> bool:
        """Whether all systems were asked about the same items."""
        sets = {frozenset(ids) for _, ids in self.items.groupby("system")["sample_id"]}
        return len(sets) == 1

    @cached_property
    def several(self) -> bool:
        """Whether there are several clusters; a single one cannot show which system is better."""
        return bool(self.items[self.spec.cluster].nunique() > 1)

    def marks(self, measure: Measure, form: Form) -> bool:
        """Whether the best value may be marked: not if a test does not tell it from the next."""
        judge = self.one_judge or not measure.judged
        fluency = self.meta.one_fluency_model or not measure.fluency
        may, pairs = measure.ranked and self.several and judge and fluency, self.pairs
        if pairs.empty or not may:
            return may
        rows = self.overall(measure.name, form)
        rows = rows[~rows["system"].isin(self.systems_as("mark"))]
        best = rows.sort_values("estimate", ascending=measure.better == "low")["system"][:2]
        tests = pairs[pairs["measure"].eq(measure.name) & pairs["form"].eq(form)]
        tests = tests[tests["first"].isin(best) & tests["second"].isin(best)]
        return bool(tests["p_adjusted"].le(1 - self.level).all())

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
        """Return the figures of a measure over all rows, one for each system that has one."""
        figures = self.spec.overall_figures(self.figures, scope)
        return figures[figures["measure"].eq(measure) & figures["form"].eq(form)]

    @property
    def asked_and_valid(self) -> tuple[int, int]:
        """How many outputs were asked for, and how many could be read."""
        return len(self.items), int(self.items["valid"].sum())

    @property
    def percent_level(self) -> str:
        """The confidence level as text: ``95%``."""
        return f"{100 * self.level:.0f}%"


@dataclass(frozen=True)
class ReportSpec:
    """The description of a task's chapter.

    Attributes:
        unit: The noun for a sampled unit, singular and plural: ``("headline", "headlines")``.
        output: The noun for a system's output: ``("rewrite", "rewrites")``.
        resampled: What is resampled, if not the unit: the column by which rows cluster, and the
            noun for clusters: ``("article_id", "article", "articles")``.
        fewest: The fewest clusters with which a figure has an interval.
        key: The columns that identify a row, besides ``system`` and ``draw``.
        conditions: The columns of the conditions that methods are run under, named as the options;
            tables may show them as counts are shown.
        text: The column that is None where an output could not be read.
        columns: Further columns: texts (``str``, which all items must have) and numbers
            (``float``).
        prepare: Completes the items before anything is counted.
        scopes: The scopes of figures, the whole first, if ``estimate`` gives several: such
            figures are means over few-shot draws, with their spread.
        estimate: Returns the figures of some rows, if they are not the measures' means.
        sections: Its sections in order: functions, and names of sections that any chapter may have.
        how: Terms and explanations of how to read the chapter, besides those of every chapter;
            ``{level}`` and ``{resamples}`` are filled in.
        terminal: The columns shown in the terminal, if not the first measures.
        records: What was measured of a judge, by its name: "wrong in 0 of 1,000 verdicts".
        harder: What to do where no output failed, if there is anything harder than more units.
        chance: Returns the share of the items that the same answer to all of them has right.
        baselines: The methods that ask no model.
    """

    title: str
    unit: tuple[str, str]
    output: tuple[str, str]
    measures: tuple[Measure, ...]
    resampled: tuple[str, str, str] | None = None
    fewest: int = MIN_CLUSTERS
    key: tuple[str, ...] = ("sample_id",)
    conditions: tuple[str, ...] = ()
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
    explorer: Explorer = field(default_factory=Explorer)
    how: tuple[tuple[str, str], ...] = ()
    terminal: tuple[TerminalColumn, ...] = ()
    records: Mapping[str, str] = field(default_factory=dict)
    harder: str = ""
    chance: Callable[[pd.DataFrame], float] | None = None
    baselines: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        return self.resampled[0] if self.resampled else "sample_id"

    @property
    def cluster_noun(self) -> str:
        return self.resampled[1] if self.resampled else self.unit[0]

    @property
    def clusters(self) -> str:
        """The plural noun for clusters, which is also the name of the column that counts them."""
        return self.resampled[2] if self.resampled else self.unit[1]

    def bounded(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a figure's row, without bounds where it rests on too few clusters."""
        number = row[self.clusters]
        if number >= self.fewest:
            return row
        why = f"no interval: too few {self.clusters} ({number} of {self.fewest} needed)"
        return row | {"low": math.nan, "high": math.nan, "method": why}

    @property
    def labels(self) -> dict[str, str]:
        return {criterion.column: criterion.label for criterion in self.criteria}

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of a figure that say which rows it covers.

        A single breakdown has a column of its own name, None for all rows; several breakdowns share
        ``scope`` ("overall" or the breakdown) and ``group``.
        """
        if len(self.breakdowns) > 1:
            return ("scope", "group")
        return tuple(breakdown.name for breakdown in self.breakdowns)

    def is_overall(self, figures: pd.DataFrame) -> "pd.Series[bool]":
        """Return a mask of the figures that cover all rows of a system."""
        overall = pd.Series(True, index=figures.index)
        for column in self.group_columns:
            values = figures[column]
            overall &= values.eq("overall") if column == "scope" else values.isna()
        return overall

    def overall_figures(self, figures: pd.DataFrame, scope: str | None = None) -> pd.DataFrame:
        """Return the figures that cover all rows of a system, by default in the first scope."""
        figures = figures[self.is_overall(figures)]
        return figures[figures["scope"].eq(scope or self.scopes[0])] if self.scopes else figures

    @property
    def shown(self) -> tuple[TerminalColumn, ...]:
        """The terminal's columns: ``terminal``, or all measures and the first one's strict form."""
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

    def left_open(self, rows: pd.DataFrame) -> int:
        """Return of how many answers a verdict is missing that the first judged figure rests on."""
        judged = sorted((m for m in self.measures if m.judged), key=lambda m: not m.headline)
        columns = judged[0].parts or (judged[0].column_of("valid"),) if judged else ()
        answers = rows[rows["was_judged"] & rows["valid"].eq(1) & rows["degenerate"].isna()]
        return int(answers.filter(items=columns).isna().any(axis="columns").sum())

    def measure(self, name: str) -> Measure:
        """Return the measure of that name; KeyError if there is none."""
        return {measure.name: measure for measure in self.measures}[name]


def report_terms(package: str) -> dict[str, Any]:
    """Return the terms of a report and their explanations, from a package's ``report.toml``."""
    return tomllib.loads((files(package) / "report.toml").read_text(encoding="utf-8"))
