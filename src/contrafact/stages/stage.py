"""What a command makes of rows: rows and reasons out, of a file's as of a partition's.

A stage is what a command does to rows. It says what makes a row fit (``read``), what two rows may
not share (``key``), how rows are worked on (``open``) and what is said at the end (``show``); how
rows come in, are asked about and written out is the runner's (`contrafact.stages.run`), or an
executor's. It is small and goes to workers by pickle; what is heavy it opens there.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import (
    Awaitable,
    Callable,
    Container,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from contrafact.console import show_counts
from contrafact.errors import InputError
from contrafact.files.atomic import guard_output
from contrafact.files.journal import hash_of, sidecar_path
from contrafact.models.calls import asked_for

if TYPE_CHECKING:
    from pathlib import Path

    from inspect_ai.model import Model

    from contrafact.corpus.ledger import LedgerEvent, Piece
    from contrafact.files.delimited import Dialect
    from contrafact.files.tables import RowNotes
    from contrafact.models.estimate import CallEstimate

__all__ = [
    "APART",
    "FAILURES",
    "INDEX",
    "KEPT",
    "LEDGER",
    "REJECTS",
    "Asked",
    "Count",
    "Failure",
    "InputRow",
    "RowStage",
    "Stage",
    "StageOutput",
    "StageResult",
    "Survey",
    "Work",
    "Wrap",
    "below",
    "sorted_out",
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


@dataclass(slots=True)
class InputRow:
    """A row of the input.

    Attributes:
        index: Its place in the whole input, from 0.
        repeats: The place of the first row with the same key, where the stage has keys and this
            is not the first.
        note: What the stage's preparation found of it.
        value: What `Stage.read` made of the fields.
        problem: Why it cannot be worked on.
    """

    index: int
    fields: dict[str, Any]
    repeats: int | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    problem: InputError | None = None

    @property
    def line(self) -> int:
        """The row's number in the whole input, from 1: what messages name it by."""
        return self.index + 1


@dataclass(frozen=True)
class Failure:
    """A row that could not be worked on, and of a call that failed, which may pass, the cause."""

    row: InputRow
    error: InputError
    cause: str = ""


Count = str | tuple[str, ...]
"""What is counted: a name, or several, as of a kind, an outcome and a reason."""


