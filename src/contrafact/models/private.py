"""Keeps secrets out of the files that Inspect writes: logs, eval sets, traces.

Inspect records a model's arguments and address and its service's replies. Once the model is open,
its arguments are replaced here by a copy without secrets; replies and errors are cleaned when they
come from the provider (`contrafact.models.service`).
"""

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import Model
from pydantic import BaseModel

from contrafact.redaction import (
    keep_out_of_logs,
    make_public,
    redacted,
    secrets_dropped,
    without_secrets,
)


def keep_private(model: Model, arguments: Mapping[str, Any]) -> Model:
    """Return a model opened with these arguments so that Inspect writes none of their secrets."""
    make_public(str(model))
    keep_out_of_logs()
    without_secrets(dict(arguments))  # which also registers them as secrets
    shown = secrets_dropped(without_secrets(model.model_args))
    if without_secrets(model.explicit_base_url) != model.explicit_base_url:
        return Model(model.api, model.config, shown)  # a model without an explicit address
    model.model_args = shown
    return model


def cleaned(made: Any) -> Any:
    """Return a provider's output, call or error without secrets."""
    if isinstance(made, Exception):
        clean_error(made)
    elif isinstance(made, BaseModel):
        values = made.model_dump(mode="json", fallback=str)
        if (shown := _redacted_value(values)) != values:
            return type(made).model_validate(shown)
    return made


def clean_error(error: BaseException) -> None:
    """Remove the secrets from an error and from its causes."""
    link: BaseException | None = error
    cleaned: list[BaseException] = []
    while link is not None and link not in cleaned:
        cleaned.append(link)
        link.args = tuple(map(_redacted_value, link.args))
        for name in ("message", "body"):
            if name in vars(link):
                setattr(link, name, _redacted_value(vars(link)[name]))
        cause = link.__cause__ or link.__context__
        if cause is not None and cause not in cleaned:
            cause.args = tuple(map(_redacted_value, cause.args))
            if redacted(str(cause)) != str(cause):  # it builds its message anew
                cause = link.__cause__ = None
                link.__suppress_context__ = True
        link = cause


def _redacted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {_redacted_value(key): _redacted_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_redacted_value(item) for item in value]
    return redacted(value) if isinstance(value, str) else value
