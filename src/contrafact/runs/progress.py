"""Progress of a run: a bar on a terminal, a line every tenth elsewhere."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["RunProgress"]


class RunProgress:
    """Counts the samples that end, scored or failed.

    Args:
        total: Samples that the run has in all.
        done: Samples that had finished before, in an earlier start of the same run.
    """

    def __init__(self, total: int, done: int = 0):
        self.total = total
        self.ended = done
        self._seen: set[object] = set()
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("samples"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("samples", total=total, completed=done)

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        if self.ended:
            self._console.print(
                f"going on: {self.ended} of {self.total} samples had finished", highlight=False
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def sample_ended(self, sample: object) -> None:
        """Count one sample, once, however often it is tried."""
        if sample in self._seen:
            return
        self._seen.add(sample)
        self.ended += 1
        self._bar.update(self._task, advance=1)
        step = max(1, self.total // 10)
        if not self._console.is_terminal and (self.ended % step == 0 or self.ended == self.total):
            print(f"samples: {self.ended}/{self.total}", file=sys.stderr, flush=True)