@dataclass
class StageOutput:
    """What a stage made of some rows.

    Attributes:
        tables: Rows by table, each behind its place in the whole input, from 0.
        events: Its decisions, likewise.
        counts: What is said at the end, summed over all rows.
        failed: The rows that could not be worked on.
        figures: What figures at the end are made of, where counts are too little: of a file alone.
    """

    tables: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    events: list[tuple[int, "LedgerEvent"]] = field(default_factory=list)
    counts: Counter[Count] = field(default_factory=Counter)
    failed: list[Failure] = field(default_factory=list)
    figures: list[Any] = field(default_factory=list)

    def add(self, table: str, index: int, row: Mapping[str, Any], *events: "LedgerEvent") -> None:
        """Add a row to a table, with the decisions on it."""
        self.tables.setdefault(table, []).append((index, dict(row)))
        self.events += [(index, event) for event in events]

    def fail(self, row: InputRow, reason: InputError | str, *, cause: str = "") -> None:
        """Add a row to the failures, with its reason; ``cause`` is why a call failed."""
        error = InputError(reason) if isinstance(reason, str) else reason
        self.failed.append(Failure(row, error, cause))
        why = "; ".join(part for part in (error.problem, error.hint) if part)
        self.add(FAILURES, row.index, {**row.fields, "reason": why})

    def merge(self, other: "StageOutput") -> None:
        for table, rows in other.tables.items():
            self.tables.setdefault(table, []).extend(rows)
        self.events += other.events
        self.counts.update(other.counts)
        self.failed += other.failed
        self.figures += other.figures

    @property
    def retry(self) -> int:
        """How many rows failed for a reason that may pass, such as a call that failed."""
        return sum(bool(failure.cause) for failure in self.failed)

    def table(self, name: str) -> list[dict[str, Any]]:
        return [row for _, row in self.tables.get(name, ())]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of every table, decisions among them, each with its `INDEX`."""
        tables: dict[str, Any] = dict(self.tables)
        if self.events:
            tables[LEDGER] = [
                (index, event.model_dump(exclude_none=True)) for index, event in self.events
            ]
        return {
            name: [{**row, INDEX: index} for index, row in rows] for name, rows in tables.items()
        }

    def sort(self) -> None:
        """Put the rows of all tables, and the decisions, in the order of the input."""
        ordered: list[list[Any]] = [*self.tables.values(), self.events]
        for rows in ordered:
            rows.sort(key=lambda placed: placed[0])

    def write(self, out: "str | Path", *others: str) -> None:
        """Write what was made of a whole file, with further tables, as `write_pieces` does."""
        write_pieces([self], out, *others)


def write_pieces(
    pieces: Iterable[StageOutput], out: "str | Path", *others: str, distinct: bool = False
) -> None:
    """Write what is made of a file, piece by piece, with further tables, by `write_stage`."""
    from contrafact.corpus.ledger import write_stage

    def parts() -> "Iterator[Piece]":
        for made in pieces:
            tables = {KEPT: made.table(KEPT), "dropped": made.table(REJECTS)}
            tables |= {name: made.table(name) for name in others}
            yield tables, (event for _, event in made.events)

    write_stage(out, parts(), "dropped", *others, distinct=distinct)


def below(counts: Counter[Count], *start: str) -> Counter[str]:
    """Return the counts of what begins with these names and has one more, by that one."""
    return Counter({key[-1]: count for key, count in counts.items() if key[:-1] == start})


@dataclass
class StageResult:
    """What became of a whole input.

    Attributes:
        out: Where it is, as the user names it.
        given: How many rows there were.
        rows: How many went into which table.
        made: What was made of them: of a result in memory all of it, else counts and figures alone.
        bad: The problems of the first rows that could not be worked on, and were kept so.
        causes: Why calls failed, one for each row.
        code: The exit code.
        lines: What the executor says besides.
    """

    out: str
    given: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    made: StageOutput = field(default_factory=StageOutput)
    bad: list[InputError] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    code: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Count]:
        return self.made.counts


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


@dataclass(frozen=True)
class Survey:
    """A survey of a whole input, before any of its rows is worked on.

    Attributes:
        map_parts: Gives what a function makes of the rows that can be worked on, part by part, in
            the order of the input.
        repeats: The places of rows among them that repeat another; nothing is found of them.
        elsewhere: Whether other processes look at rows: what takes long is best done there.
        each: Called when a row is looked at.
    """

    map_parts: Callable[[Callable[[Sequence[InputRow]], Any]], Iterable[Any]]
    repeats: Container[int] = ()
    elsewhere: bool = False
    each: Callable[[], None] = lambda: None


class Stage(ABC):
    """What a command does to rows.

    Attributes:
        noun: What its rows are.
        journal: What is kept of its calls next to a file: ``answers`` stay, those of an ``output``
            are there until it is finished, and then a record of what made it.
        sidecars: Tables that are written next to a file, besides what was dropped.
        whole: Whether all rows of a file are looked at before the first (`prepare`), and worked on
            together.
        decimals: Whether numbers with a decimal comma are read with a point.
        keeps_failures: Whether a row whose call failed is written too (`failed`); else nothing is
            written where one fails.
        keeps_bad: Whether a bad row is written too (`failed`); else it is refused.
        to_pipe: Whether its rows may go to standard output.
        shows_progress: Whether progress is shown where no model is asked.
    """

    noun: ClassVar[str] = "rows"
    journal: ClassVar[Literal["answers", "output"]] = "answers"
    sidecars: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[bool] = False
    decimals: ClassVar[bool] = True
    keeps_failures: ClassVar[bool] = False
    keeps_bad: ClassVar[bool] = False
    to_pipe: ClassVar[bool] = False
    shows_progress: ClassVar[bool] = False

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

    @property
    def limit(self) -> int | None:
        """How many rows of the input are taken; all, if it does not say."""
        return None

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return what decides the results, by the names that users know; no secrets."""

    def answer_facts(self) -> Mapping[str, Any]:
        """Return what decides replies: the facts of a journal of answers."""
        return self.facts()

    def input_facts(self, rows: Sequence[InputRow]) -> Mapping[str, Any]:
        """Return what of the input decides an output: the facts of its journal besides."""
        return {"input": hash_of([[row.line, row.fields] for row in rows])}

    def read(self, row: InputRow, notes: "RowNotes | None" = None) -> None:
        """Check a row, and set its value; an `InputError` where it cannot be worked on.

        ``notes`` takes what a reader of the whole file should know of.
        """
        row.value = row.fields

    def key(self, row: InputRow) -> str | None:
        """Return what rows share that repeat another, anywhere in the input; None if none do."""
        return None

    def remark(self, row: InputRow) -> str | None:
        """Return what is told of a row that was read, and may repeat another; None of most."""
        return None

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Add what becomes of a row that repeats another: a failure, where nothing else is said."""
        problem = f"repeats line {(row.repeats or 0) + 1}"
        made.fail(row, InputError(problem, hint="leave one of them out"))

    def prepare(self, survey: Survey) -> Mapping[int, Mapping[str, Any]]:
        """Return, by place, what is found of rows where the whole input is looked at first."""
        return {}

    def check(
        self, rows: Sequence[InputRow], name: str, out: "str | Path | None"
    ) -> Iterable[tuple[int, str]]:
        """Check the rows of a file together; return what is said of some, by their lines."""
        return ()

    def estimates(
        self, rows: Sequence[InputRow], *, tokens: bool = True
    ) -> "Sequence[CallEstimate]":
        """Return what the calls for rows cost; ``tokens`` are counted where they are shown."""
        return []

    def most_calls(self, rows: Sequence[InputRow]) -> int | None:
        """Return a bound on the calls for rows that takes no work to say; None where none does."""
        return None

    @property
    def estimate_notes(self) -> Sequence[str]:
        """What is said below an estimate."""
        return ()

    @abstractmethod
    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the work, in the process that does it; it treats each row by itself.

        Args:
            wrap: Every model that is asked goes through it.
            at_once: How many calls this process may have under way.
            each: Called when a row is done, by work that takes long.
        """

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Add what stands in a file for a row that failed, where such rows are kept."""
        raise failure.error

    def guard(self, out: "str | Path", source: "str | Path") -> None:
        """Refuse an output that could not be written, before any work is done."""
        guard_output(out, source, kind="JSON Lines")

    def answers(self, out: "str | Path") -> "Path":
        """Return where answers are kept next to an output."""
        return sidecar_path(out, "answers")

    def write(
        self, out: "str | Path", pieces: Iterable[StageOutput], dialect: "Dialect | None" = None
    ) -> None:
        """Write what is made of a file, which was divided so, if it was CSV."""
        write_pieces(pieces, out, *self.sidecars, distinct=True)

    def show(self, result: StageResult) -> None:
        """Print what the counts say, and set the exit code where the answer is no."""
        show_counts(result.counts)


class RowStage(Stage):
    """A stage whose rows are worked on one by one."""

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        work_on, free = self.open_row(wrap), asyncio.Semaphore(at_once)

        async def bounded(row: InputRow) -> StageOutput:
            made = StageOutput()
            async with free:
                if self.asked is not None:  # a row may get an answer where its equal got none
                    asked_for.set(f"row {row.index}")
                try:
                    await work_on(made, row)
                except InputError as error:
                    made = StageOutput()
                    made.fail(row, error)
                except Exception as error:
                    if self.asked is None:
                        raise
                    from contrafact.models.asking import failure_cause

                    made, cause = StageOutput(), failure_cause(error)
                    made.fail(row, f"the call failed ({cause})", cause=cause)  # a rerun tries again
            each()
            return made

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            for output in await asyncio.gather(*map(bounded, rows)):
                made.merge(output)
            return made

        return work

    @abstractmethod
    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return what works on a row, with the models open."""


def sorted_out(stage: Stage, rows: Iterable[InputRow]) -> tuple[list[InputRow], StageOutput]:
    """Return the rows to work on, and what becomes of bad ones and of those that repeat another."""
    good: list[InputRow] = []
    made = StageOutput()
    for row in rows:
        if row.problem is not None:
            made.fail(row, row.problem)
        elif row.repeats is not None:
            stage.repeated(made, row)
        else:
            good.append(row)
    return good, made
