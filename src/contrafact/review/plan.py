"""The planner: it draws items for people to label, and estimates figures from their labels.

Items belong to groups (systems, categories). Each has a level: a judge's verdict, or how a review
made it final. Items with the same group and level are a stratum. Strata are sampled in proportion
to their size, but each gets a few labels at least.

A plan is two files: the items to label, without the judge's verdicts, and the key, which has every
item, drawn or not, with its probability. `contrafact.stats.correction.ppi_share` estimates figures
from the key and the labels.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.sheets import guarded_frame
from contrafact.files.tables import Row, read_rows, render_csv, source_name, write_frame
from contrafact.stats.correction import ppi_share
from contrafact.stats.intervals import Interval
from contrafact.stats.sampling import LEAST_OF_A_STRATUM, draw_by_levels

__all__ = [
    "Figure", "Labels", "draw_plan", "final_items", "judged_items", "labels_of", "plan_figures",
    "read_key", "write_plan",
]  # fmt: skip

Figure = Literal["rate", "residual"]
"""The share of items labelled yes, or the share of a review's final items that are wrong."""

_ONE = frozenset(("1", "1.0", "true", "yes", "pass", "passed", "right", "valid"))
_ZERO = frozenset(("0", "0.0", "false", "no", "fail", "failed", "wrong", "invalid"))
_LABEL_FIELDS = ("label", "decision", "rating", "review_verdict")
_RANGES = 4
_COLUMNS = ("item_id", "figure", "group", "level", "drawn", "probability")


@dataclass(frozen=True)
class Labels:
    """Labels of a key's items: 0 or 1, NaN if there is none, shape (items,).

    ``tied`` counts items with as many labels for 0 as for 1, which are NaN; ``outside`` counts
    labels of items that were not drawn.
    """

    values: NDArray[np.float64]
    tied: int
    outside: int


def item_id(row: Mapping[str, Any], name: str, line: int) -> str:
    """Return the id of an item: its ``item_id``, ``id`` or ``item``."""
    for field in ("item_id", "id", "item"):
        if text := _text(row.get(field)):
            return text
    raise InputError("the row has no item id", file=name, line=line, hint="add a column 'item_id'")


def label_of(value: object, positive: Sequence[str]) -> float | None:
    """Return 1.0 or 0.0 for a label or verdict, None for an empty one.

    The words of ``positive`` count as 1 and all others as 0; without any, the usual words count.

    Raises:
        ValueError: The label is not one of the usual words.
    """
    text = _text(value)
    if not text or text.lower() == "nan":
        return None
    if positive:
        return float(text in positive)
    if text.lower() in _ONE:
        return 1.0
    if text.lower() in _ZERO:
        return 0.0
    raise ValueError(f"the label '{text[:40]}' is neither a yes nor a no")


