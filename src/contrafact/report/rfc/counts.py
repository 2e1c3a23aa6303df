"""What could not be read, and why; and wrong or rightly guessed answers by their reasons."""

from collections.abc import Sequence

import pandas as pd

from contrafact.families.rfc.labels import ERROR_CLASSES, RIGHT_ONLY
from contrafact.report.table import Column, Table

__all__ = ["error_class_table", "invalid_table", "reason_table"]

_REASONS_SHOWN = 20
_CLASS_LABELS = {
    "forward-looking": "Forward-looking text rejected",
    "journalistic-form": "Journalistic form accepted",
    "temporal-anchoring": "Judged by another time",
    "wrong-reason": "For a wrong reason",
    "sound": "Soundly",
}
_OF_WRONG = tuple(name for name in ERROR_CLASSES if name not in (*RIGHT_ONLY, "other"))


def invalid_table(items: pd.DataFrame, systems: Sequence[str]) -> Table:
    """Return how many answers each system was asked for, and how many were no label."""
    lines: list[dict[str, object]] = []
    for system in systems:
        own = items[items["system"].eq(system)]
        lines.append(
            {
                "system": system,
                "asked": len(own),
                "valid": int(own["valid"].sum()),
                "invalid": int((own["valid"] == 0).sum()),
                "invalid_share": float((own["valid"] == 0).mean()),
            }
        )
    columns = (
        Column("system", "System", "text"),
        Column("asked", "Asked for", "count"),
        Column("valid", "Valid", "count"),
        Column("invalid", "Invalid", "count"),
        Column("invalid_share", "Invalid, %", "share", better="low", ranked=False),
    )
    caption = (
        "A reply is valid if exactly one label of the task stands in it, in any case, after marked "
        "reasoning is taken away. Both, or neither, is invalid, and nothing is guessed."
    )
    return Table("invalid", "Invalid replies", caption, columns, pd.DataFrame(lines))


def reason_table(items: pd.DataFrame) -> Table | None:
    """Return the reasons why replies were invalid, counted; None without any.

    The commonest have a line each, the rest share one, so that no count is lost.
    """
    bad = items[items["valid"].eq(0)]
    if bad.empty:
        return None
    named = bad.assign(invalid_reason=bad["invalid_reason"].fillna("no reason kept"))
    counted = named.groupby(["invalid_reason", "system"], sort=True).size()
    frame = counted.reset_index(name="count")
    frame = frame.sort_values("count", ascending=False, kind="stable")
    shown, rest = frame.iloc[:_REASONS_SHOWN], frame.iloc[_REASONS_SHOWN:]
    if len(rest):
        line = {
            "invalid_reason": f"{len(rest)} other combinations",
            "system": "any",
            "count": int(rest["count"].sum()),
        }
        shown = pd.concat([shown, pd.DataFrame([line])])
    columns = (
        Column("invalid_reason", "Reason", "text"),
        Column("system", "System", "text"),
        Column("count", "Count", "count"),
    )
    caption = "Every reply that was no label, by the reason given."
    frame = shown.reset_index(drop=True)
    return Table("invalid_reasons", "Reasons", caption, columns, frame)


def error_class_table(items: pd.DataFrame, systems: Sequence[str]) -> Table | None:
    """Return how a judge sorted the answers (section 3.5), or None where none did."""
    sorted_ones = items[items["error_class"].notna()]
    if sorted_ones.empty:
        return None
    lines: list[dict[str, object]] = []
    for system in systems:
        own = sorted_ones[sorted_ones["system"].eq(system)]
        if own.empty:
            continue
        wrong, right = (own[own["right"].eq(value)]["error_class"] for value in (0.0, 1.0))
        line: dict[str, object] = {"system": system, "sorted": len(own)}
        line |= {name: int(wrong.eq(name).sum()) for name in _OF_WRONG}
        line["wrong_other"] = int((~wrong.isin(_OF_WRONG)).sum())
        line |= {name: int(right.eq(name).sum()) for name in RIGHT_ONLY}
        line["right_other"] = int((~right.isin(RIGHT_ONLY)).sum())
        lines.append(line)
    wrongly, rightly = "Of wrong answers", "Of right answers"
    columns = (
        Column("system", "System", "text"),
        Column("sorted", "Sorted", "count"),
        *(Column(name, _CLASS_LABELS[name], "count", wrongly) for name in _OF_WRONG),
        Column("wrong_other", "None of these", "count", wrongly),
        *(Column(name, _CLASS_LABELS[name], "count", rightly) for name in RIGHT_ONLY),
        Column("right_other", "None of these", "count", rightly),
    )
    caption = (
        "Answers that came with reasons, as the judge sorted them by those: proposals of a model, "
        "not verdicts of people. What a panel could not agree on is left out."
    )
    return Table("error_classes", "Answers by their reasons", caption, columns, pd.DataFrame(lines))
