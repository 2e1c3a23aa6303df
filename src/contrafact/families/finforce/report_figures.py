"""FIN-FORCE's own figures in a report: over both sides and all draws, and the few-shot change.

Every figure is a mean over draws of the examples, and an overall figure is the mean of the two
sides (FIN-FORCE, sections 3.5 and B.4). Draws and sides are resampled with the same headlines.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.families.finforce.published import PAPER, fluency_notes, paper_fluency, with_paper
from contrafact.families.finforce.records import CRITERIA, SIDES
from contrafact.family.display import Column, GridChart, Panel, Table, finished_table, with_figures
from contrafact.family.published import published_facts, published_table
from contrafact.family.report import ChapterData, Estimate, Form, Part, Section
from contrafact.family.tables import measure_table, notes_on
from contrafact.stats.intervals import Interval
from contrafact.stats.replicates import Bootstrap, Sampler, mean_over

CRITERION_NAMES = {
    "forward_compatibility": "Forward-compatibility",
    "directionality": "Directionality",
}
SHORT_NAMES = {"forward_compatibility": "Fwd-Compat.", "directionality": "Dir.", "average": "Avg."}

ERROR_CLASSES: tuple[str, ...] = (
    *("similar_semantics", "fantastical_edit", "fluency_lapse", "numeric_prediction"),
    *("trivial_consequences", "financially_unrealistic"),
)
"""The error classes of FIN-FORCE's figure 4 and the forbidden number; the last two need a judge,
and the items frame may lack them."""

COSTS: Mapping[str, str] = {"calls": "Calls", "tokens": "Tokens", "dollars_per_1000": "$ per 1,000"}
"""The cost of writing both counterfactuals of a headline, without the judge: means over headlines,
with dollars per thousand headlines. Items of outputs that were made elsewhere lack it."""

PLAIN_CAPTION = (
    "Small figures below a value are its 95% interval, clustered by headline; sd is the standard "
    "deviation over few-shot draws. Strict scores count invalid outputs and non-answers as wrong."
)

Key = tuple[str, Form]
"""A measure and its form."""

_COLUMNS: dict[Key, str] = {
    ("valid", "all"): "valid",
    ("sound", "all"): "sound",
    ("perplexity", "valid"): "perplexity",
    **{(criterion, "valid"): criterion for criterion in CRITERIA},
    **{(criterion, "strict"): f"{criterion}_strict" for criterion in CRITERIA},
    **{(name, "valid"): name for name in ERROR_CLASSES},
    ("base_distance", "valid"): "base_distance",
    **{(name, "all"): name for name in COSTS},
}
_BETWEEN = "risk-opportunity"


@dataclass(frozen=True)
class _Figure:
    """A figure, draw by draw, and its basis: values, or two other figures.

    ``draws`` has a line of replicates for each draw. If the figure has two ``parts``, it is their
    mean, or their difference if ``difference`` is true.
    """

    draws: NDArray[np.float64]
    n: int
    headlines: int
    values: NDArray[np.float64] | None = None
    labels: NDArray[np.object_] | None = None
    parts: tuple["_Figure", ...] = ()
    difference: bool = False


def side_figures(part: Part) -> Iterator[Estimate]:
    """Yield every figure of a part: over both sides, of each side, and risk minus opportunity.

    Perplexity also has a median, which pools the draws.
    """
    rows, sampler = part.rows, part.bootstrap.sampler(part.rows["sample_id"])
    for scope, figures in _figures(rows, sampler).items():
        for (measure, form), figure in figures.items():
            replicates = mean_over(list(figure.draws))
            if np.isnan(replicates[0]):
                continue
            interval = _share(figure, part.bootstrap)
            if interval is None:
                interval = sampler.interval(replicates, n=figure.n, clusters=figure.headlines)
            if np.isnan(interval.low) and figure.difference:
                a, b = (_share(side, part.bootstrap) for side in figure.parts)
                if a and b and np.ptp(replicates[~np.isnan(replicates)]) < 1e-12:
                    low, high = a.low - b.high, a.high - b.low
                    method = "no resample differs: from the exact binomial bounds of its parts"
                    interval = replace(interval, low=low, high=high, method=method)
            by_draw = figure.draws[~np.isnan(figure.draws[:, 0]), 0]
            spread = float(by_draw.std(ddof=1)) if len(by_draw) > 1 else float("nan")
            yield Estimate(measure, form, interval, scope, spread)
        scored = rows[rows["perplexity"].notna()]
        if scope in SIDES:
            scored = scored[scored["side"] == scope]
        if scope != _BETWEEN and len(scored):
            median = part.bootstrap.mean(
                scored["perplexity"], scored["sample_id"], statistic="median"
            )
            yield Estimate("perplexity_median", "valid", median, scope)


def _share(figure: _Figure, bootstrap: Bootstrap) -> Interval | None:
    """Return the interval of a share all of whose outcomes count the same; None of another."""
    if figure.values is None or abs(figure.values.mean() - np.nanmean(figure.draws[:, 0])) > 1e-9:
        return None
    share = bootstrap.mean(pd.Series(figure.values), pd.Series(figure.labels))
    return replace(share, n=figure.n)


def _figures(rows: pd.DataFrame, sampler: Sampler) -> dict[str, dict[Key, _Figure]]:
    """Return the figures of one system by scope and key, draw by draw (sections 3.5, 5, B.4)."""
    sides = _by_side(rows, sampler)
    headline = _headline(rows, sampler)
    for figures in sides.values():
        # Average: the mean of the two judged scores (section 5).
        for form in ("valid", "strict"):
            first, second = (figures.get((criterion, form)) for criterion in CRITERIA)
            if first is not None and second is not None:
                n, headlines = min(first.n, second.n), min(first.headlines, second.headlines)
                figures["average", form] = _of_two(first, second, n, headlines)
        # Δ perplexity: counterfactuals minus headlines; negative reads more fluently (section 3.5).
        perplexity = figures.get(("perplexity", "valid"))
        if headline is not None and perplexity is not None:
            draws = perplexity.draws - headline.draws
            figures["delta_perplexity", "valid"] = replace(
                perplexity, draws=draws, values=None, labels=None
            )
    # Overall: the mean of the two sides (appendix B.4); in a file with one side, that side.
    risk, opportunity = (sides[side] for side in SIDES)
    shared = [key for key in risk if key in opportunity]
    both = {key: _both(risk[key], opportunity[key]) for key in shared}
    if rows["side"].nunique() == 1:
        both = dict(risk or opportunity)
    if headline is not None:
        for figures in (both, *sides.values()):
            figures["headline_perplexity", "valid"] = headline
    between = {key: _both(risk[key], opportunity[key], difference=True) for key in shared}
    return {"overall": both, **sides, _BETWEEN: between}


def _of_two(a: _Figure, b: _Figure, n: int, headlines: int, difference: bool = False) -> _Figure:
    draws = a.draws - b.draws if difference else (a.draws + b.draws) / 2
    values, labels = (
        None if difference or one is None or other is None else np.concatenate([one, other])
        for one, other in ((a.values, b.values), (a.labels, b.labels))
    )
    return _Figure(draws, n, headlines, values, labels, (a, b), difference)


def _both(risk: _Figure, opportunity: _Figure, *, difference: bool = False) -> _Figure:
    """Return the mean of the two sides' figures (appendix B.4), or risk minus opportunity."""
    n, headlines = risk.n + opportunity.n, max(risk.headlines, opportunity.headlines)
    figure = _of_two(risk, opportunity, n, headlines, difference)
    return figure if figure.labels is None else replace(figure, headlines=len({*figure.labels}))


