"""Benchmarks: ratios of two ways to do the same work, both timed in one run.

A bench is a module of this package with a function ``run(quick, data) -> BenchResult``. Only
ratios mean anything from one machine to the next; no figure is kept in the code.
"""

import importlib
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["BenchResult", "Timing", "run"]


@dataclass(frozen=True)
class Timing:
    """How long one way took.

    Attributes:
        way: What was done, in a few words.
        items: How many items were timed.
        seconds: Wall-clock seconds for them.
        cpu_seconds: Processor seconds of the process that did the work, all threads; None where
            they were not counted.
    """

    way: str
    items: int
    seconds: float
    cpu_seconds: float | None

    @property
    def per_second(self) -> float:
        """Items per second of wall-clock time."""
        return self.items / self.seconds


@dataclass(frozen=True)
class BenchResult:
    """What a bench found.

    Attributes:
        name: The bench.
        unit: What an item is, in the plural.
        total_items: The items of the whole job; a timing of fewer is scaled to them.
        ours: The way this project goes.
        baseline: The way it is compared with.
        target: The ratio aimed at.
        data: What it ran on.
        notes: What else a reader should know.
        device: What the work was done on: the GPU's name, where there was one.
    """

    name: str
    unit: str
    total_items: int
    ours: Timing
    baseline: Timing
    target: float
    data: str
    notes: list[str] = field(default_factory=list)
    device: str = "processor"

    @property
    def ratio(self) -> float:
        """How many times faster ours is, per item."""
        return self.ours.per_second / self.baseline.per_second


def run(name: str, quick: bool, data: Path | None) -> BenchResult:
    """Run the bench of a name, in this process."""
    result: BenchResult = importlib.import_module(f"bench.{name}").run(quick, data)
    return result
