"""A run as a flat list of options: those of the command line, of a config file and of Python.

One model says each option once, with its bounds and its help. From it come the options of
``contrafact run``, the JSON schema that editors check a config file by, and the ``config.yaml`` of
every run folder, which repeats the run.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.settings import RunSettings, TaskOptions
from contrafact.files.config import ConfigFile, nearest
from contrafact.runs.prepare import make_settings

__all__ = [
    "RunConfig",
    "config_model",
    "make_config",
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

SAMPLING = "How the model under test writes"
TRANSPORT = "How calls are made"


def _option(description: str = "", *, panel: str = "", metavar: str = "", **bounds: Any) -> Any:
    return Field(
        default=None,
        description=description or None,
        json_schema_extra={"metavar": metavar, "panel": panel},
        **bounds,
    )


class RunConfig(BaseModel):
    """The options that every run has; None where one is not given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(description="The task.")
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
    columns: dict[str, str] | None = _option("What FILE calls the columns it is read by.")
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
        set_ = {name: value for name in self.model_fields_set
                if (value := getattr(self, name)) is not None}  # fmt: skip
        given: dict[str, Any] = {
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
        given = {name: value for name, value in given.items() if value not in (None, (), {})}
        own = {name: set_[name] for name in task_options(self.task).model_fields if name in set_}
        return make_settings(self.task, given, own, self.preset)


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
    fields: dict[str, Any] = {name: (field.annotation | None, field) for name, field in own.items()}
    return create_model(
        f"{task} run",
        __base__=RunConfig,
        task=(Literal[task], Field(description="The task.")),
        **fields,
    )


def make_config(task: str, values: Mapping[str, Any], file: ConfigFile | None = None) -> RunConfig:
    """Return a run's options, checked.

    Args:
        task: The task.
        values: The options by name; those that are None count as not given.
        file: The file that they are from, if any, for errors.

    Raises:
        InputError: There is no such task or option, or a value is not allowed.
    """
    model = config_model(task)
    known = [name for name in model.model_fields if name != "task"]
    given = {name: value for name, value in values.items() if value is not None}
    for name in given:
        if name not in model.model_fields:
            problem, hint = f"{task} has no option '{name}'", nearest(name, known)
            raise (
                InputError(problem, hint=hint)
                if file is None
                else file.problem((name,), problem, hint)
            )
    try:
        return model.model_validate({**given, "task": task})
    except ValidationError as error:
        first = error.errors()[0]
        where = [str(part) for part in first["loc"]]
        said = first["msg"].removeprefix("Value error, ")
        problem = f"{where[0]}: {said[:1].lower()}{said[1:]} (it is {given[where[0]]!r:.60})"
        if file is None:
            raise InputError(problem, hint="change it") from None
        raise file.problem(where, problem, "change it") from None
