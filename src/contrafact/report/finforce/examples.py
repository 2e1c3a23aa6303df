"""Examples drawn at random: a headline, its counterfactuals, what changed, how it was judged."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.records import CRITERIA, SIDES
from contrafact.report.edits import marked
from contrafact.report.visible import shorten
from contrafact.text.diff import word_diff

__all__ = ["Chip", "Example", "ExampleSide", "draw_examples", "invalid_examples"]

_TEXT_LIMIT = 1_200
_CHIP_LABELS = {"forward_compatibility": "Forward-compatible", "directionality": "Directional"}


@dataclass(frozen=True)
class Chip:
    """A verdict as it is shown: its label, and "yes", "no", "unread" or "none"."""

    label: str
    state: str
    reason: str = ""


@dataclass(frozen=True)
class ExampleSide:
    """One counterfactual beside its headline.

    Attributes:
        side: "risk" or "opportunity".
        edit: The edit as markup, ``<del>`` and ``<ins>`` around what changed; empty if invalid.
        kept: The share of the headline's characters that the counterfactual keeps in place.
        left_out: Characters not shown, of a very long text.
        invalid_reason: Why the output could not be read; None if it could.
        chips: The verdicts.
        perplexity: Of the counterfactual; NaN if not scored.
    """

    side: str
    edit: Markup
    kept: float
    left_out: int
    invalid_reason: str | None
    chips: tuple[Chip, ...]
    perplexity: float


@dataclass(frozen=True)
class Example:
    """A headline with what one system made of it.

    ``base`` is the continuation whose counterfactuals these are; None where the method writes none.
    """

    system: str
    category: str | None
    headline: str
    headline_left_out: int
    headline_perplexity: float
    sides: tuple[ExampleSide, ...]
    base: str | None = None


def draw_examples(
    items: pd.DataFrame, *, count: int = 20, rng: np.random.Generator
) -> list[Example]:
    """Draw headlines at random and show what the systems, taken in turn, made of them.

    Only the first few-shot draw is shown. Nothing is picked by hand or by verdict.

    Args:
        items: As ``prepare_items`` returns them.
        count: How many examples at most.
        rng: Where randomness comes from.
    """
    first = items[items["draw"].eq(items.groupby("system")["draw"].transform("min"))]
    parts = {
        (str(s), str(h)): p for (s, h), p in first.groupby(["system", "sample_id"], sort=False)
    }
    systems = list(dict.fromkeys(first["system"]))
    headlines = sorted(set(first["sample_id"]))
    order = [headlines[i] for i in rng.permutation(len(headlines))]
    chosen: list[tuple[str, str]] = []
    # Round after round over the systems, so that each has its share and headlines differ.
    for turn in range(len(systems)):
        for i, headline in enumerate(order):
            key = (systems[(i + turn) % len(systems)], headline)
            if len(chosen) < count and key in parts and key not in chosen:
                chosen.append(key)
    return [_example(parts[key]) for key in chosen]


def invalid_examples(items: pd.DataFrame, *, count: int = 8) -> pd.DataFrame:
    """Return up to ``count`` invalid outputs, one for each reason before a second of any.

    Columns: ``system``, ``side``, ``headline``, ``invalid_reason``.
    """
    invalid = items[items["valid"].eq(0)]
    nth = invalid.groupby("invalid_reason", dropna=False).cumcount()
    order = nth.sort_values(kind="stable").index[:count]
    return invalid.loc[order, ["system", "side", "headline", "invalid_reason"]]


def _example(rows: pd.DataFrame) -> Example:
    row = rows.iloc[0]
    headline, left_out = shorten(str(row["headline"]), _TEXT_LIMIT)
    by_side = {str(line["side"]): line for _, line in rows.iterrows()}
    return Example(
        system=str(row["system"]),
        category=None if pd.isna(row["category"]) else str(row["category"]),
        headline=headline,
        headline_left_out=left_out,
        headline_perplexity=float(row["headline_perplexity"]),
        sides=tuple(_side(by_side[side], headline) for side in SIDES if side in by_side),
        base=None if pd.isna(row["base"]) else shorten(str(row["base"]), _TEXT_LIMIT)[0],
    )


def _side(row: "pd.Series[Any]", headline: str) -> ExampleSide:
    valid = row["valid"] == 1
    text, left_out = shorten(str(row["text"]), _TEXT_LIMIT) if valid else ("", 0)
    parts = word_diff(headline, text) if valid else []
    same = sum(len(part.text) for part in parts if part.kind == "same")
    reason = "no text" if pd.isna(row["invalid_reason"]) else str(row["invalid_reason"])
    return ExampleSide(
        side=str(row["side"]),
        edit=marked(parts),
        kept=same / max(1, len(headline)),
        left_out=left_out,
        invalid_reason=None if valid else reason,
        chips=tuple(_chips(row)) if valid else (),
        perplexity=float(str(row["perplexity"])),
    )


def _chips(row: "pd.Series[Any]") -> Iterator[Chip]:
    for criterion in CRITERIA:
        verdict, unread = row[criterion], row[f"{criterion}_invalid"]
        label = _CHIP_LABELS[criterion]
        if not pd.isna(verdict):
            yield Chip(label, "yes" if verdict == 1 else "no")
        elif not pd.isna(unread):
            yield Chip(label, "unread", str(unread))
