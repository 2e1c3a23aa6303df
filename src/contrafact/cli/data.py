"""``contrafact data``: the published datasets, and what is in a file."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.corpus.datasets import FileProgress
    from contrafact.families.finforce.check import CheckReport

__all__ = ["app"]

SCHEMAS = ("finforce", "cobe")

app = typer.Typer(help="Published datasets, and checks of your own files.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Published datasets, and checks of your own files."""


@app.command("list")
def list_datasets() -> None:
    """List the published datasets, and which of them are in the cache.

    Example: contrafact data list
    """
    from contrafact.corpus.datasets import datasets, files_at_hand

    rows = []
    for dataset in datasets().values():
        present, whole = files_at_hand(dataset)
        if dataset.source == "file":
            state = "by file"
        else:
            state = "fetched" if whole else "in part" if present else "not fetched"
        rows.append((dataset.name, state, dataset.title, dataset.page or ""))
    _table("Published datasets", ("name", "state", "what", "page"), rows)


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that `data list` gives.")],
) -> None:
    """Download a published dataset into the cache, check it, and print its files.

    A broken download goes on where it stopped when the command is run again. What is in the cache
    already, with the right sum, is not downloaded.

    Example: contrafact data fetch fin-force
    """
    from contrafact.corpus.datasets import dataset_named, fetch_dataset

    dataset = dataset_named(name)
    with _progress() as progress:
        paths = fetch_dataset(name, progress)
    for path in paths:
        if dataset.schema == "finforce":
            from contrafact.families.finforce.check import check_items
            from contrafact.families.finforce.data import raw_items

            report = check_items(raw_items(path))
            found = f"{len(report.violations)} violations, {len(report.notes)} notes"
            typer.echo(f"{report.rows:,} rows, {found} (contrafact data check FILE)", err=True)
        typer.echo(str(path))


@app.command("check")
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, JSON, JSON Lines or Parquet.")],
    schema: Annotated[
        str | None,
        typer.Option(
            help=f"What the file should be: {' or '.join(SCHEMAS)}. [told by its first row]"
        ),
    ] = None,
) -> None:
    """Check a file against its schema and give its statistics.

    Exits with 0 if the file keeps the schema (there may be notes), 1 if something violates it, 2 if
    it cannot be read.

    Example: contrafact data check headlines.csv
    """
    from contrafact.errors import InputError
    from contrafact.families.finforce.check import check_items
    from contrafact.families.finforce.data import raw_items

    if schema is not None and schema not in SCHEMAS:
        raise InputError(f"there is no schema '{schema}'", hint=f"use {' or '.join(SCHEMAS)}")
    if schema == "cobe" or (schema is None and _holds_stories(file)):
        from contrafact.cli.data_stories import check_story_file

        check_story_file(file)
        return
    report = check_items(raw_items(file))
    if report.rows == 0:
        raise InputError("the file holds no rows", file=file, hint="give at least one row")
    _show(report)
    if report.violations:
        raise typer.Exit(1)


def _holds_stories(file: str) -> bool:
    """Whether the first row is a story; standard input, read once only, holds headlines."""
    from contrafact.files.tables import read_rows

    if file == "-":
        return False
    first = next(iter(read_rows(file)), None)
    return first is not None and "Variation text" in first[1]


def _show(report: "CheckReport") -> None:
    facts = [f"{report.rows:,} rows", f"{report.headlines:,} distinct headlines"]
    facts.append(f"{report.with_description:,} with a description")
    facts.append(f"{report.with_reference:,} with both counterfactuals")
    typer.echo(f"Layout: {report.layout}; {', '.join(facts)}.")
    _show_categories(report)
    _table(
        "Lengths in characters",
        ("field", "texts", "shortest", "median", "mean", "longest"),
        [
            (
                row.field,
                f"{row.texts:,}",
                f"{row.shortest:,}",
                f"{row.median:,.1f}",
                f"{row.mean:,.1f}",
                f"{row.longest:,}",
            )
            for row in report.lengths
        ],
    )
    for title, sentences in (("Violations", report.violations), ("Notes", report.notes)):
        typer.echo(f"{title}: {'none' if not sentences else len(sentences)}")
        for sentence in sentences:
            typer.echo(f"  - {_shown(sentence)}")


def _show_categories(report: "CheckReport") -> None:
    published = any(row.published is not None for row in report.categories)
    if report.without_category == report.rows:
        typer.echo("No row has a category.")
        return
    rows: list[tuple[str, ...]] = []
    for row in report.categories:
        difference = row.found - (row.published or 0)
        beside = (str(row.published), f"{difference:+d}" if difference else "0")
        rows.append((row.name, str(row.found), *(beside if published else ())))
    rows += [
        (f"unknown: {_shown(name)}", str(number), *(("", "") if published else ()))
        for name, number in report.unknown.items()
    ]
    if report.without_category:
        extra = ("", "") if published else ()
        rows.append(("(none)", str(report.without_category), *extra))
    columns = ("category", "found", *(("published", "difference") if published else ()))
    _table("Rows per category", columns, rows)


def _shown(text: str) -> str:
    """Return the text with what a terminal would not show, or would obey, as escapes."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table: framed on a terminal, in plain aligned columns elsewhere."""
    if not sys.stdout.isatty():
        typer.echo(f"\n{title}")
        widths = [max(len(row[place]) for row in (columns, *rows)) for place in range(len(columns))]
        for row in (columns, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            typer.echo("  ".join(cells).rstrip())
        typer.echo("")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    framed = Table(title=title, title_justify="left")
    for column in columns:
        numbers = all(row[columns.index(column)][:1] in "0123456789+-" for row in rows)
        framed.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        framed.add_row(*(Text(cell) for cell in row))
    Console().print(framed)


@contextmanager
def _progress() -> "Iterator[FileProgress | None]":
    """Show how far a download is: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(name: str, size: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(_shown(name), total=total)
            bars.update(tasks[name], completed=size, total=total)

        yield advance
