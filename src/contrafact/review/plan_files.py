"""What the planner reads and writes: items with a judge's verdicts, labels, plans and their keys.

A plan is two files. The items go to those who label, without the judge's verdicts. The key stays
behind: it has every item that the figures speak of, drawn or not, with its probability; figures are
made from it and the labels.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.tables import read_rows, render_csv, source_name, write_frame
from contrafact.review.plan import Frame, Target
from contrafact.stats.sampling import Draw

__all__ = [
    "Key", "Labels", "frame_of_finals", "frame_of_rows", "item_id", "items_to_label",
    "labels_in_rows", "read_key", "read_labels", "write_plan",
]  # fmt: skip

ASSUMED_ACCURACY = 0.8
"""How often a judge is taken to be right before there are labels."""

_ONE = frozenset(("1", "1.0", "true", "yes", "pass", "passed", "right", "valid"))
_ZERO = frozenset(("0", "0.0", "false", "no", "fail", "failed", "wrong", "invalid"))
_LABEL_FIELDS = ("label", "decision", "rating", "review_verdict")
_RANGES = 4
_COLUMNS = (
    *("item_id", "figures", "group", "level", "guess"),
    *("drawn_in", "given_before", "probability_1"),
)


@dataclass(frozen=True)
class Labels:
    """Labels of a frame's items: 0 or 1, NaN where there is none, shape (items,).

    ``tied`` items have as many labels of either kind, which makes none; ``outside`` counts labels
    of items that are not in the frame.
    """

    values: NDArray[np.float64]
    tied: int
    outside: int


def item_id(row: Mapping[str, Any], name: str, line: int) -> str:
    """Return the id of an item: its ``item_id``, ``id`` or ``item``."""
    for field in ("item_id", "id", "item"):
        if str(row.get(field) if row.get(field) is not None else "").strip():
            return str(row[field])
    raise InputError("the item has no id", file=name, line=line, hint="add a column 'item_id'")


def label_of(value: object, positive: Sequence[str]) -> float | None:
    """Return 1.0 or 0.0 for a label or verdict; none for an empty one.

    ``positive`` counts as 1 and everything else as 0; without any, the usual words do.

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

    Args:
        by: The field that holds each item's system or category.
        judge: The field that holds the judge's verdict or score.
        positive: The verdicts that count as a pass; the usual words if there are none.

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
    verdicts = [(line, row.get(judge) if judge else None) for line, row in rows]
    judge_level, score = judge_levels(verdicts, name, positive)
    guess = 0.5 + (2.0 * ASSUMED_ACCURACY - 1.0) * (score - 0.5)
    return Frame(tuple(ids), group, judge_level, guess)


