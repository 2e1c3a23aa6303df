"""Judge existing outputs without a log: in this process, or by an executor.

An output is judged by the solver and the scorer of its task without an evaluation, so that its rows
equal those of a run with a log (`OutputJudge`). `judge_direct` judges the outputs of a run;
`ScoreStage` reads outputs from rows, which may be those of a partition.

Outputs that a language model judges on one machine use Inspect's evaluation set instead: its log
has the judge's prompts and replies, which `inspect view` shows, ``score RUN`` judges again and
`contrafact.runs.items` counts tokens and dollars from; the set also has batch mode, limits and
retries. A verifier's calls need none of that, and a log takes about 38 ms per output: logging 500
outputs takes as long as judging 5,000 without a log.
"""

import asyncio
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState
from inspect_ai.util import registry_info

from contrafact.console import Progress, show_table
from contrafact.errors import InputError
from contrafact.family.inspect_tasks import solver_and_scorer
from contrafact.family.manifest import hash_file
from contrafact.family.outputs import RecordedSystem
from contrafact.family.run import Prepared, TaskRun, forget_loaded
from contrafact.family.settings import RunSettings, flat_settings
from contrafact.files.fields import rename_row
from contrafact.files.tables import write_frame
from contrafact.judges.judge import bound_judges
from contrafact.judges.verifier import is_verifier, reader_of
from contrafact.models.asking import failure_cause
from contrafact.models.opening import NO_MODEL, call_config, open_model
from contrafact.prompts import open_pack
from contrafact.runs.config import task_options
from contrafact.runs.folder import place
from contrafact.runs.items import (
    Failure,
    RunTables,
    failure_of,
    verdict_rows,
    verifier_usage,
    with_verdicts,
)
from contrafact.runs.prepare import make_settings
from contrafact.runs.score import OutputReader, prepare_outputs
from contrafact.stages.run import PART, awake
from contrafact.stages.stage import (
    INDEX,
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    Stage,
    StageOutput,
    StageResult,
    Work,
    Wrap,
)
from contrafact.text.degenerate import unload_languages

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARTS", "VERDICTS", "ScoreStage", "is_direct", "judge_direct"]

VERDICTS = "verdicts"

MOST_LOGGED = 500
"""The number of outputs above which a run that no model judges has no log."""

PARTS = "parts"
"""The folder of finished parts while a run is under way."""

_SAMPLES_AT_ONCE = 500
"""The number of items whose samples are made at once when a run's outputs are judged."""

_PARTED = (VERDICTS, KEPT)
"""The tables of a part, in the order of writing: a part is finished when its items are written."""

_NO_FACTS = ("transport", "shared_cache", "preset", "task", "judges", "judge_args", "limit")
"""Settings that do not affect verdicts, or that are facts of their own."""

_PASSED = {1.0: "passed", 0.0: "failed"}


class RecordedSample(NamedTuple):
    """A sample of a run's recorded outputs, with its number from 0 in the order of the table."""

    number: int
    spec: str
    system: RecordedSystem
    draw: int
    sample: Sample


def recorded_samples(prepared: Prepared) -> Iterator[RecordedSample]:
    """Yield the samples of a run's recorded outputs, each made when it is needed."""
    assert prepared.recorded is not None
    asked, items, number = prepared.recorded.asked, prepared.items, 0
    systems: Mapping[str, Any] = prepared.baselines
    for spec, system in systems.items():
        for draw in range(1, system.draws + 1):
            for start in range(0, len(items), _SAMPLES_AT_ONCE):
                for sample in prepared.run.samples(items[start : start + _SAMPLES_AT_ONCE], None):
                    if str(sample.id) in asked:
                        yield RecordedSample(number, spec, system, draw, sample)
                        number += 1


