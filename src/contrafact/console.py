"""What commands print: progress and tables, in the same form for all.

On a terminal, progress is a bar with the time remaining, and a table is framed; elsewhere, progress
is a line at every tenth, and a table has plain aligned columns. Progress goes to standard error.

Texts of services, files and people cannot move the cursor, and no key is shown: `guard_screen`
wraps the output streams in a `Screen`, which filters everything printed, by any library;
`rich_console` bypasses it and filters its own output.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from contrafact.redaction import redacted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

__all__ = [
    "Progress",
    "downloads",
    "guard_screen",
    "one_line",
    "rich_console",
    "say_once",
    "show_counts",
    "show_frame",
    "show_table",
]


_REMEMBERED = 1_800.0  # seconds
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Controls except tabs and line ends, characters that reorder text or are invisible, surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)


def _visible(text: str) -> str:
    """Return a text with invisible and cursor-moving characters escaped as in JSON."""
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def one_line(text: object) -> str:
    """Return a text as one line, with secrets redacted and hidden characters escaped."""
    return _visible(redacted(" ".join(str(text).split())))


class Screen:
    """A text stream without secrets, invisible characters and characters that move the cursor.

    Colours are removed; coloured output goes to the wrapped stream directly (`rich_console`).
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.stream.write(_visible(redacted(_COLOURS.sub("", text))))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of the texts."""
        for line in lines:
            self.write(line)


def guard_screen() -> None:
    """Wrap standard output and standard error in a `Screen`, unless this has been done."""
    for name in ("stdout", "stderr"):
        if not isinstance(stream := getattr(sys, name), Screen):
            setattr(sys, name, Screen(stream))


@cache
def _console_class() -> type["Console"]:
    from rich.console import Console
    from rich.segment import Segment

    class Clean(Console):
        """A console that draws only the visible characters of a text."""

        def render(self, *args: Any, **options: Any) -> Any:
            for part in super().render(*args, **options):
                clean = part.text if part.control else _visible(redacted(part.text))
                yield part if clean == part.text else Segment(clean, part.style, part.control)

    return Clean


def rich_console(*, stderr: bool = False, **options: Any) -> "Console":
    """Return a Rich console on standard output, or error, that draws no hidden character."""
    stream: Any = sys.stderr if stderr else sys.stdout
    while isinstance(stream, Screen):
        stream = stream.stream
    return _console_class()(file=stream, **options)


class Progress:
    """Shows progress in steps on standard error.

    Args:
        what: The noun for the steps.
        total: The number of steps; None if unknown.
        done: How many steps an earlier start of the same work has finished.
    """

    def __init__(self, what: str, total: int | None, done: int = 0):
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.what = what
        self.total = total
        self.done = done
        self._console = rich_console(stderr=True)
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
        if self._terminal:
            guard_screen()  # also wraps the bar's redirection of other output
        if self.done:
            self.say(f"resuming: {self.done} of {self.total} {self.what} had finished")
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, number: int = 1, note: str = "") -> None:
        """Count finished steps, and show a note."""
        tenths = self._tenths()
        self.done += number
        if note:
            self._bar.update(self._task, description=f"{self.what} ({note})")
        self._bar.advance(self._task, number)
        if self.total and not self._terminal and self._tenths() > tenths:
            more = f" ({note})" if note else ""
            print(f"{self.what}: {self.done}/{self.total}{more}", file=sys.stderr, flush=True)

    def one(self, _: object = None) -> None:
        """Count one step; the argument is ignored."""
        self.step()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self._terminal:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _tenths(self) -> int:
        return 10 * self.done // max(1, self.total or 0)


@contextmanager
def downloads() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a function that shows a download's progress as a bar; without a terminal, nothing.

    It takes the name, the bytes so far, and the total bytes or None if unknown.
    """
    from rich import progress as rich

    console = rich_console(stderr=True)
    named = rich.TextColumn("{task.description}", markup=False)
    columns = (named, rich.BarColumn(), rich.DownloadColumn(), rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, rich.TaskID] = {}

        def advance(name: str, size: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(one_line(name), total=total)
            bars.update(tasks[name], completed=size, total=total)

        yield advance


_printed: set[str] = set()


def say_once(text: str) -> None:
    """Print a line on standard error, unless this process has printed it before.

    It is for notes about files, since a command may read the same file several times.
    """
    if text not in _printed:
        _printed.add(text)
        print(one_line(text), file=sys.stderr, flush=True)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, stderr: bool = False
) -> None:
    """Print a table; columns whose cells all begin like numbers are aligned right.

    Args:
        stderr: Whether to print on standard error, if standard output is for data.
    """
    stream = sys.stderr if stderr else sys.stdout
    columns, rows = [*map(one_line, columns)], [[*map(one_line, row)] for row in rows]
    if not stream.isatty():
        print(f"\n{title}", file=stream)
        widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
        for row in (columns, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip(), file=stream)
        print("", file=stream)
        return
    from rich.table import Table
    from rich.text import Text

    framed = Table(title=Text(title), title_justify="left")
    for at, column in enumerate(columns):
        numbers = all(row[at][:1] in "0123456789+-–" for row in rows)
        framed.add_column(Text(column), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        framed.add_row(*(Text(cell) for cell in row))
    rich_console(stderr=stderr).print(framed)


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
        upright: Whether to print a table for each row, if there are too many columns for a line.
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


def show_counts(counts: Mapping[Any, int]) -> None:
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
