"""What a run is asked to do: the settings of every run, the options of a task, and their hash."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator
from pydantic.fields import FieldInfo

from contrafact.errors import InputError
from contrafact.family import families, family_named, family_of_task
from contrafact.judges.verifier import VERIFIER, is_verifier
from contrafact.models.gguf import inspect_name, plain_name
from contrafact.models.secrets import secrets_dropped

__all__ = [
    "DEFAULT_FLUENCY_MODEL",
    "FluencyOptions",
    "RunSettings",
    "ShotOptions",
    "StructuredOptions",
    "TaskOptions",
    "check_verifiers",
    "flat_settings",
    "identity",
    "judge_names",
    "scoring_fields",
]

DEFAULT_FLUENCY_MODEL = "smollm2-135m"


class TaskOptions(BaseModel):
    """The options of a task, besides those that every run has.

    Each field is an option of ``contrafact run``: its name with hyphens, its description as help,
    ``json_schema_extra={"metavar": …}`` as what stands for its value. A field that is a path names
    a file, whose contents count for the run's identity, not its name. One that matters only while
    outputs are made has ``"generation": True`` there: scoring outputs does not offer it. One that
    names a model which methods may ask besides has ``"role": ROLE`` there, Inspect's name for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def helpers(self) -> dict[str, str]:
        """The models that methods may ask besides the one under test, by their role."""
        return {
            str(extra["role"]): value
            for name, field in type(self).model_fields.items()
            if isinstance(extra := field.json_schema_extra, dict)
            and "role" in extra
            and (value := getattr(self, name)) is not None
        }


def scoring_fields(model: type[TaskOptions]) -> dict[str, FieldInfo]:
    """Return the options of a task that matter where outputs are scored, not made."""
    return {
        name: field
        for name, field in model.model_fields.items()
        if not (
            isinstance(field.json_schema_extra, dict) and "generation" in field.json_schema_extra
        )
    }


class ShotOptions(TaskOptions):
    """Options of tasks whose methods may show worked examples."""

    shots: int = Field(
        default=0,
        ge=0,
        description="Examples per prompt; 0 lets the method decide.",
        json_schema_extra={"metavar": "K", "generation": True},
    )
    draws: int = Field(
        default=1,
        ge=1,
        description="Random draws of the examples.",
        json_schema_extra={"metavar": "D", "generation": True},
    )
    shots_from: Path | None = Field(
        default=None,
        description="Pool of examples; our own if none.",
        json_schema_extra={"metavar": "FILE", "generation": True},
    )


class StructuredOptions(TaskOptions):
    """Options of tasks that ask for JSON."""

    structured: bool = Field(default=True, description="Ask providers for JSON by schema.")


class FluencyOptions(TaskOptions):
    """Options of tasks whose texts are scored for fluency."""

    fluency_model: str | None = Field(
        default=DEFAULT_FLUENCY_MODEL,
        description="Scores perplexity: a name, a folder, or none.",
        json_schema_extra={"metavar": "F"},
    )

    @field_validator("fluency_model")
    @classmethod
    def _one_name(cls, name: str | None) -> str | None:
        """Weights have one name, however they are given, so that a run is the same run."""
        return None if name is None else plain_name(name)


