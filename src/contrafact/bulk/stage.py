"""What a command makes of rows: rows and reasons out, of a file's as of a partition's.

A stage is what a command is in bulk. It is small and goes to the workers by pickle; what is heavy
it opens there. It works on the rows of a partition alone, so that partitions may be worked on
anywhere, in any order, again.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from inspect_ai.model import Model
    from numpy.typing import NDArray

    from contrafact.corpus.ledger import LedgerEvent, Piece

__all__ = [
    "APART",
    "FAILURES",
    "INDEX",
    "KEPT",
    "LEDGER",
    "REJECTS",
    "Asked",
    "InputRow",
    "Stage",
    "StageOutput",
    "Work",
    "Wrap",
    "write_pieces",
]

# The tables of an output: what a stage kept, what it dropped, left open and could not work on, each
# with reasons, and its decisions.
KEPT = "rows"
REJECTS = "rejects"
APART = "apart"
FAILURES = "failures"
LEDGER = "ledger"

INDEX = "index"
"""The column of every part of a table that has the row's place in the whole input, from 0."""


@dataclass(frozen=True, slots=True)
class InputRow:
    """A row of the input.

    Attributes:
        index: Its place in the whole input, from 0.
        repeats: The place of the first row with the same key, where the stage has keys and this
            is not the first.
        note: What the stage's preparation found of it.
    """

    index: int
    fields: dict[str, Any]
    repeats: int | None = None
    note: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> int:
        """The row's number in the whole input, from 1: what messages name it by."""
        return self.index + 1


@dataclass
class StageOutput:
    """What a stage made of some rows.

    Attributes:
        tables: Rows by table, each behind its place in the whole input, from 0.
        events: Its decisions, likewise.
        counts: What is said at the end, summed over all partitions.
        retry: How many rows failed for a reason that may pass, such as a call that failed.
    """

    tables: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    events: list[tuple[int, "LedgerEvent"]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    retry: int = 0

    def add(self, table: str, index: int, row: Mapping[str, Any], *events: "LedgerEvent") -> None:
        """Add a row to a table, with the decisions on it."""
        self.tables.setdefault(table, []).append((index, dict(row)))
        self.events += [(index, event) for event in events]

    def fail(self, row: InputRow, reason: str, *, retry: bool = False) -> None:
        """Add a row to the failures, with its reason."""
        self.add(FAILURES, row.index, {**row.fields, "reason": reason})
        self.retry += retry

    def merge(self, other: "StageOutput") -> None:
        """Add what was made of other rows."""
        for table, rows in other.tables.items():
            self.tables.setdefault(table, []).extend(rows)
        self.events += other.events
        self.counts.update(other.counts)
        self.retry += other.retry

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        return [row for _, row in self.tables.get(name, ())]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of every table, decisions among them, each with its `INDEX`."""
        tables: dict[str, Any] = dict(self.tables)
        if self.events:
            tables[LEDGER] = [(at, one.model_dump(exclude_none=True)) for at, one in self.events]
        return {
            name: [{**row, INDEX: index} for index, row in rows] for name, rows in tables.items()
        }

    def write(self, out: "str | Path", *others: str) -> None:
        """Write what was made of a whole file, with further tables, as `write_pieces` does."""
        write_pieces([self], out, *others)


def write_pieces(
    pieces: Iterable[StageOutput], out: "str | Path", *others: str, distinct: bool = False
) -> Counter[str]:
    """Write what is made of a file, piece by piece, by `write_stage`; return its counts.

    ``others`` are further tables.
    """
    from contrafact.corpus.ledger import write_stage

    counts: Counter[str] = Counter()

    def parts() -> "Iterator[Piece]":
        for made in pieces:
            counts.update(made.counts)
            tables = {KEPT: made.table(KEPT), "dropped": made.table(REJECTS)}
            tables |= {name: made.table(name) for name in others}
            yield tables, (event for _, event in made.events)

    write_stage(out, parts(), "dropped", *others, distinct=distinct)
    return counts


@dataclass(frozen=True)
class Asked:
    """Whom a stage asks, by which its work is shared out.

    Attributes:
        model: Inspect's name of the model that is asked most.
        max_connections: Calls under way at once, in the whole cluster.
        judges: Inspect's names of its judges.
        model_args: Provider arguments of the model.
    """

    model: str
    max_connections: int
    judges: tuple[str, ...] = ()
    model_args: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[[Sequence[InputRow]], Coroutine[Any, Any, StageOutput]]
Wrap = Callable[["Model"], "Model"]
"""Puts a model under the cluster's limits and the partition's journal."""


class Stage(ABC):
    """A command."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is in messages: a command in backticks."""

    @property
    def partition_rows(self) -> int:
        """How many rows a partition has at most, where the user does not say."""
        return 5_000 if self.asked is None else 500

    @property
    def asked(self) -> Asked | None:
        """Whom it asks; None where no model is asked."""
        return None

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return what decides the results, by the names that users know; no secrets."""

    @abstractmethod
    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work, in the process that does it; it treats each row by itself.

        Args:
            wrap: Every model that is asked goes through it.
            at_once: How many calls this process may have under way.
        """

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return what rows share that repeat another, anywhere in the input; None if none do."""
        return None

    def prepare(
        self, partitions: Any, repeats: "NDArray[np.int64]"
    ) -> Mapping[int, Mapping[str, Any]]:
        """Return, by place, what is found of rows where the whole input is looked at first.

        ``repeats`` are the places of rows that repeat another; nothing is found of them.
        """
        return {}
