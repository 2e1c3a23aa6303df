"""The items frame, checked and completed: what every step of the report starts from."""

from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.records import CRITERIA, SIDES

__all__ = ["ERROR_CLASSES", "ITEM_COLUMNS", "prepare_items"]

_COMPUTED_CLASSES = (
    "similar_semantics",
    "fantastical_edit",
    "fluency_lapse",
    "numeric_prediction",
)
_JUDGED_CLASSES = ("trivial_consequences", "financially_unrealistic")

ERROR_CLASSES: tuple[str, ...] = (*_COMPUTED_CLASSES, *_JUDGED_CLASSES)
"""The error classes of FIN-FORCE's figure 4 and the forbidden number; the last two need a judge,
and the items frame may lack them."""

ITEM_COLUMNS: tuple[str, ...] = (
    *("system", "model", "method", "shots", "judge", "draw", "sample_id", "side"),
    *("headline", "category", "text", "invalid_reason", "repairs"),
    *CRITERIA,
    *(f"{criterion}_invalid" for criterion in CRITERIA),
    *("perplexity", "headline_perplexity", "edit_distance"),
    *_COMPUTED_CLASSES,
)
"""One row per counterfactual: sample, draw and side. The frame may have besides, of methods that
write a factual first, its text (``base``) and the counterfactual's edit distance from it
(``base_distance``)."""

_KEY = ["system", "draw", "sample_id", "side"]


def prepare_items(items: pd.DataFrame) -> pd.DataFrame:
    """Check the items frame and add the columns that the figures are made from.

    A system that several judges judged becomes as many systems, each named with its judge, so
    that verdicts of different judges are never pooled.

    Returns:
        A copy in the order given, numbers as floats, with these columns besides: ``valid`` (1.0
        or 0.0), ``judged`` (bool: a verdict was given or attempted), and per criterion
        ``<criterion>_strict``: the verdict, 0.0 where the output or the judge's reply was
        invalid, NaN where nothing was judged.

    Raises:
        InputError: There are no rows, or two rows for one counterfactual.
        ValueError: A column is missing or a side is unknown: the caller's mistake.
    """
    missing = [column for column in ITEM_COLUMNS if column not in items.columns]
    if missing:
        raise ValueError(f"the items frame lacks {', '.join(missing)}")
    if items.empty:
        raise InputError(
            "there is nothing to report: no finished sample was found",
            hint="finish the run first, by running its command again",
        )
    frame = items.copy().reset_index(drop=True)
    if not frame["side"].isin(SIDES).all():
        raise ValueError(f"sides are {' and '.join(SIDES)}")
    for column in (*CRITERIA, "perplexity", "headline_perplexity", "edit_distance", "repairs"):
        frame[column] = _numbers(frame[column])
    distances = frame.get("base_distance", pd.Series(np.nan, index=frame.index))
    frame["base_distance"] = _numbers(distances)
    frame["base"] = frame["base"] if "base" in frame.columns else None
    for column in ERROR_CLASSES:
        flags = frame[column] if column in frame.columns else [None] * len(frame)
        frame[column] = np.array([np.nan if pd.isna(f) else float(f) for f in flags], dtype=float)
    for column in ("draw", "shots"):
        frame[column] = frame[column].fillna(1 if column == "draw" else 0).astype(int)
    frame["system"] = frame["system"].astype(str)
    frame["category"] = [
        None if pd.isna(c) or not str(c).strip() else str(c) for c in frame["category"]
    ]
    frame["system"] = _told_apart_by_judge(frame)
    twice = frame.duplicated(_KEY)
    if twice.any():
        row = frame[twice].iloc[0]
        raise InputError(
            f"two rows for one counterfactual: {row['system']}, headline {row['sample_id']}, "
            f"{row['side']}, draw {row['draw']}",
            hint="name each run once",
        )
    valid = frame["text"].notna() & frame["invalid_reason"].isna()
    frame["valid"] = valid.astype(float)
    frame["judged"] = False
    for criterion in CRITERIA:
        unread = frame[f"{criterion}_invalid"].notna()
        verdict = frame[criterion].where(valid)
        frame[criterion] = verdict
        used = (verdict.notna() | unread).groupby(frame["system"]).transform("any")
        strict = verdict.where(verdict.notna(), np.where(unread | ~valid, 0.0, np.nan))
        frame[f"{criterion}_strict"] = strict.where(used)
        frame["judged"] |= verdict.notna() | unread
    for column in ("perplexity", "base_distance"):
        frame[column] = frame[column].where(valid)
    return frame


def _numbers(column: "pd.Series[Any]") -> "pd.Series[float]":
    """Return a column as floats; what is no finite number is missing."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def _told_apart_by_judge(frame: pd.DataFrame) -> "pd.Series[str]":
    judges = frame["judge"].map(lambda judge: None if pd.isna(judge) else str(judge))
    several = judges.fillna("").groupby(frame["system"]).transform("nunique") > 1
    named = frame["system"] + judges.map(
        lambda j: " · unjudged" if j is None else f" · judged by {j}"
    )
    return frame["system"].where(~several, named)
