"""Tables and charts for chapters, made from their figures and items.

A table of measures has a line for each system, or for each system of each group, and a column for
each measure and form that has figures. Its notes say what is missing and what cannot be compared.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pandas as pd

from contrafact.family.display import MARK, OWN, Column, GridChart, Panel, Table, with_figures
from contrafact.family.report import Breakdown, ChapterData, Form, Measure
from contrafact.models.asking import CAUSES, UNREADABLE

__all__ = ["invalid_table", "measure_chart", "measure_table", "notes_on", "reason_table"]

_MOST_SYSTEMS = 8
_REASONS_SHOWN = 10
_REASON_LENGTH = 120
_QUOTED = re.compile(r"(?<!\w)'.*?'(?!\w)(?:, (?<!\w)'.*?'(?!\w))*", re.DOTALL)
"""What a reason quotes: reasons that are otherwise the same are counted together."""


def notes_on(data: ChapterData, *measures: str) -> tuple[str, ...]:
    """Return a sentence for each reason why measures are missing or cannot be compared."""
    chosen = [data.spec.measure(name) for name in measures]
    judged = any(measure.judged for measure in chosen)
    scored = any(measure.fluency for measure in chosen)
    models = data.meta.fluency_models
    cases = {
        "No judge was named (--judge), so judged measures are left out.": (
            judged and not data.judged
        ),
        "Fluency was not scored, so the perplexity columns are left out.": (
            scored and not data.scored
        ),
        "These systems were not all judged by the same judge, so their judged scores are not "
        "comparable and none is marked as best.": judged and data.judged and not data.one_judge,
        f"Perplexities come from different models ({', '.join(models)}), so they are not "
        "comparable and none is marked as best.": scored and data.scored and len(models) > 1,
        f"The systems were not all asked about the same {data.spec.unit[1]}; the paired "
        "comparisons use those that two systems share.": not data.one_set,
    }
    return tuple(sentence for sentence, holds in cases.items() if holds)


def measure_table(
    data: ChapterData,
    key: str,
    title: str,
    measures: Sequence[str],
    caption: str = "",
    *,
    counts: Sequence[str] = (),
    of: str = "",
    notes: bool = True,
    numbers: bool = False,
) -> Table | None:
    """Return a table of measures, or None if it has nothing to show.

    The table ``overall`` is always returned, and a table of groups whenever a group has a figure;
    any other table needs a figure of its own measures.

    Args:
        caption: How to read it; if empty, the usual caption.
        counts: Columns before the measures: ``judge``, a condition, ``asked``, ``invalid``,
            ``decided`` (verdicts, if any is open) and the name of the column that counts clusters.
        of: The breakdown whose groups it shows, or the scope of its figures; if empty, all rows
            and the first scope.
        notes: Whether to add notes on what is missing or cannot be compared.
        numbers: Whether a column behind each measure's says on how many outputs it rests.
    """
    spec = data.spec
    chosen = [spec.measure(name) for name in measures]
    columns = list(_measure_columns(data, chosen))
    figures, breakdown, group = _figures_of(data, of)
    if breakdown is None:
        by, frame = ["system"], _counted(data.items, data)
    elif figures.empty:
        return None
    else:
        by, frame = [group, "system"], _group_lines(data, breakdown, figures, group)
    at = {"scope": of if of in spec.scopes else spec.scopes[0]} if spec.scopes else {}
    wanted = {
        column.key: {"measure": measure.name, "form": form, **at}
        for measure, form, column in columns
    }
    frame = with_figures(frame, figures, wanted, by)
    of_all = chosen if of in ("", *spec.scopes[:1]) else ()
    rates = _corrected(data, of_all)
    for values in rates.values():
        frame = frame.merge(values, how="left", left_on="system", right_index=True)
    marks = frame["system"].isin(data.systems_as("mark"))
    labels = {"asked": spec.output[1].capitalize(), "invalid": "Inv."}
    counted = (
        Column(
            name,
            labels.get(name, name.capitalize()),
            "text" if name in ("judge", *spec.conditions) else "count",
        )
        for name in counts
    )
    first = (Column("system", "System", "text"), *counted)
    usual_caption = (
        f"Small figures below a value are its {data.percent_level} interval, clustered by "
        f"{spec.cluster_noun}. Strict scores count invalid outputs and non-answers as wrong."
    )
    valid = [column for _, form, column in columns if form != "strict"]
    strict = [column for _, form, column in columns if form == "strict"]
    shown = [*first, *valid, *rates, *strict]
    for measure, form, column in columns if numbers else ():
        number = Column(f"{measure.name}_of_{form}", "of", "count", column.group)
        rests_on = data.overall(measure.name, form).set_index("system")["n"]
        frame[number.key] = frame["system"].map(rests_on)
        shown.insert(shown.index(column) + 1, number)
    table = Table(
        key,
        title,
        caption or usual_caption,
        tuple(shown),
        frame.assign(source=marks.map({True: MARK, False: OWN})),
        notes_on(data, *measures) if notes else (),
        by[0] if breakdown else None,
        clusters=spec.clusters,
    )
    # A system without a valid output still has figures, which show that: only a measure without
    # any measurement has no column.
    there = set(figures["measure"])
    table = table.without_empty_columns(
        [c.key for measure, _, c in columns if measure.name in there]
    )
    needed = breakdown is not None or key == "overall"
    return table if needed or not wanted.keys().isdisjoint(c.key for c in table.columns) else None


_Judged = dict[Column, pd.DataFrame]
"""Columns of judges' results, with their values by system."""


