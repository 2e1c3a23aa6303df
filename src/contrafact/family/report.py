"""What a family's chapter of a report shows, and what its hooks are given.

A `ReportSpec` is data: the unit, the cluster, the measures with their labels, directions and forms,
breakdowns, criteria, tables, examples, sentences. What only one family has is a hook: a function
from what the engine has prepared to tables, charts and parts of ``results.json``. A spec with a
unit, a cluster, some measures and an example already makes a whole chapter.

Every row of a run's ``items`` has ``system``, ``model``, ``method``, ``shots``, ``draw`` and
``sample_id``, ``invalid_reason``, and ``judge`` where anything is judged. The engine adds ``valid``
(1.0 or 0.0), ``was_judged``, and for a measure in two forms its strict column, ``<column>_strict``:
what is invalid counts as wrong.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from contrafact.family.display import (
    Chart,
    Column,
    Example,
    Fact,
    Kind,
    Table,
    Warnings,
    with_figures,
)
from contrafact.family.run_facts import ReportMeta
from contrafact.stats.intervals import Interval
from contrafact.stats.replicates import Bootstrap

__all__ = [
    "Breakdown",
    "ChapterData",
    "Comparable",
    "Estimate",
    "Examples",
    "Explorer",
    "Extra",
    "Form",
    "JudgedColumn",
    "Measure",
    "MeasureTable",
    "Part",
    "Reasons",
    "ReportSpec",
    "Section",
    "TableChart",
    "TerminalColumn",
]

Form = Literal["valid", "strict", "all"]
"""``valid`` is over outputs and verdicts that could be read, ``strict`` counts the others as wrong,
``all`` has no such difference."""


@dataclass(frozen=True)
class Part:
    """Rows of one system: all of them, or those of one group of a breakdown.

    Attributes:
        rows: The rows.
        whole: All rows of the system.
        breakdown: The breakdown's name; None over all rows.
        group: The group's name; None over all rows.
        cluster: The column by which rows cluster.
        bootstrap: How intervals are made.
        wanted: The measures that are asked for, others being ignored; None for all. A figure of
            resampled rows is made a thousand times, so what nobody asks for is best not made.
    """

    rows: pd.DataFrame
    whole: pd.DataFrame
    breakdown: str | None
    group: str | None
    cluster: str
    bootstrap: Bootstrap
    wanted: frozenset[str] | None = None

    def wants(self, *measures: str) -> bool:
        """Whether any of some measures is asked for."""
        return self.wanted is None or not self.wanted.isdisjoint(measures)

    def mean(self, rows: pd.DataFrame, column: str) -> Interval:
        """Return the mean of a column of some rows; NaN values are left out."""
        return self.bootstrap.mean(rows[column], rows[self.cluster])


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        measure: The measure.
        form: Its form.
        interval: The figure.
        scope: What it is about, in families whose spec names scopes.
        spread: Its standard deviation over few-shot draws, in families that average draws.
    """

    measure: str
    form: Form
    interval: Interval
    scope: str | None = None
    spread: float = float("nan")