def judged_items(
    rows: Sequence[Row],
    name: str,
    *,
    by: str | None = None,
    judge: str | None = None,
    positive: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the items of a table: their ``item_id``, ``group``, and ``level`` by the judge.

    Args:
        by: The field with each item's system or category.
        judge: The field with the judge's verdict or score.
        positive: The verdicts that count as a pass; the usual words if there are none.

    Raises:
        InputError: There are no rows, a field is missing, or two rows have the same id.
    """
    if not rows:
        raise InputError("the file holds no items", file=name, hint="give at least one row")
    for field in (by, judge):
        if field is not None and not any(field in row for _, row in rows):
            known = ", ".join(list(rows[0][1])[:12])
            raise InputError(f"there is no field '{field}'", file=name, hint=f"it has {known}")
    ids = [item_id(row, name, line) for line, row in rows]
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        problem = f"item '{twice[0][:40]}' is in the file twice"
        raise InputError(problem, file=name, hint="leave one of them out")
    group = [_text(row.get(by)) if by else "all" for _, row in rows]
    verdicts = [(line, row.get(judge) if judge else None) for line, row in rows]
    level = judge_levels(verdicts, name, positive)
    return pd.DataFrame({"item_id": ids, "group": group, "level": level})


def final_items(rows: Sequence[Row], name: str, by: str | None) -> pd.DataFrame:
    """Return a review's final items as `judged_items` does; the level is how each became final."""
    finals = [row for _, row in rows if row["review_outcome"] == "final"]
    if not finals:
        hint = "plan once the review has final items"
        raise InputError("no item is final yet", file=name, hint=hint)
    return pd.DataFrame(
        {
            "item_id": [str(row["item_id"]) for row in finals],
            "group": [_text(row.get(by)) if by else "all" for row in finals],
            "level": [str(row["review_why"]) for row in finals],
        }
    )


def draw_plan(
    items: pd.DataFrame, figure: Figure, budget: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the key of a plan: for each item, whether it is drawn and with which probability."""
    if len(items) < budget:
        hint = f"use --budget {len(items)} or less"
        raise InputError(f"only {len(items)} items can be drawn", hint=hint)
    # Large enough for every stratum to get an item.
    least = max(LEAST_OF_A_STRATUM, -(-len(items) // budget))
    levels = [pd.factorize(items[name], sort=True)[0] for name in ("group", "level")]
    draw = draw_by_levels(levels, budget, rng, least=least)
    drawn = np.zeros(len(items), dtype=bool)
    drawn[draw.drawn] = True
    return items.assign(figure=figure, drawn=drawn, probability=draw.probability)[[*_COLUMNS]]


def labels_of(
    rows: Sequence[Row],
    key: pd.DataFrame,
    name: str,
    *,
    field: str | None = None,
    positive: Sequence[str] = (),
) -> Labels:
    """Return the labels of a key's drawn items from a table; an item's majority label counts.

    If no field is named, the first of ``label``, ``decision``, ``rating`` and ``review_verdict``
    that the table has is used.

    Raises:
        InputError: There is no such field, a label is neither yes nor no, or no drawn item is
            labelled.
    """
    place = {item: at for at, item in enumerate(key["item_id"]) if key["drawn"].iat[at]}
    fields = list(dict.fromkeys(name for _, row in rows for name in row))
    chosen = field or next((name for name in _LABEL_FIELDS if name in fields), None)
    if chosen is None or chosen not in fields:
        problem = f"there is no field '{chosen}'" if chosen else "there is no field of labels"
        raise InputError(problem, file=name, hint="name the field: --label FIELD")
    votes = np.zeros((2, len(key)), dtype=np.intp)
    outside = 0
    for line, row in rows:
        try:
            value = label_of(row.get(chosen), positive)
        except ValueError as error:
            hint = "name the label that counts as yes: --positive VALUE"
            raise InputError(str(error), file=name, line=line, hint=hint) from error
        if value is None:
            continue
        at = place.get(item_id(row, name, line))
        if at is None:
            outside += 1
        else:
            votes[int(value), at] += 1
    if outside and not votes.any():
        hint = "use the item ids of the plan"
        raise InputError("none of the labelled items was drawn", file=name, hint=hint)
    decided = votes[0] != votes[1]
    values = np.where(decided, (votes[1] > votes[0]).astype(np.float64), np.nan)
    return Labels(values, int((~decided & (votes[0] > 0)).sum()), outside)


def plan_figures(key: pd.DataFrame, labels: Labels) -> tuple[Interval, dict[str, Interval]]:
    """Return the estimated share of yes (``residual``: of wrong items), in all and by group."""
    wrong = key["figure"].iat[0] == "residual"
    yes = 1.0 - labels.values if wrong else labels.values
    groups, levels = (pd.factorize(key[name], sort=True) for name in ("group", "level"))
    drawn = key["probability"].to_numpy(float)

    def share(part: NDArray[np.bool_]) -> Interval:
        return ppi_share(
            yes[part], levels[0][part], levels=[groups[0][part]], probabilities=drawn[part]
        )

    by_group = {str(name): share(groups[0] == code) for code, name in enumerate(groups[1])}
    return share(np.ones(len(key), dtype=bool)), by_group


def judge_levels(
    verdicts: Sequence[tuple[int, object]], name: str, positive: Sequence[str]
) -> list[str]:
    """Return each item's level from the judge's verdicts or scores, given with their lines.

    Verdicts give two levels, scores from 0 to 1 give four ranges with equal numbers of items. Items
    without a verdict have a level of their own.

    Raises:
        InputError: A value is neither a verdict nor a score from 0 to 1.
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
                hint = "name the verdict that is a pass: --judge-positive VALUE"
                raise InputError(str(error), file=name, line=line, hint=hint) from error
            if not 0.0 <= score[at] <= 1.0:
                problem = f"the judge's score {score[at]:g} is not between 0 and 1"
                hint = "rescale the scores to 0 to 1"
                raise InputError(problem, file=name, line=line, hint=hint) from error
            graded = True
    none = np.isnan(score)
    if none.all():
        return [""] * len(verdicts)
    if graded:
        edges = np.unique(np.quantile(score[~none], np.arange(1, _RANGES) / _RANGES))
        bins = np.searchsorted(edges, score, side="right")
        named = [f"score range {place + 1}" for place in bins]
    else:
        named = ["passed" if value == 1.0 else "failed" for value in score]
    return ["no verdict" if gone else level for gone, level in zip(none, named, strict=True)]


def write_plan(
    out: Path, rows: Sequence[Row], key: pd.DataFrame, hidden: Sequence[str | None], name: str,
    rng: np.random.Generator,
) -> Path:  # fmt: skip
    """Write the drawn items in random order and the key, and return the key's path.

    An existing plan is never overwritten; if it is the same, nothing is written.

    Args:
        out: The file for the items: ``.csv``, ``.jsonl`` or ``.parquet``.
        hidden: The fields that are not written to it.

    Raises:
        InputError: Another plan has that name, or a file cannot be written.
    """
    target, text = out.with_suffix(".key.csv"), render_csv(guarded_frame(key))
    if target.exists() or out.exists():
        if out.exists() and target.exists() and target.read_bytes() == text.encode():
            return target
        raise InputError(
            "another plan already has this name",
            file=target if target.exists() else out,
            hint="choose another name with --out",
        )
    by_id = {item_id(row, name, line): row for line, row in rows}
    shown = [
        {"item_id": item} | {k: v for k, v in by_id[item].items() if k not in (*hidden, "item_id")}
        for item in rng.permutation(key.loc[key["drawn"], "item_id"].to_numpy(object))
    ]
    sheet = pd.DataFrame(shown, dtype=object)
    write_frame(guarded_frame(sheet) if out.suffix.lower() in (".csv", ".tsv") else sheet, out)
    write_text(target, text)
    return target


def read_key(path: str | Path) -> pd.DataFrame:
    """Return the key in a file; an `InputError` if the file is no key or a row is invalid."""
    name = source_name(path)
    rows = list(read_rows(path, guarded=True))
    columns = list(rows[0][1]) if rows else []
    if missing := [column for column in _COLUMNS if column not in columns]:
        raise InputError(
            f"this is not the key of a plan: it has no column '{missing[0]}'",
            file=name,
            hint="use the file ending in .key.csv that `contrafact review plan` wrote",
        )
    valid = []
    for line, row in rows:
        try:
            cells: dict[str, Any] = {name: _text(row[name]) for name in _COLUMNS}
            drawn, probability = label_of(cells["drawn"], ()), float(cells["probability"])
            usable = 0.0 < probability <= 1.0 and cells["figure"] in ("rate", "residual")
            valid.append({**cells, "drawn": drawn == 1.0, "probability": probability})
        except (KeyError, ValueError):
            usable = False
        if not usable:
            raise InputError(
                "this row of the key is invalid",
                file=name,
                line=line,
                hint="use the key unchanged, as `contrafact review plan` wrote it",
            )
    return pd.DataFrame(valid)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
