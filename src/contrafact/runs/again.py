"""Judging again: the outputs of a run, or of a log of Inspect, by other judges, without generating.

The run that is judged is read and never written. The new one has a folder of its own, in which the
verdicts of earlier judges stand beside those of the new ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log

from contrafact.errors import InputError
from contrafact.family import task_named, tasks
from contrafact.family.given import GivenOutputs, GivenRow, GivenSystem, LeftOut, Units
from contrafact.family.manifest import DataRecord, Manifest, file_record, hash_file
from contrafact.family.run import (
    BUNDLED,
    COST_COLUMNS,
    Evaluated,
    Prepared,
    TaskRun,
    cost_columns,
    load_once,
)
from contrafact.family.settings import RunSettings
from contrafact.models.fluency import FLUENCY
from contrafact.runs.folder import BASELINE_LOGS, LOGS, read_manifest
from contrafact.runs.items import ITEMS, VERDICTS
from contrafact.runs.prepare import make_settings
from contrafact.runs.score import GIVEN_ITEMS, output_fields, scored

__all__ = ["prepare_again", "require_task", "source_and_task", "task_of"]


def task_of(source: Path) -> str:
    """Return the task of a run folder, or of a log of Inspect.

    Raises:
        InputError: If it is neither, or of a task that no family here has.
    """
    if source.is_dir():
        return read_manifest(source).task
    log = _read_log(source, header_only=True)
    name = str(log.eval.task_registry_name or log.eval.task).rpartition("/")[2]
    if name not in tasks():
        raise InputError(
            f"is a log of '{name}', which is no task here",
            file=source,
            hint=f"name a log of {', '.join(tasks())}",
        )
    return name


def require_task(source: Path, task: str) -> None:
    """Refuse a run or a log that is of another task than it is said to be."""
    if (found := task_of(source)) != task:
        raise InputError(f"is of {found}, not of {task}", file=source, hint=f"say task: {found}")


def source_and_task(named: str | PathLike[str]) -> tuple[Path, str]:
    """Return where a run or a log that was named is, and its task.

    Raises:
        InputError: If there is none, or it is of a task that no family here has.
    """
    if not Path(named).exists():
        known = ", ".join(tasks())
        if str(named) in tasks():
            raise InputError(f"no outputs of {named} are given", hint="name a file, or give rows")
        raise InputError(
            f"there is no task '{named}', and no run folder or log of that name",
            hint=f"use {known}, or the path of a run",
        )
    return Path(named), task_of(Path(named))


def prepare_again(
    source: Path,
    *,
    given: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Prepared:
    """Load and check a finished run whose outputs are to be judged again.

    Prompts, data and options are the run's own where they are not given.

    Args:
        source: A run folder, or a log of Inspect (``.eval`` or ``.json``).
        given: Settings that every run has, by name: ``judges``, and where they have moved, ``data``
            and ``prompts``.
        options: The task's own options, by name.

    Raises:
        InputError: For the first thing that is wrong: no judge, a run that has not come to its end,
            data that are not there any more, …
    """
    given = dict(given or {})
    task = task_of(source)
    if not given.get("judges"):
        raise InputError("no judge is named", hint="add --judge, e.g. --judge openai/gpt-4o")
    run = task_named(task).run.load()
    found = _read(source)
    settings = make_settings(
        task, {"methods": (), **found.settings(given)}, {**found.options(task), **(options or {})}
    )
    path = settings.data or run.bundled
    items, notes = load_once(run.load, path)
    limited = items[: settings.limit]
    units = Units(run.units(limited))
    systems: dict[str, GivenSystem] = {}
    left_out: list[LeftOut] = []
    earlier, written = found.verdicts(), found.costs()
    for log in found.logs:
        system = _system(run, log, settings, units, left_out)
        if system.name in systems:
            raise InputError(f"two systems are called '{system.name}'", file=source)
        own = [row for row in earlier if row["system"] == system.name]
        own = own or _verdicts(run, log, system.name)
        costs = written.get(system.name) if found.manifest else _costs(run, log)
        systems[system.name] = replace(
            system, verdicts=_renamed(own, settings, found.mark), costs=costs or {}
        )
    kept = {name: one for name, one in systems.items() if one.outputs}
    if not kept:
        raise InputError(
            "no output in it is of these data", file=source, hint="name its data with --data"
        )
    # An item that nobody was asked, as under Inspect's own --limit, is not missing.
    asked = frozenset(str(one.id) for log in found.logs for one in log.samples or ())
    asked &= units.by_id.keys()
    notes = [*notes, *_notes(kept, len(asked), left_out)]
    data = (
        file_record(path, len(limited), notes, name=BUNDLED if settings.data is None else "")
        if found.manifest is None or settings.data is None or path.name != GIVEN_ITEMS
        else found.manifest.data.model_copy(update={"items": len(limited), "notes": notes})
    )
    record = DataRecord(
        name=found.name, sha256=found.hash, items=sum(len(one.outputs) for one in kept.values())
    )
    texts = source / FLUENCY
    same = found.arguments.get("fluency_model") == settings.option("fluency_model")
    outputs = GivenOutputs(
        kept,
        asked,
        left_out=tuple(left_out),
        scored=texts if same and texts.exists() else None,
        source={"run": source, **(options or {})},
    )
    return scored(run, settings, limited, outputs, data, {"outputs": record})


Costs = dict[tuple[str, int], Mapping[str, float]]
"""What it took to write an output, by sample and draw."""


def _costs(run: TaskRun[Any, Any], log: EvalLog) -> Costs:
    """Return what it took to write the outputs of a log."""
    return {
        (str(one.id), one.epoch): cost_columns(
            one, log.eval.model, run.local_calls(one) if run.output_key in one.store else ()
        )
        for one in log.samples or ()
    }


@dataclass(frozen=True)
class _Found:
    """What is judged again: a run folder's logs and manifest, or one log."""

    source: Path
    logs: Sequence[EvalLog]
    manifest: Manifest | None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.source.resolve().name

    @property
    def mark(self) -> str:
        """What tells a judge's earlier verdicts from those that it gives now."""
        return self.name if self.manifest else f"log of {self.logs[0].eval.created[:16]}"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What its tasks were made with, and its settings on top."""
        own: Mapping[str, Any] = self.manifest.settings if self.manifest else {}
        return {**self.logs[0].eval.task_args, **own}

    @property
    def hash(self) -> str:
        """A hash that tells it from others."""
        return self.manifest.identity if self.manifest else hash_file(self.source)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings: those given, else its own.

        Raises:
            InputError: If its data or its prompts are not where they were, or are others now.
        """
        own: Mapping[str, Any] = self.manifest.settings if self.manifest else {}
        recorded = {name: own[name] for name in ("generation", "seed") if name in own}
        found = {"limit": self.arguments.get("limit"), **recorded, **given}
        arguments = self.logs[0].eval.task_args
        for name, what in (("data", "data"), ("prompts", "prompt pack")):
            path = arguments.get(name)
            if name in given or path is None:
                continue
            here = self.source / Path(path).name
            places = [place for place in (Path(path), here) if place.exists()]
            if not places:
                raise InputError(
                    f"its {what} is not there any more: {path}",
                    file=self.source,
                    hint=f"name it with --{name}",
                )
            found[name] = places[0]
        data = found.get("data")
        if (
            self.manifest is not None
            and data is not None
            and Path(data).is_file()
            and Path(data).name != GIVEN_ITEMS
            and hash_file(Path(data)) != self.manifest.data.sha256
        ):
            raise InputError(
                f"is not the data that {self.name} was run on, or was changed since",
                file=data,
                hint="name that file with --data",
            )
        return {name: value for name, value in found.items() if value is not None}

    def options(self, task: str) -> dict[str, Any]:
        """Return its own options of the task, but for files: those only its generation needed."""
        from contrafact.family.settings import TaskOptions

        declared = task_named(task).options
        model = declared.load() if declared else TaskOptions
        return {
            name: self.arguments[name]
            for name, field in model.model_fields.items()
            if name in self.arguments
            and "Path" not in str(field.annotation)
            and self.arguments[name] != field.default
        }

    def verdicts(self) -> list[dict[str, Any]]:
        """Return the verdicts that the run keeps, of all judges so far."""
        return self._rows(VERDICTS)

    def costs(self) -> dict[str, Costs]:
        """Return what it took to write each output, by system, where the run keeps it."""
        found: dict[str, Costs] = {}
        for row in self._rows(ITEMS):
            own = {name: float(row[name]) for name in COST_COLUMNS if name in row}
            if own:
                key = (str(row["sample_id"]), int(row["draw"]))
                found.setdefault(str(row["system"]), {})[key] = own
        return found

    def _rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the run folder; none of a log, or where there is none."""
        import pandas as pd

        place = self.source / name
        if not (self.source.is_dir() and place.exists()):
            return []
        return [
            {str(name): value for name, value in row.items()}
            for row in pd.read_parquet(place).to_dict("records")
        ]


def _read(source: Path) -> _Found:
    if not source.is_dir():
        log = _read_log(source)
        if not log.samples:
            raise InputError("the log holds no samples", file=source, hint="finish its evaluation")
        return _Found(source, [log], None)
    manifest = read_manifest(source)
    if manifest.status == "running":
        hint = "run its command again: it goes on where it stopped"
        raise InputError("this run has not come to its end", file=source, hint=hint)
    newest: dict[str, EvalLog] = {}
    for place in (source / LOGS, source / BASELINE_LOGS):
        for info in list_eval_logs(str(place), descending=False) if place.exists() else []:
            log = read_eval_log(info)
            if log.samples:
                newest[log.eval.task_id] = log
    if not newest:
        raise InputError("the run holds no log with samples", file=source, hint="run it again")
    return _Found(source, list(newest.values()), manifest)


def _read_log(source: Path, *, header_only: bool = False) -> EvalLog:
    try:
        return read_eval_log(str(source), header_only=header_only)
    except Exception as error:
        raise InputError(
            "is no run folder, and no log of Inspect",
            file=source,
            hint="name a folder that `contrafact run` wrote, or an .eval file",
        ) from error


def _system(
    run: TaskRun[Any, Any],
    log: EvalLog,
    settings: RunSettings,
    units: Units[Any],
    left_out: list[LeftOut],
) -> GivenSystem:
    """Return the system of a log, with its outputs."""
    metadata = log.eval.metadata or {}
    # A log of somebody's own solver names no method.
    metadata = {"method": log.eval.solver or "given", "shots": 0, **metadata}
    named = log.model_copy(update={"eval": log.eval.model_copy(update={"metadata": metadata})})
    name = str(metadata.get("system") or run.label(named, settings))
    outputs: dict[tuple[str, int], Mapping[str, Any]] = {}
    for number, sample in enumerate(log.samples or (), start=1):
        sample_id = str(sample.id)
        if sample_id not in units.by_id:
            reason = f"'{sample_id}' is no item of the data"
            left_out.append(LeftOut(number, name, reason))
            continue
        kept = sample.store.get(run.output_key)
        if kept is None and sample.output.completion:
            kept = _read_reply(run, sample, settings, units)
        if kept is not None:
            outputs[sample_id, sample.epoch] = kept
    return GivenSystem(
        name,
        str(metadata.get("model") or log.eval.model),
        str(metadata["method"]),
        int(metadata["shots"]),
        outputs,
    )


def _read_reply(
    run: TaskRun[Any, Any], sample: EvalSample, settings: RunSettings, units: Units[Any]
) -> Mapping[str, Any]:
    """Return what a solver that is none of ours wrote as a sample's output."""
    reply = sample.output.completion
    fields = {"id": str(sample.id), **dict.fromkeys(("output", "reply", "response"), reply)}
    row = run.read_output(GivenRow(fields, fields, units, settings))
    return output_fields(run.whole_output(row.parts))


