"""Tables from the figures: the paper's 2, 14, 15, figures 2 and 3; by category; distances."""

from dataclasses import replace
from typing import Any

import pandas as pd

from contrafact.families.finforce.derived import change
from contrafact.records import CRITERIA, SIDES
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.finforce.estimates import SamplerPool, figure_replicates
from contrafact.report.table import OWN, Column, Table

__all__ = [
    "category_table",
    "distance_table",
    "few_shot_table",
    "risk_opportunity_table",
    "scope_table",
]

LABELS = {
    "perplexity": "Mean",
    "perplexity_median": "Median",
    "delta_perplexity": "Δ",
    "forward_compatibility": "Fwd-Compat.",
    "directionality": "Dir.",
    "average": "Avg.",
}
FLUENCY = "Perplexity"
VALID = "Over valid outputs, %"
STRICT = "Strict, %"
_SCORES = (*CRITERIA, "average")
_SYSTEM = (Column("system", "System", "text"), Column("headlines", "Headlines", "count"))
_TITLES = {
    "overall": "Overall",
    "risk": "Risk counterfactuals",
    "opportunity": "Opportunity counterfactuals",
}
_HOW = (
    "Small figures under a number are its 95% interval, clustered by headline; sd is the standard "
    "deviation over few-shot draws. Strict counts an invalid output or verdict as wrong."
)


