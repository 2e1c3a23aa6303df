"""What keeps keys out of what Inspect writes: of its logs, its sets' files, its traces.

Inspect writes down a model's arguments and address, and what its service said. The arguments are
exchanged here for those without secrets, once the model is open; replies and errors are cleaned
where they come from the provider (`contrafact.models.service`).
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

__all__ = ["clean_error", "cleaned", "keep_private"]


def keep_private(model: Model, arguments: Mapping[str, Any]) -> Model:
    """Return a model that was opened with these arguments, none of whose secrets is written."""
    make_public(str(model))
    keep_out_of_logs()
    without_secrets(dict(arguments))  # and remember them
    shown = secrets_dropped(without_secrets(model.model_args))
    if without_secrets(model.explicit_base_url) != model.explicit_base_url:
        return Model(model.api, model.config, shown)  # which has no address of its own
    model.model_args = shown
    return model


def cleaned(made: Any) -> Any:
    """Return what a provider made, an output, a call or an error, without secrets."""
    if isinstance(made, Exception):
        clean_error(made)
    elif isinstance(made, BaseModel):
        values = made.model_dump(mode="json", fallback=str)
        if (shown := _redacted_value(values)) != values:
            return type(made).model_validate(shown)
    return made


def clean_error(error: BaseException) -> None:
    """Take the secrets out of an error, and out of what caused it."""
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
            if redacted(str(cause)) != str(cause):  # it words itself anew
                cause = link.__cause__ = None
                link.__suppress_context__ = True
        link = cause


def _redacted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {_redacted_value(key): _redacted_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_redacted_value(item) for item in value]
    return redacted(value) if isinstance(value, str) else value
