"""Options that several commands have: each is said once, with its flag, bounds, help and panel.

They are types for the parameters of a Typer command: ``max_retries: MaxRetries = None``.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from contrafact.errors import InputError

__all__ = [
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


def key_values(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Return what an option of the form KEY=VALUE says; values are JSON where they can be.

    Args:
        option: Its name, for errors.
        given: What stood after it each time.

    Raises:
        InputError: One of them is not KEY=VALUE.
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
