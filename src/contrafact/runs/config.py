"""A run as a flat set of options, the same on the command line, in config files and in Python.

One model defines each option once, with its bounds and its help. From it come the options of
``contrafact run`` and ``score``, config files, and the ``config.yaml`` of every run folder, which
repeats the run.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo

from contrafact.corpus.datasets import datasets
from contrafact.errors import InputError, value_problem
from contrafact.family import task_named
from contrafact.family.settings import RunSettings, Sampling, TaskOptions, Transport, scoring_fields
from contrafact.files.config import ConfigFile, nearest, render_config
from contrafact.options import NO_NUMBER, is_no_number, option, option_problem
from contrafact.redaction import LEFT_OUT, secrets_dropped, without_secrets

__all__ = [
    "PROMPTS",
    "Command",
    "RunConfig",
    "Source",
    "config_model",
    "config_text",
    "file_config",
    "make_config",
    "score_model",
    "task_options",
]


class Command(BaseModel):
    """The options of every command that runs or scores, besides a run's settings."""

    model_config = ConfigDict(frozen=True)

    out: Path | None = option(None, "Run folder. [runs/TASK-HASH]", metavar="DIR")
    estimate: bool = option(False, "Say calls, tokens and cost, and stop.")
    dry_run: bool = option(False, "Check everything, call no model, and stop.")
    yes: bool = option(False, "Do not ask before many calls.", flags=("--yes", "-y"))
    with_published: bool = option(False, "Show the paper's rows in the report.")


PROMPTS = "prompts"
"""The folder with the templates that a run used, which is itself a prompt pack."""


class Source(BaseModel):
    """The existing outputs to score: a file's or a finished run's."""

    model_config = ConfigDict(frozen=True)

    score: Path | None = option(
        None,
        "Outputs (JSON, JSONL, CSV, Parquet, XLSX), a published set, or hf://OWNER/NAME.",
        metavar="FILE",
    )
    run: Path | None = option(None, "A run folder, to judge again.", metavar="RUN")
    system: str | None = option(
        None, "The system, where no column has it. [the file's name]", metavar="NAME"
    )
    columns: dict[str, str] | None = option(
        None, "The file's columns with other names, e.g. system=run_name.", metavar="FIELD=COLUMN,…"
    )
    partial: bool = option(False, "Leave out items that the file has no output of.")

    @model_validator(mode="after")
    def _one_source(self) -> "Source":
        if (self.score is None) == (self.run is None):
            raise ValueError("name either a file to score or a run")
        of_files = ("system", "columns", "partial")
        without_use = [name for name in of_files if getattr(self, name)]
        if self.run is not None and without_use:
            raise ValueError(f"{without_use[0]} has no effect when a run is judged again")
        return self


def _settings_fields() -> Iterator[tuple[str, str, FieldInfo, str]]:
    for name, field in RunSettings.model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict):
            yield str(extra["option"] or name), name, field, str(extra["panel"])


_FIELDS = {name: field for name, field, _, _ in _settings_fields()}

_EVERY_RUN: Mapping[str, FieldInfo] = {
    **{name: field for name, _, field, panel in _settings_fields() if not panel},
    **Command.model_fields,
    **Sampling.model_fields,
    **{name: field for name, _, field, panel in _settings_fields() if panel},
    **Transport.model_fields,
}
"""The options of every run, by name, in the order of the help page."""

SCORING = (
    *("judge", "data", "limit", "out", "prompts", "estimate", "dry_run", "yes", "with_published"),
    *("judge_args", *Transport.model_fields, "cache"),
)
"""The options of every run that also apply when nothing is generated."""

SOURCES = ("score", "run")
"""The options that name existing outputs to score."""