def _headline(rows: pd.DataFrame, sampler: Sampler) -> _Figure | None:
    """Return the mean perplexity of the headlines, each counted once (section 3.5)."""
    scored = rows[rows["headline_perplexity"].notna()].drop_duplicates("sample_id")
    if scored.empty:
        return None
    values = scored["headline_perplexity"].to_numpy(float)
    labels = scored["sample_id"].to_numpy(object)
    return _Figure(np.stack(sampler.means([(values, labels)])), len(values), len(values))


def _by_side(rows: pd.DataFrame, sampler: Sampler) -> dict[str, dict[Key, _Figure]]:
    """Return each side's means, draw by draw, all computed by one matrix product."""
    draws = sorted(int(draw) for draw in rows["draw"].unique())
    columns: dict[tuple[str, Key, int], tuple[NDArray[np.float64], NDArray[np.object_]]] = {}
    for (side, draw), part in rows.groupby(["side", "draw"], sort=False):
        labels = part["sample_id"].to_numpy(object)
        for key, column in _COLUMNS.items():
            values = part[column].to_numpy(float)
            measured = ~np.isnan(values)
            if measured.any():
                columns[str(side), key, int(str(draw))] = (values[measured], labels[measured])
    means = dict(zip(columns, sampler.means(list(columns.values())), strict=True))
    missing = np.full(1 + sampler.resamples, np.nan)
    sides: dict[str, dict[Key, _Figure]] = {side: {} for side in SIDES}
    for side in SIDES:
        for key in _COLUMNS:
            of_draws = [columns[side, key, draw] for draw in draws if (side, key, draw) in columns]
            if not of_draws:
                continue
            values, labels = map(np.concatenate, zip(*of_draws, strict=True))
            sides[side][key] = _Figure(
                # A draw without values has its line, so that measures combine draw by draw.
                np.stack([means.get((side, key, draw), missing) for draw in draws]),
                len(values),
                len(set(labels)),
                None if key[0] in ("perplexity", *COSTS) else values,
                labels,
            )
    return sides


