"""Tables in and out: JSON Lines, JSON, CSV, Parquet and Excel, read by rows and written whole."""

import csv
import errno
import io
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path, os_problem
from contrafact.files.delimited import (
    BOM,
    Dialect,
    read_delimited,
    read_whole,
    utf8_stream,
    with_decimal_points,
)
from contrafact.files.fields import (
    as_cell,
    as_json,
    guarded_columns,
    no_column,
    plain,
    present,
    rename_row,
    unguarded,
    unguarded_row,
)
from contrafact.files.json_rows import Row, json_lines, json_list
from contrafact.files.limits import bounded_rows, limit, most_unpacked, over
from contrafact.files.parquet import parquet_rows
from contrafact.files.workbooks import WORKBOOKS, read_workbook, split_sheet, workbook_bytes
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BAD_DATE",
    "BROKEN",
    "TABLE_SUFFIXES",
    "Row",
    "RowNotes",
    "called",
    "few",
    "is_storable",
    "json_line",
    "line_list",
    "of_one_type",
    "open_table",
    "read_rows",
    "render_csv",
    "render_jsonl",
    "require_tables",
    "row_count",
    "source_name",
    "table_bytes",
    "table_file",
    "write_frame",
    "write_rows",
]

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
"""What tables are written as, by the file's name."""

_SPACE = b" \t\r\n"
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    **dict.fromkeys(WORKBOOKS, "workbook"),
}
_STARTS = {b"PAR1": "parquet", b"PK\x03\x04": "workbook"}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How compressed files begin, whatever their names."""
# Files that people give by mistake: how they begin, what they are, what to do.
_FOREIGN = (
    (b"\xff\xfe\0\0", "is UTF-32, not UTF-8", "save it as UTF-8"),
    (b"\0\0\xfe\xff", "is UTF-32, not UTF-8", "save it as UTF-8"),
    (b"BZh91AY&SY", "is packed by bzip2", "unpack it, or pack it by gzip or zstd"),
    (b"\xfd7zXZ\0", "is packed by xz", "unpack it, or pack it by gzip or zstd"),
    (
        b"\xd0\xcf\x11\xe0",
        "is an old Excel file (.xls), or has a password",
        "save it as .xlsx without a password, or as CSV",
    ),
)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A file of rows that was opened.

    Attributes:
        dialect: How a table made of it is written as CSV: divided as it is, and marked as UTF-8
            for Excel if it came from there.
    """

    rows: Iterator[Row]
    dialect: Dialect


def source_name(path: str | Path) -> str:
    """Return what messages call the file: its path, or ``standard input`` for ``-``."""
    return "standard input" if str(path) == "-" else _called.get().get(str(path), str(path))


_called: ContextVar[Mapping[str, str]] = ContextVar("called", default=MappingProxyType({}))


@contextmanager
def called(path: str | Path, name: str) -> Iterator[None]:
    """Have messages in the block call a file so: one that is temporary, and nobody has named."""
    token = _called.set({**_called.get(), str(path): name})
    try:
        yield
    finally:
        _called.reset(token)


def line_list(lines: Iterable[int]) -> str:
    """Return line numbers as a message names them: "line 4", "lines 2, 9, …" past six."""
    numbers = list(lines)
    shown = ", ".join(map(str, numbers[:6]))
    return f"line{'s' * (len(numbers) != 1)} {shown}{', …' if len(numbers) > 6 else ''}"


BAD_DATE = "with a date that cannot be read as one day, kept as it stands (write YYYY-MM-DD)"
BROKEN = "with broken characters, replaced by U+FFFD"


@dataclass
class RowNotes:
    """What a reader of rows met and passed over, to be shown to the user.

    Attributes:
        rows: Rows read, those left out among them.
        found: The lines of rows, by what is said of them.
        conflicts: Sentences on what the file says in two ways of one text.
    """

    rows: int = 0
    found: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    conflicts: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return one sentence for each thing that the user should know; empty if all was well."""
        return few(self.conflicts) + [
            f"{len(lines):,} row{'s' * (len(lines) != 1)} {what} ({line_list(lines)})"
            for what, lines in self.found.items()
        ]


def few(sentences: list[str]) -> list[str]:
    """Return the first of what a file says in two ways, and how many more `data check` names."""
    if len(sentences) <= 3:
        return sentences
    more = f"and {len(sentences) - 3:,} more of this kind (contrafact data check names all)"
    return [*sentences[:3], more]


def table_file(path: str | Path) -> Path:
    """Return the file that a table is in: the path, without a workbook's ``#Sheet``."""
    return Path(split_sheet(path)[0])


