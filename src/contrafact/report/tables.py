"""The tables that every chapter has, and the drawings of its measures, from its numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pandas as pd

from contrafact.exam.correct import NOT_EXAMINED
from contrafact.family.display import (
    OWN,
    Column,
    GridChart,
    Panel,
    Table,
    format_number,
    with_figures,
)
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Measure,
    MeasureTable,
    TableChart,
)
from contrafact.report.estimates import JudgedRates

__all__ = [
    "comparison_table",
    "corrected_table",
    "invalid_table",
    "leaderboard_table",
    "measure_chart",
    "measure_table",
    "reason_table",
    "standard_tables",
]

_MOST_SYSTEMS = 8
_REASONS_SHOWN = 20


def standard_tables(data: ChapterData) -> tuple[MeasureTable, ...]:
    """Return the tables of a spec: its own, or one of all measures and one by each breakdown."""
    spec = data.spec
    if spec.tables:
        return spec.tables
    every = tuple(measure.name for measure in spec.measures)
    shares = tuple(measure.name for measure in spec.measures if measure.kind == "share")
    units = Column(spec.clusters, spec.clusters.capitalize(), "count")
    asked = Column("asked", spec.output[1].capitalize(), "count")
    how = (
        f"Small figures under a number are its {_level(data)} interval, clustered by "
        f"{spec.cluster_noun or spec.unit[0]}. Strict counts what is invalid as wrong."
    )
    chart = TableChart("overall", "Overall", shares) if shares else None
    counts = (units, asked, Column("invalid", "Inv.", "count"))
    judged = any(measure.judged for measure in spec.measures)
    scored = any(measure.fluency for measure in spec.measures)
    notes: list[Literal["judge", "fluency", "items"]] = ["judge"] if judged else []
    notes += ["fluency", "items"] if scored else ["items"]
    found = [
        MeasureTable("overall", "Overall", every, how, counts, notes=tuple(notes), chart=chart)
    ]
    for one in spec.breakdowns:
        title = f"By {one.name.replace('_', ' ')}"
        chart = TableChart(f"by_{one.name}", title, shares[:1]) if shares else None
        own = one.measures or every
        found.append(
            MeasureTable(
                f"by_{one.name}", title, own, how, (units, asked), breakdown=one.name, chart=chart
            )
        )
    return tuple(found)


def measure_table(data: ChapterData, wanted: MeasureTable) -> Table | None:
    """Return a table of measures, or None where it has nothing to show.

    The first table of a chapter is always there, and a table of groups wherever one of its groups
    has a figure; another needs a figure of its own.
    """
    spec = data.spec
    shown = list(_shown(data, wanted))
    figures, by = data.figures, ["system"]
    if wanted.breakdown:
        breakdown = {one.name: one for one in spec.breakdowns}[wanted.breakdown]
        figures, groups = _of_breakdown(data, breakdown)
        if figures.empty:
            return None
        by = [groups, "system"]
        frame = _group_lines(data, wanted, breakdown, figures, groups)
    else:
        figures = figures[spec.is_overall(figures)]
        frame = _counted(data.items, data)
    selected = {
        key: {"measure": measure.name, "form": form}
        | ({"scope": wanted.scope or spec.scopes[0]} if spec.scopes else {})
        for key, measure, form, _ in shown
    }
    frame = with_figures(frame, figures, selected, by)
    scores = [one for _, one, *_ in shown if one.kind == "share" and one.better and one.ranked]
    frame, costs = (
        data.with_costs(frame, figures, scope=wanted.scope, on=by)
        if scores and not set(spec.costs) & set(wanted.measures)
        else (frame, ())
    )
    columns = (Column("system", "System", "text"), *wanted.counts, *(one for *_, one in shown))
    table = Table(
        wanted.key,
        wanted.title,
        wanted.caption if isinstance(wanted.caption, str) else wanted.caption(data),
        (*columns, *costs),
        frame.assign(source=OWN) if wanted.source else frame,
        data.notes(*wanted.notes),
        by[0] if wanted.breakdown else None,
        clusters=spec.clusters,
    )
    # A system without a valid output has figures all the same, which say so: only what was not
    # measured at all has no column.
    there = set(figures["measure"])
    measured = [key for key, measure, *_ in shown if measure.name in there]
    table = table.without_empty_columns(keep=measured)
    keys = {key for key, *_ in shown}
    required = bool(wanted.breakdown) or wanted.key == standard_tables(data)[0].key
    if not required and keys.isdisjoint(column.key for column in table.columns):
        return None
    if data.published and wanted.published is not None:
        return wanted.published(data, table)
    return table


def _shown(data: ChapterData, wanted: MeasureTable) -> Iterator[tuple[str, Measure, Any, Column]]:
    """Yield the table's columns of measures: key, measure, form and column."""
    spec = data.spec
    measures = [spec.measure(name) for name in wanted.measures]
    headings = {**spec.headings, **wanted.headings}

    def column(key: str, measure: Measure, group: str) -> Column:
        label = wanted.labels.get(measure.name, measure.label)
        ranked = data.comparable.marks(measure)
        return Column(key, label, measure.kind, group, measure.better, ranked)

    for measure in measures:
        if measure.group or measure.forms == ("all",):
            for form in measure.forms:
                key = measure.name if len(measure.forms) == 1 else f"{measure.name}_{form}"
                yield key, measure, form, column(key, measure, measure.group)
    for form in ("valid", "strict"):
        for measure in measures:
            if measure.group or form not in measure.forms:
                continue
            if form == "valid" or measure.name not in wanted.valid_only:
                key = f"{measure.name}_{form}"
                yield key, measure, form, column(key, measure, headings[form])


