"""What a command prints: one progress, one table, for every command.

On a terminal progress is a bar with the time remaining and a table is framed; elsewhere progress
is a line every tenth, and a table is plain aligned columns. Progress goes to standard error.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, RenderableType

__all__ = [
    "Progress",
    "downloads",
    "say_once",
    "show_counts",
    "show_frame",
    "show_table",
]


_REMEMBERED = 1_800.0  # seconds


class Progress:
    """Counts steps on standard error, whose number is known or not.

    Args:
        total: How many there are; None where nobody knows.
        done: How many of them an earlier start of the same work has finished.
    """

    def __init__(self, what: str, total: int | None, done: int = 0):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.what = what
        self.total = total
        self.done = done
        self._console = Console(stderr=True)
        self._terminal = self._console.is_terminal
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            # Rich forgets steps older than half a minute, and a step may well take longer.
            speed_estimate_period=_REMEMBERED,
            disable=not self._terminal or total is None,
        )
        self._task = self._bar.add_task(what, total=total, completed=done)

    def __enter__(self) -> "Progress":
        self._bar.start()
        if self.done:
            self.say(f"going on: {self.done} of {self.total} {self.what} had finished")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, number: int = 1, note: str = "") -> None:
        """Count steps that are done."""
        tenths = self._tenths()
        self.done += number
        if note:
            self._bar.update(self._task, description=f"{self.what} ({note})")
        self._bar.advance(self._task, number)
        if self.total and not self._terminal and self._tenths() > tenths:
            more = f" ({note})" if note else ""
            print(f"{self.what}: {self.done}/{self.total}{more}", file=sys.stderr, flush=True)

    def one(self, _: object = None) -> None:
        """Count one step, whatever it brought."""
        self.step()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._terminal:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def show(self, draw: "Callable[[Console], RenderableType]") -> None:
        """Print something above the bar; without a terminal, on standard output.

        Args:
            draw: Returns it for the console it is printed on.
        """
        from rich.console import Console

        console = self._console if self._terminal else Console(soft_wrap=True)
        console.print(draw(console), highlight=False, soft_wrap=not self._terminal)
        console.file.flush()  # a reader of a pipe gets it now, not with the next thousand lines

    def _tenths(self) -> int:
        return 10 * self.done // max(1, self.total or 0)


@contextmanager
def downloads() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield what shows how far a download is: a bar for each name on a terminal, nothing elsewhere.

    It takes the name, the bytes at hand, and the bytes in all, where these are known.
    """
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    named = rich.TextColumn("{task.description}", markup=False)
    columns = (named, rich.BarColumn(), rich.DownloadColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, rich.TaskID] = {}

        def advance(name: str, size: int, total: int | None) -> None:
            if name not in tasks:
                shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
                tasks[name] = bars.add_task(shown, total=total)
            bars.update(tasks[name], completed=size, total=total)

        yield advance


_printed: set[str] = set()


def say_once(text: str) -> None:
    """Print a line on standard error, unless this process has printed it before.

    For what a reader of files found: several readers may read one file for one command.
    """
    if text not in _printed:
        _printed.add(text)
        print(" ".join(text.split()), file=sys.stderr, flush=True)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, stderr: bool = False
) -> None:
    """Print a table; columns whose every cell begins like a number are set to the right.

    Args:
        stderr: Whether to print on standard error, where standard output is for data.
    """
    stream = sys.stderr if stderr else sys.stdout
    if not stream.isatty():
        print(f"\n{title}", file=stream)
        widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
        for row in (columns, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip(), file=stream)
        print("", file=stream)
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
    Console(stderr=stderr).print(framed)


def show_frame(
    title: str,
    frame: "pd.DataFrame",
    *,
    shares: Sequence[str] = (),
    coefficients: Sequence[str] = (),
    upright: bool = False,
) -> None:
    """Print a data frame; figures with ``_low`` and ``_high`` columns show their interval.

    Args:
        shares: Columns of shares from 0 to 1, shown in percent.
        upright: Whether to print a table of each row, where columns are too many for one line.
    """
    columns = [str(c) for c in frame.columns if not str(c).endswith(("_low", "_high"))]
    names = [column.replace("_", " ") for column in columns]
    rows = [
        [_cell(row, column, column in shares, column in coefficients) for column in columns]
        for row in frame.to_dict("records")
    ]
    if not upright:
        show_table(title, names, rows)
        return
    for cells in rows:
        show_table(title, ("figure", "value"), list(zip(names, cells, strict=True)))


def show_counts(counts: Mapping[str, int]) -> None:
    """Print one line for every count."""
    width = max((len(f"{number:,}") for number in counts.values()), default=0)
    for name, number in counts.items():
        print(f"  {number:>{width},}  {name}")


def _cell(row: Mapping[Any, Any], column: str, share: bool, coefficient: bool) -> str:
    value = row[column]
    if not share and not coefficient:
        return f"{value:,}" if isinstance(value, int) else str(value)

    def figure(number: float) -> str:
        return f"{100 * number:.1f}%" if share else f"{number:.3f}"

    if math.isnan(value):
        return "undefined"
    low, high = row.get(f"{column}_low", math.nan), row.get(f"{column}_high", math.nan)
    if math.isnan(low) or math.isnan(high):
        return figure(value)
    return f"{figure(value)} ({figure(low)} to {figure(high)})"
