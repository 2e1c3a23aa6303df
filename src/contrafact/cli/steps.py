"""Progress of work whose steps are known: a bar on a terminal, a line every tenth elsewhere."""

import sys

__all__ = ["Steps"]


class Steps:
    """Counts steps on standard error.

    Args:
        what: What a step is, in the plural.
        total: How many there are.
    """

    def __init__(self, what: str, total: int):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True)
        self.what = what
        self.total = total
        self.done = 0
        self._terminal = console.is_terminal
        columns = (TextColumn("{task.description}", markup=False), BarColumn())
        self._bar = Progress(
            *columns, MofNCompleteColumn(), console=console, disable=not self._terminal
        )
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> "Steps":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, number: int = 1) -> None:
        """Count steps that are done."""
        tenths = self._tenths()
        self.done += number
        self._bar.advance(self._task, number)
        if not self._terminal and self._tenths() > tenths:
            print(f"{self.what}: {self.done}/{self.total}", file=sys.stderr, flush=True)

    def _tenths(self) -> int:
        return 10 * self.done // max(1, self.total)