def _of_breakdown(data: ChapterData, breakdown: Breakdown) -> tuple[pd.DataFrame, str]:
    """Return the figures by a breakdown, and the column that names the group."""
    columns, figures = data.spec.group_columns, data.figures
    if columns == ("scope", "group"):
        return figures[figures["scope"].eq(breakdown.name)], "group"
    return figures[figures[breakdown.name].notna()], breakdown.name


def _group_lines(
    data: ChapterData, wanted: MeasureTable, breakdown: Breakdown, figures: pd.DataFrame, name: str
) -> pd.DataFrame:
    """Return a line for each group and system that have a figure, with counts."""
    spec = data.spec
    parts = [
        _counted(part, data).assign(**{name: group})
        for group, part in breakdown.groups(data.items).items()
    ]
    frame = pd.concat(parts, ignore_index=True)
    if wanted.by_size:
        size = frame.groupby(name)[spec.clusters].transform("max")
        frame = frame.loc[size.sort_values(ascending=False, kind="stable").index]
    there = figures[[name, "system"]].drop_duplicates()
    return frame.merge(there, on=[name, "system"], how="inner")


def _counted(rows: pd.DataFrame, data: ChapterData) -> pd.DataFrame:
    """Return how many outputs each system was asked for, from how many clusters, judged by whom."""
    grouped = rows.groupby("system", sort=False)
    frame = grouped.agg(
        asked=("valid", "size"),
        valid=("valid", "sum"),
        **{data.spec.clusters: (data.spec.cluster, "nunique")},
    )
    if "judge" in rows.columns:
        frame["judge"] = grouped["judge"].first()
    frame["invalid"] = (frame["asked"] - frame.pop("valid")).astype(int)
    return frame.reindex([name for name in data.systems if name in frame.index]).reset_index()