def read_rows(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    guarded: bool | Callable[[Mapping[str, Any]], bool] = False,
) -> Iterator[Row]:
    """Return the rows of a file as ``(line, row)``, one at a time; see `open_table`."""
    return open_table(path, columns, guarded=guarded).rows


def require_tables(*paths: str | Path | None) -> None:
    """Refuse tables that are not there, before anything heavy is loaded.

    What has no table's suffix may name a data set, and is passed over.
    """
    for path in paths:
        file = Path() if path is None else table_file(path)
        if file.suffix.lower() in _KINDS and ":" not in str(path) and not file.exists():
            raise InputError("no such file", file=path, hint="check the path")


def row_count(path: str | Path) -> int | None:
    """Return how many rows a file of lines or Parquet has, at most; None of another, or a pipe."""
    kind = Path(path).suffix.lower()
    try:
        if not Path(path).is_file():
            return None
        if kind in (".jsonl", ".ndjson"):
            with Path(path).open("rb") as stream:
                return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(1 << 20), b""))
        if kind == ".parquet":
            from pyarrow import parquet  # type: ignore[import-untyped]

            return int(parquet.read_metadata(path).num_rows)
    except (OSError, ValueError):
        return None  # reading says what is wrong
    return None


def open_table(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    decimals: bool = True,
    guarded: bool | Callable[[Mapping[str, Any]], bool] = False,
) -> OpenTable:
    """Open a file of rows.

    The format follows the suffix, or the content where the suffix says nothing; ``-`` is standard
    input, ``FILE.xlsx#Sheet`` a sheet, without which the first is read. Text that gzip or zstd has
    compressed (``.csv.gz``, ``.jsonl.zst``) is unpacked into a temporary file. ``line`` is the line
    on which a row begins, counted from 1; of Parquet, and of a JSON list on one line, it is the
    row's number. A bad row raises when the reader gets to it. Blank rows are passed over.

    Text is UTF-8 or UTF-16; a CSV file may be Windows-1252. A CSV file is divided by commas,
    semicolons or tabs; its values are text, and cells that a short row lacks are empty. What was
    not plain is said on standard error. What stands for nothing (``NULL``) is told by
    `contrafact.files.fields.is_absent`; within an object a key that is null is absent, as Parquet
    and the hub write it.

    Args:
        columns: By the name that is wanted, the column's name in the file, where they differ; the
            column gets the wanted name, and another column of that name is left out.
        decimals: Whether numbers of columns divided by semicolons or tabs get a point for a
            decimal comma, and scenarios lose the apostrophe that guards them; not where cells go
            out again as they came.
        guarded: Whether the file, or a row of it, is of a kind that this project writes, all of
            whose texts and names lose the apostrophe that guards them; a workbook may have been
            made of one.
    """
    name = source_name(path)
    file, sheet = split_sheet(path)
    suffix = "" if file == "-" else Path(file).suffix.lower()
    if suffix in (".gz", ".zst"):
        suffix = Path(file).with_suffix("").suffix.lower()
    stream = _unpacked(_open(file, source_name(file)), name)
    dialect = Dialect()
    try:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        stream, kind, foreign = _recognised(stream, suffix, name)
        rows: Iterator[Row]
        if kind == "parquet":
            rows = parquet_rows(stream, name)
        elif kind == "workbook":
            dialect = Dialect(mark=True)
            rows = read_workbook(stream, name, sheet=sheet)
        elif kind == "csv":
            dialect, rows = read_delimited(stream, name, tabs=suffix == ".tsv")
            if foreign:  # Excel's "Unicode text", whose name says nothing
                dialect = replace(dialect, mark=True)
            if decimals and not guarded:
                rows = _unguarded(rows)
            if decimals and dialect.delimiter != ",":
                rows = with_decimal_points(rows)
        else:
            rows = (json_list if kind == "json" else json_lines)(stream, name)
        nested = kind in ("json", "jsonl", "parquet")
        if guarded and not nested:
            ours = guarded if callable(guarded) else lambda row: True
            rows = ((line, unguarded_row(row) if ours(row) else row) for line, row in rows)
        rows = bounded_rows(rows, name, nested=nested or kind == "workbook", size=size)
        if nested:
            rows = ((line, present(row, top=True)) for line, row in rows)
    except BaseException:
        stream.close()
        raise
    if columns:
        rows = _renamed(rows, columns, name, ragged=kind in ("json", "jsonl"))
    return OpenTable(rows, dialect)