@dataclass(frozen=True)
class Measure:
    """A column of a report: what is measured, how it reads, which way is better.

    It is the mean of a column over rows: of a rate the column holds 1.0 and 0.0, and NaN where
    nothing was measured or a verdict could not be read. A row counts in the valid form where it
    has a value; in the strict form an invalid output and an unread verdict (``<column>_invalid``
    holds a reason) count as wrong, which is 0, or 1 of a rate that is better when low. A row that
    was never measured counts in neither.

    Attributes:
        name: Its name in results.
        label: Its heading.
        kind: How it reads.
        better: Whether more or less is better; None where neither is.
        column: The column of the items; the name where it is empty.
        forms: Its forms. A strict form is for rates.
        group: A heading of its own; where it is empty, its forms head its columns.
        judged: Whether it rests on a judge: it is compared and marked within one judge only.
        fluency: Whether it rests on the fluency model: likewise.
        ranked: Whether the best is marked.
        compared: What it is called in the paired comparisons; it is compared where this is given.
        family: Comparisons of one family share Holm's adjustment.
        units: From rows to other rows, where it is a mean over something else than the items: both
            members of a pair, all outputs for one input. They have the cluster's column and the
            measure's, and ``system`` where the rows have it.
        phrase: What it is called in a sentence: "average of the two scores"; the label where empty.
        key: The columns that name a row, where ``units`` makes others.
        compute: How it is computed of some rows where it is no mean; None gives no figure.
    """

    name: str
    label: str
    kind: Kind = "share"
    better: Literal["high", "low"] | None = "high"
    column: str = ""
    forms: tuple[Form, ...] = ("valid", "strict")
    group: str = ""
    judged: bool = False
    fluency: bool = False
    ranked: bool = True
    compared: str = ""
    family: str = ""
    phrase: str = ""
    units: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    key: tuple[str, ...] = ()
    compute: Callable[[Part, Form], Interval | None] | None = None

    def column_of(self, form: Form) -> str:
        """Return the column that holds a form."""
        return (self.column or self.name) + ("_strict" if form == "strict" else "")

    @property
    def scale(self) -> float:
        """What a difference is multiplied with to be read: 100 of shares and coefficients."""
        return 1.0 if self.kind in ("number", "signed") else 100.0


@dataclass(frozen=True)
class JudgedColumn:
    """A judged column of the items: 1.0 passed, 0.0 failed, NaN where there is no verdict.

    Attributes:
        column: The column; ``<column>_invalid`` says why a verdict could not be read.
        label: What a reader sees.
        short: What stands beside a verdict; the label where it is empty.
        leaderboard: Whether systems are ranked by it.
    """

    column: str
    label: str
    short: str = ""
    leaderboard: bool = True


