"""Stages: how a command processes rows, from a whole file or from a partition of it.

A stage defines which rows are valid (``read``), what two rows may not share (``key``), how rows are
processed (``open``) and what is printed at the end (``show``). The runner (`contrafact.stages.run`)
or an executor reads the rows, calls the stage and writes the output. A stage is small and is
pickled for workers, which open heavy resources themselves.
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

# The tables of an output: rows that a stage kept, dropped, left open and could not process, each
# with reasons, and its decisions.
KEPT = "rows"
REJECTS = "rejects"
APART = "apart"
FAILURES = "failures"
LEDGER = "ledger"

INDEX = "index"
"""The column, in every part of a table, of the row's position in the whole input, from 0."""


@dataclass(slots=True)
class InputRow:
    """A row of the input.

    Attributes:
        index: Its position in the whole input, from 0.
        repeats: The position of the first row with the same key, if the stage has keys and this row
            is not the first.
        note: The finding about it from the stage's preparation.
        value: The value that `Stage.read` made from the fields.
        problem: Why it cannot be processed.
    """

    index: int
    fields: dict[str, Any]
    repeats: int | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    problem: InputError | None = None

    @property
    def line(self) -> int:
        """The row's number in the whole input, from 1, as used in messages."""
        return self.index + 1


@dataclass(frozen=True)
class Failure:
    """A row that could not be processed; ``cause`` is set if a call failed and may be retried."""

    row: InputRow
    error: InputError
    cause: str = ""


Count = str | tuple[str, ...]
"""A counter's key: a name or several names, such as a kind, an outcome and a reason."""


@dataclass
class StageOutput:
    """The output of a stage for some rows.

    Attributes:
        tables: Rows by table, each after its position in the whole input, from 0.
        events: The stage's decisions, in the same form.
        counts: The counts printed at the end, summed over all rows.
        failed: The rows that could not be processed.
        figures: Values for figures at the end for which counts do not suffice; only for files.
    """

    tables: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    events: list[tuple[int, "LedgerEvent"]] = field(default_factory=list)
    counts: Counter[Count] = field(default_factory=Counter)
    failed: list[Failure] = field(default_factory=list)
    figures: list[Any] = field(default_factory=list)

    def add(self, table: str, index: int, row: Mapping[str, Any], *events: "LedgerEvent") -> None:
        """Add a row to a table, with the decisions about it."""
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
        """The number of rows that failed for a temporary reason, such as a failed call."""
        return sum(bool(failure.cause) for failure in self.failed)

    def table(self, name: str) -> list[dict[str, Any]]:
        return [row for _, row in self.tables.get(name, ())]

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of every table, including decisions, each with its `INDEX`."""
        tables: dict[str, Any] = dict(self.tables)
        if self.events:
            tables[LEDGER] = [
                (index, event.model_dump(exclude_none=True)) for index, event in self.events
            ]
        return {
            name: [{**row, INDEX: index} for index, row in rows] for name, rows in tables.items()
        }

    def sort(self) -> None:
        """Sort the rows of all tables, and the decisions, into the order of the input."""
        ordered: list[list[Any]] = [*self.tables.values(), self.events]
        for rows in ordered:
            rows.sort(key=lambda placed: placed[0])

    def write(self, out: "str | Path", *others: str) -> None:
        """Write the output for a whole file, with further tables, as `write_pieces` does."""
        write_pieces([self], out, *others)


def write_pieces(
    pieces: Iterable[StageOutput], out: "str | Path", *others: str, distinct: bool = False
) -> None:
    """Write a file's output piece by piece with `write_stage`; ``others`` are further tables."""
    from contrafact.corpus.ledger import write_stage

    def parts() -> "Iterator[Piece]":
        for made in pieces:
            tables = {KEPT: made.table(KEPT), "dropped": made.table(REJECTS)}
            tables |= {name: made.table(name) for name in others}
            yield tables, (event for _, event in made.events)

    write_stage(out, parts(), "dropped", *others, distinct=distinct)


def below(counts: Counter[Count], *start: str) -> Counter[str]:
    """Return the counts whose keys are ``start`` and one further name, by that name."""
    return Counter({key[-1]: count for key, count in counts.items() if key[:-1] == start})