def _corrected(found: ChapterData, measures: Sequence[Measure]) -> _Judged:
    columns: _Judged = {}
    for measure in measures if len(found.rates) else ():
        rows = found.rates[
            found.rates["criterion"].eq(measure.criterion or measure.column_of("valid"))
        ]
        if rows["corrected"].isna().all():
            continue
        rows = rows[rows["corrected"].notna()].set_index("system")[["corrected", "low", "high"]]
        if measure.better == "low":  # the share that fails, of a criterion that is passed
            rows = 1.0 - rows[["corrected", "high", "low"]]
        key = f"{measure.name}_corrected"
        column = Column(key, measure.label, "share", "Corrected, %", measure.better, ranked=False)
        columns[column] = rows.set_axis([key, f"{key}_low", f"{key}_high"], axis=1)
    return columns


def _measure_columns(
    data: ChapterData, measures: Sequence[Measure]
) -> Iterator[tuple[Measure, Form, Column]]:
    """Yield the columns of measures: those with their own heading, then the others by form."""
    apart = [one for one in measures if one.group or one.forms == ("all",)]
    together = [one for one in measures if one not in apart]
    shares = [one.kind == "share" for one in together]
    unit = ", %" if shares and all(shares) else ""
    headings = {"valid": f"Over valid outputs{unit}", "strict": f"Strict{unit}"}
    forms: tuple[Form, ...] = ("valid", "strict")
    columns: list[tuple[Measure, Form, str, str]] = [
        (one, form, one.name if len(one.forms) == 1 else f"{one.name}_{form}", one.group)
        for one in apart
        for form in one.forms
    ]
    columns += [
        (one, form, f"{one.name}_{form}", headings[form])
        for form in forms
        for one in together
        if form in one.forms
    ]
    for measure, form, key, group in columns:
        ranked = data.marks(measure, form)
        mixed = measure.kind == "share" and "%" not in measure.label + group
        label = f"{measure.label} %" if mixed else measure.label
        column = Column(key, label, measure.kind, group, measure.better, ranked)
        yield measure, form, column


def _figures_of(data: ChapterData, of: str) -> tuple[pd.DataFrame, Breakdown | None, str]:
    """Return a breakdown's figures, the breakdown and its group column; or the overall figures."""
    spec, figures = data.spec, data.figures
    breakdown = {one.name: one for one in spec.breakdowns}.get(of)
    if breakdown is None:
        return figures[spec.is_overall(figures)], None, ""
    if spec.group_columns == ("scope", "group"):
        return figures[figures["scope"].eq(of)], breakdown, "group"
    return figures[figures[of].notna()], breakdown, of


