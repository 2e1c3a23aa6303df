"""Reads tables row by row and writes them whole: JSON Lines, JSON, CSV, Parquet and Excel."""

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
"""The suffixes of tables that can be written."""

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
"""The first bytes of compressed files."""
# Files given by mistake: their first bytes, the problem, the hint.
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
    """An open file of rows.

    Attributes:
        dialect: The dialect for writing its rows as CSV again: with the same delimiter, and with
            a byte-order mark if it came from Excel.
    """

    rows: Iterator[Row]
    dialect: Dialect


def source_name(path: str | Path) -> str:
    """Return the name of a file in messages: its path, or ``standard input`` for ``-``."""
    return "standard input" if str(path) == "-" else _called.get().get(str(path), str(path))


_called: ContextVar[Mapping[str, str]] = ContextVar("called", default=MappingProxyType({}))


@contextmanager
def called(path: str | Path, name: str) -> Iterator[None]:
    """Use another name for a file, such as a temporary one, in messages of a block."""
    token = _called.set({**_called.get(), str(path): name})
    try:
        yield
    finally:
        _called.reset(token)


def line_list(lines: Iterable[int]) -> str:
    """Return line numbers for a message: "line 4", or "lines 2, 9, …" with at most six."""
    numbers = list(lines)
    shown = ", ".join(map(str, numbers[:6]))
    return f"line{'s' * (len(numbers) != 1)} {shown}{', …' if len(numbers) > 6 else ''}"


BAD_DATE = "with a date that is not a single day, kept unchanged (write YYYY-MM-DD)"
BROKEN = "with broken characters, replaced by U+FFFD"


@dataclass
class RowNotes:
    """Notes of a reader of rows on problems that it skipped, to be shown to the user.

    Attributes:
        rows: The number of rows read, with those left out.
        found: The lines of the rows with each problem, by its words.
        conflicts: Sentences on texts about which the file contradicts itself.
    """

    rows: int = 0
    found: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    conflicts: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return a sentence for each problem; empty if there was none."""
        return few(self.conflicts) + [
            f"{len(lines):,} row{'s' * (len(lines) != 1)} {what} ({line_list(lines)})"
            for what, lines in self.found.items()
        ]


def few(sentences: list[str]) -> list[str]:
    """Return the first three sentences, and a note on how many more `data check` shows."""
    if len(sentences) <= 3:
        return sentences
    more = f"and {len(sentences) - 3:,} more of this kind (contrafact data check names all)"
    return [*sentences[:3], more]


def table_file(path: str | Path) -> Path:
    """Return the path of a table's file, without a workbook's ``#Sheet``."""
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
    """Raise an `InputError` if a table does not exist, before heavy imports.

    A path without a table's suffix may name a dataset, and is not checked.
    """
    for path in paths:
        file = Path() if path is None else table_file(path)
        if file.suffix.lower() in _KINDS and ":" not in str(path) and not file.exists():
            raise InputError("no such file", file=path, hint="check the path")


def row_count(path: str | Path) -> int | None:
    """Return the most rows that a text or Parquet file can have; None for others, or a pipe."""
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
        return None  # reading it raises the error
    return None