@dataclass
class StageResult:
    """The result of running a stage over a whole input.

    Attributes:
        out: The output's location, as the user named it.
        given: The number of rows in the input.
        rows: How many rows went into each table.
        made: The whole output if it is in memory; otherwise only counts and figures.
        bad: The problems of the first bad rows that were kept in the output.
        causes: Why calls failed, one for each row.
        code: The exit code.
        lines: Further lines that the executor prints.
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
    """The models that a stage asks, by which its work is distributed.

    Attributes:
        model: Inspect's name of the model that is asked most often.
        max_connections: The number of simultaneous calls in the whole cluster.
        judges: Inspect's names of its judges.
        model_args: Provider arguments of the model.
    """

    model: str
    max_connections: int
    judges: tuple[str, ...] = ()
    model_args: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[[Sequence[InputRow]], Coroutine[Any, Any, StageOutput]]
Wrap = Callable[["Model"], "Model"]
"""Wraps a model so that the cluster's limits and the partition's journal apply to it."""


@dataclass(frozen=True)
class Survey:
    """An examination of a whole input before any of its rows is processed.

    Attributes:
        map_parts: Applies a function to the usable rows, part by part, and yields its results in
            the order of the input.
        repeats: The positions of rows that repeat another; no findings are needed for them.
        elsewhere: Whether other processes apply the function, so that it should do the slow work.
        each: Called when a row has been examined.
    """

    map_parts: Callable[[Callable[[Sequence[InputRow]], Any]], Iterable[Any]]
    repeats: Container[int] = ()
    elsewhere: bool = False
    each: Callable[[], None] = lambda: None


class Stage(ABC):
    """The processing of rows by a command.

    Attributes:
        noun: The plural noun for its rows.
        journal: Which record of its calls is kept beside a file: ``answers`` is kept for good;
            ``output`` is kept until the output is finished, and then replaced by a record of how
            the output was made.
        sidecars: Tables that are written beside a file, besides the dropped rows.
        whole: Whether all rows of a file are examined before the first is processed (`prepare`),
            and processed together.
        decimals: Whether decimal commas in numbers are read as points.
        keeps_failures: Whether a row whose call failed is also written (`failed`); otherwise
            nothing is written if a call fails.
        keeps_bad: Whether a bad row is also written (`failed`); otherwise it is refused.
        to_pipe: Whether its rows may go to standard output.
        shows_progress: Whether progress is shown although no model is asked.
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
        """Its name in messages: a command in backticks."""

    @property
    def partition_rows(self) -> int:
        """The default for the most rows of a partition."""
        return 5_000 if self.asked is None else 500

    @property
    def asked(self) -> Asked | None:
        """The models that it asks; None if it asks no model."""
        return None

    @property
    def limit(self) -> int | None:
        """How many rows of the input are taken; None takes all."""
        return None

    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return the facts that results depend on, by names that users know, without secrets."""

    def answer_facts(self) -> Mapping[str, Any]:
        """Return the facts that replies depend on, for a journal of answers."""
        return self.facts()

    def input_facts(self, rows: Sequence[InputRow]) -> Mapping[str, Any]:
        """Return the facts about the input that an output depends on, for its journal."""
        return {"input": hash_of([[row.line, row.fields] for row in rows])}

    def read(self, row: InputRow, notes: "RowNotes | None" = None) -> None:
        """Check a row and set its value; raise `InputError` if it cannot be processed.

        ``notes`` collects notes for the reader of the whole file.
        """
        row.value = row.fields

    def key(self, row: InputRow) -> str | None:
        """Return a key that is equal for rows that repeat each other; None if rows may repeat."""
        return None

    def remark(self, row: InputRow) -> str | None:
        """Return a remark on a row, such as that it repeats another; None for most rows."""
        return None

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Add the output of a row that repeats another: by default, a failure."""
        problem = f"repeats line {(row.repeats or 0) + 1}"
        made.fail(row, InputError(problem, hint="leave one of them out"))

    def prepare(self, survey: Survey) -> Mapping[int, Mapping[str, Any]]:
        """For a stage that examines the whole input first, return its findings by row position."""
        return {}

    def check(
        self, rows: Sequence[InputRow], name: str, out: "str | Path | None"
    ) -> Iterable[tuple[int, str]]:
        """Check the rows of a file together; return remarks on rows, with their lines."""
        return ()

    def estimates(
        self, rows: Sequence[InputRow], *, tokens: bool = True
    ) -> "Sequence[CallEstimate]":
        """Return estimates of the calls for rows; ``tokens`` says whether tokens are counted."""
        return []

    def most_calls(self, rows: Sequence[InputRow]) -> int | None:
        """Return a bound on the calls for rows that is quick to compute; None if there is none."""
        return None

    @property
    def estimate_notes(self) -> Sequence[str]:
        """The notes printed below an estimate."""
        return ()

    @abstractmethod
    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the function that processes rows, in the process that runs it.

        Each row is processed independently of the others.

        Args:
            wrap: Applied to every model that is asked.
            at_once: How many calls this process may have under way.
            each: Called when a row is done, if the work takes long.
        """

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Add the output of a failed row, if such rows are kept."""
        raise failure.error

    def guard(self, out: "str | Path", source: "str | Path") -> None:
        """Refuse an output that could not be written, before any work is done."""
        guard_output(out, source, kind="JSON Lines")

    def answers(self, out: "str | Path") -> "Path":
        """Return the file beside an output in which answers are kept."""
        return sidecar_path(out, "answers")

    def write(
        self, out: "str | Path", pieces: Iterable[StageOutput], dialect: "Dialect | None" = None
    ) -> None:
        """Write a file's output; ``dialect`` is the dialect of the input if it was CSV."""
        write_pieces(pieces, out, *self.sidecars, distinct=True)

    def show(self, result: StageResult) -> None:
        """Print the counts, and set the exit code, 1 for a failure such as a broken contract."""
        show_counts(result.counts)


class RowStage(Stage):
    """A stage whose rows are processed one by one."""

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        work_on, free = self.open_row(wrap), asyncio.Semaphore(at_once)

        async def bounded(row: InputRow) -> StageOutput:
            made = StageOutput()
            async with free:
                if self.asked is not None:  # a row may get an answer although an equal row got none
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
        """Return the function that processes a row, with the models opened."""


def sorted_out(stage: Stage, rows: Iterable[InputRow]) -> tuple[list[InputRow], StageOutput]:
    """Return the rows to process, and the output for bad and repeated rows."""
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
