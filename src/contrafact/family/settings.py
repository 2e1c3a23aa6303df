"""The settings of a run, the options of a task, and their hash."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from contrafact.errors import InputError
from contrafact.family import families, family_named, family_of_task
from contrafact.judges.verifier import VERIFIER, is_verifier
from contrafact.models.gguf import inspect_name, plain_name
from contrafact.options import SAMPLING, TRANSPORT, CallOptions, is_no_number, option
from contrafact.redaction import secrets_dropped

__all__ = [
    "SHOTS",
    "UNDER",
    "ConfigPart",
    "FluencyOptions",
    "LevelOptions",
    "Names",
    "ReaderOptions",
    "RunSettings",
    "Sampling",
    "ShotOptions",
    "StructuredOptions",
    "TaskOptions",
    "Transport",
    "check_verifiers",
    "conditioned",
    "conditions",
    "flat_settings",
    "identity",
    "judge_names",
    "scoring_fields",
    "with_reader",
]

DEFAULT_FLUENCY_MODEL = "smollm2-135m"


class ConfigPart(BaseModel):
    """Keys of a settings file; an unknown key, or true or false for a number, is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _no_number(cls, value: object, read: ValidatorFunctionWrapHandler) -> object:
        found = read(value)
        if is_no_number(value, found):
            raise ValueError("must not be true or false")
        return found


class TaskOptions(BaseModel):
    """The options of a task, besides those that every run has.

    Each field is an option of ``contrafact run``: its name with hyphens, its description as help,
    and ``json_schema_extra={"metavar": …}`` as its metavar. A field that is a path names a file;
    the file's contents, not its name, count for the run's identity. A field that matters only for
    making outputs has ``"generation": True`` there, and `contrafact score` does not offer it.

    A field with several values and ``"condition": USUAL`` there is a condition of methods, such as
    how the request is put: every method is run under each value (`conditioned`). USUAL means the
    same as leaving the option out, so it does not change a run's identity.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


def scoring_fields(model: type[TaskOptions]) -> dict[str, FieldInfo]:
    """Return the options of a task that matter when outputs are scored rather than made."""
    return {
        name: field
        for name, field in model.model_fields.items()
        if not (
            isinstance(field.json_schema_extra, dict) and "generation" in field.json_schema_extra
        )
    }


def conditions(model: type[TaskOptions]) -> dict[str, str]:
    """Return a task's conditions of methods, each with its usual value."""
    extras = {name: field.json_schema_extra for name, field in model.model_fields.items()}
    return {
        name: str(extra["condition"])
        for name, extra in extras.items()
        if isinstance(extra, dict) and "condition" in extra
    }


UNDER = " · "
"""The sign between a method and its condition in the method's name."""

SHOTS = " shots"
"""What follows the number of examples there."""


def conditioned(settings: "RunSettings") -> tuple[str, ...]:
    """Return a run's methods under each of its conditions: ``METHOD``, ``METHOD · VALUE``."""
    methods = settings.methods
    for name, usual in conditions(type(settings.options)).items():
        values = settings.option(name) or (usual,)
        ends = ["" if value == usual else f"{UNDER}{value}" for value in values]
        methods = tuple(f"{method}{end}" for method in methods for end in ends)
    return methods


def _counts(found: tuple[int, ...]) -> tuple[int, ...]:
    if min(found, default=0) < 0:
        raise ValueError("give 0 or more")
    return () if {*found} == {0} else tuple(dict.fromkeys(found))


Counts = Annotated[
    tuple[int, ...],
    BeforeValidator(lambda given: (given,) if isinstance(given, int) else given),
    AfterValidator(_counts),
    PlainSerializer(lambda counts: counts[0] if len(counts) == 1 else list(counts)),
]
"""Numbers, each once; one number may stand for itself."""