def _pick(figures: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    """Return the figures of one scope, measure and form, indexed by system (and category)."""
    held = pd.Series(True, index=figures.index)
    for column, value in wanted.items():
        held &= figures[column].eq(value)
    return figures[held]


def _spread_out(
    frame: pd.DataFrame, figures: pd.DataFrame, columns: dict[str, dict[str, str]]
) -> pd.DataFrame:
    """Add a column with bounds and spread for each picked figure to a frame of systems."""
    on = [name for name in ("system", "category") if name in frame.columns]
    for key, wanted in columns.items():
        part = _pick(figures, **wanted)[[*on, "estimate", "low", "high", "sd_over_draws"]]
        names = dict(
            zip(
                ("estimate", "low", "high", "sd_over_draws"),
                (key, f"{key}_low", f"{key}_high", f"{key}_sd"),
                strict=True,
            )
        )
        frame = frame.merge(part.rename(columns=names), on=on, how="left")
    return frame


def _score_columns(able: Comparability, forms: tuple[str, ...]) -> list[Column]:
    return [
        Column(
            f"{measure}_{form}",
            LABELS[measure],
            "share",
            group=VALID if form == "valid" else STRICT,
            better="high",
            ranked=able.one_judge,
        )
        for form in forms
        for measure in _SCORES
        if able.judged
    ]


def _fluency_columns(able: Comparability, measures: tuple[str, ...]) -> list[Column]:
    return [
        Column(
            measure,
            LABELS[measure],
            "signed" if measure == "delta_perplexity" else "number",
            group=FLUENCY,
            better="low",
            ranked=able.one_fluency_model,
        )
        for measure in measures
        if able.scored
    ]


def _wanted(columns: list[Column], scope: str) -> dict[str, dict[str, str]]:
    """Return which figure each column shows."""
    wanted: dict[str, dict[str, str]] = {}
    for column in columns:
        if column.key == "valid":
            wanted["valid"] = {"scope": scope, "measure": "valid", "form": "all"}
            continue
        measure, _, form = column.key.rpartition("_")
        if form not in ("valid", "strict"):
            measure, form = column.key, "valid"
        wanted[column.key] = {"scope": scope, "measure": measure, "form": form}
    return wanted


def scope_table(figures: pd.DataFrame, scope: str, able: Comparability) -> Table:
    """Return the table of one scope: overall (table 2), risk (14) or opportunity (15).

    Args:
        figures: As ``estimate_figures`` returns them.
        scope: "overall", "risk" or "opportunity".
        able: What can be compared.
    """
    whole = figures[figures["category"].isna()]
    fluency = ("perplexity", "perplexity_median", "delta_perplexity")
    shown = [
        Column("valid", "Valid, %", "share", better="high", ranked=False),
        *_fluency_columns(able, fluency),
        *_score_columns(able, ("valid", "strict")),
    ]
    counted = _pick(whole, scope=scope, measure="valid", form="all")
    frame = counted[["system", "headlines", "draws"]].reset_index(drop=True)
    frame = _spread_out(frame, whole, _wanted(shown, scope)).assign(source=OWN)
    headlines = _pick(whole, scope=scope, measure="headline_perplexity", form="valid")
    caption = _HOW
    if able.scored and len(headlines):
        caption += (
            " Δ is the mean over counterfactuals minus the mean over the headlines"
            + _headline_means(headlines)
            + ". The mean is fragile: a few garbled texts move it, so the median stands beside it."
        )
    columns = (*_SYSTEM, *shown)
    table = Table(scope, _TITLES[scope], caption, columns, frame, able.notes())
    return table.without_empty_columns()


def _headline_means(headlines: pd.DataFrame) -> str:
    means = sorted({f"{value:.1f}" for value in headlines["estimate"]})
    return f" ({means[0]})" if len(means) == 1 else ""


def category_table(figures: pd.DataFrame, able: Comparability) -> Table | None:
    """Return the figures by market category, or None where headlines have none."""
    parts = figures[figures["category"].notna()]
    if parts.empty:
        return None
    shown = [
        *_fluency_columns(able, ("perplexity_median", "delta_perplexity")),
        *_score_columns(able, ("valid", "strict")),
    ]
    counted = _pick(parts, scope="overall", measure="valid", form="all")
    frame = counted[["category", "system", "headlines"]]
    size = frame.groupby("category")["headlines"].transform("max")
    place = {name: i for i, name in enumerate(dict.fromkeys(figures["system"]))}
    frame = (
        frame.assign(size=-size, place=frame["system"].map(place))
        .sort_values(["size", "category", "place"])
        .drop(columns=["size", "place"])
        .reset_index(drop=True)
    )
    frame = _spread_out(frame, parts, _wanted(shown, "overall"))
    caption = (
        f"Both sides together, largest categories first. {_HOW} With few headlines the intervals "
        "are wide, and under five there are none."
    )
    columns = (*_SYSTEM, *shown)
    table = Table(
        "by_category", "By market category", caption, columns, frame, able.notes(), "category"
    )
    return table.without_empty_columns()


def risk_opportunity_table(figures: pd.DataFrame, able: Comparability) -> Table | None:
    """Return the judged scores of risk beside opportunity (figure 2), or None without a judge."""
    if not able.judged:
        return None
    whole = figures[figures["category"].isna()]
    frame = pd.DataFrame({"system": list(dict.fromkeys(whole["system"]))})
    columns = [Column("system", "System", "text")]
    blocks = (
        ("directionality", "valid", "Dir., valid outputs, %"),
        ("directionality", "strict", "Dir., strict, %"),
        ("forward_compatibility", "valid", "Fwd-Compat., valid outputs, %"),
    )
    for measure, form, group in blocks:
        for scope, label in (*((s, s.title()) for s in SIDES), ("risk-opportunity", "Difference")):
            key = f"{measure}_{form}_{scope.replace('-', '_')}"
            wanted = {key: {"scope": scope, "measure": measure, "form": form}}
            frame = _spread_out(frame, whole, wanted)
            between = scope == "risk-opportunity"
            columns.append(
                Column(
                    key,
                    label,
                    "points" if between else "share",
                    group=group,
                    better=None if between else "high",
                    ranked=able.one_judge,
                )
            )
    caption = (
        "Difference is risk minus opportunity, in percentage points, on the same headlines: where "
        f"its interval leaves out zero, the sides differ. {_HOW}"
    )
    return Table(
        "risk_vs_opportunity",
        "Risk against opportunity",
        caption,
        tuple(columns),
        frame.assign(source=OWN),
        able.notes(fluency=False),
    ).without_empty_columns()


def distance_table(figures: pd.DataFrame) -> Table | None:
    """Return how far counterfactuals are from their factual, or None where no method wrote one.

    Args:
        figures: As ``estimate_figures`` returns them.
    """
    whole = figures[figures["category"].isna()]
    counted = _pick(whole, scope="overall", measure="base_distance", form="valid")
    if counted.empty:
        return None
    shown = [("overall", "Both"), *((side, side.title()) for side in SIDES)]
    columns = [*_SYSTEM, Column("counterfactuals", "Counterfactuals", "count")]
    frame = counted[["system", "headlines", "n"]].rename(columns={"n": "counterfactuals"})
    for scope, label in shown:
        wanted = {"scope": scope, "measure": "base_distance", "form": "valid"}
        frame = _spread_out(frame, whole, {f"distance_{scope}": wanted})
        columns.append(Column(f"distance_{scope}", label, "coefficient", group="Edit distance"))
    caption = (
        "Between each valid counterfactual and the base continuation of its headline, the text "
        "that the model wrote when no side was asked for: character edits over the longer "
        "length, 0 to 1. Under shared noise a counterfactual differs from the base by what its "
        "prompt asks; under fresh noise by chance as well. Small figures are 95% intervals, "
        "clustered by headline."
    )
    return Table(
        "base_distance", "Distance from the base continuation", caption, tuple(columns), frame
    )


def few_shot_table(items: pd.DataFrame, pool: SamplerPool, able: Comparability) -> Table | None:
    """Return few-shot minus zero-shot by model (figure 3), or None without such a pair.

    The change is between the figures of the overall table, over all headlines of each system; its
    interval draws the headlines of both at once.
    """
    systems = items.drop_duplicates("system")[["system", "model", "method", "shots", "judge"]]
    zero = systems[systems["method"].eq("zero-shot")]
    few = systems[systems["method"].eq("few-shot")]
    lines: list[dict[str, object]] = []
    for _, a in few.iterrows():
        for _, b in zero[zero["model"].eq(a["model"])].iterrows():
            if a["judge"] == b["judge"] or (pd.isna(a["judge"]) and pd.isna(b["judge"])):
                parts = [items[items["system"].eq(s)] for s in (a["system"], b["system"])]
                lines.append(_change_line(a, parts[0], parts[1], pool))
    if not lines:
        return None
    columns = [
        Column("model", "Model", "text"),
        Column("shots", "Shots", "count"),
        Column("draws", "Draws", "count"),
    ]
    if able.one_fluency_model:
        for shown in _fluency_columns(able, ("perplexity",)):
            columns.append(replace(shown, kind="signed", ranked=False))
    for shown in _score_columns(able, ("valid", "strict")):
        group = shown.group.replace(", %", ", points")
        columns.append(replace(shown, kind="points", group=group, ranked=False))
    caption = (
        "Few-shot minus zero-shot of the same model, the draws of the examples averaged. A lower "
        "perplexity and a higher score are better; an interval that leaves out zero says that the "
        "change is more than chance. Scores in percentage points."
    )
    frame = pd.DataFrame(lines).assign(source=OWN)
    return Table(
        "few_shot_change",
        "Few-shot minus zero-shot",
        caption,
        tuple(columns),
        frame,
        able.notes(),
    ).without_empty_columns()


def _change_line(
    label: "pd.Series[Any]", few: pd.DataFrame, zero: pd.DataFrame, pool: SamplerPool
) -> dict[str, object]:
    ids = pd.concat([few["sample_id"], zero["sample_id"]])
    sampler = pool.of(ids)
    a, b = (figure_replicates(part, sampler)["overall"] for part in (few, zero))
    line: dict[str, object] = {
        "system": label["system"],
        "model": label["model"],
        "shots": label["shots"],
        "draws": int(few["draw"].nunique()),
    }
    for measure in ("perplexity", *_SCORES):
        for form in ("valid",) if measure == "perplexity" else ("valid", "strict"):
            key = (measure, form)
            if key not in a or key not in b:
                continue
            moved = change(a[key], b[key])
            interval = sampler.interval(moved, n=len(few) + len(zero), clusters=ids.nunique())
            name = measure if measure == "perplexity" else f"{measure}_{form}"
            line[name] = interval.estimate
            line[f"{name}_low"], line[f"{name}_high"] = interval.low, interval.high
    return line
