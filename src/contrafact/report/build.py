"""Build a report: items in; tables, figures, results and the page out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from contrafact.files.atomic import write_bytes, write_text
from contrafact.report.comparable import Comparability, comparability
from contrafact.report.comparisons import comparison_table, paired_figures
from contrafact.report.counts import error_table, invalid_table, reason_table
from contrafact.report.estimates import SamplerPool, estimate_figures
from contrafact.report.examples import draw_examples, invalid_examples
from contrafact.report.figures import draw_figures
from contrafact.report.html import Page, render_page
from contrafact.report.items import prepare_items
from contrafact.report.meta import ReportMeta
from contrafact.report.panel import member_table, panel_agreement, panel_table, study_table
from contrafact.report.published_rows import (
    with_published_changes,
    with_published_scope,
    with_published_sides,
)
from contrafact.report.summary import summary_sentences, warnings_for
from contrafact.report.table import Table
from contrafact.report.tables import (
    category_table,
    few_shot_table,
    risk_opportunity_table,
    scope_table,
)
from contrafact.report.write import (
    render_json,
    render_latex,
    render_markdown,
    render_table_csv,
)

__all__ = ["ReportPaths", "build_report"]

_RESULTS_VERSION = 1


@dataclass(frozen=True)
class ReportPaths:
    """Where a report was written.

    Attributes:
        page: ``report.html``.
        results: ``results.json``.
        tables: The folder of tables, three files each.
        figures: The folder of figures, two files each.
    """

    page: Path
    results: Path
    tables: Path
    figures: Path


@dataclass(frozen=True)
class _Measured:
    """The numbers behind a report."""

    figures: pd.DataFrame
    pairs: pd.DataFrame
    agreement: pd.DataFrame


def build_report(
    items: pd.DataFrame,
    meta: ReportMeta,
    out: Path,
    *,
    with_published: bool = False,
    rng_seed: int = 0,
    resamples: int = 10_000,
    level: float = 0.95,
) -> ReportPaths:
    """Write tables, figures, ``results.json`` and ``report.html`` into a folder.

    Everything is computed before the first file is written, and each file is written whole or not
    at all, the page last. The same items and seed give the same files.

    Args:
        items: The items frame, one row per counterfactual.
        meta: What the runs are.
        out: The folder, made if missing.
        with_published: Whether to show the paper's rows below the report's own.
        rng_seed: Seed of the intervals, the paired tests and the choice of examples.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.

    Raises:
        InputError: There is nothing to report, or a file cannot be written.
    """
    frame = prepare_items(items)
    able = comparability(frame, meta)
    streams = np.random.SeedSequence(rng_seed).spawn(4)
    figure_rng, pair_rng, panel_rng, example_rng = map(np.random.default_rng, streams)
    pool = SamplerPool(rng=figure_rng, resamples=resamples, level=level)
    panel = pd.DataFrame()
    if meta.panel is not None:
        panel = panel_agreement(meta.panel, rng=panel_rng, resamples=resamples, level=level)
    measured = _Measured(
        figures=estimate_figures(frame, pool),
        pairs=paired_figures(frame, able, rng=pair_rng, resamples=resamples, level=level),
        agreement=panel,
    )
    tables = _tables(frame, measured, pool, able, meta, with_published)
    drawn = draw_figures(frame, tables, measured.agreement, able)
    page = Page(
        meta=meta,
        items=frame,
        summary=summary_sentences(frame, measured.figures, measured.pairs, able, meta),
        warnings=warnings_for(frame, meta),
        tables=tables,
        figures={figure.key: figure for figure in drawn},
        examples=draw_examples(frame, rng=example_rng),
        invalid=invalid_examples(frame),
        seed=rng_seed,
        resamples=resamples,
        level=level,
    )
    results = render_json(_results(page, measured, with_published))
    html = render_page(page)
    paths = ReportPaths(out / "report.html", out / "results.json", out / "tables", out / "figures")
    for key, table in tables.items():
        write_text(paths.tables / f"{key}.csv", render_table_csv(table))
        write_text(paths.tables / f"{key}.md", render_markdown(table))
        write_text(paths.tables / f"{key}.tex", render_latex(table))
    for figure in drawn:
        write_bytes(paths.figures / f"{figure.key}.svg", figure.svg)
        write_bytes(paths.figures / f"{figure.key}.png", figure.png)
    write_text(paths.results, results)
    write_text(paths.page, html)
    return paths


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
        sides,
        changes,
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


def _results(page: Page, measured: _Measured, with_published: bool) -> dict[str, object]:
    """Return all figures for machines: shares are 0 to 1, what is missing is null."""
    meta = page.meta.model_dump(exclude={"panel", "agreement"})
    return {
        "format": "contrafact-report",
        "version": _RESULTS_VERSION,
        "settings": {"seed": page.seed, "resamples": page.resamples, "level": page.level},
        "runs": meta.pop("runs"),
        "report": meta,
        "warnings": [{"title": title, "text": text} for title, text in page.warnings],
        "summary": page.summary,
        "figures": measured.figures,
        "paired": measured.pairs,
        "few_shot_change": _own_rows(page.tables.get("few_shot_change")),
        "panel": measured.agreement,
        "study": None if page.meta.agreement is None else page.meta.agreement,
        "invalid": page.tables["invalid"].frame,
        "invalid_reasons": _own_rows(page.tables.get("invalid_reasons")),
        "published_shown": with_published,
    }


def _own_rows(table: Table | None) -> pd.DataFrame:
    if table is None:
        return pd.DataFrame()
    if "source" not in table.frame.columns:
        return table.frame
    return table.frame[table.frame["source"].eq("own")].drop(columns="source")
