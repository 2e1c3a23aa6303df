"""Running: the grid of models and methods as one Inspect evaluation set, kept in a folder.

Killed and started again, it goes on: finished samples stand in Inspect's log; the calls that
an unfinished sample had an answer to are replayed from a cache that belongs to the run.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model

from contrafact.finforce.task import finforce
from contrafact.runs.estimate import CallEstimate, paid_calls
from contrafact.runs.folder import LOGS, begin, finish, locked
from contrafact.runs.items import Failure, write_items
from contrafact.runs.manifest import Manifest
from contrafact.runs.prepare import Prepared, open_model

__all__ = ["RunResult", "default_folder", "execute"]

CACHE = "cache"
# Inspect retries for ever by default. Bounded, a failure is told; a rerun takes it up again.
TRANSPORT = {"max_retries": 5, "timeout": 900, "attempt_timeout": 300}


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


def default_folder(prepared: Prepared) -> Path:
    """Return the folder that this run has where none is named: the same for the same run."""
    return Path("runs") / f"{prepared.settings.task}-{prepared.identity}"


def execute(prepared: Prepared, folder: Path, estimates: list[CallEstimate]) -> RunResult:
    """Run, or go on with, what was prepared.

    Raises:
        InputError: if the folder holds another run, or a model cannot be used.
    """
    with locked(folder):
        manifest = begin(folder, prepared, paid_calls(estimates))
        if manifest.status == "finished":
            samples = _samples(prepared)
            return RunResult(folder, manifest, [], samples, ran=False)
        logs = _evaluate(prepared, folder)
        failures = write_items(folder, prepared, logs)
        manifest = finish(folder, manifest, failed=bool(failures))
        if not failures:
            shutil.rmtree(folder / CACHE, ignore_errors=True)
        return RunResult(folder, manifest, failures, _samples(prepared), ran=True)


def _samples(prepared: Prepared) -> int:
    draws = sum(prepared.settings.draws if m.shots else 1 for m in prepared.methods.values())
    return len(prepared.headlines) * len(prepared.settings.models) * draws


def _evaluate(prepared: Prepared, folder: Path) -> list[EvalLog]:
    settings = prepared.settings
    transport = {**TRANSPORT, **settings.transport}
    # Opened here so that a wrong name, a missing key or file is told before anything starts.
    subjects = [
        open_model(name, config=GenerateConfig(), **settings.model_args) for name in settings.models
    ]
    judges = [open_model(name, config=GenerateConfig(**transport)) for name in settings.judges]
    if not settings.shared_cache:
        os.environ["INSPECT_CACHE_DIR"] = str((folder / CACHE).absolute())
    generation: dict[str, Any] = {**settings.generation, **transport}
    _, logs = eval_set(
        [_task(prepared, name) for name in prepared.methods],
        log_dir=str(folder / LOGS),
        model=cast(list[str | Model], subjects),
        model_roles={"grader": cast(Any, judges)} if judges else None,
        retry_attempts=0,
        fail_on_error=True,
        continue_on_fail=True,
        log_buffer=1,
        log_realtime=False,
        log_model_api=False,
        score_display=False,
        max_tasks=1,
        max_samples=max(64, int(transport.get("max_connections") or 0)),
        display="rich" if sys.stderr.isatty() and sys.stdout.isatty() else "plain",
        log_level="warning",
        **generation,
    )
    return logs


def _task(prepared: Prepared, method: str) -> Task:
    settings = prepared.settings
    shows = prepared.methods[method].shots
    return finforce(
        data=_path(settings.data),
        method=method,
        shots=settings.shots if shows else 0,
        draws=settings.draws if shows else 1,
        shots_from=_path(settings.shots_from) if shows else None,
        seed=settings.seed,
        prompts=_path(settings.prompts),
        structured=settings.structured,
        judged=bool(settings.judges),
        judge_faults=settings.judge_faults,
        limit=settings.limit,
        cache_scope="shared" if settings.shared_cache else prepared.identity,
        fingerprint=prepared.identity,
    )


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())
