"""Options that several commands have: each is said once, with its flag, bounds, help and panel.

They are types for the parameters of a Typer command: ``max_retries: MaxRetries = None``.
"""

import inspect
import json
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from contrafact.errors import InputError

__all__ = [
    "BULK",
    "SAMPLING",
    "TRANSPORT",
    "AttemptTimeout",
    "JudgeArguments",
    "MaxConnections",
    "MaxRetries",
    "MaxTokens",
    "Prompts",
    "Structured",
    "Temperature",
    "Timeout",
    "TopP",
    "bulk_options",
    "key_values",
]

SAMPLING = "How the model writes"
"""The panel of the help page for what changes a model's replies."""

TRANSPORT = "How calls are made"
"""The panel for what moves bytes about and changes no reply."""

Prompts = Annotated[Path | None, typer.Option(metavar="DIR", help="Another prompt pack.")]
"""A folder of templates."""

Temperature = Annotated[
    float | None, typer.Option(min=0, rich_help_panel=SAMPLING, show_default=False)
]
"""Of a model's sampling."""

TopP = Annotated[
    float | None, typer.Option(min=0, max=1, rich_help_panel=SAMPLING, show_default=False)
]
"""Of a model's sampling."""

MaxTokens = Annotated[int | None, typer.Option(min=1, rich_help_panel=SAMPLING, show_default=False)]
"""The longest reply."""

JudgeArguments = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", rich_help_panel=TRANSPORT, help="Provider argument of the judges."
    ),
]
"""What the judges' provider is given, for `key_values`."""

MaxConnections = Annotated[
    int, typer.Option(min=1, rich_help_panel=TRANSPORT, help="Calls under way at once.")
]
"""How many calls are under way at the same time."""

MaxRetries = Annotated[
    int | None, typer.Option(min=0, rich_help_panel=TRANSPORT, help="Per call. [5]")
]
"""None leaves what `models.opening.TRANSPORT` says, as in the two below."""

Timeout = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=TRANSPORT, help="Seconds for a call, retries and all. [900]"
    ),
]
"""Seconds for a call with its retries."""

AttemptTimeout = Annotated[
    int | None,
    typer.Option(min=1, rich_help_panel=TRANSPORT, help="Seconds for one attempt. [300]"),
]
"""Seconds for one attempt of a call."""


Structured = Annotated[
    bool, typer.Option("--structured/--no-structured", help="Ask providers for JSON by schema.")
]
"""Whether a provider is given the schema of the reply."""

BULK = "Past one machine"
"""The panel for work on a cluster."""

_BULK = {
    "engine": Annotated[
        Literal["ray"] | None,
        typer.Option(
            "--engine",
            rich_help_panel=BULK,
            help="ray: Parquet or JSONL files, folders, globs or URIs in, a folder out; "
            "docs/bulk.md.",
        ),
    ],
    "address": Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="A",
            rich_help_panel=BULK,
            help="The Ray cluster: auto or HOST:PORT; one of this machine, for this command, if "
            "none.",
        ),
    ],
    "partition_rows": Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=BULK,
            help="Rows that are worked on and kept at once.",
        ),
    ],
}
_RATES = {
    "requests_per_minute": Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", rich_help_panel=BULK, help="Of all processes; no limit if none."
        ),
    ],
    "tokens_per_minute": Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=BULK,
            help="Sent and received, of all; no limit if none.",
        ),
    ],
}


def bulk_options(*, rates: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of work past one machine.

    The command takes what they say as ``bulk``: the fields of `contrafact.bulk.run.Engine`, or None
    without ``--engine``. An option of the panel without ``--engine`` is an `InputError`.

    Args:
        rates: Whether the command asks models, and so has limits of calls and tokens.
    """
    options = {**_BULK, **(_RATES if rates else {})}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_bulk(*args: Any, **given: Any) -> None:
            settings = {name: given.pop(name, None) for name in options}
            command(*args, **given, bulk=_engine_settings(**settings))

        own = inspect.signature(command, eval_str=True).parameters
        parameters = [one for name, one in own.items() if name != "bulk"]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in options.items()
        ]
        with_bulk.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_bulk.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_bulk

    return decorate


def _engine_settings(engine: str | None, **given: Any) -> dict[str, Any] | None:
    if engine is not None:
        return given
    for name, value in given.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} has no use without --engine ray", hint="leave it out")
    return None


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
