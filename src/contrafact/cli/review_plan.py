"""``contrafact review plan``, ``estimate``, ``residual``: what to label, and what labels say."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contrafact.console import show_table
from contrafact.review.store import open_store

if TYPE_CHECKING:
    import numpy as np

    from contrafact.review.plan import Frame
    from contrafact.review.plan_files import Key, Labels
    from contrafact.review.state import ReviewState
    from contrafact.stats.intervals import Interval

__all__ = ["estimate", "plan", "residual"]

_Review = Annotated[str, typer.Option("--review", metavar="NAME", help="The review's name.")]
_Seed = Annotated[int, typer.Option(min=0, metavar="S", help="Seed of what is drawn.")]
_Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="FILE", help="Labels so far: an item's id and its label."),
]
_Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="FIELD",
        help="The label's field; label, decision, rating or review_verdict if none is named.",
    ),
]
_Positive = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="A label that counts as yes, and no other; repeatable."),
]
_Row = tuple[int, Mapping[str, Any]]


def plan(
    budget: Annotated[
        int, typer.Option("--budget", min=1, metavar="N", help="How many items to label.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="The items to label; the key is written next to it."
        ),
    ],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Items: CSV, JSONL, JSON, Parquet, or -.")
    ] = None,
    figure: Annotated[
        Literal["rate", "residual"],
        typer.Option(help="What is to get tight: the share of yes, or a review's residual error."),
    ] = "rate",
    by: Annotated[
        str | None, typer.Option(metavar="FIELD", help="An item's system or category.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The judge's verdict, or score from 0 to 1.")
    ] = None,
    judge_positive: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE", help="A verdict that counts as yes; repeatable."),
    ] = None,
    labels: _Labels = None,
    label: _Label = None,
    positive: _Positive = None,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="URL", help="Take a review's items from here, not from FILE."),
    ] = None,
    review: _Review = "review",
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="A field that the items to label are not to have."),
    ] = None,
    uniform: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="The share drawn from all items alike.")
    ] = 0.2,
    seed: _Seed = 0,
) -> None:
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

    rows, name, state = _rows(file, db, review)
    rng = np.random.default_rng(seed)
    frame = _frame(rows, name, figure, by, judge, judge_positive, state, rng)
    known = Labels(np.full(len(frame.items), np.nan), 0, 0)
    if labels is not None:
        known = read_labels(labels, frame, field=label, positive=positive or ())
    elif label is not None:
        known = labels_in_rows(rows, frame, name, field=label, positive=positive or ())
    _show_label_notes(known)
    left = int(np.isnan(known.values).sum())
    if left < budget:
        raise InputError(f"{left} items can still be drawn", hint=f"use --budget {left} or less")
    planned = Key(frame, draw_items(frame, known.values, budget, uniform=uniform, rng=rng), figure)
    drawn = np.flatnonzero(planned.draw.drawn)
    # Who labels anew is not to see what the review has come to.
    outcomes = [f for _, row in rows[:1] for f in row if f.startswith(("review_", "answer_"))]
    hidden = [judge, label, *(hide or ()), *(outcomes if db else ())]
    shown = items_to_label(rows, frame, name, hidden)
    key_file = write_plan(out, shown, planned, rng.permutation(drawn).tolist())
    _show_draw(planned, known.values)
    typer.echo(f"{out}: {len(drawn):,} of {len(frame.items):,} items to label")
    typer.echo(f"{key_file}: the key, with the probability of each; keep it for `review estimate`")


def estimate(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key that `review plan` wrote.")],
    labels: Annotated[
        str,
        typer.Option("--labels", metavar="FILE", help="The labels: an item's id and its label."),
    ],
    label: _Label = None,
    positive: _Positive = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the figures, as JSON.")
    ] = None,
) -> None:
    """Say what the labels of planned items come to: figures of all items, with intervals.

    Example: contrafact review estimate plan.key.csv --labels labels.csv --out figures.json
    """
    from contrafact.review.plan import figures_of
    from contrafact.review.plan_files import read_key, read_labels

    read = read_key(key)
    known = read_labels(labels, read.frame, field=label, positive=positive or ())
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


def residual(
    review: _Review = "review",
    db: Annotated[
        str, typer.Option("--db", metavar="URL", help="A file for SQLite, or postgresql://…")
    ] = "review.db",
    finds: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The share of wrong items that each voter finds at least, where no expert's "
            "recheck of a random sample measures the error.",
        ),
    ] = 1 / 3,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all of it, as JSON.")
    ] = None,
) -> None:
    """Show what share of a review's final items is wrong: as an expert's recheck found, or at most.

    Nothing here takes people to err independently of each other; `review plan --figure residual`
    draws more final items for an expert.

    Example: contrafact review residual --db review.db --out residual.json
    """
    from contrafact.review.residual import COLUMNS, residual_cells, residual_error, residual_notes

    with open_store(db) as store:
        state = store.read(review, lambda found: found)
    # Outside the store, which a running studio may want meanwhile.
    found = residual_error(state, finds=finds)
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


def _rows(
    file: str | None, db: str | None, review: str
) -> "tuple[list[_Row], str, ReviewState | None]":
    from contrafact.errors import InputError
    from contrafact.files.tables import read_rows, source_name
    from contrafact.review.export import item_rows

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
    figure: str,
    by: str | None,
    judge: str | None,
    judge_positive: Sequence[str] | None,
    state: "ReviewState | None",
    rng: "np.random.Generator",
) -> "Frame":
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.review.plan_files import frame_of_finals, frame_of_rows
    from contrafact.review.residual import vote_risk

    if figure == "rate":
        return frame_of_rows(rows, name, by=by, judge=judge, positive=judge_positive or ())
    if state is None:
        raise InputError(
            "the residual error is that of a review's final items",
            hint="use --db URL --figure residual",
        )
    seeded = np.random.default_rng(int(rng.integers(1 << 31)))
    risk = vote_risk(state, rng=seeded)
    return frame_of_finals([row for _, row in rows], risk, by or state.project.category)


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
