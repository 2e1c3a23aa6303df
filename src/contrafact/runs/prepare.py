"""Load and check everything that a run needs, before the first call of a model."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError, value_problem
from contrafact.family import families, task_named
from contrafact.family.manifest import DataRecord, file_record, hash_file, new_manifest
from contrafact.family.run import BUNDLED, Prepared, TaskRun, open_inputs, refuse, require_model
from contrafact.family.settings import RunSettings, TaskOptions, conditioned
from contrafact.files.fields import checked_columns
from contrafact.files.workbooks import split_sheet
from contrafact.models.opening import NO_MODEL

__all__ = ["BUNDLED", "Prepared", "load_preset", "make_settings", "prepare", "presets"]


def make_settings(
    task: str, given: Mapping[str, Any], options: Mapping[str, Any], preset: str | None = None
) -> RunSettings:
    """Return the checked settings of a run, with the defaults of its task."""
    of_task = task_named(task)
    model = of_task.options.load() if of_task.options else TaskOptions
    values: dict[str, Any] = dict(load_preset(preset))
    for name in ("needs", "notes"):
        values.pop(name, None)
    task_values = {name: values.pop(name) for name in [*values] if name in model.model_fields}
    if preset and values.pop("task", task) != task:
        raise InputError(f"the preset '{preset}' is not for {task}", hint="leave one of them out")
    values |= given
    task_values |= options
    if task_values.get("fluency_model") == "none":
        task_values["fluency_model"] = None
    if values.get("data") is not None and str(values["data"]) != "-":
        source = data_source(values["data"])
        values |= {"data": source.path, "data_source": source.origin}
    values.setdefault("methods", of_task.default_methods)
    for name in ("models", "judges", "methods"):
        values[name] = tuple(dict.fromkeys(values.get(name, ())))
    for name, value in (("data", values.get("data")), *task_values.items()):
        if isinstance(value, Path) and str(value) == "-":
            raise InputError(
                "a run cannot read standard input",
                hint=f"name a file with --{name.replace('_', '-')}",
            )
    try:
        return RunSettings(task=task, options=model(**task_values), preset=preset, **values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the setting '{where}': {value_problem(first)}") from None


def presets() -> dict[str, Mapping[str, Any]]:
    return {
        name: preset
        for family in families().values()
        if family.presets
        for name, preset in family.presets.load().items()
    }


def load_preset(name: str | None) -> Mapping[str, Any]:
    """Return a preset's settings for a run and its task, by name; empty without a preset."""
    if name is None:
        return {}
    if name not in (every := presets()):
        raise InputError(
            f"there is no preset '{name}'", hint=f"use one of {', '.join(sorted(every))}"
        )
    return every[name]


def prepare(settings: RunSettings) -> Prepared:
    """Load and check everything that a run names: data, examples, prompts, methods."""
    for name, hint in load_preset(settings.preset).get("needs", {}).items():
        if getattr(settings, name) is None:
            raise InputError(f"the preset '{settings.preset}' needs --{name}", hint=hint)
    task = task_named(settings.task)
    run = task.run.load()
    # Methods are written in canonical form, since their options are part of the run's identity.
    specs = tuple(
        dict.fromkeys(run.methods.spec(name, settings.generation) for name in settings.methods)
    )
    # Inspect has no model named "none", so baselines may use that name.
    models = tuple(name for name in settings.models if name not in ("none", NO_MODEL))
    settings = settings.model_copy(update={"methods": specs, "models": models})
    baselines = tuple(name for name in specs if run.methods.asks_none(name))
    asking = tuple(name for name in specs if name not in baselines)
    if asking:
        require_model(settings, run.methods)
    refuse([("--model", bool(models) and not asking, "the baselines named ask no model")])
    run.check(settings, asking)
    settings = settings.model_copy(update={"columns": _columns(run, settings)})
    settings, settled = run.settled(settings)
    inputs = open_inputs(run, settings)
    items, pack = inputs.items, inputs.pack
    asked = {name: one for name, one in inputs.methods.items() if name not in baselines}
    pool_path, pool = inputs.pool
    shows = any(method.shots for method in asked.values())
    _refuse_examples(settings, shows)
    judging = run.judging(pack, settings) if settings.judges else None
    limited = items[: settings.limit]
    notes = [*inputs.notes, *settled]
    if settings.limit is not None and settings.limit > len(items):
        notes.append(f"--limit {settings.limit:,} exceeds its size: all {len(items):,} are taken")
    records: dict[str, DataRecord] = {}
    if (shots_from := settings.option("shots_from")) is not None:
        records["shots_from"] = file_record(shots_from, len(pool))
    data = (
        file_record(settings.data, len(limited), notes, source=settings.data_source)
        if settings.data
        else file_record(run.bundled, len(limited), notes, name=BUNDLED)
    )
    contents = _contents(settings, pool_path if shows else None)
    return Prepared(
        run=run,
        settings=settings,
        manifest=new_manifest(settings, run.version, contents, data=data, files=records, pack=pack),
        pack=pack,
        items=limited,
        units=run.units(limited),
        methods=asked,
        report=task.report,
        baselines={name: inputs.methods[name] for name in baselines},
        judging=judging,
    )


def _columns(run: TaskRun[Any, Any], settings: RunSettings) -> dict[str, str]:
    if not settings.columns:
        return {}
    takes = "columns" in inspect.signature(run.load).parameters
    refuse(
        [
            ("--columns", settings.data is None, "no file is named with --data"),
            ("--columns", not takes, f"{settings.task} reads its files as they are"),
        ]
    )
    return checked_columns(settings.columns, run.fields)


def _refuse_examples(settings: RunSettings, shows: bool) -> None:
    filled_in = load_preset(settings.preset)
    for option, is_set in (
        ("--shots", bool(settings.option("shots"))),
        ("--draws", settings.option("draws", 1) > 1),
        ("--shots-from", settings.option("shots_from") is not None),
    ):
        name = option.removeprefix("--").replace("-", "_")
        # A preset may fill this in for methods that the user then overrode; that is no mistake.
        if name in filled_in and settings.option(name) in (filled_in[name], (filled_in[name],)):
            continue
        if is_set and not shows:
            raise InputError(
                f"{option} is for worked examples, and no method here shows any",
                hint=f"add a method that does, or leave {option} out",
            )


def _contents(settings: RunSettings, pool: Path | None) -> dict[str, Any]:
    contents: dict[str, Any] = {
        # Another sheet of a workbook, or other columns, give other items from the same bytes.
        "sheet": split_sheet(settings.data or "")[1],
        "columns": dict(settings.columns),
        "shots": None if pool is None else hash_file(pool),
    }
    if (methods := conditioned(settings)) != settings.methods:
        contents["conditioned"] = methods
    return {name: value for name, value in contents.items() if value}