def measure_chart(data: ChapterData, wanted: MeasureTable) -> GridChart | None:
    """Return the drawing of a table's figures, or None where it has none."""
    chart = wanted.chart
    if chart is None:
        return None
    spec = data.spec
    figures = data.figures
    if wanted.breakdown:
        breakdown = {one.name: one for one in spec.breakdowns}[wanted.breakdown]
        figures, name = _of_breakdown(data, breakdown)
        rows = list(dict.fromkeys(figures[name]))
    else:
        figures, name = figures[spec.is_overall(figures)], "measure"
        rows = list(chart.measures)
    if spec.scopes:
        figures = figures[figures["scope"].eq(wanted.scope or spec.scopes[0])]
    figures = figures[figures["measure"].isin(chart.measures) & figures["form"].eq("valid")]
    measures = [spec.measure(one) for one in chart.measures]
    labels = dict(zip(chart.measures, chart.labels or [m.label for m in measures], strict=True))
    points = chart.shape == "points"
    rows = [row for row in rows if figures[name].eq(row).any()]
    if not rows:
        return None
    systems = list(data.systems if points else data.systems[:_MOST_SYSTEMS])
    grids = {
        end: figures.pivot(index=name, columns="system", values=end)
        .reindex(index=rows, columns=systems)
        .to_numpy(float)
        for end in ("estimate", "low", "high")
    }
    values, lows, highs = grids["estimate"], grids["low"], grids["high"]
    left = len(data.systems) - len(systems)
    more = f" The first {len(systems)} of {len(data.systems)} systems are drawn." if left else ""
    noun = spec.cluster_noun or spec.unit[0]
    caption = (
        f"Over valid outputs, with {_level(data)} intervals by {noun} (none under five "
        f"{spec.clusters}).{more}"
    )
    if points:
        panels = [
            Panel(labels[row], values[[i]].T, lows[[i]].T, highs[[i]].T, measures[0].kind)
            for i, row in enumerate(rows)
        ]
        return GridChart(chart.key, chart.title, caption, "points", systems, [""], panels)
    panel = Panel("", values, lows, highs, measures[0].kind)
    names = [labels.get(row, row) for row in rows]
    return GridChart(
        chart.key, chart.title, caption, "bars", names, systems, [panel], axis=chart.axis
    )


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
    frame, costs = data.with_costs(pd.DataFrame(lines), minus="other")
    noun = spec.cluster_noun or spec.unit[0]
    caption = (
        f"The first system minus the second, on {spec.paired or f'the {spec.unit[1]}'} both were "
        f"asked about, few-shot draws averaged first: {_level(data)} interval by {noun}, p-value "
        f"by flipping the sign of whole {spec.clusters}, and the same adjusted (Holm) for all "
        "comparisons of its form. Read the adjusted one."
        + (" What it took to write is the difference of the two means." if costs else "")
    )
    frame = frame.drop(columns=["system", "other"])
    title = "Paired comparisons"
    return Table("paired", title, caption, (*columns, *costs), frame, (), "pair")


def leaderboard_table(found: JudgedRates, data: ChapterData) -> Table | None:
    """Return systems by rank, a group of lines for each criterion and judge.

    Its rates are over all verdicts at once. Where the table of figures has others for the same, a
    note says why.
    """
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
            "raw": merged["raw"],
            "raw_low": merged["raw_low"],
            "raw_high": merged["raw_high"],
            "corrected": merged["corrected"],
            "corrected_low": merged["low"],
            "corrected_high": merged["high"],
            "n": merged["n"],
            "known": [_known(row) for row in lines],
        }
    )
    frame, costs = data.with_costs(frame)
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
            "raw": rates["raw"],
            "raw_low": rates["raw_low"],
            "raw_high": rates["raw_high"],
            **({name: rates[name] for name in by_labels} if found.labelled else {}),
            "corrected": rates["corrected"],
            "corrected_low": rates["low"],
            "corrected_high": rates["high"],
            "n": rates["n"],
            "sensitivity": rates["sensitivity"],
            "specificity": rates["specificity"],
            "exam_right": rates["exam_right"].where(rates["examined"]),
            "exam_wrong": rates["exam_wrong"].where(rates["examined"]),
            "known": [_known(row) for row in _records(rates)],
        }
    )
    frame, costs = data.with_costs(frame)
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


