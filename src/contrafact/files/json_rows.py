"""JSON as tables: one object a line, or a list of objects, read an object at a time."""

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.delimited import BOM, decode_line, text_lines
from contrafact.files.limits import limit, over

__all__ = ["Row", "json_lines", "json_list", "json_problem"]

Row = tuple[int, dict[str, Any]]
"""Its line, from 1, and what it holds."""

_WINDOW = 2**20  # bytes of a list that are read at once, at least
_SPACES = re.compile(r"[ \t\r\n]+")
_BAD_JSON = {  # by how Python's reader begins to say it
    "Expecting value": "a value is expected",
    "Expecting property name": 'a name in "double quotes" is expected',
    "Expecting ',' delimiter": "',' or the end is expected",
    "Expecting ':' delimiter": "':' is expected",
    "Unterminated string": "a text has no closing quote",
    "Invalid control character": "a line break or control character stands in a text",
    "Invalid \\": "no known escape follows the backslash",
    "Extra data": "there is more behind the end",
    "Illegal trailing comma": "a comma stands before the end",
}
_TYPES = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def json_problem(error: ValueError | RecursionError) -> str:
    """Return what is wrong with a text that Python's reader of JSON refused."""
    if isinstance(error, json.JSONDecodeError):
        words_for = next(
            (words for start, words in _BAD_JSON.items() if error.msg.startswith(start)), ""
        )
        return f"bad JSON{words_for and ': '}{words_for} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "bad JSON: nested too deeply"
    return "bad JSON: a number of thousands of digits"


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
    """Yield the objects of a file that has one a line; blank lines are passed over."""
    with stream:
        for number, text in text_lines(stream, name):
            text = text.rstrip()  # so that an error at the end is on this line, not the next
            if not text:
                continue
            if _has_many(text, 0):
                raise over("values", name, number)
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if text == "{" and _is_json(text + decode_line(stream.read(), name, number + 1)):
                    raise InputError(
                        "the file is one JSON object, not a list of them",
                        file=name,
                        line=number,
                        hint="write a list of objects, [{…}, …], or one object a line",
                    ) from error
                raise _bad_json(error, name, number) from error
            yield number, _object(value, name, number)


def _has_many(text: str, at: int) -> bool:
    """Return whether a text has more values than a row may, from a place on."""
    most = limit("values")
    return len(text) - at > most and sum(text.count(mark, at) for mark in ",[{") > most


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_list(stream: BinaryIO, name: str) -> Iterator[Row]:
    """Yield a list's objects, of whose text little more is held than the one that is read."""
    text, rest, at, count, cells = "", stream.read(len(BOM)).removeprefix(BOM), 0, 0, 0
    above = line = 1  # the lines of the text's start and of the place in it
    decoder, most = json.JSONDecoder(), limit("row")

    def more() -> bool:
        """Read on, and let go of what was read before; tell whether there was any."""
        nonlocal text, rest, at, above, cells
        if len(text) - at + len(rest) > most:
            raise over("row", name, line)
        if _has_many(text, at):
            raise over("values", name, line)
        read = stream.read(max(_WINDOW, len(text) - at + len(rest)))
        data = rest + read
        # Nothing that a text is made of goes over a quotation mark or a comma but texts do.
        end = max(map(data.rfind, (b'"', b","))) + 1 if read else len(data)
        data, rest = data[:end], data[end:]
        cells += sum(map(data.count, (b",", b"[", b"{")))
        if cells > limit("cells"):  # each may stand for an object
            raise over("cells", name)
        begun = above + text.count("\n")
        above, text, at = line, text[at:] + decode_line(data, name, begun), 0
        return bool(read or data)

    def move(end: int) -> None:
        """Go to a place, and over the space behind it."""
        nonlocal line, at
        while True:
            space = _SPACES.match(text, end)
            end = space.end() if space else end
            line, at = line + text.count("\n", at, end), end
            if at < len(text) or not more():
                return
            end = at

    def fail(problem: str, hint: str = "is the file whole?") -> InputError:
        return InputError(problem, file=name, line=line, hint=hint)

    with stream:
        more()
        move(0)
        single = "\n" not in text.strip()
        if not text.startswith("[", at):
            raise fail("a JSON list was expected", "write a list of objects: [{…}, …]")
        move(at + 1)
        while not text.startswith("]", at):
            if count:
                if not text.startswith(",", at):
                    raise fail("bad JSON: ',' or ']' was expected")
                move(at + 1)
            begun, end = line, -1
            while end < 0:
                try:
                    value, end = decoder.raw_decode(text, at)
                except json.JSONDecodeError as error:
                    cut = error.pos >= len(text) - 1 or error.msg.startswith("Unterminated")
                    if not (cut and more()):
                        # The decoder counts from the start of the whole text it was given.
                        raise _bad_json(error, name, above) from error
                except (ValueError, RecursionError) as error:
                    raise _bad_json(error, name, begun) from error
            count += 1
            place = count if single else begun
            yield place, _object(value, name, place)
            move(end)
        move(at + 1)
        if at != len(text):
            raise fail("bad JSON: text after the end of the list")
