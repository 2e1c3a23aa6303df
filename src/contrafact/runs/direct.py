"""Outputs judged without an evaluation of Inspect's around them: no log, and little besides.

The solver, the scorers and the rows are those of a run that has a log, and so are its tables. Rows
are kept a batch at a time: killed and started again, the finished batches stand.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from inspect_ai import Task
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ChatMessageUser, Model, ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState
from inspect_ai.util import registry_info

from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.family.run import Evaluated, Prepared
from contrafact.files.tables import write_frame
from contrafact.judges.judge import bound_judges
from contrafact.judges.verifier import is_verifier
from contrafact.models.asking import failure_cause
from contrafact.models.opening import NO_MODEL
from contrafact.runs.items import Failure, RunTables, failure_of, verifier_usage

MOST_LOGGED = 500
"""Of more outputs that no model judges there is no log, which takes some 38 ms an output: those of
500 as long as 5,000 outputs take without."""

PARTS = "parts"
"""The folder of the batches that are finished, while a run is under way."""

_BATCH = 500
_LOST = "~"
"""Marks a batch in which a sample failed: the next start does it again."""


def is_direct(prepared: Prepared) -> bool:
    """Tell whether a run is judged without a log: many outputs are there, and no model is asked."""
    many = prepared.recorded is not None and prepared.samples > MOST_LOGGED
    return many and all(map(is_verifier, prepared.settings.judges))


async def judged_sample(task: Task, sample: Any, draw: int) -> EvalSample:
    """Return a sample as a log has it, judged; a judge that cannot be used raises `InputError`."""
    target = Target(sample.target or "")
    state = TaskState(
        model=ModelName(NO_MODEL),
        sample_id=sample.id,
        epoch=draw,
        input=sample.input,
        messages=[ChatMessageUser(content=str(sample.input))],
        target=target,
        output=ModelOutput(),
        metadata=dict(sample.metadata or {}),
    )
    whole: dict[str, Any] = {
        "id": sample.id,
        "epoch": draw,
        "input": sample.input,
        "target": sample.target or "",
        "metadata": state.metadata,
    }
    solve: Any = task.solver
    scorers: Any = task.scorer
    try:
        state = await solve(state, None)
        # A log names scorers without the first part of their names, the package.
        names = [registry_info(one).name.partition("/")[2] for one in scorers]
        found = [await one(state, target) for one in scorers]
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - the sample's reason; a rerun asks again
        problem = EvalError(message=failure_cause(error), traceback="", traceback_ansi="")
        return EvalSample(**whole, error=problem)
    scores = dict(zip(names, found, strict=True))
    return EvalSample(**whole, store=dict(state.store.items()), scores=scores)


def evaluated(prepared: Prepared, system: Any, samples: Sequence[EvalSample]) -> Evaluated:
    """Return a `RecordedSystem`'s samples as the rows of a table are made of them."""
    facts = (system.name, system.model, system.method, system.shots)
    return Evaluated(*facts, samples, prepared.judge)


def judge_direct(
    folder: Path, prepared: Prepared, judges: Sequence[Model], progress: Progress
) -> RunTables:
    """Judge all outputs of a run, batch by batch, and return what was made of them."""
    parts = folder / PARTS
    parts.mkdir(exist_ok=True)
    for old in parts.glob(f"*{_LOST}*"):
        old.unlink()
    failures = _judge(parts, prepared, judges, progress)
    recorded = prepared.recorded
    assert recorded is not None
    prepared.let_go()
    rows, verdicts = (_table(parts.glob(f"{kind}-*")) for kind in ("items", "verdicts"))
    return RunTables(rows, verdicts, verifier_usage(recorded, verdicts), failures)


def _judge(
    parts: Path, prepared: Prepared, judges: Sequence[Model], progress: Progress
) -> list[Failure]:
    """Judge the batches that are not finished yet; return the failures."""
    failures: list[Failure] = []
    with asyncio.Runner() as runner:
        for name, task, system, batch in _batches(prepared):
            if not _part(parts, "items", name).exists():
                found = runner.run(_judged(task, batch, judges))
                lost = [failure_of(system.name, one) for one in found if one.error is not None]
                failures += lost
                ended = [one for one in found if one.error is None]
                made = evaluated(prepared, system, ended)
                rows, votes = prepared.rows(made)
                name += _LOST * bool(lost)
                # A batch is finished when its items are there: they are written last.
                for kind, own in (("verdicts", votes), ("items", rows)):
                    write_frame(pd.DataFrame(own), _part(parts, kind, name))
            progress.step(len(batch))
    return failures


def _batches(prepared: Prepared) -> Iterator[tuple[str, Task, Any, list[tuple[Any, int]]]]:
    """Yield batches in the order of the table's rows: name, task, system, samples with draws."""
    assert prepared.recorded is not None
    asked, items, number = prepared.recorded.asked, list(prepared.items), 0
    # A task of one item: the samples of the others are made as they are needed.
    few = replace(prepared, settings=prepared.settings.model_copy(update={"limit": 1}))
    systems: Mapping[str, Any] = prepared.baselines
    for spec, system in systems.items():
        task = few.task(spec)
        for draw in range(1, system.draws + 1):
            for start in range(0, len(items), _BATCH):
                # The others stand behind, for what a sample says of all of them.
                size = min(_BATCH, len(items) - start)
                samples = prepared.run.samples(items[start:] + items[:start], size)
                batch = [(one, draw) for one in samples if str(one.id) in asked]
                yield f"{number:06}", task, system, batch
                number += 1


async def _judged(
    task: Task, batch: Sequence[tuple[Any, int]], judges: Sequence[Model]
) -> list[EvalSample]:
    bound_judges.set(judges)
    return [await judged_sample(task, sample, draw) for sample, draw in batch]


def _part(parts: Path, kind: str, name: str) -> Path:
    return parts / f"{kind}-{name}.parquet"


def _table(parts: Iterable[Path]) -> "pd.DataFrame":
    from pyarrow import concat_tables, parquet  # type: ignore[import-untyped]

    table = concat_tables(
        [parquet.read_table(path) for path in sorted(parts)], promote_options="permissive"
    )
    found: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    return found
