"""The items frame of one task, checked and completed: what every step starts from."""

import pandas as pd

from contrafact.errors import InputError
from contrafact.families.rfc.items import ITEM_COLUMNS, PROBABILITIES
from contrafact.families.rfc.labels import labels_of

__all__ = ["NO_MODEL", "is_baseline", "pair_frame", "prepare_items", "systems_of"]

NO_MODEL = "none/none"
_KEY = ["system", "draw", "sample_id"]


def prepare_items(items: pd.DataFrame, task: str) -> pd.DataFrame:
    """Check the items frame and add what the figures are made from.

    Args:
        items: The rows, as `families.rfc.items` describes them; the probabilities may be missing,
            as in tables of runs that had not got them.
        task: ``rfc-detect`` or ``rfc-diagnose``.

    Returns:
        A copy in the order given, with these columns besides: ``valid`` (1.0 or 0.0), ``right``
        (1.0 or 0.0; NaN where the reply was invalid), ``right_strict`` (0.0 there), ``baseline``
        (bool).

    Raises:
        InputError: There are no rows, or two rows for one sample.
        ValueError: A column is missing or a label is not the task's: the caller's mistake.
    """
    probabilities = list(PROBABILITIES.values())
    items = items.reindex(columns=[*items.columns.union(probabilities, sort=False)])
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
            f"two rows for one sample: {row['system']}, {row['sample_id']}, draw {row['draw']}",
            hint="name each run once",
        )
    for column in ("predicted", "invalid_reason", "rationale", "error_class", "category"):
        texts = [None if pd.isna(value) else str(value) for value in frame[column]]
        frame[column] = pd.Series(texts, index=frame.index, dtype=object)
    labels = labels_of(task)  # type: ignore[arg-type]
    strays = set(frame["gold"]) | {label for label in frame["predicted"] if label is not None}
    if strays - set(labels):
        raise ValueError(f"{sorted(strays - set(labels))[0]!r} is no label of {task}")
    valid = frame["predicted"].notna()
    right = frame["predicted"].eq(frame["gold"]).astype(float)
    return frame.assign(
        **{name: pd.to_numeric(frame[name], errors="coerce") for name in probabilities},
        valid=valid.astype(float),
        right=right.where(valid),
        right_strict=right,
        baseline=frame["model"].eq(NO_MODEL),
    )


def pair_frame(items: pd.DataFrame) -> pd.DataFrame:
    """Return one row per system, draw and pair of which both members were shown, for detection.

    Columns: ``system``, ``draw``, ``pair_id``, ``article_id``, ``manipulation``, ``right`` (both
    members right; NaN where a reply was invalid), ``right_strict`` (invalid is wrong).
    """
    by = ["system", "draw", "pair_id", "article_id", "manipulation"]
    grouped = items.groupby(by, sort=False)
    both = grouped.agg(
        members=("gold", "nunique"), valid=("valid", "min"), right=("right_strict", "min")
    ).reset_index()
    both = both[both["members"].eq(2)].drop(columns="members").reset_index(drop=True)
    return both.assign(right=both["right"].where(both["valid"].eq(1)), right_strict=both["right"])


def systems_of(items: pd.DataFrame) -> list[str]:
    """Return the systems: those that ask a model as they come, then the baselines."""
    distinct = items.drop_duplicates("system")
    ordered = pd.concat([distinct[~distinct["baseline"]], distinct[distinct["baseline"]]])
    return [str(system) for system in ordered["system"]]


def is_baseline(items: pd.DataFrame) -> dict[str, bool]:
    """Return for each system whether it asks no model."""
    distinct = items.drop_duplicates("system")
    return dict(zip(distinct["system"].astype(str), distinct["baseline"].astype(bool), strict=True))
