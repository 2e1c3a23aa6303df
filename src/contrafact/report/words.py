"""What the summaries and warnings of several chapters say alike, made from their figures."""

import math
from typing import Any

import pandas as pd

from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.report.meta import ReportMeta
from contrafact.report.table import format_number
from contrafact.stats.intervals import MIN_CLUSTERS

__all__ = [
    "ONE_ANSWER",
    "count",
    "embedded_system",
    "first_of",
    "listed",
    "most_invalid",
    "one_answer",
    "percent",
    "self_judged",
    "unfinished",
    "verdict",
    "with_interval",
]

Warnings = list[tuple[str, str]]
"""What a reader must know before quoting a figure: headings and texts."""

ONE_ANSWER = 0.95
"""From this share on, the same answer is nearly always given."""


def percent(share: float) -> str:
    """Return a share of 1 in percent."""
    return f"{format_number(share, 'share')}%"


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun; the plural takes an s unless it is given."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def first_of(names: tuple[str, ...]) -> str:
    """Return the first name and how many more there are."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def with_interval(row: "pd.Series[Any]", clusters: str) -> str:
    """Return a share in percent with its interval, or why it has none.

    Args:
        row: A row of figures: ``estimate``, ``low``, ``high``, ``level``, ``method`` and the
            number of clusters.
        clusters: The name of that number, and what its clusters are called.
    """
    estimate, low, high = (float(str(row[name])) for name in ("estimate", "low", "high"))
    if math.isnan(low):
        few = int(row[clusters]) < MIN_CLUSTERS
        why = f"too few {clusters} for an interval" if few else row["method"]
        return f"{percent(estimate)} ({why})"
    level = format_number(float(str(row["level"])) * 100, "count")
    return (
        f"{percent(estimate)} ({level}% interval {format_number(low, 'share')} "
        f"to {format_number(high, 'share')})"
    )


def verdict(
    pairs: pd.DataFrame, first: str, second: str, *, measure: str, called: str = "the two"
) -> str:
    """Return a sentence, a space before it, on whether two systems differ; empty if unknown.

    Args:
        pairs: As ``compare_systems`` returns them.
        first: A system.
        second: Another.
        measure: What is compared of them, in its valid form.
        called: What the sentence calls them.
    """
    if pairs.empty:
        return ""
    held = pairs["measure"].eq(measure) & pairs["form"].eq("valid")
    either = (pairs["first"].eq(first) & pairs["second"].eq(second)) | (
        pairs["first"].eq(second) & pairs["second"].eq(first)
    )
    rows = pairs[held & either & pairs["p_adjusted"].notna()]
    if rows.empty:
        return ""
    adjusted = float(rows.iloc[0]["p_adjusted"])
    p = format_number(adjusted, "p")
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    said = (
        f"the difference between {called} is larger than chance would make it"
        if adjusted < 0.05
        else f"these data do not tell {called} apart"
    )
    return f" On the same items, {said} (paired test, {p} after Holm's adjustment)."


def most_invalid(items: pd.DataFrame) -> tuple[str, str] | None:
    """Return the system with the largest share of invalid rows, and that share; None without any.

    Args:
        items: Rows with ``system`` and ``valid`` (1.0 or 0.0).
    """
    shares = 1 - items.groupby("system", sort=False)["valid"].mean()
    worst = shares[shares > 0].sort_values(ascending=False, kind="stable")
    return None if worst.empty else (str(worst.index[0]), percent(float(worst.iloc[0])))


def embedded_system(items: pd.DataFrame) -> Warnings:
    """Warn of the embedded model among the systems."""
    if not any(str(model).startswith(EMBEDDED_NAMES) for model in items["model"].unique()):
        return []
    text = (
        "It is small: it is there so that everything can be tried without a key or a network. Its "
        "rows show that the machinery works, and say nothing of what larger models can do."
    )
    return [("The embedded model is among the systems", text)]


def self_judged(meta: ReportMeta, wrote: str) -> Warnings:
    """Warn of a judge that wrote what it judged.

    Args:
        meta: What the runs are.
        wrote: What was written, several of them.
    """
    if not meta.self_judged:
        return []
    text = (
        f"In at least one run the judge is the model that wrote the {wrote}. Models tend to favour "
        "their own text, so its scores here may be too high. Name another judge with --judge."
    )
    return [("A model judged its own writing", text)]


def unfinished(meta: ReportMeta) -> Warnings:
    """Warn of runs that are not complete."""
    names = [run.name for run in meta.runs if not run.complete]
    if not names:
        return []
    text = (
        f"Figures rest on the finished samples of {', '.join(names)}. Run the same command again "
        "to finish the others."
    )
    return [("Not every sample is finished", text)]


def one_answer(
    verdicts: "pd.Series[float]", *, enough: int, judge: str, criterion: str, words: tuple[str, str]
) -> list[str]:
    """Say so where a judge gives nearly always the same answer.

    Args:
        verdicts: Its readable verdicts, 1.0 or 0.0.
        enough: How many it takes to say anything.
        judge: The judge.
        criterion: What it judged by.
        words: What it answers to pass and to fail.
    """
    if len(verdicts) < enough:
        return []
    share = float(verdicts.mean())
    if 1 - ONE_ANSWER < share < ONE_ANSWER:
        return []
    answer, often = (words[0], share) if share > 0.5 else (words[1], 1 - share)
    return [
        f"On {criterion}, {judge} answered {answer} {percent(often)} of the time "
        f"({len(verdicts):,} readable verdicts)."
    ]
