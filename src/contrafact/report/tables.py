"""Tables that every chapter may have: comparisons, leaderboard, corrected rates, a panel's."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from contrafact.exam.correct import NOT_EXAMINED
from contrafact.family.display import Chart, Column, GridChart, Panel, Table, format_number, listed
from contrafact.family.report import ChapterData
from contrafact.family.tables import with_costs
from contrafact.report.estimates import JudgedRates
from contrafact.runs.items import agreement, cluster_labels
from contrafact.stats.intervals import cluster_bootstrap

__all__ = ["comparison_table", "corrected_table", "leaderboard_table", "panel_tables"]


def comparison_table(data: ChapterData) -> Table | None:
    """Return the paired comparisons as a table, or None where there is nothing to compare."""
    figures, spec = data.pairs, data.spec
    if figures.empty:
        return None
    lines: list[dict[str, object]] = []
    by = ["first", "second", "measure"]
    for (first, second, name), forms in figures.groupby(by, sort=False):
        measure = spec.measure(str(name))
        line: dict[str, object] = {
            "pair": f"{first} minus {second}",
            "system": first,
            "other": second,
            "measure": measure.compared,
        }
        for _, row in forms.iterrows():
            key = f"difference_{row['form']}"
            for what, end in (("difference", ""), ("low", "_low"), ("high", "_high")):
                line[f"{key}{end}"] = row[what] * measure.scale
            for what in ("p_value", "p_adjusted", "n"):
                line[f"{what}_{row['form']}"] = row[what]
        lines.append(line)
    columns = [Column("measure", "Measure", "text")]
    headings = {"valid": "Over valid outputs", "strict": "Strict", "all": "All outputs"}
    for form, group in headings.items():
        if not figures["form"].eq(form).any():
            continue
        columns += [
            Column(f"difference_{form}", "Difference", "signed", group=group),
            Column(f"p_value_{form}", "p", "p", group=group),
            Column(f"p_adjusted_{form}", "p, Holm", "p", group=group),
            Column(f"n_{form}", "Items", "count", group=group),
        ]
    frame, costs = with_costs(data, pd.DataFrame(lines), minus="other")
    caption = (
        "The first system minus the second, on what both were asked, few-shot draws averaged "
        f"first: {data.percent_level} interval by {spec.cluster_noun}, p-value by flipping the "
        f"sign of whole {spec.clusters}, and the same adjusted (Holm) for all comparisons of its "
        "form. Read the adjusted one."
        + (" What it took to write is the difference of the two means." if costs else "")
    )
    frame = frame.drop(columns=["system", "other"])
    title = "Paired comparisons"
    return Table("paired", title, caption, (*columns, *costs), frame, (), "pair")


def leaderboard_table(found: JudgedRates, data: ChapterData) -> Table | None:
    """Return systems by rank, a group of lines for each criterion and judge."""
    if found.ranks.empty:
        return None
    merged = found.ranks.drop(columns=["raw", "n"]).merge(
        found.rates, on=["system", "judge", "criterion"], how="inner"
    )
    several = merged.groupby(["criterion", "judge"])["system"].transform("size") > 1
    lines = _records(merged)
    frame = pd.DataFrame(
        {
            "band": [_band(row, found.labels) for row in lines],
            "rank": [
                _rank(row) if ranked else "" for row, ranked in zip(lines, several, strict=True)
            ],
            "system": merged["system"],
            **_rates(merged),
            "n": merged["n"],
            "known": [_known(row) for row in lines],
        }
    )
    frame, costs = with_costs(data, frame)
    columns = (
        Column("system", "System", "text"),
        *([Column("rank", "Rank", "text")] if several.any() else []),
        Column("raw", "Raw, %", "share"),
        Column("corrected", "Corrected, %", "share"),
        Column("n", "Verdicts", "count"),
        *costs,
        Column("known", "What is known of the judge", "text"),
    )
    caption = (
        "Raw is what the judge passed, of what could be read. Corrected allows for how often it "
        "is wrong, as its exam found, and its interval carries the exam's uncertainty too. Ranks "
        "are of raw rates and within one judge: systems that paired comparisons (Holm) cannot "
        "tell apart share a rank, and the range is where a system may stand."
    )
    notes = _disagreement(found, data)
    if not found.rates["examined"].all():
        notes += (
            "A judge that was not examined may be wrong by any amount. contrafact exam --judge J "
            "--out FILE examines it; contrafact report … --exam FILE corrects by what was found.",
        )
    return Table("leaderboard", "Leaderboard", caption, columns, frame, notes, "band")


def _disagreement(found: JudgedRates, data: ChapterData) -> tuple[str, ...]:
    """Return why raw rates differ from the table's figures of the same, where any reads so."""
    known = {measure.name for measure in data.spec.measures}
    apart = []
    for row in _records(found.rates[found.rates["criterion"].isin(found.leaderboard)]):
        figures = data.overall(str(row["criterion"])) if row["criterion"] in known else None
        if figures is None:
            continue
        own = figures.loc[figures["system"].eq(row["system"]), "estimate"]
        if len(own) and format_number(row["raw"], "share") != format_number(own.iloc[0], "share"):
            apart.append(abs(float(row["raw"]) - float(own.iloc[0])))
    if not apart:
        return ()
    points = format_number(max(apart), "share")
    return (
        "Raw counts every readable verdict once. The table of results averages first what it "
        "weighs alike (few-shot draws, and parts of an item such as its two sides), so where these "
        f"have unequal numbers of verdicts the two differ, here by at most {points} points.",
    )


