"""JSON schemas that leave only a few replies open, as a judge's true or false.

Such a reply need not be written token by token: the model says, where the replies part, which way
it goes.
"""

import itertools
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["MOST_REPLIES", "finite_replies"]

MOST_REPLIES = 64
"""A schema that leaves more replies open than this is not taken as finite."""


def finite_replies(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return all replies that a schema leaves open, as JSON; none if they cannot be listed.

    Listed are objects all of whose properties are required, booleans, null, enumerations and
    alternatives of these.

    Args:
        schema: The JSON schema.
    """
    values = _values(schema)
    if not values:
        return None
    return tuple(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values))


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    found: list[Any] | None = None
    kind = schema.get("type")
    if "enum" in schema:
        # No number: one may begin another, and there would be no telling where it ends.
        plain = all(value is None or isinstance(value, bool | str) for value in schema["enum"])
        found = list(schema["enum"]) if plain else None
    elif kind == "boolean":
        found = [True, False]
    elif kind == "null":
        found = [None]
    elif "anyOf" in schema:
        found = _joined([_values(part) for part in schema["anyOf"]])
    elif kind == "object":
        found = _objects(schema.get("properties") or {}, schema.get("required") or [])
    return found if found is not None and len(found) <= MOST_REPLIES else None


def _joined(parts: list[list[Any] | None]) -> list[Any] | None:
    known = [part for part in parts if part is not None]
    return list(itertools.chain(*known)) if len(known) == len(parts) else None


def _objects(properties: Mapping[str, Any], required: list[str]) -> list[Any] | None:
    if not properties or set(properties) - set(required):
        return None
    parts = [_values(part) for part in properties.values()]
    known = [part for part in parts if part]
    if len(known) < len(parts):
        return None
    combined = itertools.islice(itertools.product(*known), MOST_REPLIES + 1)
    return [dict(zip(properties, values, strict=True)) for values in combined]
