"""What could not be read, and why: responses and verdicts."""

from collections.abc import Sequence

import pandas as pd

from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.report.table import Column, Table

__all__ = ["invalid_table", "reason_table"]

_REASONS_SHOWN = 20


def invalid_table(items: pd.DataFrame, systems: Sequence[str]) -> Table:
    """Return how many responses and verdicts were asked for, and how many could not be read."""
    lines: list[dict[str, object]] = []
    for system in systems:
        own = items[items["system"].eq(system)]
        unread = sum(int(own[f"{name}_invalid"].notna().sum()) for name in CRITERION_NAMES)
        read = sum(int(own[name].notna().sum()) for name in CRITERION_NAMES)
        lines.append(
            {
                "system": system,
                "asked": len(own),
                "valid": int(own["valid"].sum()),
                "invalid": int((own["valid"] == 0).sum()),
                "invalid_share": float((own["valid"] == 0).mean()),
                "verdicts": read + unread,
                "verdicts_invalid": unread,
                "open": int((own["judged"] & own["correct"].isna()).sum()),
            }
        )
    columns = (
        Column("system", "System", "text"),
        Column("asked", "Asked for", "count", "Responses"),
        Column("valid", "Valid", "count", "Responses"),
        Column("invalid", "Invalid", "count", "Responses"),
        Column("invalid_share", "Invalid, %", "share", "Responses", "low", ranked=False),
        Column("verdicts", "Asked for", "count", "Verdicts"),
        Column("verdicts_invalid", "Invalid", "count", "Verdicts"),
        Column("open", "Left open", "count", "Responses' correctness"),
    )
    caption = (
        "A verdict is valid if the judge's reply is T or F, read from the next token's "
        "probabilities where the provider gives them. A response's correctness is left open where "
        "it is invalid itself, or no criterion failed and a verdict is invalid; the strict form "
        "counts it as wrong."
    )
    frame = pd.DataFrame(lines)
    return Table("invalid", "Invalid responses and verdicts", caption, columns, frame)


def reason_table(items: pd.DataFrame) -> Table | None:
    """Return why responses and verdicts were invalid, counted; None without any.

    The commonest have a line each, the rest share one, so that no count is lost.
    """
    parts = [items.loc[items["valid"].eq(0), ["system", "invalid_reason"]].assign(what="response")]
    for name in CRITERION_NAMES:
        unread = items.loc[items[f"{name}_invalid"].notna(), ["system", f"{name}_invalid"]]
        renamed = unread.rename(columns={f"{name}_invalid": "invalid_reason"})
        parts.append(renamed.assign(what=f"verdict on {name}"))
    bad = pd.concat(parts, ignore_index=True)
    if bad.empty:
        return None
    bad["invalid_reason"] = bad["invalid_reason"].fillna("no reason kept")
    counted = bad.groupby(["what", "invalid_reason", "system"], sort=True).size()
    frame = counted.reset_index(name="count")
    frame = frame.sort_values("count", ascending=False, kind="stable")
    shown, rest = frame.iloc[:_REASONS_SHOWN], frame.iloc[_REASONS_SHOWN:]
    if len(rest):
        line = {
            "what": "any",
            "invalid_reason": f"{len(rest)} other combinations",
            "system": "any",
            "count": int(rest["count"].sum()),
        }
        shown = pd.concat([shown, pd.DataFrame([line])])
    columns = (
        Column("invalid_reason", "Reason", "text"),
        Column("what", "Of", "text"),
        Column("system", "System", "text"),
        Column("count", "Count", "count"),
    )
    caption = "Every response and verdict that could not be read, by the reason given."
    frame = shown.reset_index(drop=True)
    return Table("invalid_reasons", "Reasons", caption, columns, frame)
