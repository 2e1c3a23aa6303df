"""FIN-FORCE's chapter of a report: its measures, tables, figures and terms.

Figures have two forms. ``valid`` is the paper's: over outputs that could be read and, for judged
scores, verdicts that could be read. ``strict`` counts invalid outputs as wrong. Perplexity has only
the first form. Tables and figures follow the paper's tables 2, 14 and 15 and its figures 2 to 4.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from contrafact.families.finforce.error_classes import PERPLEXITY_RATIO
from contrafact.families.finforce.published import with_published_scope
from contrafact.families.finforce.records import CRITERIA, SIDES
from contrafact.families.finforce.report_figures import (
    COSTS,
    CRITERION_NAMES,
    ERROR_CLASSES,
    PLAIN_CAPTION,
    SHORT_NAMES,
    base_distance,
    few_shot_change,
    risk_against_opportunity,
    side_figures,
)
from contrafact.family.display import Column, Table, stacked
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Explorer,
    JudgedColumn,
    Measure,
    ReportSpec,
    Section,
    TerminalColumn,
    report_terms,
)
from contrafact.family.tables import invalid_table, measure_chart, measure_table, reason_table

_CHIP_LABELS = {"forward_compatibility": "Forward-compatible", "directionality": "Directional"}
_CLASS_LABELS = {
    "similar_semantics": "Similar semantics",
    "fantastical_edit": "Fantastical edit",
    "fluency_lapse": "Fluency lapse",
    "numeric_prediction": "Numeric prediction",
    "trivial_consequences": "Trivial consequences",
    "financially_unrealistic": "Financially unrealistic",
}


def prepare(items: pd.DataFrame) -> pd.DataFrame:
    """Check the sides, and add the column ``sound`` and the columns that only some runs have.

    Methods that first write a factual text have it in ``base``, and the counterfactual's edit
    distance from it in ``base_distance``; error classes need a judge, if they are asked for.

    Raises:
        ValueError: A side is unknown.
    """
    if not items["side"].isin(SIDES).all():
        raise ValueError(f"sides are {' and '.join(SIDES)}")
    optional = (*ERROR_CLASSES, "base_distance", "calls", "tokens")
    missing = [name for name in optional if name not in items.columns]
    categories = [None if pd.isna(c) or not str(c).strip() else str(c) for c in items["category"]]
    sound = items["valid"].eq(1) & items["degenerate"].isna()
    return items.assign(
        sound=sound.astype(float),
        base=items["base"] if "base" in items.columns else None,
        dollars_per_1000=items["dollars"] * 1_000 if "dollars" in items.columns else np.nan,
        category=pd.Series(categories, index=items.index, dtype=object),
        **dict.fromkeys(missing, np.nan),
    )


def _averages(items: pd.DataFrame) -> pd.DataFrame:
    first, second = CRITERIA
    columns = [f"{name}{end}" for name in CRITERIA for end in ("", "_strict")]
    values = items.groupby(["system", "sample_id", "side"], sort=True)[columns].mean()
    for end in ("", "_strict"):
        values[f"average{end}"] = (values[f"{first}{end}"] + values[f"{second}{end}"]) / 2
    return values.reset_index()


def _scope_caption(data: ChapterData) -> str:
    rows = data.overall("headline_perplexity")
    if not data.scored or rows.empty:
        return PLAIN_CAPTION
    means = sorted({f"{value:.1f}" for value in rows["estimate"]})
    return (
        f"{PLAIN_CAPTION} Δ is the mean over counterfactuals minus the mean over the headlines"
        + (f" ({means[0]})" if len(means) == 1 else "")
        + ". A few garbled texts can move the mean, so the median is shown beside it."
    )


def _unread(criterion: str, rows: pd.DataFrame, *, missing: bool) -> int | None:
    """Count verdicts on valid outputs that could not be read, or that are missing."""
    if not rows["was_judged"].any():
        return None
    valid = rows[rows["valid"] == 1]
    unread = valid[f"{criterion}_invalid"].notna()
    return int((~unread & valid[criterion].isna()).sum()) if missing else int(unread.sum())


def _repaired(rows: pd.DataFrame) -> int:
    return int(((rows["repairs"] > 0) & (rows["valid"] == 1)).sum())


_SCORES = tuple(SHORT_NAMES)
_PERPLEXITIES = ("perplexity", "perplexity_median", "delta_perplexity")


def _scope_table(data: ChapterData, scope: str, title: str) -> Table | None:
    measures = ("valid", "sound", *_PERPLEXITIES, *_SCORES, *(COSTS if scope == "overall" else ()))
    caption = (
        f"{_scope_caption(data)} The columns per headline show what it takes to write both of its "
        "counterfactuals (calls, tokens sent and received, list price of 1,000 headlines in US "
        "dollars), without judging."
    )
    table = measure_table(data, scope, title, measures, caption, counts=("headlines",), of=scope)
    return with_published_scope(data, table) if table and data.published else table


def _results(data: ChapterData) -> Section:
    titles = {"overall": "Both sides"}
    if data.items["side"].nunique() > 1:  # with one side, "both" would be the same table
        titles |= {side: side.title() for side in SIDES}
    tables = {title: _scope_table(data, scope, title) for scope, title in titles.items()}
    parts = {title: table for title, table in tables.items() if table is not None}
    return Section("results", "Results", (stacked("overall", "Overall", "scope", parts),))


def _categories(data: ChapterData) -> Section:
    caption = (
        f"Both sides together, largest categories first. {PLAIN_CAPTION} Intervals are wide with "
        "few headlines, and there are none with fewer than five."
    )
    title, measures = "By market category", (*_PERPLEXITIES[1:], *_SCORES)
    table = measure_table(
        data, "by_category", title, measures, caption, counts=("headlines",), of="category"
    )
    if table is not None:
        size = table.frame.groupby("category")["headlines"].transform("max")
        order = size.sort_values(ascending=False, kind="stable").index
        table = replace(table, frame=table.frame.loc[order].drop(columns="source"))
    return Section("categories", "Market categories", [table], "Categories")


def _errors(data: ChapterData) -> Section:
    caption = (
        "Signs of errors that can be computed, with the number of outputs to which each applies. "
        "Similar semantics: hardly a character changed. Fantastical edit: the output has none of "
        "the names that spaCy finds in the headline. Fluency lapse: the perplexity is more than "
        f"{PERPLEXITY_RATIO:g} times the headline's. Numeric prediction: the output has a figure "
        "that the headline does not have, which the task forbids. These rules look only at the "
        "surface of a text: read the outputs before you quote the figures. Trivial consequences "
        "and financially unrealistic, if shown, are the judge's verdicts."
    )
    classes = measure_table(
        data, "errors", "Error classes", ERROR_CLASSES, caption, notes=False, numbers=True
    )
    if classes is not None:
        classes = replace(classes, frame=classes.frame.drop(columns="source"))
    chart = measure_chart(data, "errors", "Error classes", _CLASS_LABELS)
    shown = (_invalid(data), reason_table(data), chart, classes)
    return Section("errors", "Errors and invalid outputs", shown)


def _invalid(data: ChapterData) -> Table:
    return invalid_table(
        data,
        "Invalid outputs and verdicts",
        "The counterfactuals that were asked for, and what became of them. A repaired output was "
        "read after the parser repaired its format, never its words. An invalid verdict is a "
        "judge's reply that is neither true nor false. A missing verdict was never given.",
        {
            Column("repairs", "Repaired", "count"): _repaired,
            **{
                Column(f"{name}_{end}", SHORT_NAMES[name], "count", group): partial(
                    _unread, name, missing=end == "missing"
                )
                for end, group in (("unread", "Verdicts invalid"), ("missing", "Verdicts missing"))
                for name in CRITERIA
            },
        },
    )


def _fluency_measure(name: str, label: str, *, compared: str = "") -> Measure:
    return Measure(
        name,
        label,
        "signed" if name == "delta_perplexity" else "number",
        "low",
        forms=("valid",),
        group="Perplexity",
        fluency=True,
        compared=compared,
    )


SPEC = ReportSpec(
    title="Forward counterfactuals from market headlines",
    unit=("headline", "headlines"),
    output=("counterfactual", "counterfactuals"),
    key=("sample_id", "side"),
    columns={
        **dict.fromkeys(("judge", "headline"), str),
        **dict.fromkeys(("headline_perplexity", "edit_distance", "repairs"), float),
    },
    criteria=tuple(
        JudgedColumn(name, label, _CHIP_LABELS[name]) for name, label in CRITERION_NAMES.items()
    ),
    prepare=prepare,
    measures=(
        Measure("valid", "Valid, %", forms=("all",), ranked=False),
        Measure("sound", "Answers, %", forms=("all",), ranked=False),
        *(
            Measure(name, SHORT_NAMES[name], judged=True, compared=f"{SHORT_NAMES[name]}, points")
            for name in CRITERIA
        ),
        Measure(
            "average",
            "Avg.",
            judged=True,
            compared="Avg., points",
            headline=True,
            phrase="average of forward-compatibility and directionality",
            parts=CRITERIA,
            units=_averages,
        ),
        _fluency_measure("perplexity", "Mean", compared="Perplexity"),
        _fluency_measure("perplexity_median", "Median"),
        _fluency_measure("delta_perplexity", "Δ"),
        *(
            Measure(name, label, better=None, forms=("valid",), group="Of valid outputs, %")
            for name, label in _CLASS_LABELS.items()
        ),
        Measure(
            "base_distance",
            "Edit distance",
            "coefficient",
            "low",
            forms=("valid",),
            compared="Edit distance from the base, × 100",
        ),
        *(
            Measure(
                name,
                label,
                "coefficient" if name.startswith("dollars") else "number",
                "low",
                forms=("all",),
                group="Per headline",
                ranked=False,
                key=("sample_id",),
            )
            for name, label in COSTS.items()
        ),
    ),
    scopes=("overall", *SIDES, "risk-opportunity"),
    estimate=side_figures,
    breakdowns=(Breakdown("category"),),
    sections=(
        *(_results, "judge", risk_against_opportunity, few_shot_change, base_distance, _categories),
        *("paired", "agreement", _errors),
    ),
    explorer=Explorer(
        filters=(("side", "Side"), ("category", "Category")),
        classes=tuple(_CLASS_LABELS.items()),
        columns=(("edit_distance", "Edit distance from the headline"),),
        where=("{side}", "{category}", "headline's perplexity {headline_perplexity:,.1f}"),
        facts=(("Base continuation", "base"),),
        before="headline",
        pair="sample_id",
    ),
    how=tuple(report_terms("contrafact.families.finforce").items()),
    terminal=(
        TerminalColumn("sound", "all", "Answers %"),
        TerminalColumn("perplexity", "valid", "Perplexity", scale=1, rank=3),
        TerminalColumn("delta_perplexity", "valid", "Δ Perpl.", scale=1, rank=2),
        TerminalColumn("forward_compatibility", "valid", "Fwd-Compat. %"),
        TerminalColumn("directionality", "valid", "Dir. %"),
        TerminalColumn("average", "valid", "Avg. %"),
        TerminalColumn("average", "strict", "strict Avg. %", rank=1),
        TerminalColumn("calls", "all", "Calls", scale=1, rank=4),
        TerminalColumn("tokens", "all", "Tokens", scale=1, digits=0, rank=2),
        TerminalColumn("dollars_per_1000", "all", "$/1,000", scale=1, digits=2, rank=4),
    ),
)
