"""A run as a flat list of options: those of the command line, of a config file and of Python.

One model says each option once, with its bounds and its help. From it come the options of
``contrafact run`` and ``score``, the JSON schema that editors check a config file by, and the
``config.yaml`` of every run folder, which repeats the run.
"""

import os
import re
from collections.abc import Container, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from contrafact.errors import InputError
from contrafact.family import task_named, tasks
from contrafact.family.settings import RunSettings, TaskOptions, scoring_fields
from contrafact.files.config import ConfigFile, nearest, render_config
from contrafact.models.secrets import secrets_dropped
from contrafact.options import SAMPLING, TRANSPORT

if TYPE_CHECKING:
    from contrafact.family.run import Prepared

__all__ = [
    "BOUNDS",
    "GENERATION",
    "NOT_IN_A_GRID",
    "SCORING",
    "SOURCES",
    "RunConfig",
    "ScoreConfig",
    "TaskConfig",
    "config_model",
    "config_schema",
    "config_text",
    "dump_config",
    "make_config",
    "model_of",
    "path_options",
    "score_model",
    "task_options",
]


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One name, or a list of names."""

Amount = Annotated[int, Field(ge=1)]


def _option(description: str = "", *, panel: str = "", metavar: str = "", **bounds: Any) -> Any:
    return Field(
        default=None,
        description=description or None,
        json_schema_extra={"metavar": metavar, "panel": panel},
        **bounds,
    )


class TaskConfig(BaseModel):
    """Options of a run of a task, as far as they were given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(description="The task.")

    def given(self) -> dict[str, Any]:
        """Return the settings of every run that were given, by the names of `RunSettings`."""
        set_ = self._given()
        found: dict[str, Any] = {
            "models": set_.get("model"),
            "judges": set_.get("judge"),
            "methods": set_.get("method"),
            **{name: set_.get(name) for name in ("data", "columns", "limit", "seed", "prompts")},
            "generation": {name: set_[name] for name in GENERATION if name in set_},
            "model_args": set_.get("model_args"),
            "judge_args": set_.get("judge_args"),
            "transport": {name: set_[name] for name in BOUNDS if name in set_},
            "shared_cache": set_.get("cache") or None,
        }
        return {name: value for name, value in found.items() if value not in (None, (), {})}

    def own(self) -> dict[str, Any]:
        """Return the task's own options that were given, by name."""
        set_ = self._given()
        return {name: set_[name] for name in task_options(self.task).model_fields if name in set_}

    def _given(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in values.items() if value is not None}


