"""Options of commands: a model of settings defines the options and holds their values.

A field defines an option, a config key, a Python keyword and a manifest's setting at once: name,
default, bounds, and a description as help. A command is a function of such models.
"""

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from contrafact.errors import InputError, value_problem

__all__ = [
    "ASKING",
    "NO_NUMBER",
    "SAMPLING",
    "TRANSPORT",
    "BulkOptions",
    "CallOptions",
    "ModelBulkOptions",
    "Options",
    "absolute",
    "argument",
    "as_command",
    "checked_value",
    "command",
    "is_no_number",
    "key_values",
    "option",
    "option_problem",
    "parameters_of",
    "settings_command",
]

SAMPLING = "How the model writes"
"""The panel of the help page for options that change a model's replies."""

TRANSPORT = "How calls are made"
"""The panel for options of calls that change no reply."""

ASKING = "With a model"
"""The panel for options of commands that ask a model about cases that rules leave open."""

NO_NUMBER = "a number is required"

_BOUNDS = ("max_retries", "timeout", "attempt_timeout")


class Options(BaseModel):
    """The settings of a command; each field is an `option` or an `argument`."""

    # The validator is built when a command runs, not for a help page.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def refuse(self, names: Iterable[str], why: str, hint: str) -> None:
        """Raise an `InputError` for the first of these options that is given but has no effect."""
        for name in names:
            field = type(self).model_fields[name]
            if getattr(self, name) not in (field.default, []):
                flag = _flags(name, field)[0].rpartition("/")[2]
                raise InputError(f"{flag} has no effect {why}", hint=hint)


def option(
    default: Any = None,
    description: str | None = None,
    *,
    name: str = "",
    flags: Sequence[str] = (),
    metavar: str = "",
    panel: str = "",
    callback: Callable[[Any], None] | None = None,
    **more: Any,
) -> Any:
    """Return a field that users can set.

    Args:
        default: Its default; ``...`` if it is required.
        description: Its description on the help page.
        name: Its name for users, if not the field's name.
        flags: Its flags, if not the name with hyphens.
        metavar: The placeholder for its value on the help page.
        panel: The panel of the help page; by default, the first.
        callback: Called with its value before any other option is read.
        more: Further arguments of `pydantic.Field`: bounds, a default factory.
    """
    extra: dict[str, Any] = {"metavar": metavar, "panel": panel, "option": name}
    if flags:
        extra["flags"] = flags
    if callback:
        extra["callback"] = callback
    if "default_factory" not in more:
        more["default"] = default
    return Field(description=description, json_schema_extra=extra, **more)


def argument(metavar: str, description: str, default: Any = ...) -> Any:
    """Return a field of `Options` that is a positional argument."""
    extra: dict[str, Any] = {"metavar": metavar, "argument": True}
    return Field(default, description=description, json_schema_extra=extra)


class CallOptions(Options):
    """The options of calls, for commands that ask a model.

    For a bound that is None, `contrafact.models.opening.TRANSPORT` has the default.
    """

    max_connections: int = option(16, "Calls under way at once.", panel=TRANSPORT, ge=1)
    max_retries: int | None = option(None, "Per call. [5]", panel=TRANSPORT, ge=0)
    timeout: int | None = option(
        None, "Seconds for a call, with all retries. [900]", panel=TRANSPORT, ge=1
    )
    attempt_timeout: int | None = option(
        None, "Seconds for one attempt. [300]", panel=TRANSPORT, ge=1
    )

    @property
    def bounds(self) -> dict[str, int | None]:
        """The bounds of a call, as arguments of `contrafact.models.opening.call_config`."""
        return {name: getattr(self, name) for name in _BOUNDS}


_PANEL = "Past one machine"


class BulkOptions(Options):
    """The options for work on several machines, for commands that process many rows."""

    engine: str | None = option(
        None,
        "ray (package contrafact-ray): Parquet or JSONL files, folders, globs or URIs in, a folder "
        "out; docs/bulk.md.",
        panel=_PANEL,
        metavar="NAME",
    )
    address: str | None = option(
        None,
        "The Ray cluster: auto or HOST:PORT; one of this machine, for this command, if none.",
        panel=_PANEL,
        metavar="A",
    )
    partition_rows: int | None = option(
        None, "Rows that are processed and stored together.", panel=_PANEL, ge=1, metavar="N"
    )

    def settings(self) -> dict[str, Any] | None:
        """Return the engine's settings, by name; None without ``--engine``.

        Raises:
            InputError: One of the options is given without ``--engine``.
        """
        if self.engine is not None:
            return self.model_dump(exclude={"engine"})
        self.refuse(type(self).model_fields, "without --engine ray", "leave it out")
        return None