def _group_lines(
    data: ChapterData, breakdown: Breakdown, figures: pd.DataFrame, name: str
) -> pd.DataFrame:
    """Return a line with counts for each group and system that has a figure."""
    parts = [
        _counted(part, data).assign(**{name: group}) for group, part in breakdown.groups(data.items)
    ]
    there = figures[[name, "system"]].drop_duplicates()
    return pd.concat(parts, ignore_index=True).merge(there, on=[name, "system"], how="inner")


def _counted(rows: pd.DataFrame, data: ChapterData) -> pd.DataFrame:
    """Return each system's numbers of outputs asked for and of clusters, judges, conditions."""
    grouped = rows.groupby("system", sort=False)
    frame = grouped.agg(
        asked=("valid", "size"),
        valid=("valid", "sum"),
        **{data.spec.clusters: (data.spec.cluster, "nunique")},
    )
    for name in {"judge", *data.spec.conditions} & {*rows.columns}:
        frame[name] = grouped[name].first()
    frame["invalid"] = (frame["asked"] - frame.pop("valid")).astype(int)
    first = data.spec.measures[0].column_of("valid")
    judged = data.items[["was_judged", "valid"]].all(axis=1)
    if first in rows and data.items.loc[judged, first].isna().any():
        frame["decided"] = grouped[first].count()
    return frame.reindex([name for name in data.systems if name in frame.index]).reset_index()


def measure_chart(
    data: ChapterData,
    key: str,
    title: str,
    measures: Mapping[str, str],
    *,
    of: str = "",
    axis: str = "",
) -> GridChart | None:
    """Return a chart of measures over valid outputs, or None if there are no figures.

    Args:
        measures: The measures and their labels.
        of: The breakdown whose groups are the rows, for a chart of a single measure.
        axis: The axis's label.
    """
    spec = data.spec
    figures, breakdown, name = _figures_of(data, of)
    name = name or "measure"
    rows = list(dict.fromkeys(figures[name])) if breakdown else list(measures)
    if spec.scopes:
        figures = figures[figures["scope"].eq(spec.scopes[0])]
    figures = figures[figures["measure"].isin(list(measures)) & figures["form"].eq("valid")]
    rows = [row for row in rows if figures[name].eq(row).any()]
    if not rows:
        return None
    systems = list(data.systems[:_MOST_SYSTEMS])
    wanted = {system: {"system": system} for system in systems}
    frame = with_figures(pd.DataFrame({name: rows}), figures, wanted, [name])
    some = len(systems) < len(data.systems)
    more = f" The first {len(systems)} of {len(data.systems)} systems are shown." if some else ""
    caption = (
        f"Over valid outputs, with {data.percent_level} intervals by {spec.cluster_noun} (none "
        f"below {spec.fewest} {spec.clusters}).{more}"
    )
    kind = spec.measure(next(iter(measures))).kind
    names = [measures.get(row, row) for row in rows]
    panel = Panel.of_columns("", frame, systems, kind)
    return GridChart(key, title, caption, names, systems, [panel], axis=axis)


