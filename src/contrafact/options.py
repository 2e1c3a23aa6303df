"""Options of commands: a class of them is a command's parameters, and what its function takes.

What several commands have is said once, with its flag, bounds, help and panel.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from contrafact.errors import InputError, value_problem

__all__ = [
    "BOUNDS",
    "NO_NUMBER",
    "SAMPLING",
    "TRANSPORT",
    "CallOptions",
    "Options",
    "argument",
    "as_command",
    "bulk_options",
    "checked_value",
    "is_no_number",
    "key_values",
    "option",
    "option_problem",
    "parameter",
    "parameters_of",
    "takes",
]

SAMPLING = "How the model writes"
"""The panel of the help page for what changes a model's replies."""

TRANSPORT = "How calls are made"
"""The panel for what moves bytes about and changes no reply."""

# How calls are made, said once: for commands' parameters, their models of options, and runs.
BOUNDS: dict[str, dict[str, Any]] = {
    "max_retries": {"help": "Per call. [5]", "min": 0},
    "timeout": {"help": "Seconds for a call, retries and all. [900]", "min": 1},
    "attempt_timeout": {"help": "Seconds for one attempt. [300]", "min": 1},
}
"""Bounds of a call; None leaves what `contrafact.models.opening.TRANSPORT` says."""

NO_NUMBER = "a number is wanted"

_REQUIRED = inspect.Parameter.empty


class _Typed(NamedTuple):
    """What is typed, as Typer has it, and its default."""

    as_typer: Any
    default: Any


class Options:
    """The options of a command: attributes that are an `option` or an `argument` each."""

    def __init__(self, **given: Any) -> None:
        for name, one in self.typed().items():
            setattr(self, name, given.pop(name) if name in given else one.default)
        if given or _REQUIRED in vars(self).values():
            raise TypeError(f"options are missing, or too many: {sorted(given)}")

    @classmethod
    def typed(cls) -> dict[str, _Typed]:
        """Return the options by name, those of base classes last."""
        found: dict[str, _Typed] = {}
        for name, one in (item for base in cls.__mro__ for item in vars(base).items()):
            if isinstance(one, _Typed):
                found.setdefault(name, one)
        return found

    def refuse(self, names: Iterable[str], why: str, hint: str) -> None:
        """Raise an `InputError` for the first of these options that is given and has no use."""
        typed = self.typed()
        for name in names:
            default = typed[name].default
            if getattr(self, name) not in (default, []):
                flag = f"--{'no-' if default is True else ''}{name.replace('_', '-')}"
                raise InputError(f"{flag} has no use {why}", hint=hint)


def option(
    help: str | None,
    default: Any = _REQUIRED,
    *flags: str,
    panel: str | None = None,
    **more: Any,
) -> Any:
    """Return an attribute of `Options`: what is typed, and what its help says.

    Args:
        help: What the help page says of it.
        default: Its default; it has to be given if there is none.
        flags: What is typed, if not the field's name with hyphens.
        panel: The panel of the help page; the first if none.
        more: What else Typer takes: ``metavar``, ``min``, ``max``, ``callback``.
    """
    return _Typed(typer.Option(*flags, help=help, rich_help_panel=panel, **more), default)


def argument(metavar: str, help: str, default: Any = _REQUIRED) -> Any:
    """Return an attribute of `Options` that is typed without a flag, at its place."""
    return _Typed(typer.Argument(metavar=metavar, help=help), default)


_Options = TypeVar("_Options", bound=Options)