class ModelBulkOptions(BulkOptions):
    """The same options for a command that asks models, with limits of calls and tokens."""

    requests_per_minute: int | None = option(
        None, "Of all processes together; no limit by default.", panel=_PANEL, ge=1, metavar="N"
    )
    tokens_per_minute: int | None = option(
        None, "Sent and received, of all; no limit if none.", panel=_PANEL, ge=1, metavar="N"
    )


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command made from a function whose parameters are models of settings."""
    models = inspect.get_annotations(function, eval_str=True)
    models.pop("return", None)
    return settings_command(function, models, function.__doc__)


def settings_command(
    function: Callable[..., None],
    models: Mapping[str, type[BaseModel]],
    text: str | None,
    *,
    panel: str = "",
) -> Callable[..., None]:
    """Return a command that calls a function with settings.

    Args:
        models: The models of its parameters, by name.
        text: The command's help.
        panel: The help page's panel for fields without their own.
    """

    def call(**given: Any) -> None:
        function(**{name: _settings(model, given) for name, model in models.items()})

    parameters = [one for model in models.values() for one in parameters_of(model, panel=panel)]
    return as_command(call, parameters, text)


def _settings(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    try:
        return model(**{name: given[name] for name in model.model_fields if name in given})
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:
            raise InputError(value_problem(first), hint="change it") from None
        name = str(first["loc"][0])
        flag = _flags(name, model.model_fields[name])[0].partition("/")[0]
        raise option_problem(flag, value_problem(first), first["input"]) from None


def as_command(
    function: Callable[..., None], parameters: Sequence[inspect.Parameter], text: str | None
) -> Callable[..., None]:
    """Return a Typer command function that calls ``function`` with the given options by name."""

    def run(context: typer.Context | None = None, **values: Any) -> None:
        if context is not None:  # called by Typer, which names every option
            sources = {name: context.get_parameter_source(name) for name in values}
            values = {
                name: values[name]
                for name, source in sources.items()
                if source is not None and source.name != "DEFAULT"
            }
        function(**values)

    first = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    whole = [first, *parameters]
    run.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in whole}
    run.__doc__ = text
    return run


def parameters_of(
    model: type[BaseModel], *, panel: str = "", as_text: Collection[str] = ()
) -> list[inspect.Parameter]:
    """Return the fields of a model as parameters for Typer: its own first, then those of bases.

    Args:
        panel: The help page's panel for fields without their own.
        as_text: Names of paths that may be an address, whose slashes must not be changed.
    """
    return [
        _parameter(name, field, panel, as_text=name in as_text) for name, field in _fields(model)
    ]


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    fields = model.model_fields
    names = (name for base in model.__mro__ for name in inspect.get_annotations(base))
    for name in dict.fromkeys(names):
        if name in fields:
            yield name, fields[name]


def _parameter(name: str, field: FieldInfo, panel: str, *, as_text: bool) -> inspect.Parameter:
    extra: Any = field.json_schema_extra or {}
    named: dict[str, Any] = {"help": field.description, "metavar": extra.get("metavar") or None}
    default = None if field.default_factory or field.default == () else field.default
    info: Any
    if "argument" in extra:
        info = typer.Argument(**named)
    else:
        info = typer.Option(
            *_flags(name, field),
            **named,
            min=_bound(field, "ge"),
            max=_bound(field, "le"),
            rich_help_panel=extra.get("panel", panel) or None,
            callback=extra.get("callback"),
            is_eager="callback" in extra,
        )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else default,
        annotation=Annotated[str | None if as_text else _typed(field.annotation), info],
    )


def _typed(kind: Any) -> Any:
    """Return a field's type for Typer; options that hold several values are repeated."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    held = next((one for one in kinds if one is not NoneType), None)
    if get_origin(held) is dict:
        return list[str] | None  # KEY=VALUE each
    if get_origin(held) is tuple:
        return list[get_args(held)[0]] | None  # type: ignore[misc]
    return kind


def _bound(field: FieldInfo, kind: str) -> Any:
    return next((getattr(one, kind) for one in field.metadata if hasattr(one, kind)), None)


def _flags(name: str, field: FieldInfo) -> Sequence[str]:
    """Return the flags of a field; an option that can be denied also has ``--no-…``."""
    extra: Any = field.json_schema_extra or {}
    word = (extra.get("option") or name).replace("_", "-")
    denied = field.annotation in (bool, bool | None) and field.default is not False
    return extra.get("flags") or [f"--{word}/--no-{word}" if denied else f"--{word}"]


def checked_value(name: str, kind: Any, value: Any) -> Any:
    """Return a value converted to a type: a number from its text, a path from its name.

    Args:
        name: Its name in the message.
        kind: A type, which may be `Annotated` with pydantic's bounds.

    Raises:
        InputError: It has another type, or is out of bounds.
    """
    try:
        found = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise option_problem(name, value_problem(error.errors()[0]), value) from None
    if is_no_number(value, found):
        raise option_problem(name, NO_NUMBER, value)
    return found


def is_no_number(given: object, found: object) -> bool:
    """Return whether true or false was given and Python converted it to a number."""
    return isinstance(given, bool) and not isinstance(found, bool)


def option_problem(name: str, message: str, value: Any) -> InputError:
    """Return the error on an option's value, naming the option."""
    text = f"{name}: {message[:1].lower()}{message[1:]} (it is {value!r:.60})"
    return InputError(text, hint="change it")


def absolute(path: Path | None) -> str | None:
    """Return a path as absolute text, for processes with another working folder."""
    return None if path is None else str(path.absolute())


def key_values(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the mapping from an option's KEY=VALUE texts; values are read as JSON if possible.

    Args:
        texts: The texts, one for each time that the option was given.
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(
                f"{option} {text} is not KEY=VALUE", hint=f"write e.g. {option} threads=2"
            )
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