def frame_of_finals(
    rows: Sequence[Mapping[str, Any]], risk: Mapping[str, tuple[str, float]], by: str | None
) -> Frame:
    """Return the frame of a review's final items: the label 1 says that one is right.

    ``risk`` has, by final item, how it became final, which takes the place of the judge's verdict,
    and a guess of the chance that it is wrong.
    """
    finals = [row for row in rows if str(row["item_id"]) in risk]
    ids = tuple(str(row["item_id"]) for row in finals)
    return Frame(
        ids,
        tuple(_text(row.get(by)) if by else "all" for row in finals),
        tuple(risk[one][0] for one in ids),
        1.0 - np.array([risk[one][1] for one in ids]),
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

    The field is the first of ``label``, ``decision``, ``rating`` and ``review_verdict`` that there
    is, if none is named.

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
    outside = 0
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
            outside += 1
        else:
            votes[int(value), at] += 1
    if outside and not votes.any():
        hint = "use the ids of the items that were planned"
        raise InputError("no label is of any of these items", file=name, hint=hint)
    decided = votes[0] != votes[1]
    values = np.where(decided, (votes[1] > votes[0]).astype(np.float64), np.nan)
    return Labels(values, int((~decided & (votes[0] > 0)).sum()), outside)


def read_labels(
    path: str | Path, frame: Frame, *, field: str | None = None, positive: Sequence[str] = ()
) -> Labels:
    """Return a frame's labels from a file of them; see `labels_in_rows`."""
    rows = list(read_rows(path))
    return labels_in_rows(rows, frame, source_name(path), field=field, positive=positive)


def items_to_label(
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    frame: Frame,
    name: str,
    hidden: Sequence[str | None],
) -> list[dict[str, Any]]:
    """Return each item of a frame as whoever labels it is to see it."""
    by_id = {item_id(row, name, line): row for line, row in rows}
    lacking = [one for one in frame.items if one not in by_id]
    if lacking:
        problem = f"item '{lacking[0][:40]}' of the key is not there any more"
        raise InputError(problem, file=name, hint="give the same items as before")
    return [
        {"item_id": one} | {k: v for k, v in by_id[one].items() if k not in (*hidden, "item_id")}
        for one in frame.items
    ]


def judge_levels(
    verdicts: Sequence[tuple[int, object]], name: str, positive: Sequence[str]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return each item's level, and what the judge gave it from 0 to 1 (0.5 for nothing).

    A verdict makes two levels, a score from 0 to 1 makes four ranges of as many items each; what
    the judge left out is a level of its own.

    Args:
        verdicts: What the judge said of each item, with its line.

    Raises:
        InputError: It is neither a verdict nor a score from 0 to 1.
    """
    score = np.full(len(verdicts), np.nan)
    graded = False
    for at, (line, value) in enumerate(verdicts):
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
        return ("",) * len(verdicts), np.full(len(verdicts), 0.5)
    if graded:
        edges = np.unique(np.quantile(score[~none], np.arange(1, _RANGES) / _RANGES))
        bins = np.searchsorted(edges, score, side="right")
        named = [f"score range {place + 1}" for place in bins]
    else:
        named = ["passed" if value == 1.0 else "failed" for value in score]
    levels = tuple("no verdict" if gone else one for gone, one in zip(none, named, strict=True))
    return levels, np.where(none, 0.5, score)


def _text(value: object) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True)
class Key:
    """What a key holds."""

    frame: Frame
    draw: Draw
    figure: Target


def write_plan(
    out: Path, rows: Sequence[Mapping[str, Any]], key: Key, order: Sequence[int]
) -> Path:
    """Write the items to label and the key, and return the key's path.

    A plan that is there already is left as it is if it is the same, and never overwritten.

    Args:
        out: The file for the items: ``.csv``, ``.jsonl`` or ``.parquet``.
        order: The places of the items that were drawn, in the order to label them in.

    Raises:
        InputError: Another plan has that name, or a file cannot be written.
    """
    import pandas as pd

    target = out.with_suffix(".key.csv")
    frame, draw = key.frame, key.draw
    key_rows: list[dict[str, Any]] = [
        {
            "item_id": name,
            "figures": key.figure,
            "group": frame.group[at],
            "level": frame.judge_level[at],
            "guess": float(frame.guess[at]),
            "drawn_in": int(draw.drawn[at]) or None,
            "given_before": int(draw.given[at]) or None,
            "probability_1": None if draw.given[at] else float(draw.probabilities[at]),
        }
        for at, name in enumerate(frame.items)
    ]
    text = render_csv(pd.DataFrame(key_rows, dtype=object))
    if target.exists() or out.exists():
        if out.exists() and target.exists() and target.read_bytes() == text.encode():
            return target
        raise InputError(
            "there is another plan under this name",
            file=target if target.exists() else out,
            hint="give another name with --out",
        )
    write_frame(pd.DataFrame([rows[at] for at in order], dtype=object), out)
    write_text(target, text)
    return target


def read_key(path: str | Path) -> Key:
    """Return a key; `InputError` if the file is none, or a row of it cannot be used."""
    name = source_name(path)
    rows = list(read_rows(path))
    columns = list(rows[0][1]) if rows else []
    if missing := [column for column in _COLUMNS if column not in columns]:
        raise InputError(
            f"this is no key of a plan: it has no column '{missing[0]}'",
            file=name,
            hint="use the file ending in .key.csv that `contrafact review plan` wrote",
        )
    if "probability_2" in columns or "ranking" in str(rows[0][1]["figures"]):
        raise InputError(
            "this is the key of several waves or of a ranking, which are not planned any more",
            file=name,
            hint="estimate it with the version of contrafact that wrote it, or plan anew",
        )
    guess, probabilities = np.empty(len(rows)), np.full(len(rows), np.nan)
    drawn, known = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    for at, (line, row) in enumerate(rows):
        unusable = InputError(
            "this row of the key cannot be used",
            file=name,
            line=line,
            hint="use the key as `contrafact review plan` wrote it",
        )
        try:
            guess[at], cell = float(row["guess"]), row["probability_1"]
            numbers = int(row["drawn_in"] or 0), int(row["given_before"] or 0)
            probabilities[at] = float(cell) if str(cell or "").strip() else np.nan
        except (KeyError, TypeError, ValueError) as error:
            raise unusable from error
        drawn[at], known[at] = numbers
        valid = np.isnan(probabilities[at]) or 0.0 <= probabilities[at] <= 1.0
        if not valid or not {*numbers} <= {0, 1} or not 0.0 <= guess[at] <= 1.0:
            raise unusable
        if drawn[at] and not probabilities[at] > 0.0:
            raise unusable
    frame = Frame(
        tuple(str(row["item_id"]) for _, row in rows),
        tuple(str(row["group"] or "") for _, row in rows),
        tuple(str(row["level"] or "") for _, row in rows),
        guess,
    )
    figure: Target = "residual" if rows[0][1]["figures"] == "residual" else "rate"
    return Key(frame, Draw(probabilities, drawn, known), figure)