class ShotOptions(TaskOptions):
    """Options of tasks whose methods may show worked examples."""

    shots: Counts = Field(
        default=(),
        description="Examples per prompt, 0 or none given for what the method takes; several make "
        "a grid.",
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


class LevelOptions(StructuredOptions):
    """Options of exams that also have hard items."""

    level: Literal["easy", "hard"] = Field(
        default="easy",
        exclude=True,  # it says what is asked, and not how
        description="Items with plain faults, or items at the edge of a criterion.",
    )


class ReaderOptions(TaskOptions):
    """Options of tasks that a verifier with a reader judges."""

    reader: str | None = Field(
        default=None,
        description="Model that reads for `--judge proof` what its grammar cannot.",
        json_schema_extra={"metavar": "R"},
    )

    @field_validator("reader")
    @classmethod
    def _inspect_name(cls, name: str | None) -> str | None:
        return name and inspect_name(name)


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
        """Normalise the name of weights, so that different spellings give the same run."""
        return None if name is None else plain_name(name)


def judge_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return judges' Inspect names without duplicates; ``proof`` becomes ``verifier/proof``."""
    verifiers = {name for family in families().values() for name in family.verifiers}
    full_names = (
        f"{VERIFIER}{name}" if name.partition(":")[0] in verifiers else inspect_name(name)
        for name in names
    )
    return tuple(dict.fromkeys(full_names))


def with_reader(judges: Sequence[str], reader: str | None) -> tuple[str, ...]:
    """Return judges' names, the verifiers among them with a reader, if one is named.

    Raises:
        InputError: A reader is named, and no verifier that could have one.
    """
    if reader is None:
        return tuple(judges)
    read = {
        f"{VERIFIER}{verifier}" for family in families().values() for verifier in family.readers
    }
    if not any(judge.partition(":")[0] in read for judge in judges):
        raise InputError(
            "--reader needs a verifier to read for, and no judge is one",
            hint="add --judge proof, or leave --reader out",
        )
    return tuple(f"{judge}:{reader}" if judge in read else judge for judge in judges)


def check_verifiers(family: str, judges: Sequence[str]) -> None:
    """Check that a family has the verifiers named among its judges; `InputError` otherwise."""
    has = family_named(family).verifiers
    for judge in judges:
        name = judge.removeprefix(VERIFIER).partition(":")[0]
        if judge.startswith(VERIFIER) and name not in has:
            others = ", ".join(one.name for one in families().values() if name in one.verifiers)
            raise InputError(
                f"{family} has no verifier '{name}'" + f", but {others} has one" * bool(others),
                hint=f"use {', '.join(has) or 'a model'}"
                + f", or that family (exam --family {others})" * bool(others),
            )


Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]
"""A name or a list of names."""


class Sampling(BaseModel):
    """Sampling settings of the models under test: fields of Inspect's ``GenerateConfig``."""

    temperature: float | None = option(panel=SAMPLING, ge=0)
    top_p: float | None = option(panel=SAMPLING, ge=0, le=1)
    top_k: int | None = option(panel=SAMPLING, ge=1)
    max_tokens: int | None = option(panel=SAMPLING, ge=1)
    frequency_penalty: float | None = option(panel=SAMPLING)
    presence_penalty: float | None = option(panel=SAMPLING)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        option(None, "none, minimal, low, medium, high, xhigh, max", panel=SAMPLING)
    )
    reasoning_tokens: int | None = option(panel=SAMPLING, ge=1)


class Transport(CallOptions):
    """Settings of calls that change no answer; also fields of ``GenerateConfig``."""

    max_connections: int | None = option(panel=TRANSPORT, ge=1)  # type: ignore[assignment]
    batch: int | None = option(
        None, "Use the provider's batch mode, N a batch.", panel=TRANSPORT, ge=1
    )


