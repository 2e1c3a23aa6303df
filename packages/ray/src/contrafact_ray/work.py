"""The work on one partition: read its rows, process them, write the results."""

import asyncio
import gc
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from contrafact.errors import InputError
from contrafact.files.journal import Journal, hash_of
from contrafact.models.calls import counted_calls
from contrafact.stages.stage import INDEX, InputRow, Stage, StageOutput, Work, sorted_out
from contrafact_ray.fragments import BadRow
from contrafact_ray.partitions import OutputFolder, Partition
from contrafact_ray.tables import from_bytes

if TYPE_CHECKING:
    from inspect_ai.model import Model

_T = TypeVar("_T")

_ROWS_PER_CALL = 3
"""Rows in progress per connection: a row that waits for its next try, or its second call, holds no
connection."""

_OBJECTS = 50_000
"""New objects before garbage collection runs in a worker. At Python's default of 700 it took an
eighth of the processor time of calls and checks, though it finds little to collect."""

_opened: dict[str, Work] = {}  # in a worker: stages by their facts


def given_rows(
    stage: Stage, partition: Partition, output: OutputFolder
) -> tuple[list[InputRow], StageOutput]:
    """Return a partition's rows for a stage, and the output of rows that it does not process."""
    rows: list[InputRow] = []
    noted = output.notes(partition).read()
    notes = {} if noted is None else {row.pop(INDEX): row for row in from_bytes(noted)}
    for index, row in partition.read():
        if isinstance(row, BadRow):
            rows.append(InputRow(index, {}, problem=InputError(row.reason)))
            continue
        note = {name: value for name, value in notes.get(index, {}).items() if value is not None}
        given = InputRow(index, row, note.pop("first", None), note)
        try:
            stage.read(given)
        except InputError as error:
            given.problem = error
        rows.append(given)
    return sorted_out(stage, rows)


async def alone(work: Work, rows: Sequence[InputRow]) -> StageOutput:
    """Process rows one by one, so that a row that raises an error fails alone, for that reason."""
    made = StageOutput()
    for row in rows:
        try:
            made.merge(await work([row]))
        except Exception as error:  # noqa: BLE001 - the reason of the row
            made.fail(row, _reason(error))
    return made


def work_on(stage: Stage, output: OutputFolder, partition: Partition) -> dict[str, Any]:
    """Run a stage that asks no model on a partition, and return the partition's manifest."""
    began, busy = time.perf_counter(), time.process_time()
    key = hash_of([stage.name, stage.facts()])
    if key not in _opened:
        _opened[key] = stage.open(lambda model: model, 1)
        _settle()
    rows, made = given_rows(stage, partition, output)
    if rows:
        try:
            made.merge(asyncio.run(_opened[key](rows)))
        except Exception:  # noqa: BLE001 - one of the rows fails again, by itself
            made.merge(asyncio.run(alone(_opened[key], rows)))
    took = {"seconds": time.perf_counter() - began, "CPU seconds": time.process_time() - busy}
    return output.write(partition, made, {name: round(value, 3) for name, value in took.items()})


class Asker:
    """An actor, one per process, that runs a stage that asks models on partitions.

    Several partitions may be in progress at once, so that a partition that waits for its last
    answers holds up nothing. All share the process's connections.

    Args:
        limits: The handle of the actor that holds the cluster's limits.
        bounded: Whether requests or tokens are limited.
        connections: The most calls that this process may have in progress.
        job: The facts about the job, for the journals of calls.
    """

    def __init__(
        self,
        stage: Stage,
        output: OutputFolder,
        limits: Any,
        bounded: bool,
        connections: int,
        job: Mapping[str, Any],
    ) -> None:
        self._stage, self._output, self._job = stage, output, job
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="calls", daemon=True).start()
        self._work = self._run(self._open(limits, bounded, connections))

    def __call__(self, partition: Partition) -> dict[str, Any]:
        return self._run(self._partition(partition))

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, limits: Any, bounded: bool, connections: int) -> Any:
        from contrafact_ray.calls import BulkModel, Connections, Gate

        gate = Gate(limits, bounded=bounded)
        held = Connections(connections)

        def wrap(model: "Model") -> "Model":
            return BulkModel(model, gate, held)

        work = self._stage.open(wrap, connections * _ROWS_PER_CALL)
        _settle()
        return work

    async def _partition(self, partition: Partition) -> dict[str, Any]:
        began = time.perf_counter()
        rows, made = await asyncio.to_thread(given_rows, self._stage, partition, self._output)
        path = self._output.journal(partition.name)
        with ExitStack() as held:
            journal = None
            if path is not None:
                facts = {**self._job, **partition.facts()}
                journal = Journal.of_output(path, facts, what=self._stage.name, path=path)
                held.enter_context(journal)
            # Counts the calls of this task and of tasks that it starts.
            calls = held.enter_context(counted_calls(journal, rank=partition.number))
            if rows:
                try:
                    made.merge(await self._work(rows))
                except InputError:
                    raise
                except Exception:  # noqa: BLE001 - one of the rows fails again, by itself
                    made.merge(await alone(self._work, rows))
            took = {"seconds": round(time.perf_counter() - began, 3), **calls.as_row()}
            manifest = await asyncio.to_thread(self._output.write, partition, made, took)
            if journal is not None and not made.retry:
                journal.discard()
        return manifest


def _settle() -> None:
    """Run garbage collection seldom, and exclude the objects that exist by now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
