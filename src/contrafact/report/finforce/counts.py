"""What could not be read, and what went wrong: invalid outputs, their reasons, error classes."""

import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report.finforce.items import ERROR_CLASSES
from contrafact.report.table import Column, Table

__all__ = ["error_table", "invalid_table", "reason_table"]

_REASONS_SHOWN = 20
_CRITERION = {"forward_compatibility": "forward-compatibility", "directionality": "directionality"}
_CLASS_LABELS = {
    "similar_semantics": "Similar semantics",
    "fantastical_edit": "Fantastical edit",
    "fluency_lapse": "Fluency lapse",
    "numeric_prediction": "Numeric prediction",
    "trivial_consequences": "Trivial consequences",
    "financially_unrealistic": "Financially unrealistic",
}


def invalid_table(items: pd.DataFrame) -> Table:
    """Return how many outputs were asked for, valid, repaired and invalid, and verdicts unread.

    Args:
        items: As ``prepare_items`` returns them.
    """
    judged = items["judged"].any()
    lines: list[dict[str, object]] = []
    for system, own in items.groupby("system", sort=False):
        line: dict[str, object] = {
            "system": system,
            "asked": len(own),
            "valid": int(own["valid"].sum()),
            "invalid": int((own["valid"] == 0).sum()),
            "invalid_share": float((own["valid"] == 0).mean()),
            "repairs": int(((own["repairs"] > 0) & (own["valid"] == 1)).sum()),
        }
        if own["judged"].any():
            valid = own[own["valid"] == 1]
            for criterion in CRITERIA:
                unread = valid[f"{criterion}_invalid"].notna()
                line[f"{criterion}_unread"] = int(unread.sum())
                line[f"{criterion}_missing"] = int((~unread & valid[criterion].isna()).sum())
        lines.append(line)
    columns = [
        Column("system", "System", "text"),
        Column("asked", "Asked for", "count"),
        Column("valid", "Valid", "count"),
        Column("repairs", "Of those repaired", "count"),
        Column("invalid", "Invalid", "count"),
        Column("invalid_share", "Invalid, %", "share", better="low", ranked=False),
    ]
    if judged:
        for ending, group in (("unread", "Verdicts unread"), ("missing", "Verdicts missing")):
            columns += [
                Column(f"{criterion}_{ending}", label, "count", group=group)
                for criterion, label in zip(CRITERIA, ("Fwd-Compat.", "Dir."), strict=True)
            ]
    caption = (
        "Counterfactuals asked for, and what became of them. A repaired output was read after the "
        "parser repaired its format, never its words. An unread verdict is a judge's reply that "
        "is neither true nor false; a missing one was never given."
    )
    frame = pd.DataFrame(lines)
    table = Table("invalid", "Invalid outputs and verdicts", caption, tuple(columns), frame)
    return table.without_empty_columns()


def reason_table(items: pd.DataFrame) -> Table | None:
    """Return the reasons why outputs and verdicts were invalid, counted; None without any.

    The commonest reasons have a line each, the rest share one, so that no count is lost.
    """
    found = [
        items.loc[items["invalid_reason"].notna(), ["system", "invalid_reason"]].assign(
            where="output"
        )
    ]
    for criterion in CRITERIA:
        column = f"{criterion}_invalid"
        part = items.loc[(items["valid"] == 1) & items[column].notna(), ["system", column]]
        renamed = part.rename(columns={column: "invalid_reason"})
        found.append(renamed.assign(where=f"judge on {_CRITERION[criterion]}"))
    every = pd.concat(found)
    if every.empty:
        return None
    place = {name: i for i, name in enumerate(dict.fromkeys(items["system"]))}
    counted = (
        every.groupby(["where", "invalid_reason", "system"], sort=False)
        .size()
        .reset_index(name="count")
    )
    counted["place"] = counted["system"].map(place)
    counted = counted.sort_values(
        ["count", "where", "invalid_reason", "place"], ascending=[False, True, True, True]
    ).drop(columns="place")
    shown, rest = counted.iloc[:_REASONS_SHOWN], counted.iloc[_REASONS_SHOWN:]
    if len(rest):
        line = {
            "where": "any",
            "invalid_reason": f"{len(rest)} other combinations",
            "system": "any",
            "count": int(rest["count"].sum()),
        }
        shown = pd.concat([shown, pd.DataFrame([line])])
    columns = (
        Column("where", "Where", "text"),
        Column("invalid_reason", "Reason", "text"),
        Column("system", "System", "text"),
        Column("count", "Count", "count"),
    )
    caption = "Every output and verdict that could not be read, by the reason given."
    frame = shown.reset_index(drop=True)
    return Table("invalid_reasons", "Reasons", caption, columns, frame)


def error_table(figures: pd.DataFrame) -> Table | None:
    """Return the shares of the error classes that were computed, or None if none was.

    Args:
        figures: As ``estimate_figures`` returns them.
    """
    whole = figures[figures["category"].isna() & figures["scope"].eq("overall")]
    frame = pd.DataFrame({"system": list(dict.fromkeys(whole["system"]))})
    columns = [Column("system", "System", "text")]
    for name in ERROR_CLASSES:
        part = whole[whole["measure"].eq(name)]
        if part.empty:
            continue
        part = part[["system", "estimate", "low", "high", "sd_over_draws"]]
        renamed = part.rename(
            columns={
                "estimate": name,
                "low": f"{name}_low",
                "high": f"{name}_high",
                "sd_over_draws": f"{name}_sd",
            }
        )
        frame = frame.merge(renamed, on="system", how="left")
        columns.append(Column(name, _CLASS_LABELS[name], "share", "Of valid outputs, %"))
    if len(columns) == 1:
        return None
    caption = (
        "Signs of error that can be computed. Similar semantics: hardly a character changed. "
        "Fantastical edit: the headline's names are gone. Fluency lapse: a perplexity far above "
        "the headline's. Numeric prediction: a figure the headline does not have, which the task "
        "forbids. These are rules on the surface of a text, not judgements of it. Trivial "
        "consequences and financially unrealistic, where shown, are the judge's."
    )
    return Table("errors", "Error classes", caption, tuple(columns), frame)