class RunConfig(TaskConfig):
    """The options that every run has; None where one is not given."""

    model: Names | None = _option("Model under test; give several for a grid.", metavar="M")
    judge: Names | None = _option("Judge; several form a panel. None by default.", metavar="J")
    method: Names | None = _option(
        "Method or baseline, or NAME:OPTION=VALUE,OPTION=VALUE; several make a grid.",
        metavar="NAME",
    )
    data: Path | None = _option(
        "Items (JSON, JSONL, CSV, Excel, Parquet), a published set, or hf://OWNER/NAME; bundled "
        "samples if none.",
        metavar="FILE",
    )
    columns: dict[str, str] | None = _option(
        "What FILE calls the columns it is read by.", metavar="WANTED=FOUND,…"
    )
    limit: int | None = _option("Take the first N items.", metavar="N", ge=1)
    out: Path | None = _option("Run folder. [runs/TASK-HASH]", metavar="DIR")
    seed: int | None = _option("Seed of draws and of sampling.", metavar="S", ge=0)
    prompts: Path | None = _option("Another prompt pack.", metavar="DIR")
    preset: str | None = _option("A paper's setting, by name.", metavar="NAME")
    estimate: bool | None = _option("Say calls, tokens and cost, and stop.")
    yes: bool | None = _option("Do not ask before many calls.")
    with_published: bool | None = _option("Show the paper's rows in the report.")
    temperature: float | None = _option(panel=SAMPLING, ge=0)
    top_p: float | None = _option(panel=SAMPLING, ge=0, le=1)
    top_k: int | None = _option(panel=SAMPLING, ge=1)
    max_tokens: int | None = _option(panel=SAMPLING, ge=1)
    frequency_penalty: float | None = _option(panel=SAMPLING)
    presence_penalty: float | None = _option(panel=SAMPLING)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        _option("none, minimal, low, medium, high, xhigh, max", panel=SAMPLING)
    )
    reasoning_tokens: int | None = _option(panel=SAMPLING, ge=1)
    model_args: dict[str, Any] | None = _option(
        "Provider argument of the models under test.", panel=TRANSPORT, metavar="KEY=VALUE"
    )
    judge_args: dict[str, Any] | None = _option(
        "Provider argument of the judges.", panel=TRANSPORT, metavar="KEY=VALUE"
    )
    max_connections: int | None = _option(panel=TRANSPORT, ge=1)
    max_retries: int | None = _option("Per call. [5]", panel=TRANSPORT, ge=0)
    timeout: int | None = _option(
        "Seconds for a call, retries and all. [900]", panel=TRANSPORT, ge=1
    )
    attempt_timeout: int | None = _option("Seconds for one attempt. [300]", panel=TRANSPORT, ge=1)
    batch: int | None = _option("Use the provider's batch mode, N a batch.", panel=TRANSPORT, ge=1)
    cache: bool | None = _option("Reuse answers of earlier runs.", panel=TRANSPORT)

    def settings(self) -> RunSettings:
        """Return the settings of the run, with the defaults of its task and of its preset.

        Raises:
            InputError: As `make_settings`.
        """
        from contrafact.runs.prepare import make_settings

        return make_settings(self.task, self.given(), self.own(), self.preset)

    def prepare(self) -> "Prepared":
        """Return the run, loaded and checked.

        Raises:
            InputError: As `make_settings` and `prepare`.
        """
        from contrafact.runs.prepare import prepare

        return prepare(self.settings())


def _of_every_run(name: str) -> Any:
    """Return the field of an option that scoring shares with every run."""
    return RunConfig.model_fields[name]


class ScoreConfig(TaskConfig):
    """The options of scoring outputs that are there already; None where one is not given."""

    score: Path | None = _option("Outputs that were made elsewhere.", metavar="FILE")
    run: Path | None = _option("A run folder, or a log of Inspect, to judge again.", metavar="RUN")
    system: str | None = _option("The system, where no column has it.", metavar="NAME")
    columns: dict[str, str] | None = _option(
        "What the outputs call otherwise.", metavar="FIELD=COLUMN,…"
    )
    partial: bool | None = _option("Leave out items that there is no output of.")
    judge: Names | None = _of_every_run("judge")
    data: Path | None = _of_every_run("data")
    limit: int | None = _of_every_run("limit")
    out: Path | None = _of_every_run("out")
    prompts: Path | None = _of_every_run("prompts")
    estimate: bool | None = _of_every_run("estimate")
    yes: bool | None = _of_every_run("yes")
    with_published: bool | None = _of_every_run("with_published")

    @model_validator(mode="after")
    def _one_source(self) -> "ScoreConfig":
        """Outputs come from a file or from a run, and a run says itself whose they are."""
        if (self.score is None) == (self.run is None):
            raise ValueError("name either what to score or a run")
        of_files = ("system", "columns", "partial")
        given = [name for name in of_files if getattr(self, name)]
        if self.run is not None and given:
            raise ValueError(f"{given[0]} has no use where a run is judged again")
        return self

    def prepare(self) -> "Prepared":
        """Return the run that scores the outputs, loaded and checked.

        Raises:
            InputError: As `prepare_score` and `prepare_again`.
        """
        from contrafact.runs.again import prepare_again, require_task
        from contrafact.runs.score import prepare_score

        given, own = self.given(), self.own()
        if self.run is not None:
            require_task(self.run, self.task)
            return prepare_again(self.run, given=given, options=own)
        return prepare_score(
            self.task,
            cast(Path, self.score),
            system=self.system,
            columns=given.pop("columns", None),
            partial=bool(self.partial),
            given=given,
            options=own,
        )


def _of_panel(panel: str) -> tuple[str, ...]:
    return tuple(
        name
        for name, field in RunConfig.model_fields.items()
        if cast(dict[str, Any], field.json_schema_extra or {}).get("panel") == panel
    )


GENERATION = (*_of_panel(SAMPLING), "seed")
"""What goes into Inspect's generation settings of the models under test."""