def invalid_table(
    data: ChapterData,
    title: str = "Invalid outputs",
    caption: str = "",
    more: Mapping[Column, Callable[[pd.DataFrame], int | None]] | None = None,
) -> Table:
    """Return a table of how many outputs each system was asked for, and how many are invalid.

    ``more`` are further columns, each with a function that counts a system's rows, or returns None
    if there is nothing to count.
    """
    items = data.items
    any_degenerate = bool(items["degenerate"].notna().any())

    def of_cause(cause: str, rows: pd.DataFrame) -> int:
        return int(rows["invalid_cause"].eq(cause).sum())

    counts: dict[Column, Callable[[pd.DataFrame], float | None]] = {
        Column("asked", "Asked for", "count"): len,
        Column("valid", "Valid", "count"): lambda rows: int(rows["valid"].sum()),
        Column("degenerate", "Of these, degenerate", "count"): lambda rows: (
            int(rows["degenerate"].notna().sum()) if any_degenerate else None
        ),
        Column("invalid", "Invalid", "count"): lambda rows: int(rows["valid"].eq(0).sum()),
        Column("invalid_share", "Invalid, %", "share", better="low", ranked=False): lambda rows: (
            float(rows["valid"].eq(0).mean())
        ),
        **{
            Column(cause.replace(" ", "_"), cause.capitalize(), "count"): partial(of_cause, cause)
            for cause in (*CAUSES.values(), UNREADABLE)
            if of_cause(cause, items)
        },
        **(more or {}),
    }
    lines = [
        {"system": name, **{column.key: counted(rows) for column, counted in counts.items()}}
        for name in data.systems
        for rows in (items[items["system"].eq(name)],)
    ]
    columns = (Column("system", "System", "text"), *counts)
    frame = pd.DataFrame(lines).dropna(axis="columns", how="all")
    caption = caption or f"{data.spec.output[1].capitalize()} asked for, and how many are valid."
    if any_degenerate:
        caption += (
            " A degenerate output is valid but does not answer the request, for one of the reasons "
            "given below. The strict form counts it as wrong."
        )
    there = tuple(column for column in columns if column.key in frame.columns)
    return Table("invalid", title, caption, there, frame)


def reason_table(data: ChapterData) -> Table | None:
    """Return a table that counts the reasons for invalid outputs and verdicts; None without any.

    Reasons that differ only in what they quote are one line, with the commonest as an example. The
    rest share a line, so that no count is lost.
    """
    items = data.items
    valid, degenerate = items["valid"].eq(1), items["degenerate"]
    lost = items["invalid_reason"][~valid].fillna("no reason kept")
    parts = [("output", lost), ("degenerate output", degenerate.dropna())]
    for criterion in data.spec.criteria:
        if (column := f"{criterion.column}_invalid") in items.columns:
            unread = items[column][valid].dropna()
            parts.append((f"judge on {criterion.short or criterion.label.lower()}", unread))
    every = pd.concat(
        pd.DataFrame({"where": where, "reason": reasons, "system": items["system"][reasons.index]})
        for where, reasons in parts
    )
    if every.empty:
        return None
    every["invalid_reason"] = every["reason"].map(lambda text: _QUOTED.sub("…", str(text)))
    by = every.groupby(["where", "invalid_reason"], sort=False)
    frame = by.agg(
        count=("reason", "size"),
        systems=("system", "nunique"),
        example=("reason", lambda reasons: _shortened(str(reasons.mode().iloc[0]))),
    ).reset_index()
    frame = frame.sort_values(["count", "where", "invalid_reason"], ascending=[False, True, True])
    frame["example"] = frame["example"].where(frame["example"].ne(frame["invalid_reason"]))
    shown, rest = frame.iloc[: _REASONS_SHOWN - 1], frame.iloc[_REASONS_SHOWN - 1 :]
    if len(rest) > 1:
        line = {
            "where": "any",
            "invalid_reason": f"{len(rest):,} other reasons (see Every output)",
            "count": int(rest["count"].sum()),
            "systems": int(every["system"].nunique()),
        }
        shown = pd.concat([shown, pd.DataFrame([line])])
    else:
        shown = frame
    columns = (
        *((Column("where", "Where", "text"),) if data.spec.criteria else ()),
        Column("invalid_reason", "Reason", "text"),
        Column("example", "Example", "text"),
        Column("count", "Count", "count"),
        *((Column("systems", "Systems", "count"),) if len(data.systems) > 1 else ()),
    )
    caption = "Invalid or degenerate outputs, and undecided verdicts, counted by the reason given."
    frame = shown[[column.key for column in columns]].reset_index(drop=True)
    return Table("invalid_reasons", "Reasons", caption, columns, frame).without_empty_columns()


def _shortened(text: str) -> str:
    """Return a reason of at most so many characters, in whole words."""
    if len(text) <= _REASON_LENGTH:
        return text
    return text[: _REASON_LENGTH + 1].rpartition(" ")[0].rstrip(",;:") + " …"
