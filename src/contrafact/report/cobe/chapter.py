"""CoBe's chapter: items in; figures, tables, drawings, examples and words out."""

import numpy as np
import pandas as pd

from contrafact.report import paired
from contrafact.report.chapter import Chapter, Fact, Options, TaskRuns
from contrafact.report.cobe.counts import invalid_table, reason_table
from contrafact.report.cobe.estimates import estimate_figures
from contrafact.report.cobe.examples import draw_examples, invalid_examples
from contrafact.report.cobe.figures import draw_figures
from contrafact.report.cobe.frame import prepare_items, systems_of
from contrafact.report.cobe.published_rows import published_study_table, with_published_overall
from contrafact.report.cobe.tables import (
    CRITERION_LABELS,
    criteria_table,
    overall_table,
    scope_tables,
    suggestion_table,
)
from contrafact.report.cobe.words import summary_sentences, warnings_for
from contrafact.report.corrected import (
    JudgedRates,
    corrected_table,
    exam_warnings,
    judged_rates,
    leaderboard_table,
)
from contrafact.report.meta import ReportMeta
from contrafact.report.run_facts import run_facts
from contrafact.report.table import Table, format_number
from contrafact.report.words import first_of

__all__ = ["cobe_chapter"]

_COMPARED: list[paired.Compared] = [
    ("accuracy", "valid", "correct"),
    ("accuracy", "strict", "correct_strict"),
]
_PAIRED = (
    "The first system minus the second, on the stories and phrasings both were asked about and by "
    "the same judge, few-shot draws averaged first: 95% interval by story, p-value by flipping the "
    "sign of whole stories, and the same adjusted (Holm) for all comparisons of its form. Read the "
    "adjusted one."
)


def cobe_chapter(runs: TaskRuns, options: Options) -> Chapter:
    """Return the chapter of ``cobe``.

    Args:
        runs: Its runs; one row per story, phrasing and draw, as `families.cobe.items` has them.
        options: How the report is made.

    Raises:
        InputError: There is nothing to report.
    """
    items = prepare_items(runs.items)
    systems = systems_of(items)
    streams = np.random.SeedSequence(options.seed).spawn(4)
    figure_rng, pair_rng, example_rng, judge_rng = map(np.random.default_rng, streams)
    figures = estimate_figures(
        items, rng=figure_rng, resamples=options.resamples, level=options.level
    )
    pairs = _paired(items, pair_rng, options)
    judged = judged_rates(
        items,
        runs.meta,
        options,
        family="cobe",
        labels={**CRITERION_LABELS, "correct": "all criteria"},
        headline=("correct",),
        rng=judge_rng,
    )
    tables = _tables(items, figures, pairs, judged, options.with_published)
    drawn = {figure.key: figure for figure in draw_figures(items, figures)}
    return Chapter(
        task=runs.task,
        meta=runs.meta,
        eyebrow="CoBe",
        title=runs.meta.title or "Counterfactual edits of stories, judged by causal criteria",
        template="cobe.html.jinja",
        contents=_contents(set(tables)),
        facts=_facts(items, runs.meta),
        summary=summary_sentences(items, figures, pairs, runs.meta),
        warnings=[*warnings_for(items, runs.meta), *exam_warnings(judged)],
        tables=tables,
        figures=drawn,
        runs=[
            (run.name, run_facts(run, noun="stories", always=frozenset({"Judge"})), run.notes)
            for run in runs.meta.runs
        ],
        results={
            "figures": figures,
            "paired": pairs,
            "judged_rates": pd.DataFrame() if judged is None else judged.rates,
            "ranks": pd.DataFrame() if judged is None else judged.ranks,
            "suggested_modes": _frame(tables.get("suggested_modes")),
            "invalid": tables["invalid"].frame,
            "invalid_reasons": _frame(tables.get("invalid_reasons")),
        },
        shown={
            "examples": draw_examples(items, systems, rng=example_rng),
            "invalid": invalid_examples(items).to_dict("records"),
            "scopes": [key for key in tables if key.startswith("by_")],
        },
    )


def _paired(items: pd.DataFrame, rng: np.random.Generator, options: Options) -> pd.DataFrame:
    """Compare every two systems of one judge, story by story and phrasing by phrasing."""
    judge_of = items.drop_duplicates("system").set_index("system")["judge"].to_dict()
    values = items.groupby(["system", "sample_id", "phrasing"], sort=True)
    return paired.compare_systems(
        values[["correct", "correct_strict"]].mean(),
        lambda first, second: _COMPARED if judge_of[first] == judge_of[second] else [],
        systems=systems_of(items),
        cluster="sample_id",
        clusters_name="stories",
        rng=rng,
        resamples=options.resamples,
        level=options.level,
    )


def _tables(
    items: pd.DataFrame,
    figures: pd.DataFrame,
    pairs: pd.DataFrame,
    judged: JudgedRates | None,
    with_published: bool,
) -> dict[str, Table]:
    overall = overall_table(items, figures)
    labels = {"accuracy": "Accuracy, points"}
    found = [
        with_published_overall(overall) if with_published else overall,
        None if judged is None else leaderboard_table(judged),
        None if judged is None else corrected_table(judged),
        criteria_table(items, figures),
        *scope_tables(items, figures),
        suggestion_table(items),
        paired.comparison_table(pairs, labels=labels, scales={}, caption=_PAIRED),
        published_study_table() if with_published else None,
        invalid_table(items, systems_of(items)),
        reason_table(items),
    ]
    return {table.key: table for table in found if table is not None}


def _contents(tables: set[str]) -> list[tuple[str, str]]:
    possible = [
        ("summary", "Summary", True),
        ("results", "Results", True),
        ("criteria", "Criteria", "criteria" in tables),
        ("parts", "Graphs, phrasings, domains, modes", "by_phrasing" in tables),
        ("paired", "Comparisons", "paired" in tables),
        ("judge", "What the judge is worth", bool(tables & {"corrected", "published_study"})),
        ("errors", "Invalid responses and verdicts", True),
        ("examples", "Examples", True),
        ("runs", "What was run", True),
        ("how", "How to read this", True),
    ]
    return [(anchor, heading) for anchor, heading, there in possible if there]


def _facts(items: pd.DataFrame, meta: ReportMeta) -> list[Fact]:
    valid, asked = int(items["valid"].sum()), len(items)
    judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
    kinds = items["graph"].nunique()
    return [
        Fact(
            "Stories",
            format_number(items["sample_id"].nunique(), "count"),
            f"of {kinds} type{'' if kinds == 1 else 's'} of graph" if kinds else "",
        ),
        Fact(
            "Responses",
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({format_number(valid / asked, 'share')}%)",
        ),
        Fact("Systems", format_number(items["system"].nunique(), "count")),
        Fact("Judge", first_of(judges), is_name=True),
    ]


def _frame(table: Table | None) -> pd.DataFrame:
    return pd.DataFrame() if table is None else table.frame
