"""A chapter: everything that a report shows about one task, made by the family's spec."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from contrafact.console import say_once
from contrafact.errors import installed
from contrafact.family import Shown, family_of_task
from contrafact.family.display import Fact, GridChart, Table, Warnings
from contrafact.family.exam_file import Exam
from contrafact.family.report import ChapterData, ReportSpec, Section
from contrafact.family.tables import invalid_table, measure_chart, measure_table, reason_table
from contrafact.report.drawing import Figure, draw_chart
from contrafact.report.estimates import (
    compare_systems,
    estimate_figures,
    judged_rates,
    prepare_items,
    systems_of,
)
from contrafact.report.explorer import Packed, pack_items
from contrafact.report.frames import TaskRuns
from contrafact.report.summary import Summary, summarise
from contrafact.report.tables import comparison_table, corrected_table, judge_table, panel_section
from contrafact.report.words import facts, how_to_read, warnings
from contrafact.stats.replicates import Bootstrap

__all__ = ["Chapter", "Options", "checked_data", "make_chapter"]


@dataclass(frozen=True)
class Options:
    """How a report is made; ``labels`` are rows of `contrafact.report.frames.read_labels`.

    ``examples``, by title, are shown before the chapters.
    """

    with_published: bool = False
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    exams: tuple[Exam, ...] = ()
    labels: pd.DataFrame | None = None
    examples: Mapping[str, Sequence[Shown]] = field(default_factory=dict)


@dataclass(frozen=True)
class Chapter:
    """Everything that a report shows about one task; no section is empty.

    ``tables`` also has the table of judged rates, which no section shows and is only written to
    files. ``results`` is the task's part of ``results.json``.
    """

    task: str
    data: ChapterData
    summary: Summary
    sections: Sequence[Section]
    facts: Sequence[Fact]
    warnings: Warnings
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    explorer: Packed
    how: Sequence[tuple[str, str]]
    results: Mapping[str, object]

    @property
    def spec(self) -> ReportSpec:
        return self.data.spec

    @property
    def title(self) -> str:
        return self.spec.title + (" (bundled samples)" if self.data.meta.bundled else "")

    @property
    def eyebrow(self) -> str:
        """The line above the title: the family, and the task if it has several."""
        family = family_of_task(self.task)
        return family.title if len(family.tasks) == 1 else f"{family.title} · {self.task}"


def make_chapter(runs: TaskRuns, options: Options) -> Chapter:
    data = chapter_data(runs, options)
    spec = data.spec
    every = list(sections_of(data))
    sections = list(_filled(every))
    shown = [shown for section in sections for shown in section.shows]
    tables = {table.key: table for table in shown if isinstance(table, Table)}
    if (corrected := corrected_table(data)) is not None:
        tables[corrected.key] = corrected
    summary = summarise(data)
    results: dict[str, object] = {
        "opening": summary.results,
        "figures": data.figures,
        "paired": data.pairs.drop(columns="sums", errors="ignore"),
    }
    if spec.criteria:
        results |= {"judged_rates": data.rates}
    for section in every:
        results |= section.results
    results["invalid"] = (tables.get("invalid") or invalid_table(data)).frame
    reasons = tables.get("invalid_reasons")
    results["invalid_reasons"] = pd.DataFrame() if reasons is None else reasons.frame
    own = (warning for section in every for warning in section.warnings)
    charts = [chart for chart in shown if isinstance(chart, GridChart)]
    figures = {chart.key: draw_chart(chart) for chart in charts}
    explorer = pack_items(data, runs.calls, best=summary.best)
    return Chapter(
        runs.task, data, summary, sections, facts(data), [*warnings(data), *own], tables, figures,
        explorer, how_to_read(data), results,
    )  # fmt: skip


def chapter_data(runs: TaskRuns, options: Options) -> ChapterData:
    """Return the data of a chapter: the items, every figure, the comparisons, the judged rates.

    The items are removed from ``runs``, since memory cannot hold a large file twice.
    """
    data = checked_data(runs, options)
    return replace(
        data,
        figures=estimate_figures(data.items, data.spec, data.bootstrap),
        pairs=compare_systems(data.items, data.spec, data.meta, data.bootstrap),
        rates=judged_rates(data, options.exams, options.labels),
        examined=bool(options.exams),
    )


def checked_data(runs: TaskRuns, options: Options) -> ChapterData:
    """Return a chapter's data without figures, comparisons and rates, which take the most time."""
    spec = runs.spec
    items = prepare_items(runs.take_items(), spec)
    rng = np.random.default_rng(options.seed)
    return ChapterData(
        spec=spec,
        items=items,
        systems=systems_of(items),
        meta=runs.meta,
        figures=pd.DataFrame(),
        pairs=pd.DataFrame(),
        published=options.with_published,
        bootstrap=Bootstrap(rng=rng, resamples=options.resamples, level=options.level),
        family=runs.family,
    )


def sections_of(data: ChapterData) -> Iterator[Section]:
    """Yield the family's sections, then the sections that every chapter has."""
    for section in data.spec.sections:
        if callable(section):
            yield section(data)
        elif section == "breakdowns":
            yield from _breakdowns(data)
        else:
            yield _STANDARD[section](data)
    yield Section("explorer", "Every output")
    yield Section("runs", "What was run")
    yield Section("how", "How to read this")


def _shares(spec: ReportSpec) -> dict[str, str]:
    return {measure.name: measure.label for measure in spec.measures if measure.kind == "share"}


def _results(data: ChapterData) -> Section:
    spec, shares = data.spec, _shares(data.spec)
    every = [measure.name for measure in spec.measures]
    counts = (spec.clusters, "asked", "invalid")
    shown = (
        measure_table(data, "overall", "Overall", every, counts=counts),
        measure_chart(data, "overall", "Overall", shares) if shares else None,
    )
    return Section("results", "Results", shown)


def _breakdowns(data: ChapterData) -> Iterator[Section]:
    spec = data.spec
    first = dict(list(_shares(spec).items())[:1])
    for breakdown in spec.breakdowns:
        of = breakdown.name
        key, title = f"by_{of}", f"By {of.replace('_', ' ')}"
        measures = breakdown.measures or [measure.name for measure in spec.measures]
        counts = (spec.clusters, "asked")
        chart = measure_chart(data, key, title, first, of=of) if first else None
        table = measure_table(data, key, title, measures, counts=counts, of=of, notes=False)
        yield Section(key, title, (chart, table))


_STANDARD: Mapping[str, Callable[[ChapterData], Section]] = {
    "results": _results,
    "paired": lambda data: Section(
        "paired",
        f"Comparisons on the same {data.spec.unit[1]}",
        (comparison_table(data),),
        "Comparisons",
    ),
    "judge": lambda data: Section("judge", "What the judge is worth", (judge_table(data),)),
    "agreement": panel_section,
    "errors": lambda data: Section(
        "errors", "Invalid outputs", (invalid_table(data), reason_table(data))
    ),
}
_FILLED_BY_THE_PAGE = frozenset(("explorer", "runs", "how"))


def _filled(sections: Sequence[Section]) -> Iterator[Section]:
    """Yield the sections that have something to show; leave charts out if matplotlib is missing."""
    drawn = installed("matplotlib")
    if not drawn:
        say_once("figures are left out: they need matplotlib (pip install 'contrafact[figures]')")
    for section in sections:
        shows = [shown for shown in section.shows if isinstance(shown, Table) or (drawn and shown)]
        if shows or section.anchor in _FILLED_BY_THE_PAGE:
            yield replace(section, shows=shows, contents=section.contents or section.heading)
