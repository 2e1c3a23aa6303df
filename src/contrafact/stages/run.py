"""The runner of stages: reads, checks, processes, counts and writes rows."""

import asyncio
import re
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from contrafact.console import Progress
from contrafact.errors import InputError, ModelError
from contrafact.files.atomic import atomic_path
from contrafact.files.delimited import Dialect
from contrafact.files.journal import Journal
from contrafact.files.tables import (
    Row,
    RowNotes,
    called,
    open_table,
    require_tables,
    row_count,
    source_name,
)
from contrafact.models.calls import counted_calls
from contrafact.models.prices import is_paid
from contrafact.options import BulkOptions
from contrafact.plugins import executor_entries
from contrafact.stages.stage import (
    FAILURES,
    InputRow,
    Stage,
    StageOutput,
    StageResult,
    Survey,
    Work,
    sorted_out,
)

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from contrafact.models.estimate import CallEstimate

__all__ = [
    "Executor",
    "Source",
    "awake",
    "estimate_stage",
    "executor",
    "run_stage",
    "stage_command",
]

_T = TypeVar("_T")

PART = 2_000
"""How many rows of a file are processed and in memory at once, if it is not read whole."""

_WRITTEN = "written"
"""The journal's key for the hashes of outputs that were written with failed rows."""

_REQUEST = re.compile("[0-9a-f]{16}")
"""The pattern of replies' keys: hashes of requests (`contrafact.files.journal.hash_of`)."""

_SHOWN = 20  # bad rows shown one by one; the rest are counted

Source = str | Path | Iterable[Mapping[str, Any]]
"""A file, ``-`` for standard input, or rows in memory, such as a data frame's."""


@dataclass(frozen=True)
class Executor:
    """An engine, found through its entry point, with the settings that the user gave it.

    Attributes:
        name: The name for ``--engine``.
        engine: What the entry point names: a function that runs a stage. Its method ``score``, if
            it has one, judges outputs.
        settings: `contrafact.options.BulkOptions.settings`.
    """

    name: str
    engine: Any
    settings: Mapping[str, Any]

    def __call__(self, stage: Stage, source: str, out: str) -> StageResult:
        """Run a stage, given the input and the output as named by the user."""
        result: StageResult = self.engine(stage, source, out, self.settings)
        return result

    def score(self, task: str, values: Mapping[str, Any]) -> None:
        """Judge outputs, given the options of ``contrafact score TASK FILE`` by name.

        Raises:
            InputError: The engine judges no outputs, or an option is unusable.
        """
        if not hasattr(self.engine, "score"):
            problem = f"--engine {self.name} judges no outputs"
            raise InputError(problem, hint="leave --engine out")
        self.engine.score(task, values, self)


def executor(options: BulkOptions) -> Executor | None:
    """Return the executor for the engine that ``--engine`` names; None without that option.

    Raises:
        InputError: No installed package provides the engine, or its options have no effect.
    """
    settings = options.settings()
    if settings is None:
        return None
    entries, name = executor_entries(), str(options.engine)
    if name in entries:
        return Executor(name, entries[name].load(), settings)
    if name == "ray":
        problem = "--engine ray needs contrafact-ray, which is not installed"
        raise InputError(problem, hint="run: pip install contrafact-ray")
    named = ", ".join(sorted({*entries, "ray"}))
    raise InputError(f"there is no engine '{name}'", hint=f"use --engine {named}")


def stage_command(
    stage: Stage,
    source: Source,
    out: str | Path,
    executor: Executor | None = None,
    *,
    estimate: bool = False,
    yes: bool = False,
) -> None:
    """Run a stage as a command, print its results, and end with the exit code.

    The exit code is 2 if bad rows were kept, else 1 if calls failed or the stage reports a
    failure, such as a pair that breaks its contract.
    """
    if estimate:
        from contrafact.models.estimate import show_estimate

        show_estimate(estimate_stage(stage, source, out), stage.estimate_notes)
        return
    if executor is None:
        result = run_stage(stage, source, out, yes=yes)
    else:
        result = executor(stage, str(source), str(out))
    if result is None:
        return
    stage.show(result)
    for problem in result.bad:
        typer.echo(f"contrafact: {problem}", err=True)
    if (more := result.rows[FAILURES] - len(result.causes) - len(result.bad)) and result.bad:
        typer.echo(f"contrafact: and {more:,} more bad rows", err=True)
    for line in result.lines:
        typer.echo(line, err=True)
    if failed := len(result.causes):
        reason = f"{failed:,} call{'s' * (failed != 1)} failed; the same command tries again:"
        typer.echo(str(ModelError(reason, result.causes)), err=True)
    code = 2 if result.bad else max(result.code, bool(result.causes))
    if code:
        raise typer.Exit(code)


