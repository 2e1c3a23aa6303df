"""A finished run as a source of outputs that are judged again.

It is read and never written. The new run has a folder of its own, in which the verdicts of earlier
judges stand beside those of the new ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.manifest import DataRecord, Manifest, file_record, hash_file
from contrafact.family.outputs import (
    OUTPUTS,
    RECORDED_ITEMS,
    LeftOut,
    RecordedOutputs,
    RecordedSystem,
    Units,
)
from contrafact.family.run import BUNDLED, COST_COLUMNS, Prepared, TaskRun, load_once
from contrafact.family.settings import RunSettings
from contrafact.models.fluency import FLUENCY
from contrafact.runs.config import task_options
from contrafact.runs.folder import BASELINE_LOGS, LOGS, read_manifest
from contrafact.runs.items import ITEMS, VERDICTS
from contrafact.runs.prepare import make_settings
from contrafact.runs.score import missing_notes, scored

__all__ = ["prepare_again"]


def prepare_again(
    task: str, source: Path, given: Mapping[str, Any], options: Mapping[str, Any]
) -> Prepared:
    """Load and check a finished run to be judged again; what is not given is as the run has it."""
    if (of := read_manifest(source).task) != task:
        raise InputError(f"is of {of}, not of {task}", file=source, hint=f"say task: {of}")
    if not given.get("judges"):
        raise InputError("no judge is named", hint="add --judge, e.g. --judge openai/gpt-4o")
    run = task_named(task).run.load()
    found = _read(source)
    settings = make_settings(
        task, {"methods": (), **found.settings(given)}, {**found.options(task), **options}
    )
    items, notes = load_once(run.load, settings.data or run.bundled)
    limited = items[: settings.limit]
    units = Units(run.units(limited))
    systems, left_out = found.systems(run, settings, units)
    if not systems:
        hint = "name its data with --data"
        raise InputError("no output in it is of these data", file=source, hint=hint)
    # An item that nobody was asked, beyond the run's --limit, is not missing.
    asked = frozenset(str(one.id) for log in found.logs for one in log.samples or ())
    asked &= units.by_id.keys()
    notes = [*notes, *_notes(systems, len(asked), left_out)]
    texts = source / FLUENCY
    same = found.arguments.get("fluency_model") == settings.option("fluency_model")
    outputs = RecordedOutputs(
        systems,
        asked,
        left_out=tuple(left_out),
        scored=texts if same and texts.exists() else None,
        source={"run": source, **options},
    )
    count = sum(len(one.outputs) for one in systems.values())
    record = DataRecord(name=found.name, sha256=found.manifest.identity, items=count)
    data = found.data_record(settings, run.bundled, len(limited), notes)
    return scored(run, settings, limited, outputs, data, {"outputs": record})


_Costs = dict[tuple[str, int], Mapping[str, float]]
"""What it took to write an output, by sample and draw."""


@dataclass(frozen=True)
class _Found:
    """A run folder's logs and manifest."""

    source: Path
    logs: Sequence[EvalLog]
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.source.resolve().name

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What its tasks were made with, and its settings on top."""
        return {**self.logs[0].eval.task_args, **self.manifest.settings}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        recorded = {name: self.manifest.settings[name] for name in ("generation", "seed")}
        found = {"limit": self.arguments.get("limit"), **recorded, **given}
        for name, what in (("data", "data"), ("prompts", "prompt pack")):
            path = self.logs[0].eval.task_args.get(name)
            if name in given or path is None:
                continue
            places = (Path(path), self.source / Path(path).name)
            found[name] = next((place for place in places if place.exists()), None)
            if found[name] is None:
                problem = f"its {what} is not there any more: {path}"
                raise InputError(problem, file=self.source, hint=f"name it with --{name}")
        data = None if found.get("data") is None else Path(found["data"])
        if (
            data is not None
            and data.name != RECORDED_ITEMS
            and data.is_file()
            and hash_file(data) != self.manifest.data.sha256
        ):
            raise InputError(
                f"is not the data that {self.name} was run on, or was changed since",
                file=data,
                hint="name that file with --data",
            )
        return {name: value for name, value in found.items() if value is not None}

    def options(self, task: str) -> dict[str, Any]:
        """Return its own options of the task, but for files: those only its generation needed."""
        return {
            name: self.arguments[name]
            for name, field in task_options(task).model_fields.items()
            if name in self.arguments
            and "Path" not in str(field.annotation)
            and self.arguments[name] != field.default
        }

    def data_record(
        self, settings: RunSettings, bundled: Path, items: int, notes: list[str]
    ) -> DataRecord:
        path = settings.data or bundled
        if settings.data is None or path.name != RECORDED_ITEMS:
            name = BUNDLED if settings.data is None else ""
            return file_record(path, items, notes, name=name)
        return self.manifest.data.model_copy(update={"items": items, "notes": notes})

    def systems(
        self, run: TaskRun[Any, Any], settings: RunSettings, units: Units[Any]
    ) -> tuple[dict[str, RecordedSystem], list[LeftOut]]:
        """Return the systems that have outputs, with earlier verdicts and costs, and what has none.

        A judge that is asked again is named with the run of its first verdicts.
        """
        found: dict[str, RecordedSystem] = {}
        left_out: list[LeftOut] = []
        earlier, written = self._rows(VERDICTS), self._costs()
        for log in self.logs:
            system = _system(run, log, settings, units, left_out)
            if system.name in found:
                raise InputError(f"two systems are called '{system.name}'", file=self.source)
            verdicts = [row for row in earlier if row["system"] == system.name]
            for row in verdicts:
                if row["judge"] in settings.judges:
                    row["judge"] = f"{row['judge']} [{self.name}]"
            costs = written.get(system.name, {})
            found[system.name] = replace(system, verdicts=verdicts, costs=costs)
        return {name: one for name, one in found.items() if one.outputs}, left_out

    def _costs(self) -> dict[str, _Costs]:
        found: dict[str, _Costs] = {}
        for row in self._rows(ITEMS):
            own = {name: float(row[name]) for name in COST_COLUMNS if name in row}
            if own:
                key = (str(row["sample_id"]), int(row["draw"]))
                found.setdefault(str(row["system"]), {})[key] = own
        return found

    def _rows(self, name: str) -> list[dict[str, Any]]:
        import pandas as pd

        place = self.source / name
        if not place.exists():
            return []
        records = pd.read_parquet(place).to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in records]


def _read(source: Path) -> _Found:
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
        scored = (source / OUTPUTS).exists()
        hint = "score the file of its outputs with --judge" if scored else "run it again"
        raise InputError("the run holds no log with samples", file=source, hint=hint)
    return _Found(source, list(newest.values()), manifest)


def _system(
    run: TaskRun[Any, Any],
    log: EvalLog,
    settings: RunSettings,
    units: Units[Any],
    left_out: list[LeftOut],
) -> RecordedSystem:
    known: Mapping[str, Any] = log.eval.metadata or {}
    model, method, shots = log.eval.model, str(known["method"]), int(known["shots"])
    name = str(known.get("system") or run.label(model, method, shots, settings))
    outputs: dict[tuple[str, int], Mapping[str, Any]] = {}
    for number, sample in enumerate(log.samples or (), start=1):
        sample_id = str(sample.id)
        if sample_id not in units.by_id:
            left_out.append(LeftOut(number, name, f"'{sample_id}' is no item of the data"))
            continue
        if (kept := sample.store.get(run.output_key)) is not None:
            outputs[sample_id, sample.epoch] = kept
    return RecordedSystem(name, str(known.get("model") or model), method, shots, outputs)


def _notes(
    systems: Mapping[str, RecordedSystem], units: int, left_out: Sequence[LeftOut]
) -> list[str]:
    first = [f"{len(left_out)} samples left out: {left_out[0].reason}"] if left_out else []
    judges = dict.fromkeys(str(row["judge"]) for one in systems.values() for row in one.verdicts)
    before = f"judged before by {', '.join(judges)}: those verdicts stand beside the new ones"
    return [*first, *missing_notes(systems, units), *([before] if judges else [])]