def _verdicts(run: TaskRun[Any, Any], log: EvalLog, name: str) -> list[dict[str, Any]]:
    samples = [one for one in log.samples or () if one.error is None and one.scores]
    return [dict(row) for row in run.verdict_rows(Evaluated(name, log, samples, None))]


def _renamed(
    verdicts: Sequence[Mapping[str, Any]], settings: RunSettings, name: str
) -> list[dict[str, Any]]:
    """Return earlier verdicts; a judge that is asked again is named with the run of its first."""
    return [
        {
            **row,
            "judge": f"{row['judge']} [{name}]"
            if row["judge"] in settings.judges
            else row["judge"],
        }
        for row in verdicts
    ]


def _notes(
    systems: Mapping[str, GivenSystem], units: int, left_out: Sequence[LeftOut]
) -> Iterator[str]:
    if left_out:
        yield f"{len(left_out)} samples left out: {left_out[0].reason}"
    for name, one in systems.items():
        missing = units * one.draws - len(one.outputs)
        if missing:
            asked = units * one.draws
            yield f"{name}: {missing} of {asked} outputs are missing, counted as invalid"
    judges = dict.fromkeys(str(row["judge"]) for one in systems.values() for row in one.verdicts)
    if judges:
        yield f"judged before by {', '.join(judges)}: those verdicts stand beside the new ones"
