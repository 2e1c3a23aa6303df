"""Rows in: JSON Lines, JSON, CSV and Parquet, one dictionary per row, each with its line."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem, write_text
from contrafact.text.delimit import replace_surrogates

__all__ = ["Row", "json_line", "read_rows", "source_name", "write_rows"]

Row = tuple[int, dict[str, Any]]

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
_TYPES = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def source_name(path: str | Path) -> str:
    """Return what messages call the file: its path, or ``standard input`` for ``-``."""
    return "standard input" if str(path) == "-" else str(path)


def read_rows(path: str | Path) -> Iterator[Row]:
    """Return the rows of a file as ``(line, row)``, one at a time.

    The format follows the suffix (``.jsonl``, ``.ndjson``, ``.json``, ``.csv``, ``.tsv``,
    ``.parquet``), or the content where the suffix says nothing; ``-`` is standard input. Text is
    UTF-8, with or without a byte-order mark. ``line`` is the line on which the row begins, counted
    from 1; Parquet has no lines, so there it is the row's number. A bad row raises when the reader
    gets to it. Blank lines are passed over. A CSV file may be divided by commas, or by semicolons
    or tabs if its header has no comma; its values are text, and cells that a short row lacks are
    empty.

    Raises:
        InputError: No such file, a folder, an empty file, not UTF-8, bad JSON, a row that is not
            an object, a CSV row with more cells than the header, not Parquet.
    """
    name = source_name(path)
    suffix = "" if str(path) == "-" else Path(path).suffix.lower()
    stream = _open(path, name)
    try:
        head = stream.read(65536)
        if not head.removeprefix(_BOM).strip(_SPACE) and not stream.read().strip(_SPACE):
            raise InputError("the file is empty", file=name, hint="give a file with rows in it")
        kind = _KINDS.get(suffix) or _sniff(head)
        if kind != "parquet":
            _refuse_foreign(head, name)
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    if kind == "parquet":
        return _parquet(stream, name)
    if kind == "csv":
        return _csv(stream, name, "\t" if suffix == ".tsv" else _delimiter(head))
    if kind == "json" and _first_byte(head) != b"{":
        return _json_list(stream, name)
    return _json_lines(stream, name)  # also .json files that hold one object a line


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON, its line feed included; lone surrogates become U+FFFD."""
    return replace_surrogates(json.dumps(row, ensure_ascii=False, default=str)) + "\n"


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, whole or not at all.

    Raises:
        InputError: The file cannot be written.
    """
    write_text(path, "".join(json_line(row) for row in rows))


def _open(path: str | Path, name: str) -> BinaryIO:
    if str(path) == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    if Path(path).is_dir():
        raise InputError("is a folder, not a file", file=name, hint="name one file")
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed by the reader of its rows
    except FileNotFoundError as error:
        raise InputError("no such file", file=name, hint="check the path") from error
    except ValueError as error:  # a NUL in the path
        raise InputError("is not a path", file=repr(name), hint="check the path") from error
    except OSError as error:
        raise os_problem(error, name, doing="cannot be read") from error
    if stream.seekable():
        return stream
    with stream:  # a pipe, as from <(zcat …)
        return io.BytesIO(stream.read())


def _first_byte(head: bytes) -> bytes:
    return head.removeprefix(_BOM).lstrip(_SPACE)[:1]


def _sniff(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    return {b"[": "json", b"{": "jsonl"}.get(_first_byte(head), "csv")


def _refuse_foreign(head: bytes, name: str) -> None:
    """Name the files that people give by mistake, which would else fail as bad text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("is UTF-16, not UTF-8", file=name, hint="save it as UTF-8")
    if head.startswith(b"PK\x03\x04"):
        raise InputError("is a spreadsheet or a zip file", file=name, hint="save it as CSV")
    if head.startswith(b"\x1f\x8b"):
        raise InputError("is compressed", file=name, hint="decompress it with gunzip")


def _decode(data: bytes, name: str, line: int) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line + data.count(b"\n", 0, error.start)
        raise InputError(
            f"is not UTF-8 (byte 0x{data[error.start]:02x})",
            file=name,
            line=bad,
            hint="save the file as UTF-8",
        ) from error


def _bad_json(error: ValueError | RecursionError, name: str, line: int) -> InputError:
    if isinstance(error, json.JSONDecodeError):
        line += error.lineno - 1
        said = f"bad JSON: {error.msg} at column {error.colno}"
    elif isinstance(error, RecursionError):
        said = "bad JSON: nested too deeply"
    else:  # an integer of thousands of digits
        said = f"bad JSON: {error}"
    return InputError(said, file=name, line=line, hint="mend the line, or leave it out")


