"""Scoring: runs whose outputs come from a file or a finished run, instead of from a method.

Everything else is as in other runs: folder, identity, resuming, tables and report. A family's
`TaskRun` defines how a row of outputs is read; this module knows no family.
"""

import hashlib
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.manifest import DataRecord, Manifest, file_record, hash_file, new_manifest
from contrafact.family.outputs import (
    OUTPUTS,
    RECORDED_ITEMS,
    LeftOut,
    OutputRow,
    RecordedOutputs,
    RecordedRow,
    RecordedSystem,
    Units,
)
from contrafact.family.run import BUNDLED, COST_COLUMNS, Prepared, TaskRun, load_once, system_label
from contrafact.family.settings import RunSettings
from contrafact.family.task import OUTPUT, stored_fields
from contrafact.files.atomic import write_text
from contrafact.files.fields import columns_found, fold, fold_row, is_absent
from contrafact.files.journal import hash_of
from contrafact.files.tables import json_line, line_list, read_rows
from contrafact.models.fluency import FLUENCY
from contrafact.models.opening import NO_MODEL
from contrafact.prompts import bundled_packs, open_pack
from contrafact.runs.config import RunConfig, Source, task_options
from contrafact.runs.folder import BASELINE_LOGS, LOGS, read_manifest
from contrafact.runs.items import ITEMS, VERDICTS
from contrafact.runs.prepare import make_settings, prepare

__all__ = ["OutputReader", "prepare_config", "prepare_outputs", "prepare_score"]

_QUOTED = re.compile(r"'[^']*'|\d+")
_EVERY_ROW: Mapping[str, tuple[str, ...]] = {
    "system": ("system",),
    "model": ("model",),
    "method": ("method",),
    "draw": ("draw",),
}


def prepare_config(config: RunConfig) -> Prepared:
    """Load and check the run that options describe, including one that scores existing outputs."""
    if config.source is None:
        return prepare(config.settings())
    values = config.values()
    return prepare_score(config.task, config.source, values, values.pop("options", {}))


def prepare_score(
    task: str, source: Source, given: Mapping[str, Any], options: Mapping[str, Any]
) -> Prepared:
    """Load and check existing outputs to score: a file's (see `data_source`), or a run's."""
    if source.run is not None:
        return _prepare_again(task, source.run, given, options)
    settings = make_settings(task, {"methods": (), **given}, options)
    if str(source.score) == "-":
        raise InputError("outputs are not read from standard input", hint="name a file")
    file = data_source(str(source.score))
    reader = OutputReader.begin(settings, file.path, source.system, source.columns)
    for line, row in read_rows(file.path, source.columns):
        reader.take(line, row)
    asked = {
        "score": file.origin or file.path,
        "system": source.system,
        "columns": dict(source.columns or {}),
        "partial": source.partial or None,
    }
    return prepare_outputs(reader, partial=source.partial, source=asked, origin=file.origin)


