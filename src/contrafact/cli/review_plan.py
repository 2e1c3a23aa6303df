"""``contrafact review plan``, ``estimate``, ``residual``: what to label, and what labels say."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.cli.review_plan_show import (
    figures_object,
    residual_object,
    show_draw,
    show_figures,
    show_gains,
    show_residual,
    tell_labels,
)
from contrafact.cli.review_store import open_store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contrafact.review.plan import Figure
    from contrafact.review.plan_frame import Labels
    from contrafact.review.plan_key import Key
    from contrafact.review.residual import Residual

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
    typer.Option(metavar="VALUE", help="A label that counts as yes, beside none else; repeatable."),
]
_Row = tuple[int, Mapping[str, Any]]


def plan(
    budget: Annotated[
        int, typer.Option("--budget", min=1, metavar="N", help="How many items to label.")
    ],
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="Items: CSV, JSONL, JSON, Parquet, or -."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The items to label; the key lies beside it."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What is to get tight: rate (if none is named), ranking or residual; repeatable.",
        ),
    ] = None,
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
    earlier: Annotated[
        str | None, typer.Option(metavar="KEY", help="The key of the wave before this one.")
    ] = None,
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
    simulate: Annotated[
        int | None,
        typer.Option(min=1, metavar="R", help="Compare with uniform sampling in R rounds."),
    ] = None,
    parts: Annotated[
        int, typer.Option(min=1, metavar="W", help="Of --simulate: draw the budget in W waves.")
    ] = 1,
    truth: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Of --simulate: every item's label, where it is known."),
    ] = None,
    seed: _Seed = 0,
) -> None:
    """Draw the items to label next, so that the figures you report get as tight as they can.

    Every item's probability is recorded in the key, from which `review estimate` makes figures.

    Example: contrafact review plan items.csv --judge verdict --budget 100 --out plan.csv
    """
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.review.plan import next_wave
    from contrafact.review.plan_gain import gains
    from contrafact.review.plan_key import Key, write_plan

    if out is None and simulate is None:
        raise InputError("there is nothing to do", hint="name a file with --out, or --simulate R")
    wanted = _figures(figure or [])
    rows, name = _rows(file, db, review)
    rng = np.random.default_rng(seed)
    key = _key(rows, name, earlier, wanted, by, judge, judge_positive, db, review, rng)
    if "ranking" in key.figures and len(key.frame.groups) < 2:
        raise InputError("a ranking needs groups to rank", hint="say which field: --by FIELD")
    known = _labels(key, labels, label, positive, rows, name)
    tell_labels(key, known)
    left = int(key.waves.open(known.values).sum())
    if left < budget:
        raise InputError(f"{left} items can still be drawn", hint=f"use --budget {left} or less")
    if simulate is not None:
        told = None if truth is None else _truth(key, rows, name, truth, positive)
        made = gains(
            key.frame,
            key.waves,
            known.values,
            budget,
            key.figures,
            truth=told,
            rounds=simulate,
            parts=parts,
            uniform=uniform,
            rng=np.random.default_rng([seed, 1]),
        )
        show_gains(made, simulate, budget, told is not None)
    if out is None:
        return
    waves = next_wave(
        key.frame, key.waves, known.values, budget, key.figures, uniform=uniform, rng=rng
    )
    drawn = np.flatnonzero(waves.drawn_in == waves.count)
    # What a review has come to is nothing for those who are to judge anew.
    outcomes = [f for _, row in rows[:1] for f in row if f.startswith(("review_", "answer_"))]
    hidden = [judge, label, truth, *(hide or ()), *(outcomes if db else ())]
    shown = _shown(rows, name, key, hidden)
    planned = Key(key.frame, waves, key.figures)
    beside = write_plan(out, shown, planned, rng.permutation(drawn).tolist())
    show_draw(planned, known.values)
    typer.echo(
        f"{out}: {len(drawn):,} of {len(key.frame.items):,} items to label, wave {waves.count}"
    )
    typer.echo(f"{beside}: the key, with the probability of each; keep it for `review estimate`")


def estimate(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the last wave.")],
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
    from contrafact.review.plan_frame import read_labels
    from contrafact.review.plan_key import read_key

    read = read_key(key)
    known = read_labels(labels, read.frame, field=label, positive=positive or ())
    tell_labels(read, known)
    found = figures_of(read.frame, read.waves, known.values)
    if out is not None:
        _write_json(out, figures_object(read, found))
    show_figures(read, found)
    if out is not None:
        typer.echo(f"written to {out}")


def residual(
    review: _Review = "review",
    db: Annotated[
        str, typer.Option("--db", metavar="URL", help="A file for SQLite, or postgresql://…")
    ] = "review.db",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all of it, as JSON.")
    ] = None,
    seed: _Seed = 0,
) -> None:
    """Estimate what share of a review's final items is wrong, from how people voted.

    It takes people to err independently of each other; `review plan --figure residual` plans an
    audit of final items that does not.

    Example: contrafact review residual --db review.db --out residual.json
    """
    found = _residual(db, review, seed)
    if out is not None:
        _write_json(out, residual_object(found))
    show_residual(found)
    if out is not None:
        typer.echo(f"written to {out}")


def _write_json(out: Path, told: Mapping[str, Any]) -> None:
    import json

    from contrafact.errors import InputError
    from contrafact.files.atomic import write_text

    if out.suffix != ".json" or out.is_dir():
        raise InputError("the figures are a JSON file", file=out, hint="name it .json")
    write_text(out, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _figures(named: Sequence[str]) -> "tuple[Figure, ...]":
    from contrafact.errors import InputError
    from contrafact.review.plan import FIGURES

    unknown = sorted(set(named) - set(FIGURES))
    if unknown:
        problem = f"'{unknown[0]}' is no figure that can be planned for"
        raise InputError(problem, hint=f"use {', '.join(FIGURES)}")
    return tuple(figure for figure in FIGURES if figure in named)


def _rows(file: str | None, db: str | None, review: str) -> tuple[list[_Row], str]:
    from contrafact.errors import InputError
    from contrafact.files.tables import read_rows, source_name
    from contrafact.review.export import item_rows

    if (file is None) == (db is None):
        raise InputError("items come from a file or from a review", hint="name FILE, or --db URL")
    if db is None:
        return list(read_rows(str(file))), source_name(str(file))
    with open_store(db) as store:
        return list(enumerate(store.read(review, item_rows), start=1)), f"review '{review}'"


def _key(
    rows: Sequence[_Row],
    name: str,
    earlier: str | None,
    wanted: "tuple[Figure, ...]",
    by: str | None,
    judge: str | None,
    judge_positive: Sequence[str] | None,
    db: str | None,
    review: str,
    rng: "np.random.Generator",
) -> "Key":
    """Return the key as it stands before this wave."""
    from contrafact.errors import InputError
    from contrafact.review.plan_frame import frame_of_finals, frame_of_rows
    from contrafact.review.plan_key import Key, read_key
    from contrafact.stats.sampling import Waves

    if earlier is not None:
        if by or judge:
            raise InputError("the key has the groups and the judge", hint="leave --by, --judge out")
        read = read_key(earlier)
        if wanted and ("residual" in wanted) != ("residual" in read.figures):
            raise InputError("that key is of another figure", file=earlier, hint="plan anew")
        return Key(read.frame, read.waves, wanted or read.figures)
    if "residual" in wanted:
        if db is None or wanted != ("residual",):
            raise InputError(
                "the residual error is that of a review's final items",
                hint="use --db URL --figure residual alone",
            )
        found = _residual(db, review, int(rng.integers(1 << 31)))
        frame = frame_of_finals([row for _, row in rows], found, by or _category(db, review))
    else:
        frame = frame_of_rows(rows, name, by=by, judge=judge, positive=judge_positive or ())
    return Key(frame, Waves.none(len(frame.items)), wanted or ("rate",))


def _residual(db: str, review: str, seed: int) -> "Residual":
    import numpy as np

    from contrafact.review.residual import residual_error

    with open_store(db) as store:
        board = store.read(review, lambda found: found)
    # Outside the store, which a running studio may want meanwhile.
    return residual_error(board, rng=np.random.default_rng(seed))


def _category(db: str, review: str) -> str | None:

    with open_store(db) as store:
        return store.read(review, lambda board: board.project.category)


def _labels(
    key: "Key",
    labels: str | None,
    label: str | None,
    positive: Sequence[str] | None,
    rows: Sequence[_Row],
    name: str,
) -> "Labels":
    import numpy as np

    from contrafact.review.plan_frame import Labels, labels_in_rows, read_labels

    words = positive or ()
    if labels is not None:
        return read_labels(labels, key.frame, field=label, positive=words)
    if label is not None:
        return labels_in_rows(rows, key.frame, name, field=label, positive=words)
    return Labels(np.full(len(key.frame.items), np.nan), 0, 0)


def _truth(
    key: "Key", rows: Sequence[_Row], name: str, field: str, positive: Sequence[str] | None
) -> "NDArray[np.float64]":
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.review.plan_frame import labels_in_rows

    found = labels_in_rows(rows, key.frame, name, field=field, positive=positive or ()).values
    lacking = int(np.isnan(found).sum())
    if lacking:
        problem = f"'{field}' is empty for {lacking} items, and a truth has none missing"
        raise InputError(problem, file=name, hint="leave those items out")
    return found


def _shown(
    rows: Sequence[_Row], name: str, key: "Key", hidden: Sequence[str | None]
) -> list[dict[str, Any]]:
    """Return each item of the frame as whoever labels it is to see it."""
    from contrafact.errors import InputError
    from contrafact.review.plan_frame import item_id

    own = {item_id(row, name, line): row for line, row in rows}
    lacking = [one for one in key.frame.items if one not in own]
    if lacking:
        problem = f"item '{lacking[0][:40]}' of the key is not there any more"
        raise InputError(problem, file=name, hint="give the same items as before")
    return [
        {"item_id": one} | {k: v for k, v in own[one].items() if k not in (*hidden, "item_id")}
        for one in key.frame.items
    ]
