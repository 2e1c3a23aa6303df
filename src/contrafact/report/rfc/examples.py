"""Examples drawn at random: a pair side by side, its edit marked, and what the systems answered."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.records import MANIPULATIONS
from contrafact.report.edits import marked
from contrafact.report.visible import shorten
from contrafact.text.diff import word_diff

__all__ = ["AnswerShown", "Example", "draw_examples", "invalid_examples"]

_TEXT_LIMIT = 2_400
_REASONS_LIMIT = 600


@dataclass(frozen=True)
class AnswerShown:
    """A system's answer: the label, or why there is none, and whether it is right.

    Attributes:
        system: The system.
        answers: What was answered and how: label or reason, and "yes", "no" or "unread"; in
            detection about the original first, then about the rewritten.
        reasons: What the system gave as its reasons, shortened; empty without any.
    """

    system: str
    answers: tuple[tuple[str, str, str], ...]
    reasons: str = ""


@dataclass(frozen=True)
class Example:
    """One pair and the answers about it.

    Attributes:
        manipulation: What was done to the original.
        category: Its market category, if known.
        original: The original as markup, what was taken out struck through; empty without one.
        rewritten: The manipulated paragraph, what was put in underlined.
        left_out: Characters not shown, of very long texts.
        gold: What is right, in words.
        answers: The systems' answers.
    """

    manipulation: str
    category: str | None
    original: Markup
    rewritten: Markup
    left_out: int
    gold: str
    answers: tuple[AnswerShown, ...]


def draw_examples(
    items: pd.DataFrame,
    task: str,
    systems: list[str],
    *,
    count: int = 20,
    rng: np.random.Generator,
) -> list[Example]:
    """Draw pairs at random, the manipulations in turn, and show what every system answered.

    Only the first few-shot draw is shown. Nothing is picked by hand or by answer.

    Args:
        items: As ``prepare_items`` returns them.
        task: The task.
        systems: The systems, in order.
        count: How many examples at most.
        rng: Where randomness comes from.
    """
    first = items[items["draw"].eq(items.groupby("system")["draw"].transform("min"))]
    pairs = first.drop_duplicates("pair_id")[["pair_id", "manipulation"]]
    queues: list[list[str]] = []
    for manipulation in MANIPULATIONS:
        ids = sorted(pairs.loc[pairs["manipulation"].eq(manipulation), "pair_id"])
        queues.append([ids[i] for i in rng.permutation(len(ids))])
    chosen: list[str] = []
    while any(queues) and len(chosen) < count:
        for queue in queues:
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
    parts = {str(pair): part for pair, part in first.groupby("pair_id", sort=False)}
    return [_example(parts[pair], task, systems) for pair in chosen]


def invalid_examples(items: pd.DataFrame, *, count: int = 8) -> pd.DataFrame:
    """Return up to ``count`` invalid replies, one for each reason before a second of any.

    Columns: ``system``, ``sample_id``, ``reply``, ``invalid_reason``.
    """
    invalid = items[items["valid"].eq(0)]
    nth = invalid.groupby("invalid_reason", dropna=False).cumcount()
    order = nth.sort_values(kind="stable").index[:count]
    columns = ["system", "sample_id", "reply", "invalid_reason"]
    return invalid.loc[order, columns].astype(object).where(lambda frame: frame.notna(), None)


def _example(rows: pd.DataFrame, task: str, systems: list[str]) -> Example:
    row = rows.iloc[0]
    has_original = not pd.isna(row["original"])
    rewritten, cut = shorten(str(row["rewritten"]), _TEXT_LIMIT)
    original, cut_too = shorten(str(row["original"]), _TEXT_LIMIT) if has_original else ("", 0)
    parts = word_diff(original, rewritten) if has_original else word_diff(rewritten, rewritten)
    detects = task == "rfc-detect"
    return Example(
        manipulation=str(row["manipulation"]),
        category=None if pd.isna(row["category"]) else str(row["category"]),
        original=marked(parts, ("same", "removed")) if has_original else Markup(""),
        rewritten=marked(parts, ("same", "added")),
        left_out=cut + cut_too,
        gold=f"original {TRUE}, rewritten {FALSE}" if detects else str(row["gold"]),
        answers=tuple(
            _answers(rows[rows["system"].eq(system)], system, detects)
            for system in systems
            if rows["system"].eq(system).any()
        ),
    )


def _answers(own: pd.DataFrame, system: str, detects: bool) -> AnswerShown:
    shown: list[tuple[str, str, str]] = []
    reasons: list[str] = []
    for _, row in own.sort_values("gold", ascending=False, kind="stable").iterrows():
        what = ("original" if row["gold"] == TRUE else "rewritten") if detects else ""
        if row["valid"] == 1:
            shown.append((what, str(row["predicted"]), "yes" if row["right"] == 1 else "no"))
        else:
            why = "no reason kept" if row["invalid_reason"] is None else str(row["invalid_reason"])
            shown.append((what, why, "unread"))
        if row["rationale"] is not None:
            reasons.append(f"{what}: {row['rationale']}" if what else str(row["rationale"]))
    text, left = shorten(" / ".join(reasons), _REASONS_LIMIT)
    return AnswerShown(system, tuple(shown), f"{text} …" if left else text)