def _unguarded(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows of a text table with scenarios as they were written."""
    names: list[str] | None = None
    for line, cells in rows:
        names = guarded_columns(cells) if names is None else names
        yield line, cells | {name: unguarded(cells[name]) for name in names} if names else cells


def _recognised(stream: BinaryIO, suffix: str, name: str) -> tuple[BinaryIO, str, bool | None]:
    """Return a file from its start, its kind, and what `utf8_stream` says of its text."""
    foreign: bool | None = None
    head = stream.read(65536)
    text = head.removeprefix(BOM).lstrip(_SPACE)
    if not text and not any(part.strip(_SPACE) for part in iter(lambda: stream.read(65536), b"")):
        raise InputError("the file is empty", file=name, hint="give a file with rows in it")
    kind = next((known for mark, known in _STARTS.items() if head.startswith(mark)), None)
    kind = kind or _KINDS.get(suffix)
    for mark, found, hint in _FOREIGN:  # which would else fail as bad text
        if head.startswith(mark) and kind != "parquet":
            raise InputError(found, file=name, hint=hint)
    if kind in (None, "json", "jsonl"):
        stream, foreign = utf8_stream(stream, name, legacy=False)
        start = stream.read(65536).removeprefix(BOM).lstrip(_SPACE)[:1]
        kind = kind or {b"[": "json", b"{": "jsonl"}.get(start, "csv")
        if kind == "json" and start == b"{":  # one object a line, or no list: its reader says so
            kind = "jsonl"
    stream.seek(0)
    return stream, kind, foreign


def _renamed(
    rows: Iterator[Row], columns: Mapping[str, str], name: str, *, ragged: bool
) -> Iterator[Row]:
    """Yield rows under the names that are wanted; an object may lack a column, a table not."""
    unseen = dict(columns)
    found: dict[str, None] = {}
    for line, row in rows:
        found |= dict.fromkeys(map(str, row))
        renamed, used = rename_row(row, columns)
        for want in used:
            unseen.pop(want, None)
        if unseen and not ragged:
            break
        yield line, renamed
    if unseen and found:
        want, have = next(iter(unseen.items()))
        raise no_column(have, want, found, name)


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, as they come, whole or not at all."""
    with atomic_path(path) as draft, draft.open("w", encoding="utf-8", newline="") as sink:
        sink.writelines(map(json_line, rows))


def write_frame(frame: "pd.DataFrame", path: str | Path, dialect: Dialect | None = None) -> None:
    """Write a table to ``path``, whole or not at all, in the format its suffix names.

    The index is left out. Missing values (``None``, ``NaN``, ``NaT``) are empty cells in CSV and
    Excel, and ``null`` elsewhere. Lone surrogates become U+FFFD.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            hint=f"name the file {', '.join(TABLE_SUFFIXES[:-1])} or {TABLE_SUFFIXES[-1]}",
        )
    with atomic_path(path) as temporary:
        temporary.write_bytes(table_bytes(frame, path, dialect))


def table_bytes(frame: "pd.DataFrame", path: str | Path, dialect: Dialect | None = None) -> bytes:
    """Return what `write_frame` writes of a table to a file of this name."""
    suffix, dialect = Path(path).suffix.lower(), dialect or Dialect()
    if suffix in (".csv", ".tsv"):
        delimiter = "\t" if suffix == ".tsv" else dialect.delimiter
        return (BOM if dialect.mark else b"") + render_csv(frame, delimiter).encode()
    if suffix == ".jsonl":
        return render_jsonl(frame).encode()
    if suffix == ".xlsx":
        names = [str(column) for column in frame.columns]
        return workbook_bytes(names, _rows(frame), path)
    sink = io.BytesIO()
    of_one_type(frame).to_parquet(sink, engine="pyarrow", index=False)
    return sink.getvalue()


def of_one_type(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a copy of a table in which each column has one type, as Arrow and Parquet have it.

    Lists and objects stay as they are where all are of one type. A column with values of several
    becomes JSON, its texts as they are but for lone surrogates, which are U+FFFD.
    """
    import pandas as pd
    import pyarrow

    whole = frame.copy(deep=False)  # nothing is changed in place
    for column in whole.columns:
        try:
            storable = is_storable(pyarrow.array(whole[column], from_pandas=True).type)
        except (pyarrow.ArrowException, OverflowError, UnicodeError):
            storable = False
        if not storable:
            values = [_as_text(value) for value in whole[column]]
            whole[column] = pd.Series(values, index=whole.index, dtype=object)
    return whole


def _as_text(value: Any) -> str | None:
    if value is None:
        return None
    is_text = isinstance(value, str)
    return replace_surrogates(
        value if is_text else json.dumps(plain(value), ensure_ascii=False, default=str)
    )


def is_storable(kind: Any) -> bool:
    """Return whether Parquet has an Arrow type: it knows no object without fields."""
    inner = [kind.field(place) for place in range(kind.num_fields)]
    return bool(inner or str(kind) != "struct<>") and all(
        is_storable(field.type) for field in inner
    )


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON, its line feed included; lone surrogates become U+FFFD.

    NaN is null; infinite numbers, which JSON lacks too, are ``"Infinity"`` and ``"-Infinity"``.
    """
    try:
        text = json.dumps(row, ensure_ascii=False, default=as_json, allow_nan=False)
    except ValueError:
        text = json.dumps(plain(row), ensure_ascii=False, default=as_json, allow_nan=False)
    return replace_surrogates(text) + "\n"


def render_csv(frame: "pd.DataFrame", delimiter: str = ",") -> str:
    """Return a table as CSV with a header and line feeds, quoted where a cell needs it."""
    sink = io.StringIO(newline="")
    # The csv module quotes line feeds and carriage returns both only when both end its rows.
    writer = csv.writer(_LineFeeds(sink), lineterminator="\r\n", delimiter=delimiter)
    writer.writerow([str(column) for column in frame.columns])
    for row in _rows(frame):
        writer.writerow(map(as_cell, row))
    return replace_surrogates(sink.getvalue())


def render_jsonl(frame: "pd.DataFrame") -> str:
    """Return a table as JSON Lines, a `json_line` for each row."""
    columns = [str(column) for column in frame.columns]
    return "".join(json_line(dict(zip(columns, row, strict=True))) for row in _rows(frame))


def _open(path: str | Path, name: str) -> BinaryIO:
    if str(path) == "-":
        return io.BytesIO(read_whole(sys.stdin.buffer, name))
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
        if os.fstat(stream.fileno()).st_size > limit("size"):
            stream.close()
            raise over("size", name)
        return stream
    with stream:  # a pipe, as from <(zcat …)
        return io.BytesIO(read_whole(stream, name))


def _unpacked(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a stream of what was compressed, or the same where nothing was."""
    head = stream.read(4)
    stream.seek(0)
    codec = next((codec for mark, codec in _COMPRESSED.items() if head.startswith(mark)), None)
    if codec is None:
        return stream

    import pyarrow

    plain = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the reader of its rows
    try:
        with stream, pyarrow.CompressedInputStream(stream, codec) as unpacked:
            most = most_unpacked(stream.seek(0, os.SEEK_END))
            stream.seek(0)
            while piece := unpacked.read(1 << 20):
                plain.write(piece)
                if plain.tell() > most:
                    raise over("unpacked" if most == limit("unpacked") else "expanded", name)
    except InputError:
        plain.close()
        raise
    except (pyarrow.ArrowException, OSError) as error:
        plain.close()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise os_problem(error, tempfile.gettempdir(), doing="cannot be written") from error
        hint = f"is it whole? try `{'gunzip' if codec == 'gzip' else 'unzstd'} -t`"
        raise InputError(f"is damaged {codec}", file=name, hint=hint) from error
    plain.seek(0)
    return plain


class _LineFeeds:
    """Ends each row that the csv module writes with a line feed."""

    def __init__(self, sink: io.StringIO) -> None:
        self._sink = sink

    def write(self, row: str) -> int:
        return self._sink.write(row.removesuffix("\r\n") + "\n")


def _rows(frame: "pd.DataFrame") -> Iterator[tuple[Any, ...]]:
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
