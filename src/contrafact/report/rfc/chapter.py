"""RFC-BENCH's chapters: items in; figures, tables, drawings, examples and words out."""

import numpy as np
import pandas as pd

from contrafact.families.rfc.labels import TaskName
from contrafact.report import paired
from contrafact.report.chapter import Chapter, Fact, Options, TaskRuns
from contrafact.report.rfc.counts import error_class_table, invalid_table, reason_table
from contrafact.report.rfc.estimates import Bootstrap, confusion_frame, estimate_figures
from contrafact.report.rfc.examples import draw_examples, invalid_examples
from contrafact.report.rfc.figures import draw_figures
from contrafact.report.rfc.frame import pair_frame, prepare_items, systems_of
from contrafact.report.rfc.published_rows import (
    with_published_manipulations,
    with_published_overall,
    with_published_people,
    with_published_shots,
)
from contrafact.report.rfc.surface import surface_figures
from contrafact.report.rfc.tables import (
    confusion_table,
    manipulation_table,
    overall_table,
    pairwise_table,
    shots_table,
    surface_table,
)
from contrafact.report.rfc.words import summary_sentences, warnings_for
from contrafact.report.run_facts import run_facts
from contrafact.report.table import Table, format_number

__all__ = ["rfc_chapter"]

_TITLES = {
    "rfc-detect": "Detecting manipulated financial news without a reference",
    "rfc-diagnose": "Telling how financial news was manipulated, beside the original",
}
_COMPARED: list[paired.Compared] = [
    ("accuracy", "valid", "right"),
    ("accuracy", "strict", "right_strict"),
]
_LABELS = {"accuracy": "Accuracy, points", "pairwise_accuracy": "Pairwise accuracy, points"}
_PAIRED = (
    "The first system minus the second, on the items both were asked about, few-shot draws of an "
    "item averaged first: 95% interval by source article, p-value by flipping the sign of whole "
    "articles, and the same adjusted (Holm) for all comparisons of its form. Read the adjusted one."
)


def rfc_chapter(runs: TaskRuns, options: Options) -> Chapter:
    """Return the chapter of ``rfc-detect`` or ``rfc-diagnose``.

    Args:
        runs: Its runs; one row per sample, as `contrafact.families.rfc.items` describes them.
        options: How the report is made.

    Raises:
        InputError: There is nothing to report.
    """
    task: TaskName = "rfc-detect" if runs.task == "rfc-detect" else "rfc-diagnose"
    items = prepare_items(runs.items, task)
    systems = systems_of(items)
    streams = np.random.SeedSequence(options.seed).spawn(4)
    figure_rng, pair_rng, surface_rng, example_rng = map(np.random.default_rng, streams)
    how = {"resamples": options.resamples, "level": options.level}
    bootstrap = Bootstrap(rng=figure_rng, resamples=options.resamples, level=options.level)
    figures = estimate_figures(items, task, bootstrap)
    pairs = _paired(items, task, pair_rng, options)
    surface = surface_figures(items, task, rng=surface_rng, **how)  # type: ignore[arg-type]
    confusion = confusion_frame(items, task)
    tables = _tables(items, figures, pairs, surface, confusion, task, options.with_published)
    drawn = {figure.key: figure for figure in draw_figures(tables, confusion, surface)}
    return Chapter(
        task=task,
        meta=runs.meta,
        eyebrow=f"RFC-BENCH · {task}",
        title=runs.meta.title or _TITLES[task],
        template="rfc.html.jinja",
        contents=_contents(set(tables)),
        facts=_facts(items, task),
        summary=summary_sentences(items, figures, pairs, task),
        warnings=warnings_for(items, figures, runs.meta, task),
        tables=tables,
        figures=drawn,
        runs=[(run.name, run_facts(run, noun="pairs"), run.notes) for run in runs.meta.runs],
        results={
            "figures": figures,
            "paired": pairs,
            "surface": surface,
            "confusion": confusion,
            "invalid": tables["invalid"].frame,
            "invalid_reasons": _frame(tables.get("invalid_reasons")),
            "error_classes": _frame(tables.get("error_classes")),
        },
        shown={
            "examples": draw_examples(items, task, systems, rng=example_rng),
            "invalid": invalid_examples(items).to_dict("records"),
            "detects": task == "rfc-detect",
        },
    )


