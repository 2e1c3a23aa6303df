"""Reading JSON out of a model's reply: tolerant of form, never guessing at content.

What had to be repaired to read a reply is named and counted; a reply that still does not parse
is invalid, with the reason.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Reply", "as_bool", "read_bool", "read_json_object"]

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_REPAIRS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("trailing comma", re.compile(r",(\s*[}\]])"), r"\1"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])True(?=\s*[,}\]])"), "true"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])False(?=\s*[,}\]])"), "false"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])None(?=\s*[,}\]])"), "null"),
    ("line break in a string", re.compile(r"[\r\n\t]+"), " "),
    ("typographic quotes", re.compile("[“”]"), '"'),
)


@dataclass(frozen=True)
class Reply:
    """A reply read as one JSON object, or the reason why it could not be.

    Attributes:
        value: The object; none where the reply is invalid.
        repairs: Names of the repairs that were needed, in order.
        invalid: The reason, where the reply could not be read.
    """

    value: dict[str, Any] | None
    repairs: tuple[str, ...] = ()
    invalid: str | None = None


def read_json_object(text: str) -> Reply:
    """Return the JSON object in a reply.

    Repaired, and named: a code fence, words around the object, a trailing comma, Python's
    constants, raw line breaks inside strings, typographic quotes as delimiters, and an object that
    is repeated. Not repaired: an object that was cut off, and objects that differ.
    """
    text = text.strip()
    if not text:
        return Reply(None, invalid="empty reply")
    repairs: list[str] = []
    if (value := _loads(text)) is not None:
        return Reply(value)
    if fence := _FENCE.search(text):
        text = fence.group(1).strip()
        repairs.append("code fence")
    if (value := _loads(text)) is not None:
        return Reply(value, tuple(repairs))
    candidates = _objects(text)
    if not candidates:
        reason = "cut off inside the JSON object" if "{" in text else "no JSON object"
        return Reply(None, tuple(repairs), reason)
    if candidates[0] != text:
        repairs.append("text around the object")
    read = [_repaired(candidate) for candidate in candidates]
    if (first := read[0]) is None:
        return Reply(None, tuple(repairs), "not JSON")
    if any(other is not None and other[0] != first[0] for other in read[1:]):
        return Reply(None, tuple(repairs), "several different JSON objects")
    return Reply(first[0], (*repairs, *first[1]))


def read_bool(text: str, key: str) -> tuple[bool | None, str | None]:
    """Return a judge's true or false for one criterion, or the reason it has none.

    Accepts ``{key: {"value": true}}``, ``{key: true}``, ``{"value": true}``, the words true
    and false as strings, and a bare ``true`` or ``false`` as the whole reply.

    Returns:
        The answer and none, or none and the reason.
    """
    bare = as_bool(text.strip().strip("`'\". "))
    if bare is not None:
        return bare, None
    reply = read_json_object(text)
    if reply.value is None:
        return None, reply.invalid
    value: Any = reply.value.get(key, reply.value)
    if isinstance(value, dict):
        value = value.get("value")
    answer = as_bool(value)
    return (answer, None) if answer is not None else (None, f"no true or false under '{key}'")


def as_bool(value: object) -> bool | None:
    """Return true or false, or the word for it; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None


def _loads(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _repaired(text: str) -> tuple[dict[str, Any], list[str]] | None:
    if (value := _loads(text)) is not None:
        return value, []
    repairs: list[str] = []
    for name, pattern, replacement in _REPAIRS:
        changed = pattern.sub(replacement, text)
        if changed != text:
            text = changed
            repairs.append(name)
            if (value := _loads(text)) is not None:
                return value, repairs
    return None


def _objects(text: str) -> list[str]:
    """Return every balanced top-level ``{…}`` of a text, in order."""
    found: list[str] = []
    depth, start, in_string, escaped = 0, 0, False, False
    for position, char in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"' and depth:
            in_string = True
        elif char == "{":
            if depth == 0:
                start = position
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                found.append(text[start : position + 1])
    return found