class RunConfig(BaseModel):
    """The options of a run as the user gave them, flat and each checked by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(description="The task.")

    @property
    def command(self) -> Command:
        return Command(**{n: v for n, v in self.given().items() if n in Command.model_fields})

    @property
    def source(self) -> Source | None:
        """The existing outputs to score; None if the run makes its own."""
        given = self.given()
        if not given.keys() & SOURCES:
            return None
        return Source(**{n: v for n, v in given.items() if n in Source.model_fields})

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name."""
        names = [name for name in type(self).model_fields if name in self.model_fields_set]
        values = {name: getattr(self, name) for name in names if name != "task"}
        return {name: value for name, value in values.items() if value not in (None, (), {})}

    def values(self) -> dict[str, Any]:
        """Return the options by the fields of `RunSettings`, with its groups nested."""
        given, of_task = self.given(), task_options(self.task).model_fields
        groups = {
            "options": of_task,
            "generation": (*Sampling.model_fields, "seed"),
            "transport": Transport.model_fields,
        }
        grouped = {
            group: {name: given[name] for name in names if name in given}
            for group, names in groups.items()
        }
        if self.source is not None:
            given.pop("columns", None)  # these are the outputs' columns
        every = {_FIELDS[name]: value for name, value in given.items() if name in _FIELDS}
        return {**every, **{group: values for group, values in grouped.items() if values}}

    def settings(self) -> RunSettings:
        """Return the settings of the run, including its task's defaults and its preset."""
        from contrafact.runs.prepare import make_settings

        values = self.values()
        options, preset = values.pop("options", {}), values.pop("preset", None)
        return make_settings(self.task, values, options, preset)


def task_options(task: str) -> type[TaskOptions]:
    entry = task_named(task)
    return entry.options.load() if entry.options else TaskOptions


@cache
def config_model(task: str) -> type[RunConfig]:
    """Return the model of all options of a task's runs: the task's own and those of every run."""
    of_task = task_options(task).model_fields
    if clash := sorted(of_task.keys() & _EVERY_RUN.keys()):
        raise ValueError(f"the task {task} redefines the option '{clash[0]}' of every run")
    return _model(f"{task} run", {**_EVERY_RUN, **of_task})


@cache
def score_model(task: str) -> type[RunConfig]:
    every = {name: _EVERY_RUN[name] for name in SCORING}
    of_task = scoring_fields(task_options(task))
    return _model(f"{task} score", {**Source.model_fields, **every, **of_task})


def _model(name: str, options: Mapping[str, FieldInfo]) -> type[RunConfig]:
    fields: dict[str, Any] = {
        option: (cast(Any, field.annotation) | None, field) for option, field in options.items()
    }
    return create_model(name, __base__=RunConfig, **fields)


def model_of(task: str, names: Container[str]) -> type[RunConfig]:
    """Return the model for a set of options: the scoring model if they name outputs to score."""
    scores = any(name in names for name in SOURCES)
    return score_model(task) if scores else config_model(task)


def make_config(
    task: str,
    values: Mapping[str, Any],
    file: ConfigFile | None = None,
    *,
    ours: Container[str] = (),
) -> RunConfig:
    """Return a run's checked options, or those of scoring if they name outputs to score.

    Args:
        file: The file that they come from, which errors name.
        ours: The options that do not come from it.
    """
    given = {name: value for name, value in values.items() if value is not None}
    model = model_of(task, given)

    def problem(where: Sequence[object], message: str, hint: str) -> InputError:
        if file is None or where[0] in ours:
            return InputError(message, hint=hint)
        return file.problem(where, message, hint)

    names = [name for name in model.model_fields if name != "task"]
    for name in given:
        if name not in names and name in config_model(task).model_fields:
            message = f"{name} is an option for generating, and nothing is generated here"
            raise problem((name,), message, "leave it out")
        if name not in names:
            raise problem((name,), f"{task} has no option '{name}'", nearest(name, names))
    try:
        config = model.model_validate({**given, "task": task})
        _ = config.source
    except ValidationError as error:
        first = error.errors()[0]
        message = value_problem(first)
        if not first["loc"]:  # an error in a combination of options
            raise problem(SOURCES[:1], message, "leave one of them out") from None
        name = str(first["loc"][0])
        wrong = option_problem(name, message, given[name])
        raise problem(first["loc"], wrong.problem, "change it") from None
    for name, value in given.items():
        if is_no_number(value, getattr(config, name)):
            raise problem((name,), option_problem(name, NO_NUMBER, value).problem, "change it")
    return config