BOUNDS = tuple(name for name in _of_panel(TRANSPORT) if name not in
               ("model_args", "judge_args", "cache"))  # fmt: skip
"""What goes into its settings of transport."""


SCORING = (
    *("judge", "data", "limit", "out", "prompts", "estimate", "yes", "with_published"),
    *("judge_args", *BOUNDS, "cache"),
)
"""The options of every run that mean something where nothing is generated."""

SOURCES = ("score", "run")
"""What says that outputs are scored, and which."""

NOT_IN_A_GRID = ("task", "out", "estimate", "yes", "with_published")
"""What is said of a grid as a whole."""


def task_options(task: str) -> type[TaskOptions]:
    """Return the model of a task's own options.

    Raises:
        InputError: There is no such task.
    """
    found = task_named(task)
    return found.options.load() if found.options else TaskOptions


@cache
def config_model(task: str) -> type[RunConfig]:
    """Return the model of all options of a task's runs: its own besides those of every run.

    Raises:
        InputError: There is no such task.
        ValueError: The task has an option that every run has.
    """
    own = task_options(task).model_fields
    if clash := sorted(own.keys() & RunConfig.model_fields.keys()):
        raise ValueError(f"the task {task} has an option '{clash[0]}' that every run has")
    fields: dict[str, Any] = {
        name: (cast(Any, field.annotation) | None, field) for name, field in own.items()
    }
    return create_model(f"{task} run", __base__=RunConfig, **fields)


@cache
def score_model(task: str) -> type[ScoreConfig]:
    """Return the model of all options of scoring a task's outputs.

    Raises:
        InputError: There is no such task.
    """
    every = {name: RunConfig.model_fields[name] for name in SCORING}
    own = scoring_fields(task_options(task))
    fields: dict[str, Any] = {
        name: (cast(Any, field.annotation) | None, field)
        for name, field in {**every, **own}.items()
        if name not in ScoreConfig.model_fields
    }
    return create_model(f"{task} score", __base__=ScoreConfig, **fields)


def model_of(task: str, names: Container[str]) -> type[RunConfig] | type[ScoreConfig]:
    """Return the model that options are of: those of scoring, if they name what is scored.

    Raises:
        InputError: There is no such task.
    """
    scores = any(name in names for name in SOURCES)
    return score_model(task) if scores else config_model(task)


def path_options(model: type[TaskConfig]) -> list[str]:
    """Return the options that name a file or a folder."""
    fields = model.model_fields
    return [name for name, field in fields.items() if "Path" in str(field.annotation)]


