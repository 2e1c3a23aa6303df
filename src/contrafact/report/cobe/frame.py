"""The items frame of ``cobe``, checked and completed: what every step starts from."""

from typing import Any

import pandas as pd

from contrafact.errors import InputError
from contrafact.families.cobe.failure_modes import failure_modes
from contrafact.families.cobe.items import CRITERION_NAMES, ITEM_COLUMNS, PHRASINGS
from contrafact.records import DOMAINS, GRAPHS

__all__ = ["NOT_NAMED", "SCOPES", "prepare_items", "scope_frame", "systems_of"]

SCOPES: dict[str, str] = {
    "graph": "Type of graph",
    "phrasing": "Phrasing",
    "domain": "Domain",
    "failure_mode": "Failure mode",
}
"""What stories and queries are told apart by, and how it reads (figures 6 to 9 of the paper)."""

NOT_NAMED = "not named"

_KEY = ["system", "draw", "sample_id", "phrasing"]
_TEXTS = ("judge", "graph", "text", "invalid_reason", "answer")
_STORY_HAS = {"E1": "unchanged", "E2": "changed", "E4": "numerical", "E5": "latent"}


def prepare_items(items: pd.DataFrame) -> pd.DataFrame:
    """Check the items frame and add what the figures are made from.

    Args:
        items: The rows, as `contrafact.families.cobe.items` describes them.

    Returns:
        A copy in the order given, with these columns besides: ``valid`` (1.0 or 0.0), ``judged``
        (bool: a judge was asked, or would have been had there been a response), ``correct_strict``
        (``correct``, 0.0 where it is open), and of each criterion ``E1_fails`` (1.0 or 0.0; NaN
        where it was not asked or its verdict is invalid) and ``E1_fails_strict`` (1.0 also where
        response or verdict is invalid); the strict ones are NaN where nobody judged.

    Raises:
        InputError: There are no rows, or two rows for one sample.
        ValueError: A column is missing: the caller's mistake.
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
    twice = frame.duplicated(_KEY)
    if twice.any():
        row = frame[twice].iloc[0]
        raise InputError(
            f"two rows for one sample: {row['system']}, {row['sample_id']}, phrasing "
            f"{row['phrasing']}, draw {row['draw']}",
            hint="name each run once",
        )
    for column in (*_TEXTS, *_STORY_HAS.values(), *(f"{name}_invalid" for name in CRITERION_NAMES)):
        texts = [None if pd.isna(value) else str(value) for value in frame[column]]
        frame[column] = pd.Series(texts, index=frame.index, dtype=object)
    numbers = (*CRITERION_NAMES, *(f"{name}_probability" for name in CRITERION_NAMES))
    for column in ("correct", "suggested_failure_mode", *numbers):
        frame[column] = pd.to_numeric(frame[column], errors="coerce").astype(float)
    judged, valid = frame["judge"].notna(), frame["text"].notna()
    added: dict[str, pd.Series[Any]] = {
        "valid": valid.astype(float),
        "judged": judged,
        "correct_strict": frame["correct"].fillna(0.0).where(judged),
    }
    for name in CRITERION_NAMES:
        fails = 1.0 - frame[name]
        unread = frame[f"{name}_invalid"].notna() | (~valid & _has(frame, name))
        added[f"{name}_fails"] = fails
        added[f"{name}_fails_strict"] = fails.mask(unread, 1.0).where(judged)
    return frame.assign(**added)


def _has(frame: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Return whether each story has a criterion; E3 is asked of all."""
    if name not in _STORY_HAS:
        return pd.Series(True, index=frame.index)
    return frame[_STORY_HAS[name]].notna()


def scope_frame(items: pd.DataFrame, scope: str) -> dict[str, pd.DataFrame]:
    """Return the rows of each graph, phrasing, domain or failure mode, in the paper's order.

    A story labelled with several failure modes counts under each. Stories without the label are
    under `NOT_NAMED`, but for failure modes, which are labels that most stories may lack.

    Args:
        items: As ``prepare_items`` returns them.
        scope: A key of `SCOPES`.
    """
    if scope == "failure_mode":
        held = [set(str(modes).split()) for modes in items["failure_modes"].fillna("")]
        found = {}
        for number, mode in failure_modes().items():
            own = items[[str(number) in modes for modes in held]]
            if len(own):
                found[f"{number}. {mode.name}"] = own
        return found
    known = {"graph": GRAPHS, "phrasing": PHRASINGS, "domain": DOMAINS}[scope]
    named = items[scope].fillna(NOT_NAMED).astype(str)
    others = sorted(set(named) - set(known) - {NOT_NAMED})
    names = [*known, *others, NOT_NAMED]
    return {name: items[named.eq(name)] for name in names if named.eq(name).any()}


def systems_of(items: pd.DataFrame) -> list[str]:
    """Return the systems as they come."""
    return [str(system) for system in dict.fromkeys(items["system"])]