def risk_against_opportunity(data: ChapterData) -> Section:
    """Return the section on how the judged scores of risk and opportunity differ (figure 2)."""
    section = Section("sides", "Risk against opportunity")
    if not data.judged:
        return section
    whole = data.figures[data.spec.is_overall(data.figures)]
    columns = [Column("system", "System", "text")]
    wanted: dict[str, dict[str, str]] = {}
    for form, group in (("valid", "Over valid outputs"), ("strict", "Strict")):
        for measure, label in SHORT_NAMES.items():
            at = {"measure": measure, "form": form}
            wanted[f"{measure}_{form}"] = {"scope": _BETWEEN, **at}
            columns.append(Column(f"{measure}_{form}", label, "points", f"{group}, points"))
            if form == "valid":
                wanted |= {f"{measure}_{side}": {"scope": side, **at} for side in SIDES}
    frame = with_figures(pd.DataFrame({"system": list(data.systems)}), whole, wanted)
    caption = (
        "Risk minus opportunity on the same headlines, in percentage points. The intervals of "
        "single differences are not adjusted for their number. If a difference is the same in all "
        "resamples, its interval comes from those of the two sides (see the table of results)."
    )
    key, title = "risk_vs_opportunity", "Risk minus opportunity"
    table = finished_table(key, title, caption, columns, frame, notes_on(data, *SHORT_NAMES))
    chart = _sides_chart(frame)
    if data.published:
        rows = {side: published_table(PAPER, side) for side in SIDES}
        paper = pd.DataFrame({"system": rows["risk"]["system"]})
        for criterion in CRITERIA:
            risk, opportunity = (rows[side][criterion] / 100 for side in SIDES)
            paper[f"{criterion}_valid"] = risk - opportunity
        table = with_paper(table, paper, "tables 14 and 15")
    return replace(section, shows=[chart, table])


def _sides_chart(frame: pd.DataFrame) -> GridChart | None:
    panels = []
    for criterion in CRITERIA:
        keys = [f"{criterion}_{side}" for side in SIDES]
        if frame[keys].notna().any(axis=None):
            panels.append(Panel.of_columns(CRITERION_NAMES[criterion], frame, keys))
    if not panels:
        return None
    return GridChart(
        "risk_vs_opportunity",
        "Risk against opportunity",
        "Share of valid counterfactuals that the judge passed, with 95% intervals by headline.",
        list(frame["system"]),
        [side.title() for side in SIDES],
        panels,
        colours=SIDES,
    )


