"""What the planner reads: items with a judge's verdicts, finished reviews, labels so far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.files.tables import read_rows, source_name
from contrafact.review.plan import Frame
from contrafact.review.residual import Residual

__all__ = [
    "ASSUMED_ACCURACY",
    "Labels",
    "frame_of_finals",
    "frame_of_rows",
    "item_id",
    "label_of",
    "labels_in_rows",
    "read_labels",
]

ASSUMED_ACCURACY = 0.8
"""How often a judge is taken to be right before there are labels."""

_ONE = frozenset(("1", "1.0", "true", "yes", "pass", "passed", "right", "valid"))
_ZERO = frozenset(("0", "0.0", "false", "no", "fail", "failed", "wrong", "invalid"))
_LABEL_FIELDS = ("label", "decision", "rating", "review_verdict")
_RANGES = 4


@dataclass(frozen=True)
class Labels:
    """Labels of a frame's items.

    Attributes:
        values: 0 or 1; NaN where there is none, shape (items,).
        tied: How many items have as many labels of either kind, which makes none.
        elsewhere: How many labels are of items that are not in the frame.
    """

    values: NDArray[np.float64]
    tied: int
    elsewhere: int


def item_id(row: Mapping[str, Any], name: str, line: int) -> str:
    """Return the id of an item: its ``item_id``, ``id`` or ``item``.

    Raises:
        InputError: It has none.
    """
    for field in ("item_id", "id", "item"):
        if str(row.get(field) if row.get(field) is not None else "").strip():
            return str(row[field])
    raise InputError("the item has no id", file=name, line=line, hint="add a column 'item_id'")


def label_of(value: object, positive: Sequence[str]) -> float | None:
    """Return 1.0 or 0.0 for a label or verdict; none for an empty one.

    Args:
        value: What the file says.
        positive: What counts as 1, everything else being 0; without any, the usual words for yes
            and no.

    Raises:
        ValueError: It is no such word.
    """
    text = "" if value is None else str(value).strip()
    if not text or text.lower() == "nan":
        return None
    if positive:
        return float(text in positive)
    if text.lower() in _ONE:
        return 1.0
    if text.lower() in _ZERO:
        return 0.0
    raise ValueError(f"'{text[:40]}' is no label that says yes or no")


def frame_of_rows(
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    name: str,
    *,
    by: str | None = None,
    judge: str | None = None,
    positive: Sequence[str] = (),
) -> Frame:
    """Return the frame of a table of items.

    A verdict makes two levels, a score from 0 to 1 makes four ranges of as many items each; what
    the judge left out is a level of its own.

    Args:
        rows: The rows, each with its line.
        name: The file's name, for messages.
        by: The field that holds each item's system or category.
        judge: The field that holds the judge's verdict or score.
        positive: The verdicts that count as a pass; the usual words if none is said.

    Raises:
        InputError: There are no rows, a field is not there, or two rows have one id.
    """
    if not rows:
        raise InputError("there are no items", file=name)
    for field in (by, judge):
        if field is not None and not any(field in row for _, row in rows):
            known = ", ".join(list(rows[0][1])[:12])
            raise InputError(f"there is no field '{field}'", file=name, hint=f"it has {known}")
    ids = [item_id(row, name, line) for line, row in rows]
    twice = [one for one, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"item '{twice[0][:40]}' is there twice", file=name)
    group = tuple(_text(row.get(by)) if by else "all" for _, row in rows)
    told = [(line, row.get(judge) if judge else None) for line, row in rows]
    level, score = _levels(told, name, positive)
    guess = 0.5 + (2.0 * ASSUMED_ACCURACY - 1.0) * (score - 0.5)
    return Frame(tuple(ids), group, level, guess)


def frame_of_finals(rows: Sequence[Mapping[str, Any]], found: Residual, by: str | None) -> Frame:
    """Return the frame of a review's final items: the label 1 says that one is right.

    How an item became final is its level, and what the votes say of such items is the guess.

    Args:
        rows: The review's items, as ``contrafact review export --what items`` writes them.
        found: What is known of the review's residual error.
        by: The field that holds each item's category.
    """
    own = [row for row in rows if str(row["item_id"]) in found.risk]
    ids = tuple(str(row["item_id"]) for row in own)
    return Frame(
        ids,
        tuple(_text(row.get(by)) if by else "all" for row in own),
        tuple(found.way[one] for one in ids),
        1.0 - np.array([found.risk[one] for one in ids]),
    )


def labels_in_rows(
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    frame: Frame,
    name: str,
    *,
    field: str | None = None,
    positive: Sequence[str] = (),
) -> Labels:
    """Return a frame's labels from a table of them; of several of one item, what most say.

    Args:
        rows: The rows, each with its line.
        frame: The items.
        name: The file's name, for messages.
        field: The field of the label; the first of ``label``, ``decision``, ``rating`` and
            ``review_verdict`` that there is, if none is said.
        positive: What counts as 1; the usual words if none is said.

    Raises:
        InputError: There is no such field, a label is no yes or no, or none is of the frame.
    """
    place = {one: at for at, one in enumerate(frame.items)}
    fields = list(dict.fromkeys(key for _, row in rows for key in row))
    chosen = field or next((one for one in _LABEL_FIELDS if one in fields), None)
    if chosen is None or chosen not in fields:
        problem = f"there is no field '{chosen}'" if chosen else "there is no field of labels"
        raise InputError(problem, file=name, hint="name it: --label FIELD")
    votes = np.zeros((2, len(frame.items)), dtype=np.intp)
    elsewhere = 0
    for line, row in rows:
        try:
            value = label_of(row.get(chosen), positive)
        except ValueError as error:
            hint = "say what counts as yes: --positive VALUE"
            raise InputError(str(error), file=name, line=line, hint=hint) from error
        if value is None:
            continue
        at = place.get(item_id(row, name, line))
        if at is None:
            elsewhere += 1
        else:
            votes[int(value), at] += 1
    if elsewhere and not votes.any():
        hint = "use the ids of the items that were planned"
        raise InputError("no label is of any of these items", file=name, hint=hint)
    decided = votes[0] != votes[1]
    values = np.where(decided, (votes[1] > votes[0]).astype(np.float64), np.nan)
    return Labels(values, int((~decided & (votes[0] > 0)).sum()), elsewhere)


def read_labels(
    path: str | Path, frame: Frame, *, field: str | None = None, positive: Sequence[str] = ()
) -> Labels:
    """Return a frame's labels from a file of them; see :func:`labels_in_rows`."""
    rows = list(read_rows(path))
    return labels_in_rows(rows, frame, source_name(path), field=field, positive=positive)


