"""``contrafact agree``: measure inter-rater agreement from a table of ratings."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contrafact.cli.show import check_json, percent, write_json
from contrafact.console import show_table
from contrafact.files.fields import named_columns
from contrafact.options import Options, argument, command, option

if TYPE_CHECKING:
    from contrafact.study.agreement import Against, Agreement

_SHOWN = 20


class _Options(Options):
    file: str = argument("FILE", "Ratings: CSV, Excel, JSONL, JSON, Parquet, or -.")
    out: Path | None = option(None, "Write all results, as JSON.", metavar="FILE")
    columns: list[str] | None = option(
        None, "FILE's columns for item, rater and rating.", metavar="WANTED=FOUND,…"
    )
    rater: list[str] | None = option(None, "Take only these raters. [all columns]", metavar="NAME")
    reference: str | None = option(
        None, "Compare the others with this rater, taken as right.", metavar="RATER"
    )
    positive: str | None = option(None, "Of two categories, the positive one.", metavar="C")
    categories: str | None = option(
        None, "All categories that raters could choose, for Gwet's AC1.", metavar="A,B,C"
    )
    count: str | None = option(None, "Column with the number of items of a row.", metavar="COLUMN")
    seed: int = option(0, "Seed of the intervals.", ge=0, metavar="S")


@command
def agree(options: _Options) -> None:
    """Measure how far raters agree: coefficients with intervals, and their disagreements.

    FILE is wide (a column of items, one column per rater) or long (item, rater, rating). Empty
    cells are missing ratings.

    Example: contrafact agree ratings.csv --reference majority --out agreement.json
    """
    from contrafact.study.agreement import agreement, agreement_object, read_ratings

    check_json(options.out)
    table = read_ratings(
        options.file,
        raters=options.rater or (),
        count=options.count,
        columns=named_columns(options.columns),
    )
    found = agreement(
        table,
        categories=[one.strip() for one in (options.categories or "").split(",") if one.strip()],
        reference=options.reference,
        positive=options.positive,
        seed=options.seed,
    )
    _show(found)
    write_json(options.out, agreement_object(found))


def _show(found: "Agreement") -> None:
    from contrafact.study.agreement import category_word

    raters = len(found.raters)
    missing = f", {found.missing} missing" if found.missing else ""
    typer.echo(f"{found.items} items, {raters} raters, {found.ratings} ratings{missing}")
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    columns = ("rater", *(category_word(one) for one in found.categories))
    shares = {"all": found.prevalence, **found.by_rater}
    rows = [
        (rater, *(percent(own[one]) for one in found.categories)) for rater, own in shares.items()
    ]
    show_table("prevalence", columns, rows)
    titles = ("coefficient", "raters", "value", "95% interval", "items")
    show_table("agreement", titles, [one.cells(raters) for one in found.coefficients])
    for one in found.against:
        _show_against(one)
    _show_disagreements(found)


def _show_against(one: "Against") -> None:
    from contrafact.study.agreement import category_word

    title = (
        f"{one.rater} against {one.reference} ('{category_word(one.positive)}' is positive): "
        f"both {one.both}, only {one.rater} {one.only_rater}, "
        f"only {one.reference} {one.only_reference}, neither {one.neither}"
    )
    columns = ("figure", "value", "95% interval", "items")
    rows = [(name, *rest) for name, _, *rest in (figure.cells(2) for figure in one.figures)]
    show_table(title, columns, rows)


def _show_disagreements(found: "Agreement") -> None:
    from contrafact.study.agreement import category_word

    if not found.disagreements:
        typer.echo("no item is rated differently")
        return
    rows = [
        (
            one["item"] + (f" (x {one['count']})" if one["count"] > 1 else ""),
            *("" if value is None else category_word(value) for value in one["ratings"].values()),
        )
        for one in found.disagreements[:_SHOWN]
    ]
    total = sum(one["count"] for one in found.disagreements)
    title = f"rated differently: {total} of {found.items} items"
    show_table(title, ("item", *found.raters), rows)
    left = len(found.disagreements) - len(rows)
    if left:
        typer.echo(f"and {left} more; --out lists them all")