@dataclass
class OutputReader:
    """A file of outputs, as far as it has been read.

    Attributes:
        units: The data's units, if data is named.
        items_given: The data's items, if data is named, and the loader's notes.
        parts: The parts of each output, with their lines, by system, sample and draw.
        facts: The model and the method of each system.
        items: Rows from which items are loaded, with their lines.
    """

    run: TaskRun[Any, Any]
    file: Path
    settings: RunSettings
    units: Units[Any]
    system: str | None
    items_given: tuple[Sequence[Any], list[str]] = ((), [])
    rows: int = 0
    parts: dict[tuple[str, str, int], dict[str, tuple[int, Any]]] = field(default_factory=dict)
    facts: dict[str, tuple[str, str]] = field(default_factory=dict)
    items: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    first_problem: InputError | None = None

    @classmethod
    def begin(
        cls,
        settings: RunSettings,
        file: Path,
        system: str | None,
        columns: Mapping[str, str] | None,
    ) -> "OutputReader":
        """Return the reader of a file before its first row, with the data loaded if named."""
        run = task_named(settings.task).run.load()
        fields = (*run.output_fields, *_EVERY_ROW)
        for name in columns or ():
            if name not in fields:
                raise InputError(
                    f"--columns: there is no field '{name}'", hint=f"use {', '.join(fields)}"
                )
        loaded = ((), []) if settings.data is None else load_once(run.load, settings.data)
        return cls(run, file, settings, Units(run.units(loaded[0])), system, loaded)

    def key(self, row: Mapping[str, Any]) -> str:
        """Return a key equal for rows with the same part of a system's output for an item."""
        fields = self._fields(row)
        draw, output = self._given(fields, row)
        name = self._who(fields)[0]
        return json_line({"of": [name, draw, sorted(output.sample_ids), sorted(output.parts)]})

    def take(self, line: int, row: Mapping[str, Any]) -> None:
        """Add a row, or record why it is left out."""
        self.rows += 1
        name = ""
        try:
            fields = self._fields(row)
            name, model, method = self._who(fields)
            draw, output = self._given(fields, row)
        except InputError as error:
            placed = error.at(self.file, line)
            if isinstance(error, _FromZero):  # left out, every other draw would be a wrong one
                raise placed from error
            self.first_problem = self.first_problem or placed
            self.left_out.append(LeftOut(line, name, error.problem))
            return
        self.facts.setdefault(name, (model, method))
        if output.item is not None:
            self.items.append((line, output.item))
        for sample in output.sample_ids:
            parts_held = self.parts.setdefault((name, sample, draw), {})
            same = [
                parts_held[part][1] == made
                for part, made in output.parts.items()
                if part in parts_held
            ]
            if not all(same):
                earlier = next(parts_held[part][0] for part in output.parts if part in parts_held)
                reason = f"line {earlier} has another output for the same item"
                self.left_out.append(LeftOut(line, name, reason))
            elif len(same) == len(output.parts):
                self.repeated.append(line)
            else:
                parts_held.update({part: (line, made) for part, made in output.parts.items()})

    def _fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        names_of = {**_EVERY_ROW, **self.run.output_fields}
        for shape in (row, _flat(row)):
            folded = fold_row(shape)
            columns = {
                name: [key for key in map(fold, (name, *names)) if key in folded]
                for name, names in names_of.items()
            }
            if any(all(columns[name] for name in one) for one in self.run.output_layouts):
                break
        else:
            wanted = ", or ".join(" + ".join(one) for one in self.run.output_layouts)
            raise InputError(
                f"the columns do not fit {self.settings.task} (found: {columns_found(row)})",
                hint=f"wanted: {wanted}; map other names with --columns FIELD=COLUMN",
            )
        fields: dict[str, Any] = {}
        for name, keys in columns.items():
            values = [folded[key] for key in keys if not is_absent(folded[key])]
            if values:
                fields[name] = values[0]
            elif keys and name == "system":
                raise InputError("the row names no system", hint="fill it in")
        return fields

    def _given(self, fields: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[int, OutputRow]:
        output = self.run.read_output(RecordedRow(fields, row, self.units, self.settings))
        draw = _draw(fields.get("draw"))
        known = self.units.by_id
        if self.settings.data is None and output.item is None:
            raise InputError(
                "the file names items but does not contain them",
                hint="name the file of items with --data FILE",
            )
        unknown = [one for one in output.sample_ids if self.settings.data and one not in known]
        if unknown:
            raise InputError(
                f"'{unknown[0]}' is not an item of the data",
                hint="check the ids, or name other data with --data",
            )
        return draw, output

    def _who(self, fields: Mapping[str, Any]) -> tuple[str, str, str]:
        system, model, method = (
            str(fields[name]).strip() if name in fields else ""
            for name in ("system", "model", "method")
        )
        if self.system is not None and (system or model):
            raise InputError(
                "--system has no effect: the file names its systems",
                hint="leave it out, or map another column with --columns system=COLUMN",
            )
        named = system_label(model, method, 0) if model and method else model
        name = system or named or self.system or self.file.stem
        return name, model or name, method or "given"


class _FromZero(InputError):
    """A file's draws are counted from 0."""


def _draw(value: Any) -> int:
    try:
        draw = 1 if value is None else int(str(value).removesuffix(".0"))
    except ValueError:
        draw = -1
    if draw == 0:
        raise _FromZero("the draw is 0", hint="count draws from 1: add 1 to every draw of the file")
    if draw < 1:
        raise InputError(f"the draw is {str(value)[:40]!r}", hint="give a whole number from 1")
    return draw


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the keys of nested objects, and of lists of one object, at the top."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, one in (_flat(inner) if isinstance(inner, dict) else {name: value}).items():
            flat.setdefault(key, one)
    return flat


def _items_of(run: TaskRun[Any, Any], reader: OutputReader) -> tuple[Sequence[Any], list[str]]:
    lines: dict[str, int] = {}
    for line, row in reader.items:
        lines.setdefault(json_line(row), line)
    if not lines:
        return (), []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / RECORDED_ITEMS
        write_text(file, "".join(lines))
        try:
            return run.load(file)
        except InputError as error:
            at = None if error.line is None else list(lines.values())[error.line - 1]
            raise error.at(reader.file, at) from error


def prepare_outputs(
    reader: OutputReader,
    *,
    partial: bool = False,
    source: Mapping[str, Any] | None = None,
    origin: str = "",
) -> Prepared:
    """Return the run that scores the outputs read; ``origin`` is where they were downloaded."""
    run, settings, file = reader.run, reader.settings, reader.file
    items, notes = reader.items_given
    if settings.data is None:
        items, notes = _items_of(run, reader)
    if not reader.parts or not items:
        if reader.first_problem is not None:
            raise reader.first_problem
        raise InputError("the file has no outputs to score", file=file, hint="give another file")
    limited = items[: settings.limit]
    units = run.units(limited)
    asked = frozenset(str(unit.id) for unit in units)
    systems = _systems(run, reader, asked)
    if not systems:
        raise InputError(
            "has no output for the first items that --limit takes", file=file,
            hint="raise --limit",
        )  # fmt: skip
    brought = settings.data is None
    parts_held = {part for parts in reader.parts.values() for part in parts}
    lacking = [part for part in run.parts if part not in parts_held]
    if lacking:
        notes = [*notes, f"the file has no {' and no '.join(lacking)} output: it is left out"]
    if partial:
        covered = frozenset(sample for one in systems.values() for sample, _ in one.outputs)
        if covered == asked and not lacking:
            raise InputError(
                "--partial is not needed: the file has an output for every item",
                hint="leave it out",
            )
        if without := len(asked - covered):
            notes = [*notes, f"{without} items without any output left out (--partial)"]
        asked = covered
    recorded = RecordedOutputs(
        systems,
        asked,
        [row for _, row in reader.items] if brought else None,
        tuple(reader.left_out),
        source=source or {},
    )
    remarks = [*notes, *_notes(reader, systems, len(asked), len(limited) < len(items))]
    if settings.data is None:
        files, data = {}, file_record(file, len(limited), remarks, source=origin)
    else:
        files = {"outputs": file_record(file, reader.rows, source=origin)}
        data = file_record(settings.data, len(limited), remarks)
    return _scored(run, settings, limited, recorded, data, files)


def _scored(
    run: TaskRun[Any, Any],
    settings: RunSettings,
    items: Sequence[Any],
    recorded: RecordedOutputs,
    data: DataRecord,
    files: Mapping[str, DataRecord],
) -> Prepared:
    """Return the run that judges existing outputs."""
    systems = recorded.systems
    models = [one.model for one in systems.values() if one.model not in (one.name, NO_MODEL)]
    settings = settings.model_copy(
        update={
            "models": tuple(dict.fromkeys(models)),
            "methods": tuple(dict.fromkeys(one.method for one in systems.values())),
        }
    )
    run.check(settings, settings.methods)
    pack = open_pack(settings.prompts)
    judging = run.judging(pack, settings) if settings.judges else None
    outputs = hashlib.sha256()
    for line in recorded.lines():
        outputs.update(line.encode())
    contents = {"outputs": outputs.hexdigest()}
    if len(recorded.asked) < len(run.units(items)):
        contents["asked"] = hash_of(sorted(recorded.asked))
    if earlier := [row for one in systems.values() for row in one.verdicts]:
        contents["verdicts"] = hash_of(earlier)
    answering: dict[str, Any] = dict(systems)
    return Prepared(
        run=run,
        settings=settings,
        manifest=new_manifest(settings, run.version, contents, data=data, files=files, pack=pack),
        pack=pack,
        items=items,
        units=[unit for unit in run.units(items) if str(unit.id) in recorded.asked],
        methods={},
        report=task_named(settings.task).report,
        baselines=answering,
        judging=judging,
        recorded=recorded,
    )


def _systems(
    run: TaskRun[Any, Any], reader: OutputReader, taken: frozenset[str]
) -> dict[str, RecordedSystem]:
    outputs: dict[str, dict[tuple[str, int], dict[str, Any]]] = defaultdict(dict)
    for (name, sample, draw), parts in reader.parts.items():
        if sample in taken:
            whole = run.whole_output({part: output for part, (_, output) in parts.items()})
            outputs[name][sample, draw] = stored_fields(whole)
            # From here on only the lines are needed, and there may be many outputs.
            parts.update({part: (line, None) for part, (line, _) in parts.items()})
    return {
        name: RecordedSystem(name, *reader.facts[name], outputs=of_system)
        for name, of_system in outputs.items()
    }


def _notes(
    reader: OutputReader, systems: Mapping[str, RecordedSystem], units: int, limited: bool
) -> list[str]:
    where = "" if reader.settings.data is None else f"{reader.file.name}: "
    notes = []
    kinds: dict[str, list[LeftOut]] = defaultdict(list)
    for one in reader.left_out:
        kinds[_QUOTED.sub("…", one.reason)].append(one)
    for alike in kinds.values():
        rows = f"{len(alike)} row{'s' * (len(alike) != 1)} left out"
        notes.append(f"{rows}: {alike[0].reason} ({line_list(one.line for one in alike)})")
    if reader.repeated:
        lines = list(dict.fromkeys(reader.repeated))
        notes.append(f"{len(lines)} repeated and taken once ({line_list(lines)})")
    samples = Counter(name for name, _, _ in reader.parts)
    taken = {name: len(one.outputs) for name, one in systems.items()}
    if limited:
        beyond = sum(samples.values()) - sum(taken.values())
        if beyond:
            notes.append(f"{beyond} outputs of items beyond --limit left out")
    for name, recorded in systems.items():
        reasons = Counter(str(one.get("invalid")) for one in recorded.outputs.values())
        if recorded.outputs and not recorded.judged_outputs:
            notes.append(
                f"{name}: none of its {len(recorded.outputs)} outputs can be read: "
                f"{reasons.most_common(1)[0][0]}"
            )
        notes += _missing_notes({name: recorded}, units)
    return [where + note for note in notes]


def _missing_notes(systems: Mapping[str, RecordedSystem], units: int) -> list[str]:
    """Return a sentence for each system that lacks outputs for some of the ``units``."""
    return [
        f"{name}: {missing} of {units * one.draws} outputs are missing, counted as invalid"
        for name, one in systems.items()
        if (missing := units * one.draws - len(one.outputs))
    ]


def _prepare_again(
    task: str, source: Path, given: Mapping[str, Any], options: Mapping[str, Any]
) -> Prepared:
    """Load and check a finished run to judge again; settings not given are taken from that run."""
    if (of := read_manifest(source).task) != task:
        raise InputError(f"is of {of}, not of {task}", file=source, hint=f"say task: {of}")
    if not given.get("judges"):
        raise InputError("no judge is named", hint="add --judge, e.g. --judge openai/gpt-4o")
    run = task_named(task).run.load()
    earlier_run = _read(source)
    settings = make_settings(
        task,
        {"methods": (), **earlier_run.settings(given)},
        {**earlier_run.options(task), **options},
    )
    items, notes = load_once(run.load, settings.data or run.bundled)
    limited = items[: settings.limit]
    units = Units(run.units(limited))
    systems, left_out = earlier_run.systems(run, settings, units)
    if not systems:
        hint = "name its data with --data"
        raise InputError("has no output for these data", file=source, hint=hint)
    # An item beyond the run's --limit was not asked for, so it is not missing.
    asked = frozenset(str(one.id) for log in earlier_run.logs for one in log.samples or ())
    asked &= units.by_id.keys()
    if left_out:
        notes = [*notes, f"{len(left_out)} samples left out: {left_out[0].reason}"]
    notes = [*notes, *_missing_notes(systems, len(asked))]
    if before := dict.fromkeys(str(v["judge"]) for one in systems.values() for v in one.verdicts):
        note = f"judged before by {', '.join(before)}: those verdicts are kept beside the new ones"
        notes = [*notes, note]
    texts = source / FLUENCY
    same = earlier_run.arguments.get("fluency_model") == settings.option("fluency_model")
    outputs = RecordedOutputs(
        systems,
        asked,
        left_out=tuple(left_out),
        scored=texts if same and texts.exists() else None,
        source={"run": source, **options},
    )
    count = sum(len(one.outputs) for one in systems.values())
    record = DataRecord(name=earlier_run.name, sha256=earlier_run.manifest.identity, items=count)
    data = earlier_run.data_record(settings, run.bundled, len(limited), notes)
    return _scored(run, settings, limited, outputs, data, {"outputs": record})


_Costs = dict[tuple[str, int], Mapping[str, float]]
"""The cost of writing an output, by sample and draw."""


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
        """The arguments of its tasks, overridden by its settings."""
        return {**self.logs[0].eval.task_args, **self.manifest.settings}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        recorded = {name: self.manifest.settings[name] for name in ("generation", "seed")}
        found = {"limit": self.arguments.get("limit"), **recorded, **given}
        for name, what in (("data", "data"), ("prompts", "prompt pack")):
            path = self.logs[0].eval.task_args.get(name)
            if name in given or path is None:
                continue
            places = (Path(path), self.source / Path(path).name)
            bundled = Path(path) if name == "prompts" and path in bundled_packs() else None
            found[name] = bundled or next((place for place in places if place.exists()), None)
            if found[name] is None:
                problem = f"its {what} no longer exists: {path}"
                raise InputError(problem, file=self.source, hint=f"name it with --{name}")
        data = None if found.get("data") is None else Path(found["data"])
        if (
            data is not None
            and data.name != RECORDED_ITEMS
            and data.is_file()
            and hash_file(data) != self.manifest.data.sha256
        ):
            raise InputError(
                f"is not the data that {self.name} was run on, or has changed since",
                file=data,
                hint="name that file with --data",
            )
        return {name: value for name, value in found.items() if value is not None}

    def options(self, task: str) -> dict[str, Any]:
        """Return the run's own task options, except files, which only generating needed."""
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
        """Return the systems with outputs, earlier verdicts and costs, and the rows left out.

        If a judge is asked again, this run's name is added to the judge's name in earlier verdicts.
        """
        systems: dict[str, RecordedSystem] = {}
        left_out: list[LeftOut] = []
        earlier, written = self._rows(VERDICTS), self._costs()
        for row in earlier:
            if row["judge"] in settings.judges:
                row["judge"] = f"{row['judge']} [{self.name}]"
        for log in self.logs:
            columns = run.system_of(log.eval.model, log.eval.metadata or {}, settings)
            name = columns["system"]
            if name in systems:
                raise InputError(f"two systems are called '{name}'", file=self.source)
            outputs: dict[tuple[str, int], Mapping[str, Any]] = {}
            for number, sample in enumerate(log.samples or (), start=1):
                sample_id = str(sample.id)
                if sample_id not in units.by_id:
                    left_out.append(
                        LeftOut(number, name, f"'{sample_id}' is not an item of the data")
                    )
                elif (kept := sample.store.get(OUTPUT)) is not None:
                    outputs[sample_id, sample.epoch] = kept
            verdicts = [row for row in earlier if row["system"] == name]
            costs = written.get(name, {})
            systems[name] = RecordedSystem(
                name, columns["model"], columns["method"], columns["shots"],
                outputs, verdicts, costs,
            )  # fmt: skip
        return {name: one for name, one in systems.items() if one.outputs}, left_out

    def _costs(self) -> dict[str, _Costs]:
        costs: dict[str, _Costs] = {}
        for row in self._rows(ITEMS):
            of_row = {name: float(row[name]) for name in COST_COLUMNS if name in row}
            if of_row:
                key = (str(row["sample_id"]), int(row["draw"]))
                costs.setdefault(str(row["system"]), {})[key] = of_row
        return costs

    def _rows(self, name: str) -> list[dict[str, Any]]:
        import pandas as pd

        file = self.source / name
        if not file.exists():
            return []
        records = pd.read_parquet(file).to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in records]


def _read(source: Path) -> _Found:
    manifest = read_manifest(source)
    if manifest.status == "running":
        hint = "run its command again to resume it"
        raise InputError("this run has not ended", file=source, hint=hint)
    newest: dict[str, EvalLog] = {}
    for folder in (source / LOGS, source / BASELINE_LOGS):
        for info in list_eval_logs(str(folder), descending=False) if folder.exists() else []:
            log = read_eval_log(info)
            if log.samples:
                newest[log.eval.task_id] = log
    if not newest:
        scored = (source / OUTPUTS).exists()
        hint = "score the file of its outputs with --judge" if scored else "run it again"
        raise InputError("the run has no log with samples", file=source, hint=hint)
    return _Found(source, list(newest.values()), manifest)