def judge_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return judges' names as Inspect knows them, each once.

    ``rules`` is ``verifier/rules``.
    """
    known = {name for family in families().values() for name in family.verifiers}

    def one_name(name: str) -> str:
        bare = name.removeprefix(VERIFIER)
        if bare in known:
            return f"{VERIFIER}{bare}"
        return inspect_name(name)

    return tuple(dict.fromkeys(map(one_name, names)))


def check_verifiers(family: str, judges: Sequence[str]) -> None:
    """Check that a family has the verifiers among its judges.

    Raises:
        InputError: It has no verifier of that name.
    """
    has = family_named(family).verifiers
    for judge in judges:
        name = judge.removeprefix(VERIFIER)
        if judge.startswith(VERIFIER) and name not in has:
            raise InputError(
                f"{family} has no verifier '{name}'",
                hint=f"use {', '.join(has)}, or a model" if has else "name a model",
            )


class RunSettings(BaseModel):
    """One run: a task, a grid of models and methods, and how to call them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(description="The task.")
    models: tuple[str, ...] = Field(default=(), description="Models under test, Inspect names.")
    judges: tuple[str, ...] = Field(default=(), description="Judges; several form a panel.")
    methods: tuple[str, ...] = Field(default=(), description="Methods, by name or import path.")
    data: Path | None = Field(default=None, description="File of items; bundled samples if none.")
    data_source: str = Field(
        default="", description="Where the data were downloaded from, with the commit."
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="By the name that is wanted, what the file calls a column.",
    )
    limit: int | None = Field(default=None, ge=1, description="Take the first so many items.")
    seed: int = Field(default=0, ge=0, description="Seed of draws and, if given, of sampling.")
    prompts: Path | None = Field(default=None, description="Folder of the prompt pack.")
    options: SerializeAsAny[TaskOptions] = Field(
        default_factory=TaskOptions, description="The task's own options."
    )
    generation: dict[str, Any] = Field(
        default_factory=dict, description="Inspect's generation settings for the models under test."
    )
    model_args: dict[str, Any] = Field(
        default_factory=dict, description="Provider arguments of the models under test."
    )
    judge_args: dict[str, Any] = Field(
        default_factory=dict, description="Provider arguments of the judges."
    )
    transport: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings that change no answer: connections, retries, timeouts, batch mode.",
    )
    shared_cache: bool = Field(
        default=False, description="Reuse answers of earlier runs, and keep these for later ones."
    )
    preset: str | None = Field(default=None, description="The preset that filled in settings.")

    @field_validator("models")
    @classmethod
    def _one_name(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """A model has one name, however it is given, so that a run is the same run."""
        return tuple(dict.fromkeys(map(inspect_name, names)))

    @field_validator("judges")
    @classmethod
    def _one_judge(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return judge_names(names)

    @model_validator(mode="after")
    def _own_verifiers(self) -> Self:
        named = [*self.judges, *self.options.helpers.values()]
        if any(map(is_verifier, named)):
            check_verifiers(family_of_task(self.task).name, named)
        return self

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option of the task, or the default where the task has none of that name."""
        return getattr(self.options, name, default)


# What moves bytes about but changes no answer; a rerun may choose it anew. Files count by content.
_NOT_IDENTITY = {
    "transport",
    "shared_cache",
    "preset",
    "data",
    "data_source",
    "columns",
    "prompts",
    "options",
}


def flat_settings(settings: RunSettings) -> dict[str, Any]:
    """Return the settings as JSON, the task's options among the others, without paths of files."""
    common = settings.model_dump(mode="json", exclude={"data", "data_source", "prompts", "options"})
    return {**common, **_without_paths(settings.options)}


def identity(settings: RunSettings, contents: Mapping[str, Any]) -> str:
    """Return 12 hex digits that are equal for runs whose results are meant to be equal.

    Options that have their default do not count, so that a new option changes no identity of a run
    that does not use it; nor do secrets, so that a run is the same under another key.

    Args:
        settings: The settings.
        contents: Hashes of what they name: data, other files, templates used, task version.
    """
    common = secrets_dropped(settings.model_dump(mode="json", exclude=_NOT_IDENTITY))
    options = {
        name: value
        for name, value in _without_paths(settings.options).items()
        if value != type(settings.options).model_fields[name].default
    }
    known = {"settings": common, "options": options, "contents": dict(contents)}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]


def _without_paths(options: TaskOptions) -> dict[str, Any]:
    kept = {name for name, value in options if not isinstance(value, Path)}
    fields = type(options).model_fields
    paths = {name for name in fields if "Path" in str(fields[name].annotation)}
    return options.model_dump(mode="json", include=kept - paths)