def file_config(file: ConfigFile, given: Mapping[str, Any], task: str) -> RunConfig:
    """Return the checked options of a config file with resolved paths; those given replace them."""
    from contrafact.prompts import bundled_packs  # imports Jinja2

    values = dict(file.values)
    if (named := values.pop("task", task)) != task:
        problem = f"is a config of {named}, not of {task}"
        raise file.problem(("task",), problem, f"use `contrafact run {named}`")
    fields = model_of(task, values).model_fields
    for name, value in values.items():
        if name in fields and isinstance(value, str) and "Path" in str(fields[name].annotation):
            named = name == "prompts" and value in bundled_packs()
            values[name] = Path(value) if named else _path(file, value)
    return make_config(task, {**values, **given}, file, ours=given)


def _path(file: ConfigFile, given: str) -> Path:
    """Return a path relative to the config file's folder; other names of data are unchanged."""
    path = file.path.parent / Path(given).expanduser()
    dataset = given.partition(":")[0].strip().lower().replace("/", "-")
    named = given == "-" or given.startswith("hf:") or (dataset in datasets() and not path.exists())
    return Path(given) if named else path


def config_text(
    settings: RunSettings, folder: Path, source: Mapping[str, Any] | None = None
) -> str:
    """Return the ``config.yaml`` that repeats a run, without defaults and secrets."""
    from contrafact.prompts import bundled_packs  # imports Jinja2

    task_values = {
        name: value
        for name, value in settings.options
        if value != type(settings.options).model_fields[name].default
    }
    prompts = settings.prompts and str(settings.prompts)
    args = {"model_args": settings.model_args, "judge_args": settings.judge_args}
    values = {
        "task": settings.task,
        **_named_source(source or {}),
        "model": list(settings.models),
        "judge": list(settings.judges),
        "method": list(settings.methods),
        "data": _named_data(settings.data_source) or settings.data,
        "columns": settings.columns,
        "limit": settings.limit,
        "seed": settings.generation.get("seed", settings.seed or None),
        "prompts": prompts if prompts in (*bundled_packs(), None) else folder / PROMPTS,
        **{name: "none" if value is None else value for name, value in task_values.items()},
        **settings.generation,
        **{name: _repeatable(given) for name, given in args.items()},
        **settings.transport,
        "cache": settings.shared_cache or None,
    }
    if source is not None:
        kept_names = {"task", *source, *SCORING, *scoring_fields(type(settings.options))}
        own_names = {name: one for name, one in values.items() if name in kept_names}
        values = {**own_names, **_named_source(source)}
    left_out = [
        name for name, given in args.items() if name in values and _repeatable(given) != given
    ]
    head = (
        "# The run of this folder; contrafact run --config config.yaml --out DIR repeats it.\n"
        "# Paths are relative to this file.\n"
    )
    if settings.preset:
        head += f"# The preset {settings.preset} filled in settings; they are all here.\n"
    head += "".join(f"# Left out of {name}: what looks like a secret.\n" for name in left_out)
    return head + render_config(
        {
            name: os.path.relpath(value, folder) if isinstance(value, Path) else value
            for name, value in values.items()
            if value not in (None, [], {}, ())
        }
    )


def _repeatable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provider's arguments without secrets and without addresses that contained any."""
    kept = secrets_dropped(without_secrets(dict(arguments)))
    return {name: value for name, value in kept.items() if LEFT_OUT not in str(value)}


def _named_source(source: Mapping[str, Any]) -> dict[str, Any]:
    scored = source.get("score")
    return {**source, "score": _named_data(scored)} if isinstance(scored, str) else {**source}


def _named_data(origin: str) -> str:
    return origin if origin.startswith("hf:") else re.sub("@[^:]*", "", origin)
