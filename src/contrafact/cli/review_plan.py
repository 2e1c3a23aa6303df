"""``contrafact review plan``, ``estimate``, ``residual``: what to label, and what labels say."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from contrafact.console import show_table
from contrafact.options import Options, argument, option, takes
from contrafact.review.store import open_store

if TYPE_CHECKING:
    import numpy as np

    from contrafact.review.plan import Frame
    from contrafact.review.plan_files import Key, Labels
    from contrafact.review.state import ReviewState
    from contrafact.stats.intervals import Interval

__all__ = ["estimate", "plan", "residual"]

_LABEL_HELP = "The label's field; label, decision, rating or review_verdict if none is named."
_POSITIVE_HELP = "A label that counts as yes, and no other; repeatable."
_Row = tuple[int, Mapping[str, Any]]


class _Plan(Options):
    budget: int = option("How many items to label.", min=1, metavar="N")
    out: Path = option("The items to label; the key is written next to it.", metavar="FILE")
    file: str | None = argument("[FILE]", "Items: CSV, JSONL, JSON, Parquet, or -.", None)
    figure: Literal["rate", "residual"] = option(
        "What is to get tight: the share of yes, or a review's residual error.", "rate"
    )
    by: str | None = option("An item's system or category.", None, metavar="FIELD")
    judge: str | None = option("The judge's verdict, or score from 0 to 1.", None, metavar="FIELD")
    judge_positive: list[str] | None = option(
        "A verdict that counts as yes; repeatable.", None, metavar="VALUE"
    )
    labels: str | None = option("Labels so far: an item's id and its label.", None, metavar="FILE")
    label: str | None = option(_LABEL_HELP, None, metavar="FIELD")
    positive: list[str] | None = option(_POSITIVE_HELP, None, metavar="VALUE")
    db: str | None = option("Take a review's items from here, not from FILE.", None, metavar="URL")
    review: str = option("The review's name.", "review", metavar="NAME")
    hide: list[str] | None = option(
        "A field that the items to label are not to have.", None, metavar="FIELD"
    )
    uniform: float = option("The share drawn from all items alike.", 0.2, min=0.01, max=1.0)
    seed: int = option("Seed of what is drawn.", 0, min=0, metavar="S")


@takes(_Plan)
def plan(options: _Plan) -> None:
    """Draw the items to label, so that the figure you report gets as tight as it can.

    Every item's probability is recorded in the key, from which `review estimate` makes figures.

    Example: contrafact review plan items.csv --judge verdict --budget 100 --out plan.csv
    """
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.review.plan import draw_items
    from contrafact.review.plan_files import (
        Key,
        Labels,
        items_to_label,
        labels_in_rows,
        read_labels,
        write_plan,
    )

    rows, name, state = _rows(options)
    rng = np.random.default_rng(options.seed)
    frame = _frame(rows, name, options, state, rng)
    known = Labels(np.full(len(frame.items), np.nan), 0, 0)
    label, positive = options.label, options.positive or ()
    if options.labels is not None:
        known = read_labels(options.labels, frame, field=label, positive=positive)
    elif label is not None:
        known = labels_in_rows(rows, frame, name, field=label, positive=positive)
    _show_label_notes(known)
    left, budget = int(np.isnan(known.values).sum()), options.budget
    if left < budget:
        raise InputError(f"{left} items can still be drawn", hint=f"use --budget {left} or less")
    draw = draw_items(frame, known.values, budget, uniform=options.uniform, rng=rng)
    planned = Key(frame, draw, options.figure)
    drawn = np.flatnonzero(planned.draw.drawn)
    # Who labels anew is not to see what the review has come to.
    outcomes = [f for _, row in rows[:1] for f in row if f.startswith(("review_", "answer_"))]
    hidden = [options.judge, label, *(options.hide or ()), *(outcomes if options.db else ())]
    shown = items_to_label(rows, frame, name, hidden)
    key_file = write_plan(options.out, shown, planned, rng.permutation(drawn).tolist())
    _show_draw(planned, known.values)
    typer.echo(f"{options.out}: {len(drawn):,} of {len(frame.items):,} items to label")
    typer.echo(f"{key_file}: the key, with the probability of each; keep it for `review estimate`")


class _Estimate(Options):
    key: str = argument("KEY", "The key that `review plan` wrote.")
    labels: str = option("The labels: an item's id and its label.", metavar="FILE")
    label: str | None = option(_LABEL_HELP, None, metavar="FIELD")
    positive: list[str] | None = option(_POSITIVE_HELP, None, metavar="VALUE")
    out: Path | None = option("Write the figures, as JSON.", None, metavar="FILE")


@takes(_Estimate)
def estimate(options: _Estimate) -> None:
    """Say what the labels of planned items come to: figures of all items, with intervals.

    Example: contrafact review estimate plan.key.csv --labels labels.csv --out figures.json
    """
    from contrafact.review.plan import figures_of
    from contrafact.review.plan_files import read_key, read_labels

    read, out = read_key(options.key), options.out
    known = read_labels(
        options.labels, read.frame, field=options.label, positive=options.positive or ()
    )
    _show_label_notes(known, read)
    found = figures_of(read.frame, read.draw, known.values)
    wrong, items = read.figure == "residual", len(read.frame.items)
    figure = "residual error" if wrong else "share of yes"
    if out is not None:
        groups = {name: _interval(one, wrong) for name, one in found.by_group.items()}
        overall = _interval(found.overall, wrong)
        made = {"figure": figure, "items": items, "overall": overall, "by_group": groups}
        _write_json(out, made)
    rows = [("all", *_cells(found.overall, wrong))]
    if len(found.by_group) > 1:
        rows += [(name, *_cells(one, wrong)) for name, one in found.by_group.items()]
    show_table(f"{figure}, of {items:,} items", ("group", "share", "95% interval", "labels"), rows)
    if out is not None:
        typer.echo(f"written to {out}")


class _Residual(Options):
    review: str = option("The review's name.", "review", metavar="NAME")
    db: str = option("A file for SQLite, or postgresql://…", "review.db", metavar="URL")
    finds: float = option(
        "The share of wrong items that each voter finds at least, where no expert's recheck of a "
        "random sample measures the error.",
        1 / 3,
        metavar="SHARE",
    )
    out: Path | None = option("Write all of it, as JSON.", None, metavar="FILE")


@takes(_Residual)
def residual(options: _Residual) -> None:
    """Show what share of a review's final items is wrong: as an expert's recheck found, or at most.

    Nothing here takes people to err independently of each other; `review plan --figure residual`
    draws more final items for an expert.

    Example: contrafact review residual --db review.db --out residual.json
    """
    from contrafact.review.residual import COLUMNS, residual_cells, residual_error, residual_notes

    out = options.out
    with open_store(options.db) as store:
        state = store.read(options.review, lambda found: found)
    # Outside the store, which a running studio may want meanwhile.
    found = residual_error(state, finds=options.finds)
    if out is not None:
        _write_json(out, asdict(found))
    rows = [residual_cells(one) for one in (found.wrong, *found.by_stage)]
    show_table("wrong, of final items", COLUMNS, rows)
    for note in residual_notes(found):
        typer.echo(note)
    if out is not None:
        typer.echo(f"written to {out}")


def _write_json(out: Path, figures: Mapping[str, Any]) -> None:
    import json

    from contrafact.errors import InputError
    from contrafact.files.atomic import write_text

    if out.suffix != ".json" or out.is_dir():
        raise InputError("the figures are a JSON file", file=out, hint="name it .json")
    write_text(out, json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def _rows(options: _Plan) -> "tuple[list[_Row], str, ReviewState | None]":
    from contrafact.errors import InputError
    from contrafact.files.tables import read_rows, source_name
    from contrafact.review.export import item_rows

    file, db, review = options.file, options.db, options.review
    if (file is None) == (db is None):
        raise InputError("items come from a file or from a review", hint="name FILE, or --db URL")
    if db is None:
        return list(read_rows(str(file))), source_name(str(file)), None
    with open_store(db) as store:
        state = store.read(review, lambda found: found)
    return list(enumerate(item_rows(state), start=1)), f"review '{review}'", state


def _frame(
    rows: Sequence[_Row],
    name: str,
    options: _Plan,
    state: "ReviewState | None",
    rng: "np.random.Generator",
) -> "Frame":
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.review.plan_files import frame_of_finals, frame_of_rows
    from contrafact.review.residual import vote_risk

    if options.figure == "rate":
        positive = options.judge_positive or ()
        return frame_of_rows(rows, name, by=options.by, judge=options.judge, positive=positive)
    if state is None:
        raise InputError(
            "the residual error is that of a review's final items",
            hint="use --db URL --figure residual",
        )
    seeded = np.random.default_rng(int(rng.integers(1 << 31)))
    risk = vote_risk(state, rng=seeded)
    return frame_of_finals([row for _, row in rows], risk, options.by or state.project.category)


def _show_label_notes(found: "Labels", key: "Key | None" = None) -> None:
    import numpy as np

    if found.tied:
        typer.echo(f"note: {found.tied} items are labelled both ways and count as open", err=True)
    if found.outside:
        typer.echo(f"note: {found.outside} labels are of other items", err=True)
    waiting = 0 if key is None else int((key.draw.drawn & np.isnan(found.values)).sum())
    if waiting:
        note = "drawn items have no label, and are taken for missing at random"
        typer.echo(f"note: {waiting} {note}", err=True)


def _show_draw(key: "Key", labels: Any) -> None:
    import numpy as np

    frame, draw = key.frame, key.draw
    expected = frame.expected(labels).mean
    rows = []
    for cell in np.unique(frame.cells):
        own = frame.cells == cell
        at, open_ = int(np.flatnonzero(own)[0]), own & ~draw.given
        rows.append(
            (
                frame.group[at],
                frame.judge_level[at] or "–",
                f"{own.sum():,}",
                f"{(own & draw.given).sum():,}",
                _percent(float(expected[own].mean())),
                f"{(own & draw.drawn).sum():,}",
                f"{draw.probabilities[open_].mean():.4f}" if open_.any() else "–",
            )
        )
    titles = ("group", "judge", "items", "labelled", "expected yes", "drawn", "probability")
    show_table("drawn to be labelled", titles, rows)


def _cells(one: "Interval", wrong: bool) -> tuple[str, str, str]:
    figure = _interval(one, wrong)
    bounds = one.method.removeprefix("no interval: ")
    if figure["low"] is not None:
        bounds = f"{_percent(figure['low'])} to {_percent(figure['high'])}"
    return _percent(figure["estimate"]), bounds, str(one.n)


def _interval(one: "Interval", wrong: bool) -> dict[str, Any]:
    estimate, low, high = one.estimate, one.low, one.high
    if wrong:
        estimate, low, high = 1.0 - estimate, 1.0 - high, 1.0 - low
    bounds = {name: None if isnan(v) else v for name, v in (("low", low), ("high", high))}
    return {"estimate": estimate, **bounds, "level": one.level, "labels": one.n, "how": one.method}


def _percent(value: float) -> str:
    return "undefined" if value is None or value != value else f"{100 * value:.1f}%"