class RunSettings(BaseModel):
    """The settings of a run: a task, a grid of models and methods, and how to call them.

    Each field that a user sets is an `option`. In config files and commands they are flat: the
    fields of ``options``, ``generation`` and ``transport`` stand among the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(default="", description="The task.")
    models: Names = option(
        (), "Model under test; give several for a grid.", name="model", metavar="M"
    )
    judges: Names = option(
        (), "Judge; several form a panel. None by default.", name="judge", metavar="J"
    )
    methods: Names = option(
        (),
        "Method or baseline, or NAME:OPTION=VALUE,OPTION=VALUE; several make a grid. Listed by "
        "`contrafact methods`.",
        name="method",
        metavar="NAME",
    )
    data: Path | None = option(
        None,
        "Items (JSON, JSONL, CSV, Excel, Parquet), a published set, or hf://OWNER/NAME; bundled "
        "samples if none.",
        metavar="FILE",
    )
    data_source: str = Field(
        default="", description="Where the data were downloaded from, with the commit."
    )
    columns: dict[str, str] = option(
        default_factory=dict,
        description="FILE's column for a field, if named otherwise.",
        metavar="WANTED=FOUND,…",
    )
    limit: int | None = option(None, "Take the first N items.", metavar="N", ge=1)
    seed: int = option(0, "Seed of draws and of sampling.", metavar="S", ge=0)
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")
    options: SerializeAsAny[TaskOptions] = Field(
        default_factory=TaskOptions, description="The task's own options."
    )
    generation: dict[str, Any] = Field(
        default_factory=dict, description="How the models write: `Sampling`, and the seed if given."
    )
    model_args: dict[str, Any] = option(
        default_factory=dict,
        description="Provider argument of the models under test.",
        flags=("-M",),
        panel=TRANSPORT,
        metavar="KEY=VALUE",
    )
    judge_args: dict[str, Any] = option(
        default_factory=dict,
        description="Provider argument of the judges.",
        flags=("--judge-arg",),
        panel=TRANSPORT,
        metavar="KEY=VALUE",
    )
    transport: dict[str, Any] = Field(
        default_factory=dict, description="How calls are made: `Transport`."
    )
    shared_cache: bool = option(
        False, "Reuse answers of earlier runs.", name="cache", panel=TRANSPORT
    )
    preset: str | None = option(None, "A paper's setting, by name.", metavar="NAME")

    @field_validator("models")
    @classmethod
    def _one_name(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Normalise the names of models, so that different spellings give the same run."""
        return tuple(dict.fromkeys(map(inspect_name, names)))

    @field_validator("judges")
    @classmethod
    def _one_judge(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return judge_names(names)

    @model_validator(mode="after")
    def _own_verifiers(self) -> Self:
        # A verifier and its reader are one judge, by one name.
        object.__setattr__(self, "judges", with_reader(self.judges, self.option("reader")))
        if any(map(is_verifier, self.judges)):
            check_verifiers(family_of_task(self.task).name, self.judges)
        return self

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option of the task, or the default if the task has no such option."""
        return getattr(self.options, name, default)

    @property
    def shots(self) -> int:
        """The examples per prompt where one number is asked for; 0 lets the method decide."""
        return int((self.option("shots") or (0,))[0])

    def for_each_count(self) -> "list[RunSettings]":
        """Return these settings for each number of examples that is asked for."""
        return [
            self.model_copy(update={"options": self.options.model_copy(update={"shots": (count,)})})
            for count in self.option("shots") or ()
        ] or [self]


# Settings that change no answer, so that a rerun may change them. Files count by their contents.
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
    """Return the settings as flat JSON, including the task's options, without files' paths."""
    common = settings.model_dump(mode="json", exclude={"data", "data_source", "prompts", "options"})
    return {**common, **_without_paths(settings.options)}


def identity(settings: RunSettings, contents: Mapping[str, Any]) -> str:
    """Return 12 hex digits that are equal for runs whose results are meant to be equal.

    Options with their default value do not count, so that a new option leaves the identity of runs
    without it unchanged; nor do secrets, so that another key gives the same run. ``contents`` are
    hashes of data, other files and used templates, the task version, and methods under conditions.
    """
    common = secrets_dropped(settings.model_dump(mode="json", exclude=_NOT_IDENTITY))
    options = {
        name: value
        for name, value in _without_paths(settings.options).items()
        if value != type(settings.options).model_fields[name].default
        and name not in conditions(type(settings.options))
    }
    facts = {"settings": common, "options": options, "contents": dict(contents)}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _without_paths(options: TaskOptions) -> dict[str, Any]:
    fields = type(options).model_fields.items()
    paths = {name for name, field in fields if "Path" in str(field.annotation)}
    return options.model_dump(mode="json", exclude=paths)
