"""Options of the form KEY=VALUE, whose values are JSON where they can be."""

import json
from collections.abc import Sequence
from typing import Any

from contrafact.errors import InputError

__all__ = ["key_values"]


def key_values(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Return what an option that may be given several times says.

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
