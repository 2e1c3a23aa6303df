"""What a family says of its data: how a file of a schema is recognised, and what a check finds.

A family lists its schemas in ``Family.data``; ``contrafact data check FILE`` asks them all whether
the file's first row is theirs, checks the file against the one that says so, and prints the report.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contrafact.files.tables import Row

__all__ = ["DataReport", "DataSpec", "DataTable"]


@dataclass(frozen=True)
class DataTable:
    """A table of a report; cells are texts.

    Attributes:
        title: What it shows.
        columns: Its columns' names.
        rows: Its rows.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DataReport:
    """What a check found in a file.

    Attributes:
        rows: How many rows were read.
        contents: Sentences and tables that say what is in the file, in the order to show.
        violations: A sentence for each thing that is wrong; none if the file keeps the schema.
        notes: A sentence for each thing worth knowing that a loader can live with.
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
    """A schema of a family's files.

    Attributes:
        recognises: Whether a file is of the schema, by its first row.
        check: Checks the rows of a file, given with the name that messages call the file. A row
            that is wrong is a violation in the report; it raises only what ends the reading.
    """

    recognises: Callable[[Mapping[str, Any]], bool]
    check: Callable[[Iterable[Row], str], DataReport]