class OutputJudge:
    """Judges the outputs of a run.

    Args:
        slots: Limits how many outputs are judged at once in the process; without it, outputs are
            judged one after the other.
    """

    def __init__(
        self, prepared: Prepared, judges: Sequence[Model], slots: asyncio.Semaphore | None = None
    ) -> None:
        self._prepared, self._judges, self._slots = prepared, judges, slots
        # The solver and scorer of each system, made once.
        self._work_of: Callable[[str], tuple[Any, Any]] = cache(
            partial(solver_and_scorer, prepared)
        )

    async def judge(
        self, samples: Sequence[RecordedSample], each: Callable[[], None] = lambda: None
    ) -> list[EvalSample]:
        """Return the samples in the form of a log; ``each`` is called when a sample is done.

        An unusable judge raises `InputError`; any other error is recorded in its sample.
        """
        bound_judges.set(self._judges)

        async def one(asked: RecordedSample) -> EvalSample:
            async with self._slots or nullcontext():
                found = await self._judged(asked)
            each()
            return found

        if self._slots is None:  # nothing to wait for, and tasks would take a tenth more time
            return [await one(asked) for asked in samples]
        return await asyncio.gather(*map(one, samples))

    async def _judged(self, asked: RecordedSample) -> EvalSample:
        sample = asked.sample
        solver, scorer = self._work_of(asked.spec)
        target = Target(sample.target or "")
        state = TaskState(
            model=ModelName(NO_MODEL),
            sample_id=sample.id or "",
            epoch=asked.draw,
            input=sample.input,
            messages=[ChatMessageUser(content=str(sample.input))],
            target=target,
            output=ModelOutput(),
            metadata=dict(sample.metadata or {}),
        )
        whole: dict[str, Any] = {
            "id": sample.id,
            "epoch": asked.draw,
            "input": sample.input,
            "target": sample.target or "",
            "metadata": state.metadata,
        }
        try:
            state = await solver(state, None)
            # A log names scorers without the package, the first part of their names.
            scores = {registry_info(scorer).name.partition("/")[2]: await scorer(state, target)}
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - the sample's reason; a rerun asks again
            problem = EvalError(message=failure_cause(error), traceback="", traceback_ansi="")
            return EvalSample(**whole, error=problem)
        return EvalSample(**whole, store=dict(state.store.items()), scores=scores)

    def rows(self, asked: RecordedSample, judged: EvalSample) -> dict[str, list[Mapping[str, Any]]]:
        """Return a judged sample's rows for the tables of a run, by table."""
        prepared, system = self._prepared, asked.system
        facts = prepared.facts(system.name, system.model, system.method, system.shots)
        return {
            VERDICTS: [*verdict_rows(prepared.run, system.name, [judged])],
            KEPT: [*prepared.run.rows([judged], facts)],
        }


def is_direct(prepared: Prepared) -> bool:
    """Return whether a run is judged without a log: it has many outputs and asks no model."""
    many = prepared.recorded is not None and prepared.samples > MOST_LOGGED
    return many and all(is_verifier(j) and not reader_of(j) for j in prepared.settings.judges)


def judge_direct(folder: Path, prepared: Prepared, judges: Sequence[Model]) -> RunTables:
    """Judge the outputs of a run, resuming an earlier start, and return the results.

    Raises:
        InputError: If there are parts from an earlier version.
    """
    import pandas as pd
    from pyarrow import parquet  # type: ignore[import-untyped]

    parts = folder / PARTS
    _begin_parts(parts)
    done: set[int] = set()
    for part in _parts(parts, KEPT):
        done.update(parquet.read_table(part, columns=[INDEX])[INDEX].to_pylist())
    judge = OutputJudge(prepared, judges)
    failures: list[Failure] = []
    left = (asked for asked in recorded_samples(prepared) if asked.number not in done)
    with Progress("samples", prepared.samples, len(done)) as shown, asyncio.Runner() as runner:
        for number in count(len(_parts(parts, KEPT))):
            if not (some := list(islice(left, PART))):
                break
            tables: dict[str, list[Mapping[str, Any]]] = {table: [] for table in _PARTED}
            samples = runner.run(awake(judge.judge(some, shown.step)))
            for asked, judged in zip(some, samples, strict=True):
                if judged.error is not None:
                    failures.append(failure_of(asked.system.name, judged))
                    continue
                for table, rows in judge.rows(asked, judged).items():
                    tables[table] += ({INDEX: asked.number, **row} for row in rows)
            for table, rows in tables.items():
                frame = pd.DataFrame(rows, columns=None if rows else [INDEX])
                write_frame(frame, parts / table / f"{number:06}.parquet")
    assert prepared.recorded is not None
    _let_go(prepared)
    items, verdicts = (_whole(_parts(parts, table)) for table in (KEPT, VERDICTS))
    usage = verifier_usage(prepared.recorded, verdicts)
    return RunTables(items, verdicts, usage, failures)