def corrected_table(found: JudgedRates, data: ChapterData) -> Table | None:
    """Return every judged rate, raw and corrected, or None where there is nothing to correct by."""
    if not found.examined and not found.labelled:
        return None
    rates = found.rates
    by_labels = ("by_labels", "by_labels_low", "by_labels_high", "labelled")
    frame = pd.DataFrame(
        {
            "system": rates["system"],
            "band": rates["system"] + ", judged by " + rates["judge"],
            "criterion": [found.labels[str(name)] for name in rates["criterion"]],
            **_rates(rates),
            **({name: rates[name] for name in by_labels} if found.labelled else {}),
            "n": rates["n"],
            "sensitivity": rates["sensitivity"],
            "specificity": rates["specificity"],
            "exam_right": rates["exam_right"].where(rates["examined"]),
            "exam_wrong": rates["exam_wrong"].where(rates["examined"]),
            "known": [_known(row) for row in _records(rates)],
        }
    )
    frame, costs = with_costs(data, frame)
    frame = frame.drop(columns="system")
    columns = [Column("criterion", "Passed", "text"), Column("raw", "Raw, %", "share")]
    captions: list[str] = []
    if found.labelled:
        columns += [
            Column("by_labels", "By people's labels, %", "share"),
            Column("labelled", "Labelled", "count"),
        ]
        captions.append(
            "By people's labels is what people would pass, from what most of them said of a random "
            "part of these very items and what the judge said of all (prediction-powered "
            "inference); it holds whatever the judge is worth."
        )
    if found.examined:
        columns += [
            Column("corrected", "Corrected, %", "share"),
            Column("n", "Verdicts", "count"),
            Column("sensitivity", "Sensitivity, %", "share", "In the exam"),
            Column("exam_right", "of", "count", "In the exam"),
            Column("specificity", "Specificity, %", "share", "In the exam"),
            Column("exam_wrong", "of", "count", "In the exam"),
            *costs,
            Column("known", "What is known of the judge", "text"),
        ]
        captions.append(
            "Sensitivity is the share of what should pass that the judge passes, specificity the "
            "share of what should fail that it fails, on items whose verdict is known. Where the "
            "two do not sum to more than 1 the judge cannot tell, and nothing is corrected."
        )
    else:
        columns += [Column("n", "Verdicts", "count"), *costs]
    title = "Judged rates, raw and corrected"
    return Table("corrected", title, " ".join(captions), tuple(columns), frame, (), "band")


