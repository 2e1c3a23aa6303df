"""Run a grid of models and methods as one Inspect evaluation set, kept in a folder.

A run that was interrupted can be resumed: finished samples are in Inspect's log, and the answered
calls of unfinished samples are replayed from the run's own cache.
"""

import json
import os
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from inspect_ai import Task, eval_set, task_with
from inspect_ai.log import (
    EvalLog,
    EvalLogInfo,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import GenerateConfig, Model
from inspect_ai.solver import TaskState
from pyarrow import default_memory_pool  # type: ignore[import-untyped]

from contrafact.console import Progress, say_once
from contrafact.errors import ModelError
from contrafact.family.inspect_tasks import run_task
from contrafact.family.run import Prepared
from contrafact.family.settings import RunSettings
from contrafact.files.atomic import guard_folder
from contrafact.files.lock import locked
from contrafact.models.calls import counted_calls
from contrafact.models.estimate import ASK_ABOVE
from contrafact.models.fluency import open_fluency
from contrafact.models.opening import IN_PROCESS, NO_MODEL, open_model
from contrafact.models.requests import InProcessAPI
from contrafact.runs.folder import (
    BASELINE_LOGS,
    LOGS,
    Manifest,
    begin,
    finish,
    place,
    write_manifest,
)
from contrafact.runs.items import (
    PARTS,
    Failure,
    finished_parts,
    tables_of,
    tables_of_parts,
    write_tables,
)
from contrafact.runs.judging import is_direct, judge_direct

__all__ = ["RunResult", "calls_to_confirm", "check_models", "default_folder", "execute"]

CACHE = "cache"
_CACHE_DIR = "INSPECT_CACHE_DIR"


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        failures: Samples that ended in an error, with their causes.
        ran: Whether anything had to be run; false for a run that had finished before.
    """

    folder: Path
    manifest: Manifest
    failures: list[Failure]
    samples: int
    ran: bool

    @property
    def problem(self) -> ModelError | None:
        """The error that reports failed samples with their causes; None if none failed."""
        if not self.failures:
            return None
        return ModelError(
            f"{len(self.failures)} of {self.samples} samples failed (listed in "
            f"{self.folder / 'failures.csv'}); run the command again to retry them:",
            (failure.cause for failure in self.failures),
        )


def default_folder(prepared: Prepared) -> Path:
    """Return the default folder of a run, which is always the same for the same run."""
    return Path("runs") / f"{prepared.settings.task}-{prepared.identity}"


def calls_to_confirm(prepared: Prepared, folder: Path) -> int:
    """Return how many paid calls the user must confirm first; 0 if there is nothing to ask."""
    guard_folder(folder)
    if prepared.paid_calls <= ASK_ABOVE:
        return 0
    return 0 if begin(folder, prepared).status == "finished" else prepared.paid_calls


def execute(
    prepared: Prepared,
    folder: Path,
    ready: Callable[[], None] | None = None,
    *,
    partial: bool = False,
) -> RunResult:
    """Run a prepared run, or resume it.

    Args:
        partial: Whether an interrupted run writes tables of the samples that have ended.
    """
    with locked(folder):
        manifest = begin(folder, prepared)
        if manifest.status == "finished":
            return RunResult(folder, manifest, [], prepared.samples, ran=False)
        settings, samples = prepared.settings, prepared.samples
        # Opened first, so that an unusable model is reported before anything is written or paid.
        models = _Models.open(settings, asking=bool(prepared.methods))
        named = "fluency_model" in settings.options.model_fields_set
        scorer = open_fluency(settings.option("fluency_model"), named=named)
        if ready is not None:
            ready()
        write_manifest(folder, manifest)
        _set_torn_logs_aside(folder)
        prepared = place(prepared, folder)
        with counted_calls():
            try:
                direct = is_direct(prepared)
                parts = finished_parts(folder) if direct else set()
                before = len(parts) if direct else _finished_before(folder)
                with Progress("samples", samples, before) as progress:
                    if direct:
                        judged = judge_direct(prepared, models.judges, parts, progress.step)
                        tables = tables_of_parts(prepared, folder, judged)
                    else:
                        logs = _evaluate(prepared, folder, models, progress)
                        tables = tables_of(prepared, logs)
                write_tables(folder, prepared, tables, scorer())
            except KeyboardInterrupt:
                if partial and (ended := _logs_so_far(folder)):
                    write_tables(folder, prepared, tables_of(prepared, ended), scorer())
                raise
            failures = [*tables.failures]
            del tables
            default_memory_pool().release_unused()  # for the report
            manifest = finish(folder, manifest, failed=bool(failures))
        for kept in () if failures else (CACHE, PARTS):
            shutil.rmtree(folder / kept, ignore_errors=True)
        return RunResult(folder, manifest, failures, samples, ran=True)


@dataclass(frozen=True)
class _Models:
    subjects: list[Model]
    judges: list[Model]

    @classmethod
    def open(cls, settings: RunSettings, *, asking: bool) -> "_Models":
        """Open the models that a run names; without ``asking``, only the judges."""
        # Judges get only the call settings of the models under test, not their sampling settings.
        bounds = settings.transport
        of_judges = GenerateConfig(**bounds)
        subject = GenerateConfig(max_connections=bounds.get("max_connections"))

        def opened(name: str, **how: Any) -> Model:
            return open_model(name, transport=bounds, **how)

        return cls(
            [
                opened(name, config=subject, **settings.model_args)
                for name in (settings.models if asking else ())
            ],
            [opened(name, config=of_judges, **settings.judge_args) for name in settings.judges],
        )

    def at_once(self, max_connections: int | None) -> int:
        models = [*self.subjects, *self.judges]
        here = [one.api.at_once() for one in models if isinstance(one.api, InProcessAPI)]
        if len(here) == len(models):
            return max(here, default=16)
        return max(64, int(max_connections or 0), *here)


def check_models(prepared: Prepared) -> None:
    """Open the models that a run names, without calls; `InputError` for an unusable model."""
    _Models.open(prepared.settings, asking=bool(prepared.methods))


def _evaluate(
    prepared: Prepared, folder: Path, models: _Models, progress: Progress
) -> list[EvalLog]:
    settings = prepared.settings
    logs: list[EvalLog] = []

    def tasks(names: Iterable[str]) -> list[Task]:
        return [task_with(run_task(prepared, name), cleanup=_counting(progress)) for name in names]

    with _cache_in(None if settings.shared_cache else folder / CACHE):
        # Baselines come first because they are quick, and separately because they run only once.
        if prepared.baselines:
            graders = models.judges if prepared.judging is not None else []
            nobody = _Models([open_model(NO_MODEL)], graders)
            logs += _eval_set(tasks(prepared.baselines), folder / BASELINE_LOGS, nobody, {})
        if prepared.methods:
            how: dict[str, Any] = {**settings.generation, **settings.transport}
            logs += _eval_set(tasks(prepared.methods), folder / LOGS, models, how)
    return logs


_evaluating = Lock()


@contextmanager
def _cache_in(folder: Path | None) -> Iterator[None]:
    """Keep answers in a folder, or where Inspect does; allow one evaluation per process at a time.

    Inspect reads the folder from the environment, which all threads share.
    """
    with _evaluating:
        before = os.environ.get(_CACHE_DIR)
        if folder is not None:
            os.environ[_CACHE_DIR] = str(folder.absolute())
        try:
            yield
        finally:
            if before is not None:
                os.environ[_CACHE_DIR] = before
            elif folder is not None:
                os.environ.pop(_CACHE_DIR, None)


def _eval_set(
    tasks: list[Task], log_dir: Path, models: _Models, generation: dict[str, Any]
) -> list[EvalLog]:
    in_process = any(str(model).startswith(IN_PROCESS) for model in models.subjects)
    _, logs = eval_set(
        tasks,
        log_dir=str(log_dir),
        model=models.subjects,
        model_roles={"grader": models.judges} if models.judges else None,
        retry_attempts=0,
        # A sample whose call failed in a way that providers do not retry (a reply that is not
        # JSON, say) starts again, and replays its earlier answers from the run's cache.
        retry_on_error=1,
        retry_immediate=False,
        fail_on_error=True,
        continue_on_fail=True,
        log_buffer=1,
        log_realtime=False,
        log_model_api=False,
        score_display=False,
        # Tasks run one after the other if a model in this process would alternate between prompts.
        max_tasks=1 if in_process else None,
        max_samples=models.at_once(generation.get("max_connections")),
        display="none",
        # Control from outside needs a web server, so it starts only on request.
        ctl_server=os.environ.get("INSPECT_EVAL_CTL_SERVER") or False,
        log_level="error",
        **generation,
    )
    # Inspect catches an interrupt and returns what it has; a rerun resumes.
    interrupted = any(log.status == "cancelled" for log in logs)
    if interrupted or len(logs) < len(tasks) * len(models.subjects):
        raise KeyboardInterrupt
    return logs


def _counting(progress: Progress) -> Callable[[TaskState], Awaitable[None]]:
    """Return a callback that counts each sample once when it ends, scored or failed."""
    counted: set[object] = set()

    async def count(state: TaskState) -> None:
        sample = (str(state.model), state.sample_id, state.epoch)
        if sample not in counted:
            counted.add(sample)
            progress.step()

    return count


def _set_torn_logs_aside(folder: Path) -> None:
    """Rename unreadable logs that a killed run left, so that the run can be resumed."""
    for path in [*folder.glob(f"{LOGS}/*"), *folder.glob(f"{BASELINE_LOGS}/*")]:
        try:
            if path.suffix == ".eval":
                read_eval_log_sample_summaries(str(path))
                read_eval_log(str(path), header_only=True)
            elif path.suffix == ".json":
                json.loads(path.read_bytes())
        except OSError:  # does not mean that the log is damaged
            raise
        except Exception:  # noqa: BLE001 - from Inspect, zipfile or any parser of the contents
            path.replace(path.with_name(f"{path.name}.damaged"))
            say_once(f"{path}: is damaged and was set aside; its samples are run again")


def _logs_so_far(folder: Path) -> list[EvalLog]:
    """Return the newest log of each task in a run folder, if any sample has ended."""
    newest = {info.task_id: info for info in _logs(folder)}
    headers = [read_eval_log(info, header_only=True) for info in newest.values()]
    return headers if _finished_before(folder) else []


def _finished_before(folder: Path) -> int:
    finished: set[tuple[object, ...]] = set()
    for info in _logs(folder):
        for sample in read_eval_log_sample_summaries(info):
            if sample.completed and sample.error is None:
                finished.add((info.task_id, sample.id, sample.epoch))
    return len(finished)


def _logs(folder: Path) -> list[EvalLogInfo]:
    folders = [path for path in (folder / BASELINE_LOGS, folder / LOGS) if path.exists()]
    return [log for path in folders for log in list_eval_logs(str(path), descending=False)]