def _object(value: Any, name: str, line: int) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    found = _TYPES.get(type(value), "a number")
    raise InputError(
        f"the row is {found}, not an object",
        file=name,
        line=line,
        hint='write each row as {"column": value, …}',
    )


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    # Split at line feeds alone: U+2028 and its kin may stand inside a JSON text.
    for number, raw in enumerate(stream, start=1):
        yield number, _decode(raw.removeprefix(_BOM) if number == 1 else raw, name, number)


def _json_lines(stream: BinaryIO, name: str) -> Iterator[Row]:
    with stream:
        for number, text in _lines(stream, name):
            text = text.rstrip()  # so that an error at the end is on this line, not the next
            if not text:
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                if text == "{":
                    _refuse_one_object(
                        text + _decode(stream.read(), name, number + 1), name, number
                    )
                raise _bad_json(error, name, number) from error
            yield number, _object(value, name, number)


def _refuse_one_object(text: str, name: str, line: int) -> None:
    """Say so if the text is one JSON object over several lines, as pretty-printers write it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    raise InputError(
        "the file is one JSON object, not a list of them",
        file=name,
        line=line,
        hint="write a list of objects, [{…}, …], or one object a line",
    )


def _json_list(stream: BinaryIO, name: str) -> Iterator[Row]:
    with stream:
        text = _decode(stream.read().removeprefix(_BOM), name, 1)
    decoder = json.JSONDecoder()
    place = _Place(text)
    if not place.take("["):
        place.fail("a JSON list was expected", name, hint="write a list of objects: [{…}, …]")
    if not place.take("]"):
        while True:
            place.skip_space()
            line, start = place.line, place.at
            try:
                value, place.at = decoder.raw_decode(text, start)
            except json.JSONDecodeError as error:
                # The decoder counts from the start of the whole text, as it was given that.
                raise _bad_json(error, name, 1) from error
            except (ValueError, RecursionError) as error:
                raise _bad_json(error, name, line) from error
            yield line, _object(value, name, line)
            if place.take("]"):
                break
            if not place.take(","):
                place.fail("bad JSON: ',' or ']' was expected", name)
    place.skip_space()
    if place.at != len(text):
        place.fail("bad JSON: text after the end of the list", name)


class _Place:
    """A position in a text that knows its line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def take(self, character: str) -> bool:
        self.skip_space()
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def fail(self, problem: str, name: str, *, hint: str = "is the file whole?") -> None:
        raise InputError(problem, file=name, line=self.line, hint=hint)


def _delimiter(head: bytes) -> str:
    """Return the comma, or what a header without a comma is divided by."""
    header = head.removeprefix(_BOM).lstrip(b"\r\n").split(b"\n", 1)[0]
    if b"," in header:
        return ","
    return next((mark for mark in (";", "\t") if mark.encode() in header), ",")


def _csv(stream: BinaryIO, name: str, delimiter: str) -> Iterator[Row]:
    # A headline may be longer than the csv module's own limit on a cell (131,072 characters).
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    with stream:
        texts = (text for _, text in _lines(stream, name))
        reader = csv.reader(texts, delimiter=delimiter, strict=True)
        header: list[str] | None = None
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise InputError(
                    f"bad CSV: {error}", file=name, line=line, hint="check the row's quotes"
                ) from error
            if not cells:
                continue
            if header is None:
                header = _header(cells, name, line)
                continue
            if len(cells) > len(header):
                raise InputError(
                    f"the row has {len(cells)} cells, the header has {len(header)}",
                    file=name,
                    line=line,
                    hint='put cells that hold a comma in quotes: "…"',
                )
            cells += [""] * (len(header) - len(cells))
            yield line, dict(zip(header, cells, strict=True))


def _header(cells: list[str], name: str, line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = next((cell for cell in names if names.count(cell) > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns are called '{twice}'", file=name, line=line, hint="rename one of them"
        )
    return names


def _parquet(stream: BinaryIO, name: str) -> Iterator[Row]:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    number = 0
    with stream:
        try:
            for batch in parquet.ParquetFile(stream).iter_batches(batch_size=4096):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except UnicodeDecodeError as error:
            raise InputError(
                f"a text near row {number + 1} is not UTF-8", file=name, hint="write the file again"
            ) from error
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(
                f"is not Parquet, or is damaged: {error}", file=name, hint="write the file again"
            ) from error