def _begin_parts(folder: Path) -> None:
    """Create the folder of parts; refuse parts of an earlier version."""
    for table in _PARTED:
        (folder / table).mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.parquet")):
        raise InputError(
            "holds parts of an earlier version, which divided the outputs differently",
            file=folder,
            hint="finish the run with that version, or remove the folder to judge them again",
        )


def _let_go(prepared: Prepared) -> None:
    """Release a run's items and outputs after judging, since tables need the memory."""
    systems = () if prepared.recorded is None else prepared.recorded.systems.values()
    for held in (prepared.items, prepared.units, *(one.outputs for one in systems)):
        if isinstance(held, list | dict):
            held.clear()
    forget_loaded()
    unload_languages()
    gc.collect()  # solvers also hold items, in reference cycles


def _parts(folder: Path, table: str) -> list[Path]:
    return sorted((folder / table).glob("*.parquet"))


def _whole(parts: Sequence[Path]) -> "pd.DataFrame":
    """Return the whole table made from its parts, in the order of the samples."""
    from pyarrow import concat_tables, parquet

    table = concat_tables(
        [parquet.read_table(path) for path in parts], promote_options="permissive"
    )
    found: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    numbers = found.pop(INDEX)
    if numbers.is_monotonic_increasing:  # not so if some failed and were judged later
        return found
    return found.iloc[numbers.argsort(kind="stable")].reset_index(drop=True)