def open_table(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    decimals: bool = True,
    guarded: bool | Callable[[Mapping[str, Any]], bool] = False,
) -> OpenTable:
    """Open a file of rows.

    The suffix decides the format, or the content if the suffix is unknown; ``-`` is standard input,
    ``FILE.xlsx#Sheet`` a sheet (by default the first). Files compressed by gzip or zstd
    (``.csv.gz``, ``.jsonl.zst``) are unpacked into a temporary file. The ``line``
    of a row is its first line in the file, counted from 1; for Parquet, and a JSON list on one
    line, it is the row's number. An
    invalid row raises when the reader reaches it. Blank rows are skipped.

    Text is UTF-8 or UTF-16; a CSV file may be Windows-1252. The delimiter of a CSV file is a comma,
    semicolon or tab; its values are texts, and the missing cells of a short row are empty.
    Conversions are reported on standard error. Texts for missing values (``NULL``) are kept; see
    `contrafact.files.fields.is_absent`. Null keys inside an object are removed, as Parquet and the
    hub add them.

    Args:
        columns: The column's name in the file by the wanted name, where they differ; the column
            is renamed, and another column with the wanted name is left out.
        decimals: Whether decimal commas become points (in tables with semicolons or tabs), and
            scenarios lose the apostrophe that keeps a spreadsheet from reading a text as a
            formula; False if cells are to be written unchanged.
        guarded: Whether the file was written by this program, so that all of its texts and names
            lose that apostrophe; or a function that tells whether a row was.
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
            if foreign:  # Excel's "Unicode text", without a telling suffix
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
    """Yield the rows of a text table without the apostrophes that guard scenarios."""
    names: list[str] | None = None
    for line, cells in rows:
        names = guarded_columns(cells) if names is None else names
        yield line, cells | {name: unguarded(cells[name]) for name in names} if names else cells


def _recognised(stream: BinaryIO, suffix: str, name: str) -> tuple[BinaryIO, str, bool | None]:
    """Return a file's stream at its start, its format, and the second value of `utf8_stream`."""
    foreign: bool | None = None
    head = stream.read(65536)
    text = head.removeprefix(BOM).lstrip(_SPACE)
    if not text and not any(part.strip(_SPACE) for part in iter(lambda: stream.read(65536), b"")):
        raise InputError("the file is empty", file=name, hint="give a file with rows in it")
    kind = next((known for mark, known in _STARTS.items() if head.startswith(mark)), None)
    kind = kind or _KINDS.get(suffix)
    for mark, found, hint in _FOREIGN:  # otherwise it would fail as invalid text
        if head.startswith(mark) and kind != "parquet":
            raise InputError(found, file=name, hint=hint)
    if kind in (None, "json", "jsonl"):
        stream, foreign = utf8_stream(stream, name, legacy=False)
        start = stream.read(65536).removeprefix(BOM).lstrip(_SPACE)[:1]
        kind = kind or {b"[": "json", b"{": "jsonl"}.get(start, "csv")
        if kind == "json" and start == b"{":  # objects by line, or invalid
            kind = "jsonl"
    stream.seek(0)
    return stream, kind, foreign


def _renamed(
    rows: Iterator[Row], columns: Mapping[str, str], name: str, *, ragged: bool
) -> Iterator[Row]:
    """Yield rows with the wanted column names; only ``ragged`` rows (JSON) may lack a column."""
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
    """Write rows as JSON Lines, one at a time, whole or not at all."""
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
    """Return the bytes that `write_frame` would write to a file of this name."""
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
    """Return a copy of a table with one type in each column, as Arrow and Parquet need.

    Columns of lists or objects stay if all values have the same type. The values of a column with
    several types become JSON, except texts, in which lone surrogates become U+FFFD.
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
    """Return whether Parquet can store an Arrow type: it cannot store objects without fields."""
    inner = [kind.field(place) for place in range(kind.num_fields)]
    return bool(inner or str(kind) != "struct<>") and all(
        is_storable(field.type) for field in inner
    )


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON, its line feed included; lone surrogates become U+FFFD.

    NaN becomes null; infinite numbers become ``"Infinity"`` and ``"-Infinity"``.
    """
    try:
        text = json.dumps(row, ensure_ascii=False, default=as_json, allow_nan=False)
    except ValueError:
        text = json.dumps(plain(row), ensure_ascii=False, default=as_json, allow_nan=False)
    return replace_surrogates(text) + "\n"


def render_csv(frame: "pd.DataFrame", delimiter: str = ",") -> str:
    """Return a table as CSV with a header and line feeds, with quotes where needed."""
    sink = io.StringIO(newline="")
    # The csv module quotes both line feeds and carriage returns only if its rows end in both.
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
    """Return the unpacked stream of a compressed file, or the same stream if not compressed."""
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
    """A file that ends each row of the csv module with a line feed."""

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
