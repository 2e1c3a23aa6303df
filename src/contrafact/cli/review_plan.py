"""``contrafact review plan`` and ``estimate``: plan what to label, and estimate from labels."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from contrafact.cli.show import check_json, percent, write_json
from contrafact.console import show_table
from contrafact.errors import InputError
from contrafact.files.tables import read_rows, source_name
from contrafact.options import Options, argument, command, option
from contrafact.review.store import open_store

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.files.tables import Row
    from contrafact.review.plan import Labels
    from contrafact.stats.intervals import Interval


class _Plan(Options):
    budget: int = option(..., "How many items to label.", ge=1, metavar="N")
    out: Path = option(..., "The items to label; the key is written next to it.", metavar="FILE")
    file: str | None = argument("[FILE]", "Items: CSV, JSONL, JSON, Parquet, or -.", None)
    figure: Literal["rate", "residual"] = option(
        "rate", "The figure to estimate: the share of yes, or a review's residual error."
    )
    by: str | None = option(None, "An item's system or category.", metavar="FIELD")
    judge: str | None = option(None, "The judge's verdict, or score from 0 to 1.", metavar="FIELD")
    judge_positive: list[str] | None = option(
        None, "A verdict that counts as yes; repeatable.", metavar="VALUE"
    )
    db: str | None = option(None, "Take a review's items from here, not from FILE.", metavar="URL")
    review: str = option("review", "The review's name.", metavar="NAME")
    hide: list[str] | None = option(
        None, "A field to leave out of the items to label.", metavar="FIELD"
    )
    seed: int = option(0, "Seed of the random draw.", ge=0, metavar="S")


@command
def plan(options: _Plan) -> None:
    """Draw the items to label, so that the interval of your figure becomes as narrow as possible.

    The key records every item's probability, from which `review estimate` computes figures.

    Example: contrafact review plan items.csv --judge verdict --budget 100 --out plan.csv
    """
    import numpy as np

    from contrafact.review.plan import draw_plan, final_items, judged_items, write_plan

    rows, name, category = _rows(options)
    if options.figure == "rate":
        positive = options.judge_positive or ()
        items = judged_items(rows, name, by=options.by, judge=options.judge, positive=positive)
    elif options.db is None:
        raise InputError(
            "the residual error is measured on a review's final items, but --db is not given",
            hint="use --db URL --figure residual",
        )
    else:
        items = final_items(rows, name, options.by or category)
    rng = np.random.default_rng(options.seed)
    key = draw_plan(items, options.figure, options.budget, rng)
    # People who label anew must not see the review's results.
    outcomes = [f for _, row in rows[:1] for f in row if f.startswith(("review_", "answer_"))]
    hidden = [options.judge, *(options.hide or ()), *(outcomes if options.db else ())]
    key_file = write_plan(options.out, rows, key, hidden, name, rng)
    _show_draw(key)
    typer.echo(f"{options.out}: {options.budget:,} of {len(key):,} items to label")
    typer.echo(f"{key_file}: the key, with the probability of each; keep it for `review estimate`")


class _Estimate(Options):
    key: str = argument("KEY", "The key that `review plan` wrote.")
    labels: str = option(..., "The labels: an item's id and its label.", metavar="FILE")
    label: str | None = option(
        None,
        "The label's field; label, decision, rating or review_verdict if none is named.",
        metavar="FIELD",
    )
    positive: list[str] | None = option(
        None, "A label that counts as yes, and no other; repeatable.", metavar="VALUE"
    )
    out: Path | None = option(None, "Write the figures, as JSON.", metavar="FILE")


@command
def estimate(options: _Estimate) -> None:
    """Estimate figures of all items, with intervals, from the labels of planned items.

    Example: contrafact review estimate plan.key.csv --labels labels.csv --out figures.json
    """
    from contrafact.review.plan import labels_of, plan_figures, read_key

    check_json(options.out)
    key, file = read_key(options.key), options.labels
    known = labels_of(
        list(read_rows(file, guarded=True)),
        key,
        source_name(file),
        field=options.label,
        positive=options.positive or (),
    )
    _show_label_notes(known, key)
    overall, by_group = plan_figures(key, known)
    residual = key["figure"].iat[0] == "residual"
    figure = "residual error" if residual else "share of yes"
    labelled = key.assign(labelled=known.values == known.values).groupby("group")["labelled"].sum()
    total = int(labelled.sum())
    rows = [("all", *_cells(overall), str(total))]
    if len(by_group) > 1:  # a group may also be called "all"
        rows += [(name, *_cells(one), str(labelled[name])) for name, one in by_group.items()]
    titles = ("group", "share", "95% interval", "labels")
    show_table(f"{figure}, of {len(key):,} items", titles, rows)
    groups = {name: _as_json(one, int(labelled[name])) for name, one in by_group.items()}
    whole = _as_json(overall, total)
    figures = {"figure": figure, "items": len(key), "overall": whole, "by_group": groups}
    write_json(options.out, figures)


def _rows(options: _Plan) -> "tuple[list[Row], str, str | None]":
    """Return the items' rows, their source's name, and the field of a review's categories."""
    from contrafact.review.export import item_rows

    file, db, review = options.file, options.db, options.review
    if (file is None) == (db is None):
        raise InputError("items come from a file or from a review", hint="name FILE, or --db URL")
    if db is None:
        return list(read_rows(str(file), guarded=True)), source_name(str(file)), None
    with open_store(db) as store:
        state = store.read(review, lambda found: found)
    rows = list(enumerate(item_rows(state), start=1))
    return rows, f"review '{review}'", state.project.category


def _show_label_notes(found: "Labels", key: "pd.DataFrame") -> None:
    if found.tied:
        typer.echo(f"note: {found.tied} items have both labels and count as open", err=True)
    if found.outside:
        typer.echo(f"note: {found.outside} labels are for items that were not drawn", err=True)
    waiting = int((key["drawn"] & (found.values != found.values)).sum())
    if waiting:
        note = "drawn items have no label, and are assumed to be missing at random"
        typer.echo(f"note: {waiting} {note}", err=True)


def _show_draw(key: "pd.DataFrame") -> None:
    rows = [
        (str(group), str(level) or "–", f"{len(own):,}", f"{own['drawn'].sum():,}",
         f"{own['probability'].iat[0]:.4f}")
        for (group, level), own in key.groupby(["group", "level"])
    ]  # fmt: skip
    titles = ("group", "judge", "items", "drawn", "probability")
    show_table("drawn to be labelled", titles, rows)


def _cells(one: "Interval") -> tuple[str, str]:
    bounds = one.method if isnan(one.low) else f"{percent(one.low)} to {percent(one.high)}"
    return percent(one.estimate), bounds


def _as_json(one: "Interval", labels: int) -> dict[str, Any]:
    figures = {"estimate": one.estimate, "low": one.low, "high": one.high}
    plain = {name: None if isnan(value) else value for name, value in figures.items()}
    return {**plain, "level": one.level, "labels": labels, "how": one.method}