@dataclass(frozen=True)
class ScoreStage(Stage):
    """The stage that judges outputs; ``source`` names the system if nothing else does."""

    task: str
    source: str
    system: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"`score {self.task}`"

    @cached_property
    def settings(self) -> RunSettings:
        options = dict(self.options)
        if "fluency_model" in task_options(self.task).model_fields:
            options["fluency_model"] = None
        return make_settings(self.task, {"methods": (), **self.given}, options)

    @property
    def asked(self) -> Asked:
        """The judges; the first that is a language model, if any, is named as the model asked."""
        settings = self.settings
        names = settings.judges or (NO_MODEL,)
        first = next((name for name in names if not is_verifier(name)), names[0])
        at_once = int(settings.transport.get("max_connections", 16))
        return Asked(first, at_once, settings.judges, settings.judge_args)

    def facts(self) -> dict[str, Any]:
        settings, reader = self.settings, self._key_reading
        pack = open_pack(settings.prompts)
        if settings.judges:
            reader.run.judging(pack, settings)
        flat = sorted(flat_settings(settings).items())
        return {
            "task": f"{self.task} {reader.run.version}",
            "judge": list(settings.judges),
            "system": self.system,
            "data": None if settings.data is None else hash_file(settings.data),
            "prompts": pack.used_hash,
            "columns": dict(self.columns),
            "judge-arg": sorted(settings.judge_args),
            "options": {name: value for name, value in flat if value and name not in _NO_FACTS},
        }

    def open_judges(self, wrap: Wrap = lambda model: model) -> list[Model]:
        given = dict(self.settings.transport)
        calls = call_config(given.pop("max_connections", 16))
        config = calls.merge(GenerateConfig(**given))
        return [
            wrap(open_model(name, config=config, **self.settings.judge_args))
            for name in self.settings.judges
        ]

    def key(self, row: InputRow) -> str | None:
        """Return a key equal for rows with the same part of an output; None for a bad row."""
        try:
            return self._key_reading.key(self._renamed(row.fields))
        except InputError:
            return None

    @cached_property
    def _key_reading(self) -> OutputReader:
        return self._reading(Path(f"{self.source}.jsonl"))

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Reject a second output for an item."""
        first = (row.repeats or 0) + 1
        self._reject(row, f"row {first} has an output for the same item", made)

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        judges, slots = self.open_judges(wrap), asyncio.Semaphore(at_once)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            with TemporaryDirectory(prefix="contrafact-score-") as folder:
                reader, prepared = self._prepare(rows, Path(folder), made)
                if prepared is not None:
                    judge = OutputJudge(prepared, judges, slots)
                    given = _given(reader, prepared, rows)
                    tables = await _judged_tables(judge, given, prepared.run, made)
                    _add_finished(made, tables, prepared.run, Path(folder))
            return made

        return work

    def _prepare(
        self, rows: Sequence[InputRow], folder: Path, made: StageOutput
    ) -> tuple[OutputReader, Prepared | None]:
        """Return the reader of the rows, and the run that judges them; None if no row is usable."""
        file = folder / f"{self.source}.jsonl"
        file.touch()  # only its name is used, for the system; the rows are in memory
        left = list(rows)
        while True:
            reader = self._reading(file)
            for row in left:
                reader.take(row.line, self._renamed(row.fields))
            try:
                prepared = place(prepare_outputs(reader), folder) if reader.parts else None
                break
            except InputError as error:
                bad = next((row for row in left if row.line == error.line), None)
                if bad is None:
                    raise
                # An item is unusable, so the others are read again without it.
                self._reject(bad, error.problem, made)
                left = [row for row in left if row is not bad]
        by_line = {row.line: row for row in rows}
        for line, reason in {one.line: one.reason for one in reader.left_out}.items():
            self._reject(by_line[line], reason, made)
        return reader, prepared

    def show(self, result: StageResult) -> None:
        """Print how many verdicts passed, failed or were invalid, by system, criterion, judge."""
        counts, outcomes = result.counts, ("passed", "failed", "invalid")
        rows = [
            (*key, *(f"{counts[(*key, outcome)]:,}" for outcome in outcomes))
            for key in sorted({tuple(key[:-1]) for key in counts})
        ]
        if rows:
            columns = ("system", "criterion", "judge", *outcomes)
            show_table("Verdicts", columns, rows, stderr=True)

    @staticmethod
    def _reject(row: InputRow, reason: str, made: StageOutput) -> None:
        made.add(REJECTS, row.index, {**row.fields, "reason": reason})

    def _reading(self, file: Path) -> OutputReader:
        return OutputReader.begin(self.settings, file, self.system, self.columns)

    def _renamed(self, fields: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in fields.items() if name != INDEX}
        return rename_row(own, self.columns)[0] if self.columns else own


def _given(
    reader: OutputReader, prepared: Prepared, rows: Sequence[InputRow]
) -> Iterator[tuple[RecordedSample, dict[str, InputRow]]]:
    """Yield each sample that has an output, with the rows that gave the output's parts.

    Samples without an output are skipped, since another partition may have it.
    """
    by_line = {row.line: row for row in rows}
    for asked in recorded_samples(prepared):
        if held := reader.parts.get((asked.system.name, str(asked.sample.id), asked.draw)):
            yield asked, {part: by_line[line] for part, (line, _) in held.items()}


async def _judged_tables(
    judge: OutputJudge,
    given: Iterable[tuple[RecordedSample, Mapping[str, InputRow]]],
    run: TaskRun[Any, Any],
    made: StageOutput,
) -> dict[str, list[dict[str, Any]]]:
    """Return rows by table, each with the index of its source row; add failures to ``made``."""
    tables: dict[str, list[dict[str, Any]]] = {KEPT: [], VERDICTS: []}
    given = list(given)
    samples = await judge.judge([asked for asked, _ in given])
    for (asked, parts), sample in zip(given, samples, strict=True):
        if sample.error is not None:
            cause = sample.error.message
            for source in {row.index: row for row in parts.values()}.values():
                made.fail(source, cause, cause=cause)
            continue
        for table, rows in judge.rows(asked, sample).items():
            for row in rows:
                if (giver := parts.get(row.get(run.part_column, "")) or parts.get("")) is not None:
                    tables[table].append({**row, INDEX: giver.index})
    return tables


def _add_finished(
    made: StageOutput,
    tables: Mapping[str, list[dict[str, Any]]],
    run: TaskRun[Any, Any],
    folder: Path,
) -> None:
    """Add the rows of judged outputs, with the columns computed for a whole partition."""
    import pandas as pd

    items, votes = tables[KEPT], tables[VERDICTS]
    if not items:
        return
    columns = list(dict.fromkeys((*run.columns, *(name for row in items for name in row))))
    table = run.finish(pd.DataFrame(items, columns=columns), None, folder)
    table = with_verdicts(table, pd.DataFrame(votes).drop(columns=INDEX, errors="ignore"))
    for record in table.to_dict("records"):
        made.add(KEPT, record[INDEX], {str(name): value for name, value in record.items()})
    for row in votes:
        made.add(VERDICTS, row[INDEX], row)
        what = _PASSED.get(row["passed"], "invalid")
        made.counts[row["system"], row["criterion"], row["judge"], what] += 1
