"""Tables in and out: JSON Lines, JSON, CSV and Parquet, read row by row and written whole."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path, os_problem, write_text
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Row",
    "json_line",
    "line_list",
    "read_rows",
    "render_csv",
    "render_jsonl",
    "source_name",
    "write_frame",
    "write_rows",
]

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
# Files that people give by mistake: how they begin, what they are, what to do.
_FOREIGN = (
    (b"\xff\xfe", "is UTF-16, not UTF-8", "save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16, not UTF-8", "save it as UTF-8"),
    (b"PK\x03\x04", "is a spreadsheet or a zip file", "save it as CSV"),
    (b"\x1f\x8b", "is compressed", "decompress it with gunzip"),
)
_TYPES = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def source_name(path: str | Path) -> str:
    """Return what messages call the file: its path, or ``standard input`` for ``-``."""
    return "standard input" if str(path) == "-" else str(path)


def line_list(lines: Iterable[int], most: int = 6) -> str:
    """Return line numbers as a message names them: "line 4", "lines 2, 9, …" past the most."""
    numbers = list(lines)
    shown = ", ".join(map(str, numbers[:most]))
    return f"line{'s' * (len(numbers) != 1)} {shown}{', …' if len(numbers) > most else ''}"


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
        text = head.removeprefix(_BOM).lstrip(_SPACE)
        if not text and not stream.read().strip(_SPACE):
            raise InputError("the file is empty", file=name, hint="give a file with rows in it")
        usual = {b"[": "json", b"{": "jsonl"}.get(text[:1], "csv")
        kind = _KINDS.get(suffix) or ("parquet" if head.startswith(b"PAR1") else usual)
        if kind != "parquet":
            for mark, found, hint in _FOREIGN:  # which would else fail as bad text
                if head.startswith(mark):
                    raise InputError(found, file=name, hint=hint)
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    if kind == "parquet":
        return _parquet(stream, name)
    if kind == "csv":
        return _csv(stream, name, "\t" if suffix == ".tsv" else _delimiter(head))
    if kind == "json" and text[:1] != b"{":
        return _json_list(stream, name)
    return _json_lines(stream, name)  # also .json files that hold one object a line


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, whole or not at all.

    Raises:
        InputError: The file cannot be written.
    """
    write_text(path, "".join(json_line(row) for row in rows))


def write_frame(frame: "pd.DataFrame", path: str | Path) -> None:
    """Write a table to ``path``, whole or not at all, in the format its suffix names.

    The index is left out. Missing values (``None``, ``NaN``, ``NaT``) are empty cells in CSV and
    ``null`` elsewhere. Lone surrogates become U+FFFD, except in JSON Lines, which keeps them.

    Args:
        frame: The table; column names are texts.
        path: A file named ``.csv``, ``.jsonl`` or ``.parquet``.

    Raises:
        InputError: Another suffix, or a file that cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl", ".parquet"):
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            hint="name the file .csv, .jsonl or .parquet",
        )
    with atomic_path(path) as temporary:
        if suffix == ".csv":
            temporary.write_bytes(render_csv(frame).encode())
        elif suffix == ".jsonl":
            temporary.write_bytes(render_jsonl(frame).encode())
        else:
            # Parquet refuses lone surrogates.
            whole = frame.copy()
            for column in whole.columns:
                if whole[column].dtype == object or str(whole[column].dtype).startswith("str"):
                    whole[column] = whole[column].map(
                        lambda value: replace_surrogates(value) if isinstance(value, str) else value
                    )
            whole.to_parquet(temporary, engine="pyarrow", index=False)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON, its line feed included; lone surrogates become U+FFFD."""
    return replace_surrogates(json.dumps(row, ensure_ascii=False, default=str)) + "\n"


def render_csv(frame: "pd.DataFrame") -> str:
    """Return a table as CSV with a header and line feeds, quoted where a cell needs it.

    Lists and objects in cells are written as JSON.
    """
    sink = io.StringIO(newline="")
    # The csv module quotes line feeds and carriage returns both only when both end its rows.
    writer = csv.writer(_LineFeeds(sink), lineterminator="\r\n")
    writer.writerow([str(column) for column in frame.columns])
    for row in _rows(frame):
        writer.writerow([_cell(value) for value in row])
    return replace_surrogates(sink.getvalue())


def render_jsonl(frame: "pd.DataFrame") -> str:
    """Return a table as JSON Lines: one object a row, keys in the order of the columns.

    Infinite numbers, which JSON lacks, are the texts ``"Infinity"`` and ``"-Infinity"``.
    """
    columns = [str(column) for column in frame.columns]
    lines = (
        json.dumps(
            {key: _plain(value) for key, value in zip(columns, row, strict=True)},
            ensure_ascii=False,
            allow_nan=False,
            default=str,
        )
        for row in _rows(frame)
    )
    text = "".join(line + "\n" for line in lines)
    # A lone surrogate is written as its JSON escape, since UTF-8 cannot hold it.
    return text.encode("utf-8", "backslashreplace").decode()


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
        problem = f"bad JSON: {error.msg} at column {error.colno}"
    elif isinstance(error, RecursionError):
        problem = "bad JSON: nested too deeply"
    else:  # an integer of thousands of digits
        problem = f"bad JSON: {error}"
    return InputError(problem, file=name, line=line, hint="fix the line, or leave it out")


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
                if text == "{" and _is_json(text + _decode(stream.read(), name, number + 1)):
                    raise InputError(
                        "the file is one JSON object, not a list of them",
                        file=name,
                        line=number,
                        hint="write a list of objects, [{…}, …], or one object a line",
                    ) from error
                raise _bad_json(error, name, number) from error
            yield number, _object(value, name, number)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


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
                header = [cell.strip() for cell in cells]
                twice = next((cell for cell in header if header.count(cell) > 1), None)
                if twice is not None:
                    raise InputError(
                        f"two columns are called '{twice}'",
                        file=name,
                        line=line,
                        hint="rename one of them",
                    )
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


class _LineFeeds:
    """Ends each row that the csv module writes with a line feed."""

    def __init__(self, sink: io.StringIO) -> None:
        self._sink = sink

    def write(self, row: str) -> int:
        return self._sink.write(row.removesuffix("\r\n") + "\n")


def _rows(frame: "pd.DataFrame") -> Iterator[tuple[Any, ...]]:
    """Yield rows of plain Python values, missing ones as ``None``."""
    columns = []
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        missing = column.isna()
        columns.append(
            [
                None if gone else value
                for value, gone in zip(column.tolist(), missing.tolist(), strict=True)
            ]
        )
    return zip(*columns, strict=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what it has no word for is left to ``default=str``."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _cell(value: Any) -> Any:
    value = _plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
