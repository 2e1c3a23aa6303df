"""The paper's rows set below a report's own, marked, with what its figures disagree about."""

from dataclasses import replace

import pandas as pd

from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.published import published_notes, published_rows, published_table
from contrafact.records import MANIPULATIONS
from contrafact.report.table import PUBLISHED, Table

__all__ = [
    "with_published_manipulations",
    "with_published_overall",
    "with_published_people",
    "with_published_shots",
]

_MEASURES = ("accuracy", "precision", "recall", "f1", "mcc")
_CONTEXT = (
    "Published rows are as printed, over valid outputs and without intervals, on another set of "
    "pairs. They are context, not a comparison, and take no part in the marks."
)
_OVERALL_KEYS = ("detection:", "best zero-shot", "best few-shot", "GPT-5 Mini", "final set")


def with_published_overall(table: Table, task: TaskName) -> Table:
    """Return the overall table with the rows of table 6 (and 9, for detection) below."""
    rows = published_rows(task)
    few = rows["shots"].gt(0)
    names = rows["model"].where(~few, rows["model"] + " · " + rows["shots"].astype(str) + " shots")
    frame = pd.DataFrame({"system": names, "invalid": rows["invalid"]})
    for measure in _MEASURES:
        frame[f"{measure}_valid"] = rows[measure]
    where = "tables 6 (a) and 9" if task == "rfc-detect" else "table 6 (b)"
    notes = _disagreements(_OVERALL_KEYS) if task == "rfc-detect" else _disagreements(("final",))
    return _joined(table, frame, f"Published · RFC-BENCH, {where}", notes)


def with_published_people(table: Table, task: TaskName) -> Table:
    """Return the overall table with the accuracy of the paper's two annotators (table 7) below."""
    people = published_table("human")
    people = people[people["task"].eq(task)]
    frame = pd.DataFrame(
        {
            "system": "Person: " + people["annotator"] + " (table 7, 80 items)",
            "accuracy_valid": people["overall"],
        }
    )
    return _joined(table, frame, table.published_label, _disagreements(("human:",)), said=False)


def with_published_manipulations(table: Table, task: TaskName) -> Table:
    """Return the table by manipulation with table 7's accuracies below, a line for each."""
    people = published_table("human")
    people = people[people["task"].eq(task)]
    column = "accuracy_valid" if task == "rfc-detect" else "recall_valid"
    lines = [
        {"system": f"Person: {row['annotator']}, {name}", "manipulation": name, column: row[name]}
        for row in people.to_dict("records")
        for name in MANIPULATIONS
    ]
    return _joined(table, pd.DataFrame(lines), "Published · RFC-BENCH, table 7, 20 items each", ())


def with_published_shots(table: Table) -> Table:
    """Return the table of worked examples with figure 3 below: tables 6 (a) and 9."""
    rows = published_rows("rfc-detect")
    lines = []
    for model, part in rows.groupby("model", sort=False):
        if len(part) > 1:
            counts = zip(part["shots"], part["accuracy"], strict=True)
            lines.append({"system": model, **{f"valid_{shots}": value for shots, value in counts}})
    return _joined(table, pd.DataFrame(lines), "Published · RFC-BENCH, figure 3", ())


def _disagreements(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"In the paper, {one.where}: {one.printed}. {one.note}"
        for one in published_notes()
        if one.key.startswith(keys)
    )


def _joined(
    table: Table, frame: pd.DataFrame, label: str, notes: tuple[str, ...], *, said: bool = True
) -> Table:
    shown = [column.key for column in table.columns if column.key in frame.columns]
    if table.group_by is not None and table.group_by in frame.columns:
        shown.append(table.group_by)
    added = frame[shown].assign(source=PUBLISHED)
    joined = pd.concat([table.frame.astype(object), added.astype(object)], ignore_index=True)
    for column in table.columns:
        if column.kind != "text":
            for end in ("", "_low", "_high"):
                if f"{column.key}{end}" in joined.columns:
                    joined[f"{column.key}{end}"] = pd.to_numeric(joined[f"{column.key}{end}"])
    context = (_CONTEXT,) if said else ()
    return replace(
        table, frame=joined, published_label=label, notes=(*table.notes, *notes, *context)
    )