@dataclass(frozen=True)
class Breakdown:
    """What the rows are told apart by.

    Attributes:
        name: The column, or another name where ``parts`` is given.
        measures: The measures estimated for every group; all where it is empty.
        parts: The rows of every group, in order; those of each value of the column where it is
            not given.
    """

    name: str
    measures: tuple[str, ...] = ()
    parts: Callable[[pd.DataFrame], Mapping[str, pd.DataFrame]] | None = None

    def groups(self, rows: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
        """Return the rows of every group."""
        if self.parts is not None:
            return self.parts(rows)
        return {str(name): part for name, part in rows.groupby(self.name, sort=True)}


@dataclass(frozen=True)
class TableChart:
    """A drawing of a table's figures, over valid outputs.

    Attributes:
        key: Its file name without a suffix.
        title: What it shows.
        measures: The measures: rows of bars, or panels of points; by breakdown one alone.
        labels: What they are called; their headings where it is empty.
        axis: What the axis of bars is called.
        shape: Bars by measure and system, or points by system and measure.
    """

    key: str
    title: str
    measures: tuple[str, ...]
    labels: tuple[str, ...] = ()
    axis: str = ""
    shape: Literal["bars", "points"] = "bars"


@dataclass(frozen=True)
class MeasureTable:
    """A table of measures, a line for each system, or for each system of each group.

    Attributes:
        key: Its name.
        title: What stands above it.
        measures: The measures, in order.
        caption: How to read it, as a text or made from the data.
        counts: Columns before the measures: ``judge``, ``asked``, ``invalid`` and the number of
            clusters by its name.
        headings: What stands above the columns of each form; the spec's own where it is empty.
        valid_only: Measures that it shows in the valid form only.
        labels: What measures are called here, where it differs.
        scope: Which scope's figures it shows, in families that have scopes.
        breakdown: The breakdown that it shows; overall where it is empty.
        by_size: Whether the groups with most clusters come first.
        notes: Of what its notes speak, as ``ChapterData.notes`` takes it.
        source: Whether its CSV file says of every line whose figures it shows.
        chart: Its drawing.
        published: How a paper's rows are set below it.
    """

    key: str
    title: str
    measures: tuple[str, ...]
    caption: "str | Callable[[ChapterData], str]" = ""
    counts: tuple[Column, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    valid_only: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    breakdown: str = ""
    by_size: bool = False
    notes: tuple[Literal["judge", "fluency", "items"], ...] = ()
    source: bool = True
    chart: TableChart | None = None
    published: "Callable[[ChapterData, Table], Table] | None" = None


@dataclass(frozen=True)
class Reasons:
    """The table of reasons why outputs and verdicts could not be read.

    Attributes:
        columns: Its columns: ``invalid_reason``, ``system``, ``count`` and, where verdicts are
            counted too, one that says of what the reason is.
        caption: How to read it.
        output: What an output is called in that column.
        verdict: What a verdict is called; ``{name}`` is the criterion's label in small letters.
        by_name: Whether lines that count alike stand by the systems' names, not in their order.
    """

    columns: tuple[Column, ...] = (
        Column("where", "Where", "text"),
        Column("invalid_reason", "Reason", "text"),
        Column("system", "System", "text"),
        Column("count", "Count", "count"),
    )
    caption: str = "Every output and verdict that could not be read, by the reason given."
    output: str = "output"
    verdict: str = "judge on {name}"
    by_name: bool = False


@dataclass(frozen=True)
class Examples:
    """What an example looks like: a unit, and what systems made of it, edits marked.

    Attributes:
        by: The columns that name what an example shows; the spec's key where it is empty.
        cluster: The column of which a second value comes before a second example of a first.
        strata: The column whose values are taken in turn; empty for none.
        order: Those values, in order.
        in_turn: Whether an example shows one system only, the systems taken in turn.
        text: The column of the text that is changed; outputs are marked against it.
        where: What says which unit it is: ``"{sample_id}"``, ``"phrasing {phrasing}"``; what a
            row has not got is left out.
        facts: Labels and columns of what is shown besides.
        card: The column that stands above an output.
        chips: What is shown of an output besides its verdicts: ``"Perplexity {perplexity:.1f}"``;
            every measure that is a column where it is None.
        note: A line below an output, made from its row.
        limit: So many characters of a text are shown.
        caption: How to read the examples; ``{count}`` and ``{seed}`` are filled in.
        build: How an example is made of its rows, where that differs; with the data.
    """

    by: tuple[str, ...] = ()
    cluster: str = ""
    strata: str = ""
    order: tuple[str, ...] = ()
    in_turn: bool = False
    text: str = ""
    where: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    card: str = "system"
    chips: tuple[str, ...] | None = None
    note: "Callable[[pd.Series[Any]], str] | None" = None
    limit: int = 2_000
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
    a column of the items: by what an output cost, where a measure says so. An item's column
    ``details``, a mapping or the JSON of one, is shown as labels and texts.

    Attributes:
        filters: Columns and labels of what tells items apart; the key's parts and the breakdowns
            that are columns where it is empty.
        classes: Columns and labels of error classes: 1.0 where an output is of the class, or the
            class's name.
        flags: Columns and labels of a yes or no, where a measure's label does not say it.
        numbers: Columns and labels of numbers to sort by, besides measures.
        before: The column that texts are marked against; the examples' where it is empty.
        text: The column of the text that is shown; the output's own where it is empty.
        answer: The column of an answer, in families whose output is no text.
        note: The column of what a system said besides.
    """

    filters: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, str], ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    before: str = ""
    text: str = ""
    answer: str = ""
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a chapter; it is left out where nothing of it is there.

    Attributes:
        anchor: Its anchor. ``summary``, ``examples``, ``runs`` and ``how`` are the engine's own.
        heading: Its heading.
        shows: Keys of what it shows, in order: of each the figure, then the table.
        contents: What the contents call it; the heading where it is empty.
    """

    anchor: str
    heading: str
    shows: tuple[str, ...] = ()
    contents: str = ""


@dataclass(frozen=True)
class TerminalColumn:
    """A column of what the terminal shows after a run.

    Attributes:
        measure: The measure.
        form: Its form.
        heading: What stands above it.
        scale: What the figure is multiplied with.
        digits: Decimals.
        rank: Columns of the highest rank are left out first where the terminal is narrow.
    """

    measure: str
    form: Form
    heading: str
    scale: float = 100
    digits: int = 1
    rank: int = 0


@dataclass(frozen=True)
class Comparable:
    """What was measured, and what can be compared between the systems of a chapter.

    Attributes:
        judged: Whether any output was judged.
        one_judge: Whether all judged systems were judged by the same judge.
        scored: Whether any output's fluency was scored.
        one_fluency_model: Whether all perplexities come from one model.
        one_set: Whether all systems were asked about the same items.
        fluency_models: The fluency models, in order.
        several: Whether there are several clusters: of one, no system is better than another.
    """

    judged: bool
    one_judge: bool
    scored: bool
    one_fluency_model: bool
    one_set: bool
    fluency_models: tuple[str, ...]
    several: bool = True

    def marks(self, measure: Measure) -> bool:
        """Whether the best of a measure may be marked."""
        judge = self.one_judge or not measure.judged
        ranked = measure.ranked and self.several
        return ranked and judge and (self.one_fluency_model or not measure.fluency)


@dataclass(frozen=True)
class ChapterData:
    """What the engine has prepared, and hooks are given.

    Attributes:
        spec: What the chapter shows.
        items: The items of all runs, checked and completed.
        systems: The systems in order: those that ask a model, then the others.
        meta: What the runs are.
        comparable: What can be compared.
        figures: Every figure, one row each.
        pairs: The paired comparisons.
        published: Whether the paper's rows are asked for.
        level: Confidence level of the intervals.
        resamples: How many resamples they rest on.
        streams: Where randomness comes from, by the names of the spec.
        bootstrap: How the figures' own intervals were made; draws go on from there.
    """

    spec: "ReportSpec"
    items: pd.DataFrame
    systems: Sequence[str]
    meta: ReportMeta
    comparable: Comparable
    figures: pd.DataFrame
    pairs: pd.DataFrame
    published: bool
    level: float
    resamples: int
    streams: Mapping[str, np.random.Generator]
    bootstrap: Bootstrap

    def overall(
        self, measure: str, form: Form = "valid", *, scope: str | None = None
    ) -> pd.DataFrame:
        """Return the figures of a measure over all rows, one for each system that has it."""
        found = self.figures
        held = self.spec.is_overall(found) & found["measure"].eq(measure) & found["form"].eq(form)
        if self.spec.scopes:
            held &= found["scope"].eq(scope or self.spec.scopes[0])
        return found[held]

    def with_costs(
        self,
        frame: pd.DataFrame,
        figures: pd.DataFrame | None = None,
        *,
        scope: str = "",
        on: Sequence[str] = ("system",),
        minus: str = "",
    ) -> tuple[pd.DataFrame, tuple[Column, ...]]:
        """Return lines of a table with what it took to write, and the columns for it.

        Of what is not known there is no column. The figures stand without their intervals, which
        the spec's own table of them has.

        Args:
            frame: The lines, with the columns named by ``on``.
            figures: The figures that the table is of; those over all rows of a system where none.
            scope: What they are about, where the spec knows several scopes.
            on: The columns by which a figure finds its line.
            minus: The column of other systems, whose costs are taken from the first ones'.
        """
        spec = self.spec
        if figures is None:
            figures = self.figures[spec.is_overall(self.figures)]
        costs = [spec.measure(name) for name in spec.costs if figures["measure"].eq(name).any()]
        where = {"scope": scope or spec.scopes[0]} if spec.scopes else {}
        wanted = {f"cost_{c.name}": {"measure": c.name, "form": c.forms[0], **where} for c in costs}
        values = with_figures(frame[[*on]], figures, wanted, on)[[*wanted]]
        if minus:
            others = frame[[minus]].rename(columns={minus: "system"})
            values -= with_figures(others, figures, wanted)[[*wanted]]
        columns = tuple(
            Column(
                f"cost_{one.name}",
                one.label,
                "signed" if minus and one.kind == "number" else one.kind,
                f"{one.group}, difference" if minus else one.group,
                one.better,
                ranked=False,
            )
            for one in costs
        )
        return pd.concat([frame.reset_index(drop=True), values], axis=1), columns

    def notes(self, *kinds: Literal["judge", "fluency", "items"]) -> tuple[str, ...]:
        """Return a sentence for each thing that is missing or cannot be compared.

        Args:
            kinds: Of what to speak: a missing or a second judge, a missing or a second fluency
                model, items that systems do not share.
        """
        able = self.comparable
        found: list[str] = []
        if "judge" in kinds and not able.judged:
            found.append(f"No judge was named (--judge), {self.spec.without_judge}.")
        if "fluency" in kinds and not able.scored:
            found.append("Fluency was not scored, so the perplexity columns are left out.")
        if "judge" in kinds and able.judged and not able.one_judge:
            found.append(
                "These systems were not all judged by the same judge, so their judged scores are "
                "not comparable and none is marked as best."
            )
        if "fluency" in kinds and able.scored and not able.one_fluency_model:
            found.append(
                f"Perplexities come from different models ({', '.join(able.fluency_models)}), so "
                "they are not comparable and none is marked as best."
            )
        if "items" in kinds and not able.one_set:
            found.append(
                f"The systems were not all asked about the same {self.spec.unit[1]}; the paired "
                "comparisons use those that two systems share."
            )
        return tuple(found)

    @property
    def asked_and_valid(self) -> tuple[int, int]:
        """How many outputs were asked for, and how many could be read."""
        return len(self.items), int(self.items["valid"].sum())


@dataclass(frozen=True)
class Extra:
    """What a hook adds to a chapter.

    Attributes:
        tables: Tables; None is left out.
        charts: Drawings; None is left out.
        results: Parts of ``results.json``: frames by name.
    """

    tables: Sequence[Table | None] = ()
    charts: Sequence[Chart | None] = ()
    results: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportSpec:
    """What a task's chapter shows.

    Attributes:
        title: The chapter's title.
        eyebrow: A word or two above it: the family.
        unit: What is sampled, one and several: ``("headline", "headlines")``.
        output: What a system makes of it: ``("rewrite", "rewrites")``.
        measures: What is measured; the first is the one that summaries speak of.
        clusters: What is resampled, several of them; it names the column that counts them.
        cluster: The column by which rows cluster.
        cluster_noun: What one is called; the unit where it is empty.
        key: The columns that name a row, besides ``system`` and ``draw``.
        columns: The columns that the items must have.
        text: The column that is None where an output could not be read.
        texts: Columns of texts; what is missing is None.
        numbers: Columns of numbers besides those of measures and criteria; what is none is NaN.
        criteria: What a judge is asked.
        answers: What a judge answers to pass and to fail.
        without_judge: What is left out without a judge, as a clause: "so accuracy is left out".
        prepare: Completes the items before anything is counted.
        scopes: What figures are about, the whole first, where ``estimate`` gives several.
        averages_draws: Whether a figure is the mean over few-shot draws, with its spread.
        estimate: The figures of some rows, where they are not the measures' own means.
        breakdowns: What rows are told apart by.
        headings: What stands above the columns of each form.
        tables: The tables of measures; one of all, and one by each breakdown, where none is given.
        extras: What only this family has.
        paired: What paired comparisons are on, where that is not the units: "the items".
        invalid_title: The title of the table of invalid outputs.
        invalid_caption: How to read it.
        invalid_columns: Its columns, where there are more than outputs asked for, valid, invalid.
        invalid_counts: What these count of a system's rows; None where there is nothing to count.
        invalid_shown: Columns and headings of the invalid outputs that are shown.
        reasons: The table of reasons.
        examples: What an example looks like.
        explorer: What the item explorer shows besides.
        costs: Measures of what it took to write: they stand beside every score, in the tables of
            measures and in the leaderboard, where they are known.
        headline: The measures of which the chapter's first sentence may speak: of the first that
            has figures. Those that are shares and have a better direction where it is empty.
        facts: Facts at the top, before those that every chapter has.
        summary: The first sentences, where they are not the engine's.
        warnings: What must be known first, where it is not what the engine says.
        sections: The sections in order, where they are not the engine's.
        how: Terms and texts of how to read the chapter; the engine adds what every chapter needs.
            ``{level}`` and ``{resamples}`` are filled in.
        terminal: What the terminal shows; the first measures where none is given.
        terminal_title: What stands above it.
        samples: A sentence on the bundled samples.
        notes: Notes on a run, from its settings.
        asked: Settings that say how a judge is asked.
        streams: The streams of randomness, in the order in which they are spawned from the seed.
    """

    title: str
    eyebrow: str
    unit: tuple[str, str]
    output: tuple[str, str]
    measures: tuple[Measure, ...]
    clusters: str
    cluster: str = "sample_id"
    cluster_noun: str = ""
    key: tuple[str, ...] = ("sample_id",)
    columns: tuple[str, ...] = ()
    text: str = "text"
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    criteria: tuple[JudgedColumn, ...] = ()
    answers: tuple[str, str] = ("true", "false")
    without_judge: str = "so what needs a judge is left out"
    prepare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    scopes: tuple[str, ...] = ()
    averages_draws: bool = False
    estimate: Callable[[Part], Iterable[Estimate]] | None = None
    breakdowns: tuple[Breakdown, ...] = ()
    headings: Mapping[str, str] = field(
        default_factory=lambda: {"valid": "Over valid outputs, %", "strict": "Strict, %"}
    )
    tables: tuple[MeasureTable, ...] = ()
    extras: tuple[Callable[[ChapterData], Extra], ...] = ()
    paired: str = ""
    invalid_title: str = "Invalid outputs"
    invalid_caption: str = ""
    invalid_columns: tuple[Column, ...] = ()
    invalid_counts: Mapping[str, Callable[[pd.DataFrame], int | None]] = field(default_factory=dict)
    invalid_shown: tuple[tuple[str, str], ...] = (("sample_id", "Sample"), ("system", "System"))
    reasons: Reasons = field(default_factory=Reasons)
    examples: Examples = field(default_factory=Examples)
    explorer: Explorer = field(default_factory=Explorer)
    costs: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    facts: Callable[[ChapterData], Sequence[Fact]] | None = None
    summary: Callable[[ChapterData], Sequence[str]] | None = None
    warnings: Callable[[ChapterData], Warnings] | None = None
    sections: tuple[Section, ...] = ()
    how: tuple[tuple[str, str], ...] = ()
    terminal: tuple[TerminalColumn, ...] = ()
    terminal_title: str = ""
    samples: str = ""
    notes: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    asked: tuple[str, ...] = ("judge_context", "structured")
    streams: tuple[str, ...] = ("figures", "pairs", "examples", "judged")

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
        held = pd.Series(True, index=figures.index)
        for column in self.group_columns:
            held &= figures[column].eq("overall") if column == "scope" else figures[column].isna()
        return held

    @property
    def shown(self) -> tuple[TerminalColumn, ...]:
        """What the terminal shows: as said, else all measures, and the first in its strict form."""
        if self.terminal:
            return self.terminal
        columns = [
            TerminalColumn(
                one.name,
                one.forms[0],
                f"{one.label} %" if one.kind == "share" else one.label,
                100 if one.kind == "share" else 1,
                rank=rank,
            )
            for rank, one in enumerate(self.measures)
        ]
        first = self.measures[0]
        if "strict" in first.forms:
            heading = f"strict {first.label} %"
            columns.append(TerminalColumn(first.name, "strict", heading, rank=1))
        return tuple(columns)

    def measure(self, name: str) -> Measure:
        """Return the measure of that name.

        Raises:
            KeyError: If there is none.
        """
        return {measure.name: measure for measure in self.measures}[name]