def _rates(rates: pd.DataFrame) -> dict[str, "pd.Series[Any]"]:
    names = {"corrected": "corrected", "corrected_low": "low", "corrected_high": "high"}
    names |= {name: name for name in ("raw", "raw_low", "raw_high")}
    return {name: rates[column] for name, column in names.items()}


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _band(row: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    text = f"{labels[str(row['criterion'])]}, judged by {row['judge']}"
    return f"{text} (not examined)" if str(row["why"]).startswith(NOT_EXAMINED) else text


def _rank(row: Mapping[str, Any]) -> str:
    best, worst = int(row["rank"]), int(row["rank_worst"])
    text = f"{best}=" if row["shared"] else str(best)
    return text if best == worst else f"{text} ({best}–{worst})"


def _known(row: Mapping[str, Any]) -> str:
    if not row["usable"]:
        return str(row["why"])
    rates = (format_number(row[name], "share") for name in ("sensitivity", "specificity"))
    return "examined: passes {}% of what should pass, fails {}% of what should fail".format(*rates)


def panel_tables(data: ChapterData) -> tuple[list[Table | Chart], dict[str, object]]:
    """Return how far several judges agree, how often each says true, and that for machines.

    The chart ``panel_agreement``, the tables ``panel`` and ``members``; nothing where one judged.
    """
    verdicts = data.meta.panel
    if verdicts is None:
        return [], {}
    rng, spec = data.streams["panel"], data.spec
    clusters = cluster_labels(data.items, spec.cluster)
    panels = _panels(verdicts)
    how: dict[str, Any] = {"rng": rng, "resamples": data.resamples, "level": data.level}
    agreed = [agreement(own, clusters, **how).assign(panel=one) for one, own in panels.items()]
    found = pd.concat(agreed, ignore_index=True)
    if len(panels) < 2:
        found = found.drop(columns="panel")
    members = _member_table(data, rng=rng)
    results = found.rename(columns={"estimate_low": "low", "estimate_high": "high"})
    if found.empty:
        return [members], {"panel": results}
    columns = (
        Column("coefficient", "Coefficient", "text"),
        Column("estimate", "Value", "coefficient"),
        Column("n", spec.output[1].capitalize(), "count"),
        Column("judges", "Judges", "count"),
    )
    caption = (
        f"How far the judges agree, {data.percent_level} interval by {spec.cluster_noun}. Where "
        "nearly all verdicts are the same, kappa and alpha sink although the judges agree; AC1 "
        "does not."
    )
    frame = found.assign(criterion=found["criterion"].map(_names(data, verdicts)))
    title = "Agreement of the panel"
    if len(panels) > 1:
        frame["criterion"] += ", of " + frame["panel"]
        title = "Agreement of each panel"
    table = Table("panel", title, caption, columns, frame, (), "criterion")
    charts = [] if found["estimate"].isna().all() else [_panel_chart(frame, title, data)]
    return [*charts, table, members], {"panel": results}


def _member_table(data: ChapterData, *, rng: np.random.Generator) -> Table:
    verdicts = data.meta.panel
    assert verdicts is not None
    clusters = cluster_labels(data.items, data.spec.cluster)
    names = _names(data, verdicts)
    lines: list[dict[str, object]] = []
    for judge, own in verdicts.groupby("judge", sort=True):
        line: dict[str, object] = {"judge": judge}
        for criterion in names:
            part = own[own["criterion"].eq(criterion)]
            read = part[part["passed"].notna()]
            interval = cluster_bootstrap(
                read["passed"].to_numpy(float),
                clusters(read["sample_id"]),
                level=data.level,
                resamples=data.resamples,
                rng=rng,
            )
            line |= interval.columns(f"{criterion}_true")
            line[f"{criterion}_unread"] = int(part["passed"].isna().sum())
        lines.append(line)
    columns = [Column("judge", "Judge", "text")]
    for criterion, name in names.items():
        columns.append(Column(f"{criterion}_true", "True, %", "share", group=name))
        columns.append(Column(f"{criterion}_unread", "Unread", "count", group=name))
    caption = (
        "The share of readable verdicts that are true, over all systems, with its "
        f"{data.percent_level} interval by {data.spec.cluster_noun}, and replies unread."
    )
    title = "Members of the panel" + ("s" if len(_panels(verdicts)) > 1 else "")
    return Table("members", title, caption, tuple(columns), pd.DataFrame(lines))


def _names(data: ChapterData, verdicts: pd.DataFrame) -> dict[str, str]:
    judged = list(dict.fromkeys(verdicts["criterion"]))
    known = {one.column: one.label for one in data.spec.criteria if one.column in judged}
    return known | {name: str(name) for name in judged if name not in known}


def _panels(verdicts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the verdicts of each panel by its members' names: judges of two runs are not one."""
    by_system = verdicts.groupby("system", sort=False)["judge"]
    members = by_system.agg(lambda judges: listed(sorted(set(judges))))
    of = verdicts["system"].map(members)
    return {names: verdicts[of.eq(names)] for names in dict.fromkeys(members)}


def _panel_chart(found: pd.DataFrame, title: str, data: ChapterData) -> GridChart:
    names = list(dict.fromkeys(found["coefficient"]))
    criteria = list(dict.fromkeys(found["criterion"]))
    values, lows, highs = (
        found.pivot(index="coefficient", columns="criterion", values=end)
        .reindex(index=names, columns=criteria)
        .to_numpy(float)
        for end in ("estimate", "estimate_low", "estimate_high")
    )
    return GridChart(
        "panel_agreement",
        title,
        f"How far the judges agree, with {data.percent_level} intervals by "
        f"{data.spec.cluster_noun}; 1 is full agreement, and for the last three 0 is what chance "
        "would give.",
        "points",
        names,
        criteria,
        [Panel("", values, lows, highs, "coefficient")],
        colours=("opportunity", "third", "risk", "headline"),
    )
