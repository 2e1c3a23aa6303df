"""Models whose keys stay out of what Inspect writes: of its logs, its sets' files, its traces.

Inspect writes down a model's arguments and address, and what its service said. The arguments are
exchanged here for those without secrets, once the model is open; the address is told whole to the
provider alone; errors and replies are cleaned where they come from the provider.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from inspect_ai.model import Model, ModelAPI
from pydantic import BaseModel

from contrafact.redaction import (
    keep_out_of_logs,
    make_public,
    redacted,
    secrets_dropped,
    without_secrets,
)

_asking: ContextVar[bool] = ContextVar("_asking", default=False)


def keep_private(model: Model, arguments: Mapping[str, Any]) -> Model:
    """Return a model that was opened with these arguments, none of whose secrets is written."""
    make_public(str(model))
    keep_out_of_logs()
    without_secrets(dict(arguments))  # and remember them
    if not isinstance(model.api, _Private):
        kind = type(model.api)
        model.api.__class__ = type(kind.__name__, (_Private, kind), {})
    shown = secrets_dropped(without_secrets(model.model_args))
    if without_secrets(model.explicit_base_url) != model.explicit_base_url:
        return Model(model.api, model.config, shown)  # which has no address of its own
    model.model_args = shown
    return model


class _Private(ModelAPI):
    """Mixed into a provider's class, before it."""

    @property
    def base_url(self) -> str | None:
        """The address, without secrets for all but the provider."""
        address: str | None = vars(self).get("base_url")
        return address if _asking.get() else without_secrets(address)

    @base_url.setter
    def base_url(self, address: str | None) -> None:
        vars(self)["base_url"] = address

    def initialize(self) -> None:
        """See Inspect's `ModelAPI`: a client that was closed is made again."""
        token = _asking.set(True)
        try:
            super().initialize()
        finally:
            _asking.reset(token)

    async def generate(self, *args: Any, **options: Any) -> Any:
        """Return, or raise, what the provider does, without secrets."""
        token = _asking.set(True)
        try:
            made = await super().generate(*args, **options)  # type: ignore[safe-super]
        except Exception as error:
            _clean_error(error)
            if redacted(str(error)) != str(error):
                raise RuntimeError(redacted(str(error))) from None
            raise
        finally:
            _asking.reset(token)
        return tuple(map(_cleaned, made)) if isinstance(made, tuple) else _cleaned(made)


def _cleaned(made: Any) -> Any:
    if isinstance(made, Exception):
        _clean_error(made)
    elif isinstance(made, BaseModel):
        values = made.model_dump(mode="json", fallback=str)
        if (shown := _redacted_value(values)) != values:
            return type(made).model_validate(shown)
    return made


def _clean_error(error: BaseException) -> None:
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