def invalid_table(data: ChapterData) -> Table:
    """Return how many outputs each system was asked for, and how many could not be read."""
    spec = data.spec
    any_degenerate = data.items["degenerate"].notna().any()
    lines: list[dict[str, object]] = []
    for system in data.systems:
        own = data.items[data.items["system"].eq(system)]
        line: dict[str, object] = {
            "system": system,
            "asked": len(own),
            "valid": int(own["valid"].sum()),
            "invalid": int((own["valid"] == 0).sum()),
            "degenerate": int(own["degenerate"].notna().sum()) if any_degenerate else None,
            "invalid_share": float((own["valid"] == 0).mean()),
        }
        lines.append(line | {key: counted(own) for key, counted in spec.invalid_counts.items()})
    columns = spec.invalid_columns or (
        Column("system", "System", "text"),
        Column("asked", "Asked for", "count"),
        Column("valid", "Valid", "count"),
        Column("invalid", "Invalid", "count"),
        Column("invalid_share", "Invalid, %", "share", better="low", ranked=False),
    )
    frame = pd.DataFrame(lines).dropna(axis="columns", how="all")
    caption = (
        spec.invalid_caption
        or f"{spec.output[1].capitalize()} asked for, and how many could be read."
    )
    if any_degenerate:
        after = [column.key for column in columns].index("valid") + 1
        shown = Column("degenerate", "Of those degenerate", "count")
        columns = (*columns[:after], shown, *columns[after:])
        caption += (
            " A degenerate output can be read and is no answer: it repeats its input, another "
            "input or its answer, an example, a line of the prompt or its other side, is in "
            "another language, or fits any input. The strict form counts it as wrong."
        )
    there = tuple(column for column in columns if column.key in frame.columns)
    return Table("invalid", spec.invalid_title, caption, there, frame)


def reason_table(data: ChapterData) -> Table | None:
    """Return the reasons why outputs and verdicts were invalid, counted; None without any.

    The commonest have a line each, the rest share one, so that no count is lost.
    """
    items, spec, reasons = data.items, data.spec, data.spec.reasons
    named = {"system", "invalid_reason", "count"}
    keys = [column.key for column in reasons.columns]
    where = [key for key in keys if key not in named]
    found = [
        items.loc[items["valid"].eq(0), ["system", "invalid_reason"]].assign(of=reasons.output)
    ]
    degenerate = items.loc[items["degenerate"].notna(), ["system", "degenerate"]]
    degenerate = degenerate.rename(columns={"degenerate": "invalid_reason"})
    found.append(degenerate.assign(of=f"degenerate {reasons.output}"))
    for criterion in spec.criteria:
        column = f"{criterion.column}_invalid"
        if not where or column not in items.columns:
            continue
        part = items.loc[items["valid"].eq(1) & items[column].notna(), ["system", column]]
        label = reasons.verdict.format(name=criterion.label.lower(), column=criterion.column)
        found.append(part.rename(columns={column: "invalid_reason"}).assign(of=label))
    every = pd.concat(found)
    if every.empty:
        return None
    every["invalid_reason"] = every["invalid_reason"].fillna("no reason kept")
    place = {system: i for i, system in enumerate(data.systems)}
    counted = every.groupby(["of", "invalid_reason", "system"], sort=True).size()
    frame = counted.reset_index(name="count")
    last = frame["system"] if reasons.by_name else frame["system"].map(place)
    frame = frame.assign(last=last).sort_values(
        ["count", "of", "invalid_reason", "last"], ascending=[False, True, True, True]
    )
    frame = frame.drop(columns="last")
    shown, rest = frame.iloc[:_REASONS_SHOWN], frame.iloc[_REASONS_SHOWN:]
    if len(rest):
        line = {
            "of": "any",
            "invalid_reason": f"{len(rest)} other combinations",
            "system": "any",
            "count": int(rest["count"].sum()),
        }
        shown = pd.concat([shown, pd.DataFrame([line])])
    shown = shown.rename(columns={"of": where[0]}) if where else shown.drop(columns="of")
    frame = shown.reset_index(drop=True)
    return Table("invalid_reasons", "Reasons", reasons.caption, reasons.columns, frame)


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


def _level(data: ChapterData) -> str:
    return f"{format_number(data.level * 100, 'count')}%"
