"""``contrafact data``: the published datasets, and checks of files."""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

import typer

from contrafact.console import downloads, one_line, show_table
from contrafact.errors import InputError
from contrafact.family import Lazy, families
from contrafact.files.fields import named_columns
from contrafact.files.tables import read_rows, source_name
from contrafact.options import Options, argument, command, option

if TYPE_CHECKING:
    from contrafact.family.data import DataSpec


def _schemas() -> "Mapping[str, Lazy[DataSpec]]":
    return {name: spec for family in families().values() for name, spec in family.data.items()}


app = typer.Typer(help="Published datasets, and checks of your own files.", no_args_is_help=True)


@app.command("list")
def list_datasets() -> None:
    """List the published datasets, and which of them are in the cache.

    Example: contrafact data list
    """
    from contrafact.corpus.datasets import datasets, is_fetched

    rows = []
    for dataset in datasets().values():
        state = "fetched" if is_fetched(dataset) else "not fetched"
        state = {"file": "by file", "package": "bundled"}.get(dataset.source, state)
        rows.append((dataset.name, state, dataset.title, dataset.page or ""))
    show_table("Published datasets", ("name", "state", "what", "page"), rows)


class _Fetch(Options):
    name: str = argument("NAME", "A name that `data list` gives.")


@app.command("fetch")
@command
def fetch(options: _Fetch) -> None:
    """Download a published dataset into the cache, check it, and print its files.

    Files that are in the cache with the right checksum are not downloaded again.

    Example: contrafact data fetch fin-force
    """
    from contrafact.corpus.datasets import dataset_named, fetch_dataset

    dataset = dataset_named(options.name)
    with downloads() as progress:
        paths = fetch_dataset(options.name, progress)
    for path in paths:
        spec = _schemas().get(dataset.schema or "")
        if spec is not None:
            report = spec.load().check(read_rows(path), str(path))
            found = f"{len(report.violations)} violations, {len(report.notes)} notes"
            typer.echo(f"{report.rows:,} rows, {found} (contrafact data check FILE)", err=True)
        typer.echo(str(path))


class _Check(Options):
    file: str = argument("FILE", "A table, a published set, or hf://OWNER/NAME.")
    schema_name: str | None = option(
        None,
        f"The schema to check against: {' or '.join(_schemas())}. [by its first row]",
        name="schema",
    )
    columns: list[str] | None = option(
        None, "FILE's column for a field of the schema.", metavar="WANTED=FOUND,…"
    )


@app.command("check")
@command
def check(options: _Check) -> None:
    """Check a file against its schema and give its statistics.

    Exits with 0 if the file conforms to the schema (there may be notes), 1 if it violates it, 2 if
    it cannot be read.

    Example: contrafact data check headlines.csv
    """
    from contrafact.corpus.datasets import data_source

    schema = options.schema_name
    if schema is not None and schema not in _schemas():
        raise InputError(f"there is no schema '{schema}'", hint=f"use {' or '.join(_schemas())}")
    file = "-" if options.file == "-" else str(data_source(options.file).path)
    name = source_name(file)
    rows = iter(read_rows(file, named_columns(options.columns)))
    first = next(rows, None)
    if first is None:
        raise InputError("the file holds no rows", file=name, hint="give at least one row")
    specs = {known: spec.load() for known, spec in _schemas().items() if schema in (None, known)}
    # A file that no schema recognises is checked against the first, which names missing columns.
    recognised = (spec for spec in specs.values() if schema or spec.recognises(first[1]))
    report = next(recognised, next(iter(specs.values()))).check(chain([first], rows), name)
    for part in report.contents:
        if isinstance(part, str):
            typer.echo(one_line(part))
        else:
            show_table(part.title, part.columns, part.rows)
    for title, sentences in (("Violations", report.violations), ("Notes", report.notes)):
        typer.echo(f"{title}: {'none' if not sentences else len(sentences)}")
        for sentence in sentences:
            typer.echo(f"  - {one_line(sentence)}")
    if not report.passed:
        raise typer.Exit(1)
