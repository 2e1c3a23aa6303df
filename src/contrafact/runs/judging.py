"""Judge the recorded outputs of a run without an evaluation or its log.

An output is judged by the solver and the scorer of its task, so that its rows equal those of a run
with a log (`OutputJudge`).

Outputs that a language model judges on one machine use Inspect's evaluation set instead: its log
has the judge's prompts and replies, which `inspect view` shows, ``score RUN`` judges again and
`contrafact.runs.items` counts tokens and dollars from; the set also has batch mode, limits and
retries. A verifier's calls need none of that, and a log takes about 38 ms per output: logging 500
outputs takes as long as judging 5,000 without a log.
"""

import asyncio
import gc
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ChatMessageUser, Model, ModelName, ModelOutput
from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState
from inspect_ai.util import registry_info

from contrafact.errors import InputError
from contrafact.family.inspect_tasks import solver_and_scorer
from contrafact.family.outputs import RecordedSystem
from contrafact.family.run import Prepared, forget_loaded
from contrafact.judges.judge import bound_judges
from contrafact.judges.verifier import is_verifier, reader_of
from contrafact.models.asking import failure_cause
from contrafact.models.opening import NO_MODEL
from contrafact.stages.run import PART, awake
from contrafact.text.degenerate import unload_languages

MOST_LOGGED = 500
"""The number of outputs above which a run that no model judges has no log."""

_SAMPLES_AT_ONCE = 500
"""The number of items whose samples are made at once when a run's outputs are judged."""


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


def is_direct(prepared: Prepared) -> bool:
    """Return whether a run is judged without a log: it has many outputs and asks no model."""
    many = prepared.recorded is not None and prepared.samples > MOST_LOGGED
    return many and all(is_verifier(j) and not reader_of(j) for j in prepared.settings.judges)


def judge_direct(
    prepared: Prepared, judges: Sequence[Model], done: Container[int], step: Callable[[], None]
) -> Iterator[list[tuple[RecordedSample, EvalSample]]]:
    """Yield the samples of a run, judged, part by part; the run's items are released at the end.

    Args:
        done: The numbers of the samples that an earlier start judged.
        step: Called when a sample is done.
    """
    judge = OutputJudge(prepared, judges)
    left = (asked for asked in recorded_samples(prepared) if asked.number not in done)
    with asyncio.Runner() as runner:
        while some := list(islice(left, PART)):
            yield [*zip(some, runner.run(awake(judge.judge(some, step))), strict=True)]
    del judge
    _let_go(prepared)


def _let_go(prepared: Prepared) -> None:
    """Release a run's items and outputs after judging, since tables need the memory."""
    systems = () if prepared.recorded is None else prepared.recorded.systems.values()
    for held in (prepared.items, prepared.units, *(one.outputs for one in systems)):
        if isinstance(held, list | dict):
            held.clear()
    forget_loaded()
    unload_languages()
    gc.collect()  # solvers also hold items, in reference cycles
