"""What the planner's commands print."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import typer

from contrafact.console import show_table

if TYPE_CHECKING:
    from contrafact.review.plan import Figures
    from contrafact.review.plan_frame import Labels
    from contrafact.review.plan_gain import Gain
    from contrafact.review.plan_key import Key
    from contrafact.review.residual import Residual, Share
    from contrafact.stats.intervals import Interval

__all__ = [
    "figures_object",
    "residual_object",
    "show_draw",
    "show_figures",
    "show_gains",
    "show_residual",
    "tell_labels",
]


def tell_labels(key: "Key", found: "Labels") -> None:
    """Say which labels do not count, and which are missing."""
    import numpy as np

    if found.tied:
        typer.echo(f"note: {found.tied} items are labelled both ways and count as open", err=True)
    if found.elsewhere:
        typer.echo(f"note: {found.elsewhere} labels are of other items", err=True)
    waiting = int(((key.waves.drawn_in > 0) & np.isnan(found.values)).sum())
    if waiting:
        said = "drawn items have no label, and are taken for missing at random"
        typer.echo(f"note: {waiting} {said}", err=True)


def show_draw(key: "Key", labels: Any) -> None:
    """Print what the last wave drew, by group and level."""
    import numpy as np

    frame, waves = key.frame, key.waves
    expected = frame.expected(labels).mean
    last, known = waves.probabilities[-1], ~np.isnan(labels)
    rows = []
    for cell in np.unique(frame.cells):
        own = frame.cells == cell
        at = int(np.flatnonzero(own)[0])
        open_ = own & ~np.isnan(last)
        rows.append(
            (
                frame.group[at],
                frame.level[at] or "–",
                f"{own.sum():,}",
                f"{(own & known).sum():,}",
                _percent(float(expected[own].mean())),
                f"{(waves.drawn_in[own] == waves.count).sum():,}",
                f"{last[open_].mean():.4f}" if open_.any() else "–",
            )
        )
    titles = ("group", "judge", "items", "labelled", "expected yes", "drawn", "probability")
    show_table(f"wave {waves.count}", titles, rows)


def show_gains(gains: Sequence["Gain"], rounds: int, budget: int, real: bool) -> None:
    """Print how the designs compare, and what the plan's labels are worth."""
    pairs = any(gain.apart is not None for gain in gains)
    base = {gain.figure: gain for gain in gains if gain.design == "uniform"}
    rows = [
        (
            gain.figure,
            gain.design,
            f"{100 * gain.width:.2f}",
            f"{100 * gain.rmse:.2f}",
            _percent(gain.coverage),
            f"{gain.width / base[gain.figure].width:.2f}",
            *(("–" if gain.apart is None else f"{gain.apart:.1f}",) if pairs else ()),
        )
        for gain in gains
    ]
    columns = ("figure", "design", "width", "error", "covers", "width ratio")
    source = "the labels known" if real else "labels as expected"
    title = f"{rounds} rounds of {budget:,} labels each, {source}; in points of 100"
    show_table(title, (*columns, *(("pairs apart",) if pairs else ())), rows)


def show_figures(key: "Key", found: "Figures") -> None:
    """Print figures of planned labels."""
    wrong = "residual" in key.figures
    rows = [("all", *_cells(found.overall, wrong), "")]
    if found.pairs:
        for name, one in found.by_group.items():
            rank = found.ranks[name]
            place = str(rank.best) if rank.best == rank.worst else f"{rank.best} to {rank.worst}"
            rows.append((name, *_cells(one, wrong), "" if wrong else place))
    items = len(key.frame.items)
    title = f"{'residual error' if wrong else 'share of yes'}, of {items:,} items"
    show_table(title, ("group", "share", "95% interval", "labels", "rank"), rows)
    if found.pairs and not wrong:
        typer.echo(f"{found.apart} of {found.pairs} pairs are told apart")


def figures_object(key: "Key", found: "Figures") -> dict[str, Any]:
    """Return the figures as they are written."""
    wrong = "residual" in key.figures
    figure = "residual error" if wrong else "share of yes"
    ranks = {} if wrong else {name: vars(rank) for name, rank in found.ranks.items()}
    return {
        "figure": figure,
        "items": len(key.frame.items),
        "waves": key.waves.count,
        "overall": _interval(found.overall, wrong),
        "by_group": {name: _interval(one, wrong) for name, one in found.by_group.items()},
        "ranks": ranks,
        "pairs": found.pairs,
        "pairs_apart": found.apart,
    }


def residual_object(found: "Residual") -> dict[str, Any]:
    """Return a review's residual error as it is written."""
    from dataclasses import asdict

    return asdict(found)


def show_residual(found: "Residual") -> None:
    """Print what a review has let through, and how good everybody is found to be."""
    rows = [_share(one) for one in (found.wrong, *found.by_way)]
    show_table("wrong, of final items", ("items", "n", "share", "95% interval"), rows)
    if found.lost is not None:
        show_table("right, of removed items", ("items", "n", "share", "95% interval"), [
            _share(found.lost)
        ])  # fmt: skip
    people = [
        (
            one.name,
            one.work,
            str(one.votes),
            *_share(one.passes_right)[2:],
            *_share(one.fails_wrong)[2:],
        )
        for one in found.people
    ]
    titles = ("person", "work", "votes", "passes right", "95%", "fails wrong", "95%")
    show_table("people, as far as the votes tell", titles, people)
    typer.echo("It takes people to err independently of each other; see docs/review-plan.md.")
    if not found.rhat <= 1.05:
        typer.echo(f"note: the draws have not settled (R-hat {found.rhat:.2f})", err=True)


def _cells(one: "Interval", wrong: bool) -> tuple[str, str, str]:
    told = _interval(one, wrong)
    bounds = one.method.removeprefix("no interval: ")
    if told["low"] is not None:
        bounds = f"{_percent(told['low'])} to {_percent(told['high'])}"
    return _percent(told["estimate"]), bounds, str(one.n)


def _interval(one: "Interval", wrong: bool) -> dict[str, Any]:
    estimate, low, high = one.estimate, one.low, one.high
    if wrong:
        estimate, low, high = 1.0 - estimate, 1.0 - high, 1.0 - low
    bounds = {name: None if isnan(v) else v for name, v in (("low", low), ("high", high))}
    return {"estimate": estimate, **bounds, "level": one.level, "labels": one.n, "how": one.method}


def _share(one: "Share") -> tuple[str, str, str, str]:
    bounds = f"{_percent(one.low)} to {_percent(one.high)}"
    return one.name, str(one.items), _percent(one.estimate), bounds


def _percent(value: float) -> str:
    return "undefined" if value is None or value != value else f"{100 * value:.1f}%"
