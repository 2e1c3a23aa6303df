"""Reads tables in JSON: one object per line, or a list of objects."""

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.delimited import BOM, decode_line, read_whole, text_lines
from contrafact.files.limits import limit, over

__all__ = ["json_lines", "json_problem"]

Row = tuple[int, dict[str, Any]]
"""A row's line, from 1, and its object."""

_VALUE = 64  # bytes that a value takes, approximately
_SPACES = re.compile(r"[ \t\r\n]+")
_TYPES = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def json_problem(error: ValueError | RecursionError) -> str:
    """Return the problem of a text that Python's JSON parser refused."""
    if isinstance(error, json.JSONDecodeError):
        return f"bad JSON: {error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "bad JSON: nested too deeply"
    return "bad JSON: a number with thousands of digits"


def _bad_json(error: ValueError | RecursionError, name: str, line: int) -> InputError:
    line += error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
    hint = "fix the line, or leave it out"
    return InputError(json_problem(error), file=name, line=line, hint=hint)


def _object(value: Any, name: str, line: int) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    kind = _TYPES.get(type(value), "a number")
    raise InputError(
        f"the row is {kind}, not an object",
        file=name,
        line=line,
        hint='write each row as {"column": value, …}',
    )


def json_lines(stream: BinaryIO, name: str) -> Iterator[Row]:
    """Yield the objects of a file with one per line; blank lines are skipped."""
    with stream:
        for number, text in text_lines(stream, name):
            text = text.rstrip()  # so that an error at the end is on this line, not the next
            if not text:
                continue
            most = limit("values")
            if len(text) > most and sum(map(text.count, ",[{")) > most:
                raise over("values", name, number)
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if text == "{":
                    raise InputError(
                        "a JSON object extends over several lines",
                        file=name,
                        line=number,
                        hint="write a list of objects, [{…}, …], or one object per line",
                    ) from error
                raise _bad_json(error, name, number) from error
            yield number, _object(value, name, number)


def json_list(stream: BinaryIO, name: str) -> Iterator[Row]:
    """Yield a list's objects, each with its first line, or its number if all is on one line.

    A list is read whole, unlike a file with one object per line.
    """
    with stream:
        text = decode_line(read_whole(stream, name).removeprefix(BOM), name, 1)
    values = sum(map(text.count, ",[{"))
    if values > limit("cells"):  # each may begin an object
        raise over("cells", name)
    if _VALUE * values > limit("memory"):
        raise over("memory", name)
    single, decoder = "\n" not in text.strip(), json.JSONDecoder()
    at, line, count = 0, 1, 0

    def move(end: int) -> None:
        """Set the position, and skip the white space after it."""
        nonlocal at, line
        space = _SPACES.match(text, end)
        end = space.end() if space else end
        line, at = line + text.count("\n", at, end), end

    def fail(problem: str, hint: str = "is the file whole?") -> InputError:
        return InputError(problem, file=name, line=line, hint=hint)

    move(0)
    if not text.startswith("[", at):
        raise fail("a JSON list was expected", "write a list of objects: [{…}, …]")
    move(at + 1)
    while not text.startswith("]", at):
        if count:
            if not text.startswith(",", at):
                raise fail("bad JSON: ',' or ']' was expected")
            move(at + 1)
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:  # the parser counts lines from the start of the text
            raise _bad_json(error, name, 1) from error
        except (ValueError, RecursionError) as error:
            raise _bad_json(error, name, line) from error
        count += 1
        place = count if single else line
        yield place, _object(value, name, place)
        move(end)
    move(at + 1)
    if at != len(text):
        raise fail("bad JSON: text after the end of the list")
