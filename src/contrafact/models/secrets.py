"""Keys and passwords among settings: what is written down has none of them."""

import re
from typing import Any

__all__ = ["secrets_dropped", "without_secrets"]

_SECRET = re.compile(r"key|token|secret|password|credential|authorization", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_COUNTS = {"max_tokens", "reasoning_tokens"}


def secrets_dropped(value: Any) -> Any:
    """Return settings without the keys that look like a secret, and without user and password."""
    if isinstance(value, dict):
        return {
            key: secrets_dropped(item)
            for key, item in value.items()
            if item is None or key in _COUNTS or not _SECRET.search(str(key))
        }
    if isinstance(value, (list, tuple)):
        return [secrets_dropped(item) for item in value]
    return _USERINFO.sub("", value) if isinstance(value, str) else value


def without_secrets(value: Any, name: str = "") -> Any:
    """Return settings with everything that looks like a secret replaced by ``(left out)``."""
    if isinstance(value, dict):
        return {key: without_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets(item, name) for item in value]
    if _SECRET.search(name) and name not in _COUNTS and value is not None:
        return "(left out)"
    if isinstance(value, str):
        return _USERINFO.sub("", value)
    return value