def _paired(
    items: pd.DataFrame, task: str, rng: np.random.Generator, options: Options
) -> pd.DataFrame:
    """Compare every two systems item by item, and in detection pair by pair."""
    systems = systems_of(items)
    by = ["system", "article_id", "sample_id"]
    values = items.groupby(by, sort=True)[["right", "right_strict"]].mean()
    compared = _COMPARED
    if task == "rfc-detect":
        both = pair_frame(items)
        whole = both.groupby(["system", "article_id", "pair_id"], sort=True)
        columns = {"right": "pair_right", "right_strict": "pair_right_strict"}
        by_pair = whole[["right", "right_strict"]].mean().rename(columns=columns)
        by_pair.index = by_pair.index.set_names(by)
        values = pd.concat([values, by_pair]).sort_index()
        compared = [
            *_COMPARED,
            ("pairwise_accuracy", "valid", "pair_right"),
            ("pairwise_accuracy", "strict", "pair_right_strict"),
        ]
    return paired.compare_systems(
        values,
        lambda first, second: compared,
        systems=systems,
        cluster="article_id",
        clusters_name="articles",
        rng=rng,
        resamples=options.resamples,
        level=options.level,
    )


def _tables(
    items: pd.DataFrame,
    figures: pd.DataFrame,
    pairs: pd.DataFrame,
    surface: pd.DataFrame,
    confusion: pd.DataFrame,
    task: TaskName,
    with_published: bool,
) -> dict[str, Table]:
    systems = systems_of(items)
    overall = overall_table(items, figures, task, systems)
    by_manipulation = manipulation_table(items, figures, task, systems)
    shots = shots_table(items, figures)
    if with_published:
        overall = with_published_people(with_published_overall(overall, task), task)
        by_manipulation = with_published_manipulations(by_manipulation, task)
        shots = None if shots is None else with_published_shots(shots)
    found = [
        overall,
        pairwise_table(items, figures, systems) if task == "rfc-detect" else None,
        by_manipulation,
        shots,
        surface_table(surface),
        confusion_table(confusion),
        paired.comparison_table(pairs, labels=_LABELS, scales={}, caption=_PAIRED),
        error_class_table(items, systems),
        invalid_table(items, systems),
        reason_table(items),
    ]
    return {table.key: table for table in found if table is not None}


def _contents(tables: set[str]) -> list[tuple[str, str]]:
    possible = [
        ("summary", "Summary", True),
        ("results", "Results", True),
        ("pairwise", "Pairwise accuracy", "pairwise" in tables),
        ("manipulations", "Manipulations", True),
        ("shots", "Worked examples", "shots" in tables),
        ("surface", "Surface features", "surface" in tables),
        ("confusion", "Confusion", True),
        ("paired", "Comparisons", "paired" in tables),
        ("errors", "Errors and invalid replies", True),
        ("examples", "Examples", True),
        ("runs", "What was run", True),
        ("how", "How to read this", True),
    ]
    return [(anchor, heading) for anchor, heading, there in possible if there]


def _facts(items: pd.DataFrame, task: str) -> list[Fact]:
    valid, asked = int(items["valid"].sum()), len(items)
    distinct = items.drop_duplicates("system")
    baselines = int(distinct["baseline"].sum())
    kinds = items["manipulation"].nunique()
    return [
        Fact(
            "Pairs",
            format_number(items["pair_id"].nunique(), "count"),
            f"in {kinds} manipulation{'' if kinds == 1 else 's'}",
        ),
        Fact("Articles", format_number(items["article_id"].nunique(), "count")),
        Fact(
            "Answers",
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({format_number(valid / asked, 'share')}%)",
        ),
        Fact(
            "Systems",
            format_number(len(distinct), "count"),
            f"{baselines} of them ask no model" if baselines else "",
        ),
    ]


def _frame(table: Table | None) -> pd.DataFrame:
    return pd.DataFrame() if table is None else table.frame