def make_config(
    task: str,
    values: Mapping[str, Any],
    file: ConfigFile | None = None,
    *,
    ours: Container[str] = (),
    grid: Container[str] = (),
) -> RunConfig | ScoreConfig:
    """Return a run's options, checked; those of scoring, if they name what is scored.

    Args:
        task: The task.
        values: The options by name; those that are None count as not given.
        file: The file that they are from, if any, for errors.
        ours: Those of them that are not from the file.
        grid: Those of them that are from the file's grid.

    Raises:
        InputError: There is no such task or option, or a value is not allowed.
    """
    given = {name: value for name, value in values.items() if value is not None}
    model = model_of(task, given)

    def problem(where: Sequence[object], message: str, hint: str) -> InputError:
        if file is None or where[0] in ours:
            return InputError(message, hint=hint)
        return file.problem(("grid", *where) if where[0] in grid else where, message, hint)

    known = [name for name in model.model_fields if name != "task"]
    for name in given:
        if name not in known and name in config_model(task).model_fields:
            message = f"{name} is of what generates, and nothing is generated here"
            raise problem((name,), message, "leave it out")
        if name not in known:
            raise problem((name,), f"{task} has no option '{name}'", nearest(name, known))
    try:
        return model.model_validate({**given, "task": task})
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:  # what is wrong with several together
            raise problem(SOURCES[:1], message, "leave one of them out") from None
        name = str(first["loc"][0])
        raise problem(
            first["loc"],
            f"{name}: {message[:1].lower()}{message[1:]} (it is {given[name]!r:.60})",
            "change it",
        ) from None


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of config files, by which editors check and complete them."""
    branches = [_branch(name, config_model(name)) for name in tasks()]
    branches += [_scoring_branch(name) for name in tasks()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "contrafact run",
        "description": "The options of a run; `contrafact run --config FILE` runs it.",
        "type": "object",
        "required": ["task"],
        "properties": {
            "task": {"enum": list(tasks()), "description": "The task."},
        },
        "oneOf": branches,
    }


def _scoring_branch(task: str) -> dict[str, Any]:
    """Return the schema of scoring: what is scored is named, once or by the grid."""
    named = [{"required": [name]} for name in SOURCES]
    by_grid = {"required": ["grid"], "properties": {"grid": {"oneOf": named}}}
    return {**_branch(task, score_model(task)), "title": f"{task}, scored",
            "oneOf": [*named, by_grid]}  # fmt: skip


def _branch(task: str, model: type[TaskConfig]) -> dict[str, Any]:
    options = {
        name: _plain(schema) for name, schema in model.model_json_schema()["properties"].items()
    }
    several = {
        name: {"type": "array", "minItems": 1, "items": schema}
        for name, schema in options.items()
        if name not in NOT_IN_A_GRID
    }
    grid = {
        "description": "Options and the values each takes: every combination is a run.",
        "type": "object",
        "properties": several,
        "additionalProperties": False,
    }
    return {
        "title": task,
        "properties": {**options, "grid": grid, "task": {"const": task}},
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field's schema without what only help pages need, and without null."""
    kept = {
        key: value
        for key, value in schema.items()
        if key not in ("title", "default", "metavar", "panel", "format")
    }
    kinds = [one for one in kept.pop("anyOf", ()) if one.get("type") != "null"]
    kinds = [{k: v for k, v in one.items() if k != "format"} for one in kinds]
    if len(kinds) == 1:
        kept |= kinds[0]
    elif kinds:
        kept["anyOf"] = kinds
    return kept


def config_text(
    settings: RunSettings, folder: Path, source: Mapping[str, Any] | None = None
) -> str:
    """Return the ``config.yaml`` that repeats a run: every option but defaults, and no secrets.

    Of a prompt pack it names the run's own copy.

    Args:
        settings: The settings of the run.
        folder: The run folder, in which the file is to stand; its paths are relative to it.
        source: Where the outputs come from that it scores, as `GivenOutputs.source` has it; none
            if it makes its own.
    """
    from contrafact.runs.folder import PROMPTS

    own = {
        name: value
        for name, value in settings.options
        if value != type(settings.options).model_fields[name].default
    }
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
        "prompts": folder / PROMPTS if settings.prompts and (folder / PROMPTS).exists() else None,
        **{name: "none" if value is None else value for name, value in own.items()},
        **settings.generation,
        **{name: secrets_dropped(given) for name, given in args.items()},
        **settings.transport,
        "cache": settings.shared_cache or None,
    }
    if source is not None:
        known = {"task", *source, *score_model(settings.task).model_fields}
        own_names = {name: one for name, one in values.items() if name in known}
        values = {**own_names, **_named_source(source)}
    left_out = [
        name for name, given in args.items() if name in values and secrets_dropped(given) != given
    ]
    head = (
        "# The run of this folder; contrafact run --config config.yaml --out DIR repeats it.\n"
        "# Paths are relative to this file.\n"
    )
    if settings.preset:
        head += f"# The preset {settings.preset} filled in settings; they are all here.\n"
    head += "".join(f"# Left out of {name}: what looks like a secret.\n" for name in left_out)
    return head + dump_config(values, folder)


def _named_source(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what says which outputs are scored, those that were downloaded by their name."""
    scored = source.get("score")
    return {**source, "score": _named_data(scored)} if isinstance(scored, str) else {**source}


def _named_data(origin: str) -> str:
    """Return what names data that were downloaded; nothing for a file."""
    return origin if origin.startswith("hf:") else re.sub("@[^:]*", "", origin)


def dump_config(values: Mapping[str, Any], folder: Path) -> str:
    """Return options as YAML; what is None or empty is left out, paths are relative to a folder."""
    return render_config(
        {
            name: os.path.relpath(value, folder) if isinstance(value, Path) else value
            for name, value in values.items()
            if value not in (None, [], {}, ())
        }
    )
