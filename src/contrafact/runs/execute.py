"""Running: the grid of models and methods as one Inspect evaluation set, kept in a folder.

Killed and started again, it goes on: finished samples stand in Inspect's log; the calls that
an unfinished sample had an answer to are replayed from a cache that belongs to the run.
"""

import os
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task, eval_set, task_with
from inspect_ai.log import (
    EvalLog,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import GenerateConfig, Model
from inspect_ai.solver import TaskState

from contrafact.console import Progress
from contrafact.family.method import ChecksModels
from contrafact.family.run import Prepared
from contrafact.files.atomic import guard_folder, write_text
from contrafact.files.lock import locked
from contrafact.models.asking import Ask
from contrafact.models.estimate import ASK_ABOVE, CallEstimate, paid_calls
from contrafact.models.fluency import open_fluency
from contrafact.models.opening import IN_PROCESS, NO_MODEL, TRANSPORT, open_model
from contrafact.runs.config import config_text
from contrafact.runs.folder import (
    BASELINE_LOGS,
    CONFIG,
    LOGS,
    Manifest,
    begin,
    finish,
    keep_prompts,
    write_manifest,
)
from contrafact.runs.items import Failure, write_items
from contrafact.runs.score import place_outputs

__all__ = ["RunResult", "Seen", "calls_to_confirm", "default_folder", "execute"]

CACHE = "cache"


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        folder: The run folder.
        manifest: Its manifest.
        failures: Samples that ended in an error, with their causes.
        samples: Samples in all.
        ran: Whether anything had to be run; false for a run that had finished before.
    """

    folder: Path
    manifest: Manifest
    failures: list[Failure]
    samples: int
    ran: bool


Seen = Callable[[TaskState, Progress], None]
"""Called when a sample has ended, with the progress above whose bar it may say something."""


def default_folder(prepared: Prepared) -> Path:
    """Return the folder that this run has where none is named: the same for the same run."""
    return Path("runs") / f"{prepared.settings.task}-{prepared.identity}"


def calls_to_confirm(runs: Iterable[tuple[Prepared, Path, Sequence[CallEstimate]]]) -> int:
    """Return how many paid calls the user is to confirm first; 0 where there is nothing to ask.

    Args:
        runs: Every run, its folder and what it is going to ask. One that has finished asks nothing.

    Raises:
        InputError: If a folder holds another run.
    """
    calls = 0
    for prepared, folder, estimates in runs:
        if paid := paid_calls(estimates):
            guard_folder(folder)
            calls += paid * (begin(folder, prepared, paid).status != "finished")
    return calls if calls > ASK_ABOVE else 0


def execute(
    prepared: Prepared,
    folder: Path,
    estimates: list[CallEstimate],
    ready: Callable[[], None] | None = None,
    *,
    cell: str = "",
    seen: Seen | None = None,
) -> RunResult:
    """Run, or go on with, what was prepared.

    Args:
        prepared: The run.
        folder: Its folder.
        estimates: What it is going to ask.
        ready: Called when all that can be wrong is known, and nothing has been asked yet.
        cell: What tells it from other runs of its grid, if it is of one.
        seen: Follows the run: samples are worked on one after the other, each is handed to it when
            it ends, and a run that is stopped leaves its tables of what has ended.

    Raises:
        InputError: if the folder holds another run, or a model cannot be used.
    """
    with locked(folder):
        manifest = begin(folder, prepared, paid_calls(estimates), cell)
        if manifest.status == "finished":
            return RunResult(folder, manifest, [], prepared.samples, ran=False)
        # Opened first: a model that cannot be used is told before anything is written or paid for.
        subjects, judges, helpers = _open_models(prepared)
        scorer = open_fluency(prepared.settings.option("fluency_model"))
        _check_models(prepared)
        if ready is not None:
            ready()
        write_manifest(folder, manifest)
        keep_prompts(folder, prepared.pack)
        source = None if prepared.given is None else prepared.given.source
        write_text(folder / CONFIG, config_text(prepared.settings, folder, source))
        prepared = place_outputs(prepared, folder)
        try:
            logs = _evaluate(prepared, folder, subjects, judges, helpers, seen)
        except KeyboardInterrupt:
            if seen is not None and (ended := _logs_so_far(folder)):
                write_items(folder, prepared, ended, scorer())
            raise
        failures = write_items(folder, prepared, logs, scorer())
        manifest = finish(folder, manifest, failed=bool(failures))
        if not failures:
            shutil.rmtree(folder / CACHE, ignore_errors=True)
        return RunResult(folder, manifest, failures, prepared.samples, ran=True)


def _open_models(prepared: Prepared) -> tuple[list[Model], list[Model], dict[str, Model]]:
    settings = prepared.settings
    subjects = [
        open_model(name, config=_bounds(name, settings.transport), **settings.model_args)
        for name in (settings.models if prepared.methods else ())
    ]
    # Judges see nothing of what is set for the models under test but how calls are made.
    others = GenerateConfig(**settings.transport)
    judges = [
        open_model(
            name,
            config=others.merge(_bounds(name, settings.transport)),
            **settings.judge_args,
        )
        for name in settings.judges
    ]
    helpers = {
        role: open_model(name, config=others.merge(_bounds(name, settings.transport)))
        for role, name in settings.options.helpers.items()
    }
    return subjects, judges, helpers


def _check_models(prepared: Prepared) -> None:
    """Let methods that not every model can serve find out, before anything is written.

    Raises:
        InputError: If a method cannot work with a model.
    """
    settings = prepared.settings
    checks = {type(one): one for one in prepared.methods.values() if isinstance(one, ChecksModels)}

    async def check(name: str, method: ChecksModels) -> None:
        # A client of its own: one that has been used belongs to the event loop it was used in.
        bounds = _bounds(name, settings.transport)
        model = open_model(name, config=bounds, memoize=False, **settings.model_args)
        async with model:
            await method.check(Ask(model))

    for method in checks.values():
        for name in settings.models:
            anyio.run(check, name, method)


def _bounds(name: str, transport: dict[str, Any]) -> GenerateConfig:
    """Return how long a model's calls may take and be tried: as set, else by default."""
    bounds = {} if name.startswith(IN_PROCESS) else TRANSPORT
    return GenerateConfig(**{key: transport.get(key, value) for key, value in bounds.items()})


def _stop_if_interrupted(logs: list[EvalLog], expected: int) -> list[EvalLog]:
    """Inspect takes an interrupt for itself and returns what it has: pass it on.

    Raises:
        KeyboardInterrupt: if the evaluation was interrupted; a rerun goes on.
    """
    if len(logs) < expected or any(log.status == "cancelled" for log in logs):
        raise KeyboardInterrupt
    return logs


def _evaluate(
    prepared: Prepared,
    folder: Path,
    subjects: list[Model],
    judges: list[Model],
    helpers: dict[str, Model],
    seen: Seen | None,
) -> list[EvalLog]:
    settings = prepared.settings
    if not settings.shared_cache:
        os.environ["INSPECT_CACHE_DIR"] = str((folder / CACHE).absolute())
    generation: dict[str, Any] = {**settings.generation, **settings.transport}
    places = [folder / LOGS, folder / BASELINE_LOGS]
    finished = sum(map(_finished_before, places))
    logs: list[EvalLog] = []
    with Progress("samples", prepared.samples, finished) as progress:

        def tasks(names: tuple[str, ...]) -> list[Task]:
            return [
                task_with(prepared.task(name), cleanup=_counting(progress, seen)) for name in names
            ]

        # What asks no model comes first: it is quick, and apart, since it is run once.
        if prepared.baselines:
            nobody = [open_model(NO_MODEL, config=GenerateConfig())]
            graders = judges if any(map(prepared.judged, prepared.baselines)) else []
            own = _eval_set(tasks(tuple(prepared.baselines)), places[1], nobody, graders, {}, {})
            logs += _stop_if_interrupted(own, len(prepared.baselines))
        if prepared.methods:
            at_once = None if seen is None else 1
            own = _eval_set(
                tasks(tuple(prepared.methods)),
                places[0],
                subjects,
                judges,
                helpers,
                generation,
                at_once,
            )
            logs += _stop_if_interrupted(own, len(subjects) * len(prepared.methods))
    return logs


def _eval_set(
    tasks: list[Task],
    log_dir: Path,
    subjects: list[Model],
    judges: list[Model],
    helpers: dict[str, Model],
    generation: dict[str, Any],
    at_once: int | None = None,
) -> list[EvalLog]:
    roles: dict[str, Any] = {**({"grader": judges} if judges else {}), **helpers}
    _, logs = eval_set(
        tasks,
        log_dir=str(log_dir),
        model=subjects,
        model_roles=roles or None,
        retry_attempts=0,
        # A sample whose call failed in a way that providers do not retry (a reply that is not
        # JSON, say) starts once more, and replays the answers it had from the run's cache.
        retry_on_error=1,
        retry_immediate=False,
        fail_on_error=True,
        continue_on_fail=True,
        log_buffer=1,
        log_realtime=False,
        log_model_api=False,
        score_display=False,
        # One task after the other where a model of this process would be torn between prompts.
        max_tasks=1 if any(str(model).startswith(IN_PROCESS) for model in subjects) else None,
        max_samples=at_once
        or _samples_at_once([*subjects, *judges, *helpers.values()], generation),
        display="none",
        # What steers an evaluation from outside is a web server: only for who asks for it.
        ctl_server=os.environ.get("INSPECT_EVAL_CTL_SERVER") or False,
        log_level="error",
        **generation,
    )
    return logs


def _samples_at_once(models: list[Model], generation: dict[str, Any]) -> int:
    """Return how many samples are under way together.

    Models of this process answer one call after the other: with few samples at once the first
    are finished, shown and kept early, and a batch of them is still full.
    """
    if all(str(model).startswith(IN_PROCESS) for model in models):
        return 16
    return max(64, int(generation.get("max_connections") or 0))


def _counting(progress: Progress, seen: Seen | None) -> Callable[[TaskState], Awaitable[None]]:
    """Return what counts a sample when it ends, scored or failed: once, however often tried."""
    counted: set[object] = set()

    async def count(state: TaskState) -> None:
        sample = (str(state.model), state.sample_id, state.epoch)
        if sample not in counted:
            counted.add(sample)
            progress.step()
            if seen is not None:
                seen(state, progress)

    return count


def _logs_so_far(folder: Path) -> list[EvalLog]:
    """Return the newest log of each task in a run folder, if any sample in them has ended."""
    newest: dict[str, EvalLog] = {}
    places = [folder / BASELINE_LOGS, folder / LOGS]
    for place in places:
        for info in list_eval_logs(str(place), descending=False) if place.exists() else []:
            newest[info.task_id] = read_eval_log(info, header_only=True)
    return list(newest.values()) if sum(map(_finished_before, places)) else []


def _finished_before(logs: Path) -> int:
    """Return how many samples earlier starts of this run have finished."""
    finished: set[tuple[object, ...]] = set()
    for info in list_eval_logs(str(logs)) if logs.exists() else []:
        for sample in read_eval_log_sample_summaries(info):
            if sample.completed and sample.error is None:
                finished.add((info.task_id, sample.id, sample.epoch))
    return len(finished)
