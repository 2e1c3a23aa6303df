"""Tables on standard output: framed on a terminal, in plain aligned columns elsewhere."""

import sys
from collections.abc import Sequence

import typer

__all__ = ["show_table"]


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns whose every cell begins like a number are set to the right."""
    if not sys.stdout.isatty():
        typer.echo(f"\n{title}")
        widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
        for row in (columns, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            typer.echo("  ".join(cells).rstrip())
        typer.echo("")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    framed = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        numbers = all(row[at][:1] in "0123456789+-–" for row in rows)
        framed.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        framed.add_row(*(Text(cell) for cell in row))
    Console().print(framed)
