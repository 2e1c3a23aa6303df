"""What a family says of its data: how a file of a schema is recognised, and what a check finds.

A family lists its schemas in ``Family.data``; ``contrafact data check FILE`` asks them all whether
the file's first row is theirs, and prints the report of the one that says so.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contrafact.files.tables import Row

__all__ = ["DataReport", "DataSpec", "DataTable"]


@dataclass(frozen=True)
class DataTable:
    """A table of a report; cells are texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DataReport:
    """What a check found in a file: ``rows`` rows, and what is in it, in the order to show.

    ``violations`` are sentences on what is wrong, ``notes`` on what a loader can live with.
    """

    rows: int
    contents: tuple[str | DataTable, ...]
    violations: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the file keeps the schema."""
        return not self.violations


@dataclass(frozen=True)
class DataSpec:
    """A schema of a family's files: whether a file's first row is of it, and its check.

    The check gets the rows and the name that messages call the file. A row that is wrong is a
    violation in the report; it raises only what ends the reading.
    """

    recognises: Callable[[Mapping[str, Any]], bool]
    check: Callable[[Iterable[Row], str], DataReport]
