"""A chapter: all that a report shows of one task, made from its runs as the family's spec says.

Examples are drawn at random; invalid outputs are shown as they came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.console import say_once
from contrafact.errors import installed
from contrafact.family.display import Fact, Table, Warnings, count
from contrafact.family.exam_file import Exam
from contrafact.family.report import ChapterData, Extra, Section
from contrafact.family.run_facts import ReportMeta
from contrafact.report.drawing import Figure, draw_chart
from contrafact.report.estimates import (
    JudgedRates,
    comparability,
    compare_systems,
    estimate_figures,
    judged_rates,
    prepare_items,
    systems_of,
)
from contrafact.report.examples import draw_examples, invalid_examples, shown_example
from contrafact.report.explorer import Packed, pack_items
from contrafact.report.frames import TaskRuns
from contrafact.report.opening import Opening, make_opening
from contrafact.report.panel import AGREEMENT_SECTION, panel
from contrafact.report.tables import (
    comparison_table,
    corrected_table,
    invalid_table,
    leaderboard_table,
    measure_chart,
    measure_table,
    reason_table,
    standard_tables,
)
from contrafact.report.words import facts, how_to_read, run_facts, summary, warnings
from contrafact.stats.replicates import Bootstrap

__all__ = ["Chapter", "Options", "chapter_data", "make_chapter"]


@dataclass(frozen=True)
class Options:
    """How a report is made.

    Attributes:
        with_published: Whether to show the paper's rows below the report's own.
        seed: Seed of the intervals, the paired tests and the choice of examples.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.
        exams: What is known of judges.
        labels: What people said of the runs' items, as `contrafact.report.labels` reads it.
    """

    with_published: bool = False
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    exams: tuple[Exam, ...] = ()
    labels: pd.DataFrame | None = None


@dataclass(frozen=True)
class Chapter:
    """All that a report shows of one task.

    Attributes:
        task: The task, which names its part of ``results.json`` and of the folders.
        meta: What the runs are.
        eyebrow: A word or two above the title.
        title: The chapter's title; the page's, where it is the only one.
        opening: What was found, and what shows it.
        sections: Its sections, of which none is empty.
        facts: What stands at the top.
        summary: Sentences.
        warnings: Headings and texts that come before any table.
        tables: By key.
        figures: By key.
        explorer: All its outputs, packed.
        examples: What its examples show, marked.
        examples_caption: How to read them.
        invalid: Headings, and the texts of some invalid outputs.
        unit: What is sampled.
        output: What an output is called, one and several.
        how: Terms and texts.
        runs: The facts of each run: its name, labels and texts, notes.
        results: Its part of ``results.json``.
    """

    task: str
    meta: ReportMeta
    eyebrow: str
    title: str
    opening: Opening
    sections: Sequence[Section]
    facts: Sequence[Fact]
    summary: Sequence[str]
    warnings: Warnings
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    explorer: Packed
    examples: Sequence[Mapping[str, Any]]
    examples_caption: Markup
    invalid: tuple[Sequence[str], Sequence[tuple[str, ...]]]
    unit: str
    output: tuple[str, str]
    how: Sequence[tuple[str, str]]
    runs: Sequence[tuple[str, Sequence[tuple[str, str]], Sequence[str]]]
    results: Mapping[str, object]


def make_chapter(runs: TaskRuns, options: Options) -> Chapter:
    """Return the chapter of a task.

    Args:
        runs: Its runs.
        options: How the report is made.

    Raises:
        InputError: There is nothing to report, or a row stands twice.
    """
    data = chapter_data(runs, options)
    spec, meta = data.spec, data.meta
    judged = judged_rates(
        data,
        family=runs.family,
        exams=options.exams,
        labels=options.labels,
    )
    extras = [*(extra(data) for extra in spec.extras), panel(data)]
    tables = _tables(data, judged, extras)
    figures = _figures(data, extras)
    limit = spec.examples.limit
    examples = [
        shown_example(one, limit) for one in draw_examples(data, rng=data.streams["examples"])
    ]
    opening = make_opening(data)
    return Chapter(
        task=runs.task,
        meta=meta,
        eyebrow=spec.eyebrow,
        title=meta.title or spec.title,
        opening=opening,
        sections=_sections(data, {*tables, *figures}),
        facts=facts(data),
        summary=summary(data),
        warnings=warnings(data, judged),
        tables=tables,
        figures=figures,
        explorer=pack_items(data, runs.calls, best=opening.best),
        examples=examples,
        examples_caption=Markup(spec.examples.caption).format(
            count=count(len(examples), "example"), seed=options.seed
        ),
        invalid=([heading for _, heading in spec.invalid_shown], invalid_examples(data)),
        unit=spec.unit[0],
        output=spec.output,
        how=how_to_read(data),
        runs=[(run.name, run_facts(run, spec), run.notes) for run in meta.runs],
        results={"opening": opening.results, **_results(data, judged, extras, tables)},
    )


def chapter_data(runs: TaskRuns, options: Options) -> ChapterData:
    """Return what a chapter is made from: the items checked, every figure, the comparisons.

    Arguments and errors are those of `make_chapter`.
    """
    spec = runs.spec
    items = prepare_items(runs.items, spec)
    comparable = comparability(items, spec, runs.meta)
    names = tuple(dict.fromkeys((*spec.streams, "panel", "opening")))
    spawned = np.random.SeedSequence(options.seed).spawn(len(names))
    streams = dict(zip(names, map(np.random.default_rng, spawned), strict=True))
    resamples, level = options.resamples, options.level
    bootstrap = Bootstrap(rng=streams["figures"], resamples=resamples, level=level)
    return ChapterData(
        spec=spec,
        items=items,
        systems=systems_of(items),
        meta=runs.meta,
        comparable=comparable,
        figures=estimate_figures(items, spec, bootstrap),
        pairs=compare_systems(
            items, spec, comparable, rng=streams["pairs"], resamples=resamples, level=level
        ),
        published=options.with_published,
        level=level,
        resamples=resamples,
        streams=streams,
        bootstrap=bootstrap,
    )


def _tables(
    data: ChapterData, judged: JudgedRates | None, extras: Sequence[Extra]
) -> dict[str, Table]:
    found = [
        *(measure_table(data, wanted) for wanted in standard_tables(data)),
        None if judged is None else leaderboard_table(judged, data),
        None if judged is None else corrected_table(judged, data),
        *(table for extra in extras for table in extra.tables),
        comparison_table(data),
        invalid_table(data),
        reason_table(data),
    ]
    return {table.key: table for table in found if table is not None}


def _figures(data: ChapterData, extras: Sequence[Extra]) -> dict[str, Figure]:
    charts = [
        *(measure_chart(data, wanted) for wanted in standard_tables(data)),
        *(chart for extra in extras for chart in extra.charts),
    ]
    if not installed("matplotlib"):
        say_once("figures are left out: they need matplotlib (pip install 'contrafact[figures]')")
        return {}
    return {chart.key: draw_chart(chart) for chart in charts if chart is not None}


def _results(
    data: ChapterData,
    judged: JudgedRates | None,
    extras: Sequence[Extra],
    tables: Mapping[str, Table],
) -> dict[str, object]:
    """Return all figures for machines: shares are 0 to 1, what is missing is null."""
    rates: dict[str, object] = {}
    if data.spec.criteria:
        rates = {
            "judged_rates": pd.DataFrame() if judged is None else judged.rates,
            "ranks": pd.DataFrame() if judged is None else judged.ranks,
        }
    reasons = tables.get("invalid_reasons")
    return {
        "figures": data.figures,
        "paired": data.pairs,
        **rates,
        **{name: frame for extra in extras for name, frame in extra.results.items()},
        "invalid": tables["invalid"].frame,
        "invalid_reasons": pd.DataFrame() if reasons is None else reasons.frame,
    }


_OWN_SECTIONS = frozenset(("summary", "explorer", "examples", "runs", "how"))
_EXPLORER = Section("explorer", "Every output", contents="Explorer")


def _sections(data: ChapterData, there: set[str]) -> list[Section]:
    """Return the sections of which something is there."""
    wanted = list(data.spec.sections or _standard_sections(data, there))
    if not any("panel" in section.shows for section in wanted):
        place = next((i for i, one in enumerate(wanted) if one.anchor == "errors"), len(wanted))
        wanted.insert(place, AGREEMENT_SECTION)
    place = next((i for i, one in enumerate(wanted) if one.anchor == "examples"), len(wanted))
    wanted.insert(place, _EXPLORER)
    found: list[Section] = []
    for section in wanted:
        shows = tuple(key for key in dict.fromkeys(section.shows) if key in there)
        if shows or section.anchor in _OWN_SECTIONS:
            contents = section.contents or section.heading
            found.append(Section(section.anchor, section.heading, shows, contents))
    return found


def _standard_sections(data: ChapterData, there: set[str]) -> list[Section]:
    first, *others = standard_tables(data)
    chart = {one.key: (one.chart.key,) if one.chart else () for one in (first, *others)}
    sections = [
        Section("summary", "Summary"),
        Section("results", "Results", (*chart[first.key], first.key, "leaderboard")),
        *(Section(one.key, one.title, (*chart[one.key], one.key)) for one in others),
        Section("paired", f"Comparisons on the same {data.spec.unit[1]}", ("paired",)),
        Section("judge", "What the judge is worth", ("corrected",)),
        AGREEMENT_SECTION,
        Section("errors", data.spec.invalid_title, ("invalid", "invalid_reasons")),
    ]
    shown = {key for section in sections for key in section.shows}
    return [
        *sections[:-1],
        Section("more", "More", tuple(sorted(there - shown))),
        sections[-1],
        Section("examples", "Examples"),
        Section("runs", "What was run"),
        Section("how", "How to read this"),
    ]
