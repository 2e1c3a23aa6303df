"""What the building stages print: progress, counts, small tables."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Counting", "show_table", "tell_counts"]


class Counting:
    """Progress on standard error: a bar on a terminal, a line every tenth elsewhere.

    Args:
        what: What is counted, as in "articles".
        total: How many there are.
    """

    def __init__(self, what: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.what = what
        self.total = total
        self.done = 0
        console = Console(stderr=True)
        self._plain = not console.is_terminal
        self._bar = Progress(
            TextColumn(what),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            disable=self._plain,
        )
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> "Counting":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def one(self, _: object = None) -> None:
        """Count one."""
        self.done += 1
        self._bar.advance(self._task)
        if self._plain and (self.done == self.total or self.done % max(1, self.total // 10) == 0):
            print(f"{self.what}: {self.done}/{self.total}", file=sys.stderr, flush=True)


def tell_counts(counts: Mapping[str, int]) -> None:
    """Print one line for every count."""
    width = max((len(f"{number:,}") for number in counts.values()), default=0)
    for name, number in counts.items():
        print(f"  {number:>{width},}  {name}")


def show_table(
    title: str,
    frame: "pd.DataFrame",
    *,
    shares: Sequence[str] = (),
    coefficients: Sequence[str] = (),
) -> None:
    """Print a table; figures with ``_low`` and ``_high`` columns have their interval beside them.

    Args:
        title: The table's title.
        frame: The table.
        shares: Columns of shares from 0 to 1, shown in percent.
        coefficients: Columns of coefficients, shown with three digits.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    columns = [c for c in frame.columns if not c.endswith(("_low", "_high"))]
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in frame.to_dict("records"):
        cells = (_cell(row, str(c), str(c) in shares, str(c) in coefficients) for c in columns)
        table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)


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