def run_stage(
    stage: Stage,
    source: Source,
    out: str | Path | None = None,
    *,
    yes: bool = False,
    confirm: Callable[[int], None] | None = None,
    keep: bool = False,
) -> StageResult | None:
    """Process all rows of a source, and return the result.

    Args:
        out: The file to write; None keeps the output in the result.
        yes: Whether many paid calls are made without asking.
        confirm: Called with the number of paid calls if there are many; it raises to refuse them.
            By default, the user is asked.
        keep: Whether the result also holds the output if it is written to a file.

    Returns:
        The result; None if the output was already finished.

    Raises:
        InputError: The source, or a row of it, is unusable, or the output cannot be written.
        ModelError: Calls failed, and the stage writes nothing without them.
    """
    with _sink(stage, source, out) as path:
        return _Here(stage, source, path).run(yes=yes, confirm=confirm, keep=keep)


def estimate_stage(
    stage: Stage, source: Source, out: str | Path | None = None
) -> "Sequence[CallEstimate]":
    """Return estimates of the calls for the rows of a source, without making any.

    Raises:
        InputError: The source, or a row of it, is unusable, or the output cannot be written.
    """
    with _sink(stage, source, out) as path:
        return _Here(stage, source, path).estimates()


@contextmanager
def _sink(stage: Stage, source: Source, out: str | Path | None) -> Iterator[Path | None]:
    """Yield the file to write; for standard output, a file that is copied there at the end."""
    if isinstance(source, str | Path):
        require_tables(source)
    if out is None:
        yield None
    elif str(out) != "-" or not stage.to_pipe:
        stage.guard(out, source if isinstance(source, str | Path) else "-")
        yield Path(out)
    else:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rows.jsonl"
            try:
                with called(path, ""):  # the user has not named this file
                    yield path
            finally:
                if path.exists():
                    sys.stdout.flush()
                    if sys.stdout.isatty():
                        sys.stdout.write(path.read_text(encoding="utf-8"))
                    else:  # UTF-8, whatever the locale
                        sys.stdout.buffer.write(path.read_bytes())


def _checked_rows(
    stage: Stage, rows: Iterable[Row], name: str, notes: RowNotes
) -> Iterator[InputRow]:
    """Yield the checked rows of a table, with bad and repeated rows marked."""
    first: dict[str, int] = {}
    row = None
    for line, fields in rows:
        row = InputRow(line - 1, fields)
        try:
            stage.read(row, notes)
        except InputError as error:
            row.problem = error.at(name, line)
        else:
            key = stage.key(row)
            if key is not None and (index := first.setdefault(key, row.index)) != row.index:
                row.repeats = index
            if (note := stage.remark(row)) is not None:
                notes.found[note].append(line)
        yield row
    if row is None:
        raise InputError(f"the file holds no {stage.noun}", file=name, hint="give at least one row")