def _levels(
    told: Sequence[tuple[int, object]], name: str, positive: Sequence[str]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return each item's level, and what the judge gave it from 0 to 1 (0.5 for nothing)."""
    score = np.full(len(told), np.nan)
    graded = False
    for at, (line, value) in enumerate(told):
        try:
            verdict = label_of(value, positive)
            score[at] = np.nan if verdict is None else verdict
        except ValueError as error:
            try:
                score[at] = float(str(value))
            except ValueError:
                hint = "say which verdicts are a pass: --judge-positive VALUE"
                raise InputError(str(error), file=name, line=line, hint=hint) from error
            if not 0.0 <= score[at] <= 1.0:
                problem = f"the judge's score {score[at]:g} is not between 0 and 1"
                raise InputError(problem, file=name, line=line, hint="scale it") from error
            graded = True
    none = np.isnan(score)
    if none.all():
        return ("",) * len(told), np.full(len(told), 0.5)
    if graded:
        edges = np.unique(np.quantile(score[~none], np.arange(1, _RANGES) / _RANGES))
        bins = np.searchsorted(edges, score, side="right")
        named = [f"score range {place + 1}" for place in bins]
    else:
        named = ["passed" if value == 1.0 else "failed" for value in score]
    level = tuple("no verdict" if gone else one for gone, one in zip(none, named, strict=True))
    return level, np.where(none, 0.5, score)


def _text(value: object) -> str:
    return "" if value is None else str(value)