def takes(model: type[_Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function of `Options` a command that has them."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(bulk: dict[str, Any] | None = None, **given: Any) -> None:
            function(model(**given), **({} if bulk is None else {"bulk": bulk}))

        return as_command(command, parameters_of(model), function.__doc__)

    return decorate


def parameters_of(model: type[Options]) -> list[inspect.Parameter]:
    """Return the parameters that options are of their command (`takes`)."""
    kinds: dict[str, Any] = {}
    for base in reversed(model.__mro__):
        kinds |= inspect.get_annotations(base)
    return [
        parameter(
            name, (kinds[name], one.as_typer), ... if one.default is _REQUIRED else one.default
        )
        for name, one in model.typed().items()
    ]


class CallOptions(Options):
    """How calls of models are made: options of commands that ask one."""

    max_connections: int = option("Calls under way at once.", 16, panel=TRANSPORT, min=1)
    max_retries: int | None = option(default=None, panel=TRANSPORT, **BOUNDS["max_retries"])
    timeout: int | None = option(default=None, panel=TRANSPORT, **BOUNDS["timeout"])
    attempt_timeout: int | None = option(default=None, panel=TRANSPORT, **BOUNDS["attempt_timeout"])

    @property
    def bounds(self) -> dict[str, int | None]:
        """The bounds of a call, as `contrafact.models.opening.call_config` takes them."""
        return {name: getattr(self, name) for name in BOUNDS}


def parameter(name: str, typed: tuple[Any, Any], default: Any = None) -> inspect.Parameter:
    """Return a parameter of a command.

    Args:
        name: Its name.
        typed: Its type, and the option or argument as Typer has it.
        default: Its default; it has to be given if that is ``...``.
    """
    default = _REQUIRED if default is ... else default
    keyword, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[typed]
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def as_command(
    function: Callable[..., None], parameters: Iterable[inspect.Parameter], text: str | None
) -> Callable[..., None]:
    """Return a function as Typer takes a command: with these parameters and this help."""
    whole = list(parameters)
    function.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in whole}
    function.__doc__ = text
    return function


_PANEL = "Past one machine"


class _Bulk(Options):
    engine: Literal["ray"] | None = option(
        "ray: Parquet or JSONL files, folders, globs or URIs in, a folder out; docs/bulk.md.",
        None,
        panel=_PANEL,
    )
    address: str | None = option(
        "The Ray cluster: auto or HOST:PORT; one of this machine, for this command, if none.",
        None,
        panel=_PANEL,
        metavar="A",
    )
    partition_rows: int | None = option(
        "Rows that are worked on and kept at once.", None, panel=_PANEL, min=1, metavar="N"
    )


class _Rates(Options):
    requests_per_minute: int | None = option(
        "Of all processes; no limit if none.", None, panel=_PANEL, min=1, metavar="N"
    )
    tokens_per_minute: int | None = option(
        "Sent and received, of all; no limit if none.", None, panel=_PANEL, min=1, metavar="N"
    )


def bulk_options(*, rates: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of work past one machine.

    The command takes what they say as ``bulk``, for `contrafact.bulk.run.bulk_command`, or None
    without ``--engine``. An option of the panel without ``--engine`` is an `InputError`.

    Args:
        rates: Whether the command asks models, and so has limits of calls and tokens.
    """
    options = parameters_of(_Bulk) + (parameters_of(_Rates) if rates else [])

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_bulk(*args: Any, **given: Any) -> None:
            settings = {one.name: given.pop(one.name, None) for one in options}
            command(*args, **given, bulk=_engine_settings(**settings))

        own = inspect.signature(command, eval_str=True).parameters
        others = [one for name, one in own.items() if name != "bulk"]
        return as_command(with_bulk, [*others, *options], command.__doc__)

    return decorate


def _engine_settings(engine: str | None, **given: Any) -> dict[str, Any] | None:
    if engine is not None:
        return given
    for name, value in given.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} has no use without --engine ray", hint="leave it out")
    return None


def checked_value(name: str, kind: Any, value: Any) -> Any:
    """Return a value as its type has it: a number for its text, a path for its name.

    Args:
        name: What the message calls it.
        kind: A type, `Annotated` with pydantic's bounds, or with what Typer has of an option.

    Raises:
        InputError: It is of another type, or out of bounds.
    """
    from pydantic import Field, TypeAdapter, ValidationError

    for one in getattr(kind, "__metadata__", ()):
        if isinstance(one, typer.models.ParameterInfo):
            kind = Annotated[kind.__origin__, Field(ge=one.min, le=one.max)]
    try:
        found = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise option_problem(name, value_problem(error.errors()[0]), value) from None
    if is_no_number(value, found):
        raise option_problem(name, NO_NUMBER, value)
    return found


def is_no_number(given: object, found: object) -> bool:
    """Tell whether true or false was given and became the number that it is to Python."""
    return isinstance(given, bool) and not isinstance(found, bool)


def option_problem(name: str, message: str, value: Any) -> InputError:
    """Return what is wrong with an option's value as an error that names it."""
    text = f"{name}: {message[:1].lower()}{message[1:]} (it is {value!r:.60})"
    return InputError(text, hint="change it")


def key_values(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Return what an option of the form KEY=VALUE says; values are JSON where they can be.

    Args:
        given: What stood after it each time.
    """
    found: dict[str, Any] = {}
    for one in given or ():
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise InputError(
                f"{option} {one} is not KEY=VALUE", hint=f"write e.g. {option} threads=2"
            )
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