class _Here:
    """The executor that runs a stage in this process, on parts of the rows or on all at once."""

    def __init__(self, stage: Stage, source: Source, out: Path | None) -> None:
        self.stage, self.out = stage, out
        self.notes, self.result = RowNotes(), StageResult("" if out is None else source_name(out))
        self.total: int | None = None
        self.good: list[InputRow] = []  # the usable rows, once all are read
        self.remarks: list[tuple[int, str]] = []  # the stage's remarks on rows, with their lines
        self.progress: Progress | None = None
        self.dialect: Dialect | None = None
        rows: Iterable[Row]
        if isinstance(source, str | Path):
            self.name, self.total = source_name(source), row_count(source)
            table = open_table(source, decimals=stage.decimals)
            rows, self.dialect = table.rows, table.dialect
        else:
            records = source.to_dict("records") if hasattr(source, "to_dict") else source
            self.total = len(records) if isinstance(records, Sized) else None
            self.name, rows = "data", enumerate(map(dict, records), start=1)
        rows = islice(rows, stage.limit)
        self.rows: Iterable[InputRow] = _checked_rows(stage, rows, self.name, self.notes)
        self.keeps_record = stage.journal == "output" and out is not None
        # Rules are fast, and without a named file there is no progress to report.
        named = out is not None or isinstance(source, str | Path)
        self.shows_progress = stage.shows_progress and named

    def estimates(self) -> "Sequence[CallEstimate]":
        self._read()
        return self.stage.estimates(self.good)

    def run(
        self, *, yes: bool, confirm: Callable[[int], None] | None, keep: bool
    ) -> StageResult | None:
        stage = self.stage
        if stage.whole or stage.asked is not None or self.keeps_record:
            self._read()
        journal = self._journal()
        if journal is not None and self.keeps_record and journal.finished():
            typer.echo(f"{self.out} is finished: no model was called, and nothing is left to do")
            return None
        # Opened before anything is written, since a model may be missing.
        at_once = 1 if stage.asked is None else stage.asked.max_connections
        work = stage.open(_kept if stage.asked else lambda model: model, at_once, self._each)
        with ExitStack() as held:
            if journal is not None:
                _check_keys(held.enter_context(journal))
                self._refuse_changed(journal)
            if stage.asked is not None:
                held.enter_context(counted_calls(journal))
                if not yes:
                    self._confirm(0 if journal is None else len(journal.known), confirm)
            if journal is not None and (known := len(journal.known.keys() - {_WRITTEN})):
                typer.echo(f"resuming: {known:,} answers are kept from before", err=True)
            for line, remark in self.remarks:
                typer.echo(f"{self.name}:{line}: {remark}", err=True)
            pieces = self._pieces(work, held, keep=keep or self.out is None)
            self._write(pieces, journal if self.keeps_record else None)
            if journal is not None and self.keeps_record and not self.result.causes:
                journal.finish()
        for note in self.notes.lines():
            typer.echo(f"{self.name}: {note}", err=True)
        return self.result

    def _read(self) -> None:
        """Read all rows, and let the stage check them together."""
        stage = self.stage
        self.rows = list(self.rows)
        self.total = len(self.rows)
        self.good, others = sorted_out(stage, self.rows)
        self._refuse(others)
        self.remarks = list(stage.check(self.good, self.name, self.out))
        if stage.whole:
            self._prepare()

    def _journal(self) -> Journal | None:
        stage, out = self.stage, self.out
        if out is None or (stage.journal == "answers" and stage.asked is None):
            return None
        if stage.journal == "answers":
            return Journal(stage.answers(out), stage.answer_facts())
        facts = {**stage.input_facts(self.good), **stage.facts()}
        return Journal.of_output(out, facts, what=stage.name)

    def _confirm(self, answered: int, confirm: Callable[[int], None] | None) -> None:
        """Ask the user to agree to many paid calls, less the ``answered`` ones."""
        from contrafact.models.estimate import ASK_ABOVE, ask_first, ask_if_many, paid_calls

        asked, most = self.stage.asked, self.stage.most_calls(self.good)
        if most is not None and most <= ASK_ABOVE:
            return
        if asked is not None and any(map(is_paid, (asked.model, *asked.judges))):
            calls = paid_calls(self.stage.estimates(self.good, tokens=False)) - answered
            ask_if_many(calls, confirm or ask_first)

    def _each(self) -> None:
        if self.progress is not None:
            self.progress.step()

    def _pieces(self, work: Work, held: ExitStack, *, keep: bool) -> Iterator[StageOutput]:
        """Yield the outputs of the rows, part by part; ``keep`` collects them in the result."""
        stage = self.stage
        if stage.asked is not None or (self.shows_progress and not stage.whole):
            self.progress = held.enter_context(Progress(stage.noun, self.total))
        # One event loop for all parts, since the clients of services live in it.
        runner = held.enter_context(asyncio.Runner())
        progress, rows = self.progress, iter(self.rows)
        while part := list(islice(rows, None if stage.whole else PART)):
            done = 0 if progress is None else progress.done
            made = self._part(part, work, runner)
            summed = made if keep else StageOutput(counts=made.counts, figures=made.figures)
            self.result.made.merge(summed)
            if progress is not None and (left := done + len(part) - progress.done) > 0:
                progress.step(left)
            yield made
        if self.result.causes and not stage.keeps_failures:
            raise ModelError(
                f"{len(self.result.causes):,} of {self.result.given:,} {stage.noun} failed, and "
                "nothing is written yet; the same command tries them again:",
                self.result.causes,
            )

    def _prepare(self) -> None:
        """Let the stage examine all rows, and set its findings as the rows' notes."""
        stage, rows = self.stage, self.good
        shows = stage.asked is None and self.shows_progress
        with Progress(stage.noun, len(rows)) if shows else nullcontext() as self.progress:
            notes = stage.prepare(Survey(lambda work: [work(rows)], each=self._each))
        self.progress = None
        for row in rows:
            row.note = notes.get(row.index, {})

    def _part(self, part: Sequence[InputRow], work: Work, runner: asyncio.Runner) -> StageOutput:
        stage, result = self.stage, self.result
        good, others = sorted_out(stage, part)
        self._refuse(others)
        try:
            made = runner.run(awake(work(good))) if good else StageOutput()
        except InputError as error:
            if error.line is None or error.file is not None:
                raise
            raise error.at(self.name, error.line) from error
        self._refuse(made)
        made.merge(others)
        for failure in made.failed:
            placed = replace(failure, error=failure.error.at(self.name, failure.row.line))
            if failure.cause:
                result.causes.append(failure.cause)
            elif len(result.bad) < _SHOWN:
                result.bad.append(placed.error)
            if stage.keeps_failures or not failure.cause:
                stage.failed(made, placed)
        if made.failed:
            made.sort()
        result.given += len(part)
        result.rows.update({name: len(rows) for name, rows in made.tables.items()})
        return made

    def _refuse(self, made: StageOutput) -> None:
        """Raise the problem of the first bad row if bad rows are not kept."""
        for failure in made.failed:
            if not (failure.cause or self.stage.keeps_bad):
                raise failure.error.at(self.name, failure.row.line)

    def _refuse_changed(self, journal: Journal) -> None:
        """Refuse an output that others changed; our own may be rewritten after failed calls."""
        from contrafact.files.download import sha256_of

        out, stage = self.out, self.stage
        if out is None or not (self.keeps_record and stage.keeps_failures and out.is_file()):
            return
        if sha256_of(out) not in journal.known.get(_WRITTEN, []):
            raise InputError(
                f"was changed or created since the {stage.name} for it began",
                file=out,
                hint="move it away and run the command again",
            )

    def _write(self, pieces: Iterator[StageOutput], record: Journal | None) -> None:
        stage, out = self.stage, self.out
        if out is None:
            for _ in pieces:
                pass
        elif record is None or not stage.keeps_failures:
            stage.write(out, pieces, self.dialect)
        else:
            from contrafact.files.download import sha256_of

            with atomic_path(out) as draft:
                stage.write(draft, pieces, self.dialect)
                # Kept before the output exists, so that a rerun recognises the output as its own.
                record.keep(_WRITTEN, [*record.known.get(_WRITTEN, []), sha256_of(draft)])


async def awake(work: Coroutine[Any, Any, _T]) -> _T:
    """Run the work in a loop that wakes up every second.

    An interrupt passed to a thread reaches it at its next step, and a loop that waits for a reply
    takes no steps.
    """

    async def wake() -> None:
        while True:
            await asyncio.sleep(1.0)

    waking = asyncio.create_task(wake())
    try:
        return await work
    finally:
        waking.cancel()


def _check_keys(journal: Journal) -> None:
    """Refuse a journal of an earlier version, which kept rows' results instead of replies."""
    others = [key for key in journal.known if key != _WRITTEN and not _REQUEST.fullmatch(key)]
    if others:
        raise InputError(
            f"was begun by an earlier version and holds rows instead of replies ('{others[0]}')",
            file=journal.path,
            hint="finish it with that version, or remove it to begin again",
        )


def _kept(model: "Model") -> "Model":
    from contrafact.models.kept import KeptModel

    return KeptModel(model)