def few_shot_change(data: ChapterData) -> Section:
    """Return the section on few-shot minus zero-shot by model (figure 3), on the same resamples."""
    items = data.items
    systems = items.drop_duplicates("system")[["system", "model", "method", "shots", "judge"]]
    zero = systems[systems["method"].eq("zero-shot")]
    few = systems[systems["method"].eq("few-shot")]
    lines = [
        _change_line(data, a, str(b["system"]))
        for _, a in few.iterrows()
        for _, b in zero[zero["model"].eq(a["model"])].iterrows()
        if a["judge"] == b["judge"] or (pd.isna(a["judge"]) and pd.isna(b["judge"]))
    ]
    frame, key, title = pd.DataFrame(lines), "few_shot_change", "Few-shot minus zero-shot"
    section = Section("few-shot", "Few-shot against zero-shot", (), "Few-shot", {key: frame})
    if not lines:
        return section
    columns = [
        Column("model", "Model", "text"),
        Column("shots", "Shots", "count"),
        Column("draws", "Draws", "count"),
        Column("perplexity", "Mean", "signed", "Perplexity", "low", False),
        *(
            column
            for form, group in (("valid", "Over valid outputs"), ("strict", "Strict"))
            for measure, label in SHORT_NAMES.items()
            for column in (
                Column(f"{measure}_{form}", label, "points", f"{group}, points", "high", False),
                Column(f"p_{measure}_{form}", "p, Holm", "p", f"{group}, points"),
            )
        ),
    ]
    caption = (
        "Few-shot minus zero-shot of the same model, averaged over the draws of examples, with "
        "scores in percentage points. A lower perplexity and a higher score are better. Intervals "
        "are those of single changes. The adjusted p-value (Holm), taken from the paired "
        "comparisons, shows whether a change is more than chance."
    )
    if not data.meta.one_fluency_model:  # the change would be the models' as well
        columns = [column for column in columns if column.key != "perplexity"]
    notes = notes_on(data, "perplexity", *SHORT_NAMES)
    table = finished_table(key, title, caption, columns, frame, notes)
    table = _with_papers_changes(table, data) if data.published else table
    panels = [
        Panel.of_columns(c.group if c.key == "perplexity" else c.label, frame, [c.key], c.kind)
        for c in columns
        if c.kind in ("signed", "points") and not c.key.endswith("_strict")
    ]
    caption = "Over valid outputs, with 95% intervals by headline; scores in percentage points."
    chart = GridChart(key, title, caption, list(frame["system"]), [""], panels)
    return replace(section, shows=[chart, table])


def _with_papers_changes(table: Table, data: ChapterData) -> Table:
    rows, facts = published_table(PAPER, "changes"), published_facts(PAPER)
    paper = pd.DataFrame({"model": rows["model"], "draws": facts["draws"]})
    if paper_fluency(data.meta.fluency_models):
        paper["perplexity"] = rows["perplexity"]
    for criterion in CRITERIA:
        paper[f"{criterion}_valid"] = rows[criterion] / 100
    return with_paper(table, paper, facts["tables"]["changes"], fluency_notes(data))


_FORMS: tuple[Form, ...] = ("valid", "strict")
_CHANGES: list[Key] = [("perplexity", "valid")]
_CHANGES += [(measure, form) for measure in SHORT_NAMES for form in _FORMS]


def _change_line(data: ChapterData, label: "pd.Series[Any]", other: str) -> dict[str, object]:
    few, zero = (data.items[data.items["system"].eq(name)] for name in (label["system"], other))
    ids = pd.concat([few["sample_id"], zero["sample_id"]])
    sampler = data.bootstrap.sampler(ids)
    a, b = (
        {
            key: mean_over(list(figure.draws))
            for key, figure in _figures(part, sampler)["overall"].items()
        }
        for part in (few, zero)
    )
    line: dict[str, object] = {name: label[name] for name in ("system", "model", "shots")}
    line["draws"] = int(few["draw"].nunique())
    for key in _CHANGES:
        if key in a and key in b:
            interval = sampler.interval(
                a[key] - b[key], n=len(few) + len(zero), clusters=ids.nunique()
            )
            line |= interval.columns(key[0] if key[0] == "perplexity" else "_".join(key))
    systems = [str(label["system"]), other]
    pairs = data.pairs
    own = pairs[pairs[["first", "second"]].isin(systems).all(axis=1)] if len(pairs) else pairs
    for _, row in own.iterrows():
        line[f"p_{row['measure']}_{row['form']}"] = row["p_adjusted"]
        name = f"{row['measure']}_{row['form']}".replace("perplexity_valid", "perplexity")
        way = 1.0 if row["first"] == label["system"] else -1.0
        if np.isclose(float(str(line.get(name, "nan"))), way * row["difference"]):
            line[f"{name}_low"], line[f"{name}_high"] = sorted(way * row[["low", "high"]])
    return line


def base_distance(data: ChapterData) -> Section:
    """Return the section on the distance of counterfactuals from their base, if there is one."""
    caption = (
        "Between each valid counterfactual and the base continuation of its headline, which the "
        "model wrote when no side was asked for. The distance is the number of character edits "
        "over the longer length, from 0 to 1. Under shared noise, a counterfactual differs from "
        "the base only because of its prompt; under fresh noise, also by chance. Small figures are "
        "95% intervals, clustered by headline."
    )
    key, title = "base_distance", "Distance from the base continuation"
    table = measure_table(data, key, title, [key], caption, counts=("headlines",), notes=False)
    if table is not None:  # only some methods write one
        table = replace(table, frame=table.frame[table.frame[f"{key}_valid"].notna()])
    return Section("base", "Counterfactuals and their base", [table], "Distance from the base")
