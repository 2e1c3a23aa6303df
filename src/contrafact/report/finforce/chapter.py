"""FIN-FORCE's chapter: items in; figures, tables, drawings, examples and words out."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report.chapter import Chapter, Fact, Options, TaskRuns
from contrafact.report.corrected import (
    JudgedRates,
    corrected_table,
    exam_warnings,
    judged_rates,
    leaderboard_table,
)
from contrafact.report.finforce.comparable import Comparability, comparability
from contrafact.report.finforce.comparisons import comparison_table, paired_figures
from contrafact.report.finforce.counts import error_table, invalid_table, reason_table
from contrafact.report.finforce.estimates import SamplerPool, estimate_figures
from contrafact.report.finforce.examples import draw_examples, invalid_examples
from contrafact.report.finforce.figures import draw_figures
from contrafact.report.finforce.items import prepare_items
from contrafact.report.finforce.panel import (
    CRITERION_NAMES,
    member_table,
    panel_agreement,
    panel_table,
    study_table,
)
from contrafact.report.finforce.published_rows import (
    with_published_changes,
    with_published_scope,
    with_published_sides,
)
from contrafact.report.finforce.summary import summary_sentences, warnings_for
from contrafact.report.finforce.tables import (
    category_table,
    distance_table,
    few_shot_table,
    risk_opportunity_table,
    scope_table,
)
from contrafact.report.meta import ReportMeta
from contrafact.report.run_facts import run_facts
from contrafact.report.table import Table, format_number
from contrafact.report.words import first_of

__all__ = ["finforce_chapter"]


@dataclass(frozen=True)
class _Measured:
    """The numbers behind the chapter."""

    figures: pd.DataFrame
    pairs: pd.DataFrame
    agreement: pd.DataFrame
    judged: JudgedRates | None


def finforce_chapter(runs: TaskRuns, options: Options) -> Chapter:
    """Return the chapter of ``finforce``.

    Args:
        runs: Its runs; one row per counterfactual.
        options: How the report is made.

    Raises:
        InputError: There is nothing to report.
    """
    meta = runs.meta
    frame = prepare_items(runs.items)
    able = comparability(frame, meta)
    streams = np.random.SeedSequence(options.seed).spawn(5)
    figure_rng, pair_rng, panel_rng, example_rng, judge_rng = map(np.random.default_rng, streams)
    resamples, level = options.resamples, options.level
    pool = SamplerPool(rng=figure_rng, resamples=resamples, level=level)
    panel = pd.DataFrame()
    if meta.panel is not None:
        panel = panel_agreement(meta.panel, rng=panel_rng, resamples=resamples, level=level)
    measured = _Measured(
        figures=estimate_figures(frame, pool),
        pairs=paired_figures(frame, able, rng=pair_rng, resamples=resamples, level=level),
        agreement=panel,
        judged=judged_rates(
            frame,
            meta,
            options,
            family="finforce",
            labels=CRITERION_NAMES,
            headline=tuple(CRITERIA),
            rng=judge_rng,
        ),
    )
    tables = _tables(frame, measured, pool, able, meta, options.with_published)
    figures = {
        figure.key: figure for figure in draw_figures(frame, tables, measured.agreement, able)
    }
    return Chapter(
        task=runs.task,
        meta=runs.meta,
        eyebrow="FIN-FORCE",
        title=meta.title or "Forward counterfactuals from market headlines",
        template="finforce.html.jinja",
        contents=_contents(set(tables), set(figures)),
        facts=_facts(frame, meta),
        summary=summary_sentences(frame, measured.figures, measured.pairs, able, meta),
        warnings=[*warnings_for(frame, meta), *exam_warnings(measured.judged)],
        tables=tables,
        figures=figures,
        runs=[
            (
                run.name,
                run_facts(run, noun="headlines", always=frozenset({"Judge", "Fluency model"})),
                run.notes,
            )
            for run in meta.runs
        ],
        results=_results(tables, measured, meta),
        shown={
            "examples": draw_examples(frame, rng=example_rng),
            "invalid": invalid_examples(frame).to_dict("records"),
        },
    )


def _tables(
    items: pd.DataFrame,
    measured: _Measured,
    pool: SamplerPool,
    able: Comparability,
    meta: ReportMeta,
    with_published: bool,
) -> dict[str, Table]:
    figures = measured.figures
    scopes = [scope_table(figures, scope, able) for scope in ("overall", "risk", "opportunity")]
    sides = risk_opportunity_table(figures, able)
    changes = few_shot_table(items, pool, able)
    if with_published:
        scopes = [with_published_scope(table, able) for table in scopes]
        sides = None if sides is None else with_published_sides(sides)
        changes = None if changes is None else with_published_changes(changes, able)
    members = None
    if meta.panel is not None:
        members = member_table(meta.panel, rng=pool.rng, resamples=pool.resamples, level=pool.level)
    found = [
        *scopes,
        None if measured.judged is None else leaderboard_table(measured.judged),
        None if measured.judged is None else corrected_table(measured.judged),
        sides,
        changes,
        distance_table(figures),
        category_table(figures, able),
        comparison_table(measured.pairs),
        None if meta.panel is None else panel_table(measured.agreement),
        members,
        study_table(meta.agreement, with_published=with_published),
        error_table(figures),
        invalid_table(items),
        reason_table(items),
    ]
    return {table.key: table for table in found if table is not None}


def _contents(tables: set[str], figures: set[str]) -> list[tuple[str, str]]:
    possible = [
        ("summary", "Summary", True),
        ("results", "Results", True),
        ("sides", "Risk and opportunity", True),
        ("fluency", "Fluency", "perplexity" in figures),
        ("few-shot", "Few-shot", "few_shot_change" in tables),
        ("base", "Distance from the base", "base_distance" in tables),
        ("categories", "Categories", "by_category" in tables),
        ("paired", "Comparisons", "paired" in tables),
        ("agreement", "Agreement", bool(tables & {"panel", "study"})),
        ("errors", "Errors and invalid outputs", True),
        ("examples", "Examples", True),
        ("runs", "What was run", True),
        ("how", "How to read this", True),
    ]
    return [(anchor, heading) for anchor, heading, there in possible if there]


def _facts(items: pd.DataFrame, meta: ReportMeta) -> list[Fact]:
    valid, asked = int(items["valid"].sum()), len(items)
    judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
    return [
        Fact("Headlines", format_number(items["sample_id"].nunique(), "count"), _categories(items)),
        Fact(
            "Counterfactuals",
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({format_number(valid / asked, 'share')}%)",
        ),
        Fact("Systems", format_number(items["system"].nunique(), "count"), _draws(items)),
        Fact("Judge", first_of(judges), "a panel" if len(judges) > 1 else "", is_name=True),
        Fact("Fluency model", first_of(meta.fluency_models), is_name=True),
    ]


def _categories(items: pd.DataFrame) -> str:
    count = items["category"].nunique()
    return f"in {count} market categor{'y' if count == 1 else 'ies'}" if count else ""


def _draws(items: pd.DataFrame) -> str:
    draws = int(items["draw"].max())
    return f"up to {draws} few-shot draws" if draws > 1 else ""


def _results(tables: dict[str, Table], measured: _Measured, meta: ReportMeta) -> dict[str, object]:
    """Return all figures for machines: shares are 0 to 1, what is missing is null."""
    judged = measured.judged
    return {
        "figures": measured.figures,
        "paired": measured.pairs,
        "few_shot_change": _own_rows(tables.get("few_shot_change")),
        "judged_rates": pd.DataFrame() if judged is None else judged.rates,
        "ranks": pd.DataFrame() if judged is None else judged.ranks,
        "panel": measured.agreement,
        "study": meta.agreement,
        "invalid": tables["invalid"].frame,
        "invalid_reasons": _own_rows(tables.get("invalid_reasons")),
    }


def _own_rows(table: Table | None) -> pd.DataFrame:
    if table is None:
        return pd.DataFrame()
    if "source" not in table.frame.columns:
        return table.frame
    return table.frame[table.frame["source"].eq("own")].drop(columns="source")
