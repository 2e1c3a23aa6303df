"""Opens models by name, and sets the limits of their calls."""

import re
from collections.abc import Mapping
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model

from contrafact.errors import InputError
from contrafact.models.calls import TRANSPORT
from contrafact.models.gguf import inspect_name
from contrafact.models.service import guard
from contrafact.redaction import redacted, without_secrets

__all__ = ["IN_PROCESS", "NO_MODEL", "TRANSPORT", "call_config", "holds_to_choices", "open_model"]

NO_MODEL = "none/none"
"""Inspect's name of the model that is never asked."""

IN_PROCESS = ("embedded/", "whitebox/")
"""Providers of models in this process; their calls wait for each other and have no timeout."""

# Providers format their errors for a terminal, with colours and Rich's tags.
_MARKUP = re.compile(r"\x1b\[[0-9;]*m|\[/?(?:bold|italic|blue|red|dim)\]")


def holds_to_choices(model: object) -> bool:
    """Return whether a model (Inspect's name) can be limited to a list of replies."""
    return str(model).startswith(IN_PROCESS)


def call_config(max_connections: int, **bounds: int | None) -> GenerateConfig:
    """Return the settings of calls: how many at once, and `TRANSPORT`'s limits or those given."""
    given = {name: value for name, value in bounds.items() if value is not None}
    return GenerateConfig(**{**TRANSPORT, **given, "max_connections": max_connections})


def open_model(
    name: str,
    *,
    config: GenerateConfig | None = None,
    transport: Mapping[str, Any] | None = None,
    **model_args: Any,
) -> Model:
    """Return an Inspect model; the error if it cannot be used is one line.

    ``transport`` holds the run's limits by the names of `TRANSPORT`, whose values replace missing
    ones; a model in this process has no limits.

    Raises:
        InputError: if there is no such provider, its package or key is missing, or a local
            model's file does not exist.
    """
    config = config or GenerateConfig()
    if transport is not None and not name.startswith(IN_PROCESS):
        bounds = {key: transport.get(key, value) for key, value in TRANSPORT.items()}
        config = config.merge(GenerateConfig(**bounds))
    try:
        model = get_model(inspect_name(name), config=config, **model_args)
    except InputError:
        raise
    except Exception as error:
        without_secrets(model_args)  # which also registers them as secrets
        text = redacted(str(error) or repr(error))
        text = " ".join(_MARKUP.sub("", text).split()).removeprefix("ERROR: ")
        raise InputError(
            f"cannot use the model '{name}': {text[:400].rstrip('.')}",
            hint="check the name (provider/model), its package and its key",
        ) from error
    if name.startswith(IN_PROCESS) or name == NO_MODEL:
        return model
    return guard(model, model_args)
