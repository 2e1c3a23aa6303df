"""Reads text tables (CSV) in the encodings, delimiters and decimal formats of common programs.

Excel writes "CSV" in Windows-1252 and "Unicode text" in UTF-16, separates cells by semicolons where
the decimal mark is a comma, and may declare the delimiter in a first line ``sep=;``. All of that is
read; one line on standard error reports an encoding other than UTF-8. Rows of cells, also of
workbooks, are turned into dictionaries by their header here.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from contrafact.console import say_once
from contrafact.errors import InputError
from contrafact.files.fields import FIELD_NAMES, fold, is_absent, names_of
from contrafact.files.limits import limit, over

__all__ = ["Dialect"]

BOM = codecs.BOM_UTF8
"""The byte-order mark, by which Excel detects UTF-8."""

_DELIMITERS = ("\t", ",", ";")
_KNOWN_NAMES = frozenset(name for field in FIELD_NAMES for name in names_of(field))
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_HEAD = 65_536
_RECORDS = 40
"""The number of rows by which a delimiter is chosen."""
_MOST_ACCENTED = 0.3
"""The share of letters outside ASCII above which a text is not Windows-1252: it is at most 0.15 in
sentences of languages with this encoding, at least 0.41 in other scripts (decision 17)."""
# "0,5", "1.234,5"; a column is numeric if all its cells are, and one has a comma.
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?")
_BAD_CSV = {  # by the csv module's messages
    "new-line": "a line break within a row",
    "expected after": "there is text after a closing quote",
    "end of data": "a quote is never closed",
    "NUL": "it contains a NUL",
}
_SAVE = "save it as UTF-8 (in Excel: CSV UTF-8)"


Cells = tuple[int, list[Any]]
"""A row's line, counted from 1, and its cells."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter of a text table, and whether it has a byte-order mark.

    Attributes:
        mark: Whether it begins with a byte-order mark, without which Excel reads UTF-8 as
            Windows-1252.
    """

    delimiter: str = ","
    mark: bool = False


def utf8_stream(stream: BinaryIO, name: str, *, legacy: bool) -> tuple[BinaryIO, bool | None]:
    """Return a text's bytes as UTF-8, and whether they need a mark: another encoding or a BOM.

    The second value is None for pure ASCII, which may be UTF-8 or Windows-1252. UTF-16 is detected
    by its byte-order mark. With ``legacy``, other bytes are read as Windows-1252 unless they look
    like damaged UTF-8, which is returned unchanged so that its reader can name the line. A
    conversion is reported on standard error.
    """
    stream.seek(0)
    head = stream.read(_HEAD)
    if head[:2].count(0) == 1:
        raise InputError("is UTF-16 without a byte-order mark", file=name, hint=_SAVE)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            with stream:
                text = (head + read_whole(stream, name)).decode("utf-16")
        except UnicodeDecodeError as error:
            raise InputError("is damaged UTF-16", file=name, hint=_SAVE) from error
        say_once(f"{name}: read as UTF-16")
        # Half a surrogate pair becomes U+FFFD when rows are made from the text.
        return io.BytesIO(text.encode("utf-8", "surrogatepass")), True
    if not legacy:
        stream.seek(0)
        return stream, head.startswith(BOM)
    decoder = codecs.getincrementaldecoder("utf-8")()
    ascii_only, piece = True, head
    try:
        while piece:
            ascii_only = ascii_only and piece.isascii()
            decoder.decode(piece)
            piece = stream.read(2**20)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        stream.seek(0)
        return _legacy_stream(stream, name)
    stream.seek(0)
    return stream, None if ascii_only else head.startswith(BOM)


def _legacy_stream(stream: BinaryIO, name: str) -> tuple[BinaryIO, bool]:
    with stream:
        data = read_whole(stream, name)
    text = data.decode("utf-8", "surrogateescape")
    bad = len(re.findall("[\udc80-\udcff]", text))
    good = len(re.findall("[^\x00-\x7f\udc80-\udcff]", text))
    if good >= bad:
        return io.BytesIO(data), False
    high = sum(map(len, re.findall(rb"[\x80-\xff]+", data)))
    letters = high + sum(map(len, re.findall(rb"[A-Za-z]+", data)))
    if high > _MOST_ACCENTED * letters:
        raise InputError("is neither UTF-8 nor Windows-1252", file=name, hint=_SAVE)
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise InputError(
            f"is neither UTF-8 nor Windows-1252 (byte 0x{data[error.start]:02x})",
            file=name,
            line=1 + data.count(b"\n", 0, error.start),
            hint=_SAVE,
        ) from error
    say_once(f"{name}: read as Windows-1252; if letters look wrong, {_SAVE}")
    return io.BytesIO(text.encode()), True


def read_whole(stream: BinaryIO, name: str) -> bytes:
    """Return the rest of a stream; `InputError` if it exceeds the limit on reading a file whole."""
    data = stream.read(limit("whole") + 1)
    if len(data) > limit("whole"):
        raise over("whole", name)
    return data


def decode_line(data: bytes, name: str, line: int) -> str:
    """Decode a line of UTF-8; the `InputError` names the line and the first wrong byte."""
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


def text_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield a text's lines with their numbers, without a byte-order mark."""
    # Split at line feeds only: U+2028 and similar characters may be inside a JSON text.
    most = limit("row")
    for number, raw in enumerate(iter(lambda: stream.readline(most + 1), b""), start=1):
        if len(raw) > most:
            raise over("row", name, number)
        yield number, decode_line(raw.removeprefix(BOM) if number == 1 else raw, name, number)


def dialect_of(head: str) -> str:
    """Return the delimiter of a table, from its first lines.

    A first line ``sep=;`` declares it. Otherwise comma, semicolon and tab are compared by the first
    of these that differs: whether the header has a known name, how many rows are as wide
    as the header, and the number of columns. If all are equal, the tab comes before the comma and
    the semicolon; a table with one column gets the comma.
    """
    if declared := _declared(head):
        return declared
    lines = head.removeprefix("\ufeff").splitlines(keepends=True)

    def fit(delimiter: str) -> tuple[bool, float, int]:
        rows = []
        try:
            for row in csv.reader(lines, delimiter=delimiter):
                if filled(row):
                    rows.append(row)
                if len(rows) == _RECORDS:
                    break
        except csv.Error:
            pass  # a wrong delimiter, or an invalid row, which is reported later
        if not rows or len(rows[0]) < 2:
            return False, 0.0, 0
        header, *below = rows
        even = sum(len(row) == len(header) for row in below) / len(below) if below else 1.0
        return any(fold(cell) in _KNOWN_NAMES for cell in header), even, len(filled(header))

    best = max(_DELIMITERS, key=fit)  # the first of equal ones
    return best if fit(best)[2] else ","


def _declared(head: str) -> str:
    """Return the delimiter in a first line ``sep=;``; empty without such a line."""
    found = _SEP_LINE.fullmatch(head.lstrip("\ufeff\r\n").split("\n", 1)[0])
    return found[1] if found else ""


def read_delimited(
    stream: BinaryIO, name: str, *, tabs: bool
) -> tuple[Dialect, Iterator[tuple[int, dict[str, Any]]]]:
    """Return the dialect of a text table and an iterator over its rows."""
    stream, foreign = utf8_stream(stream, name, legacy=True)
    head = stream.read(_HEAD)
    stream.seek(0)
    if b"\r" in head and b"\n" not in head:  # line ends of old Macs
        with stream:
            head = read_whole(stream, name).replace(b"\r", b"\n")
        stream, head = io.BytesIO(head), head[:_HEAD]
    if len(head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1] or head
    text = head.decode("utf-8", "replace")
    declared = bool(_declared(text))
    delimiter = "\t" if tabs and not declared else dialect_of(text)
    # Semicolons are Excel's with decimal commas; the encoding of pure ASCII is unknown.
    mark = declared or (delimiter == ";" if foreign is None else foreign)
    rows = laid_out(
        _records(stream, name, delimiter, declared),
        name,
        empty="",
        hint='put cells that hold a comma in quotes: "…"',
    )
    return Dialect(delimiter, mark), rows


def _records(stream: BinaryIO, name: str, delimiter: str, declared: bool) -> Iterator[Cells]:
    # A headline may be longer than the csv module's own limit on a cell (131,072 characters).
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    most, values, size = limit("row"), limit("values"), 0

    def lines() -> Iterator[str]:
        nonlocal size
        for line, text in text_lines(stream, name):
            size += len(text)  # a quoted row may extend over several lines
            if size > most:
                raise over("row", name, line)
            if len(text) > values and text.count(delimiter) > values:
                raise over("values", name, line)
            yield text

    with stream:
        texts = lines()
        reader = csv.reader(texts, delimiter=delimiter, strict=True)
        while True:
            line, size = reader.line_num + 1, 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                words = (text for part, text in _BAD_CSV.items() if part in str(error))
                raise InputError(
                    f"bad CSV: {next(words, 'the row cannot be read')}",
                    file=name,
                    line=line,
                    hint="check the row's quotes",
                ) from error
            if declared and cells:  # the line that declares the delimiter
                declared = False
            elif cells and (len(cells) == 1 or filled(cells)):
                yield line, cells


def with_decimal_points(
    rows: Iterable[tuple[int, dict[str, Any]]],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows with decimal commas in numeric columns replaced by points.

    A column is numeric if every cell that has a value (`contrafact.files.fields.is_absent`) is a
    number as German, French or Spanish Excel writes it, and at least one has a decimal comma.
    Thousands separators are removed. Other columns stay unchanged.
    """
    kept = list(rows)
    columns = dict.fromkeys(column for _, row in kept for column in row)
    for column in columns:
        texts = [row[column] for _, row in kept if isinstance(row.get(column), str)]
        cells = [text.strip() for text in texts if not is_absent(text)]
        if any("," in cell for cell in cells) and all(map(_NUMBER.fullmatch, cells)):
            for _, row in kept:
                row[column] = row[column].strip().replace(".", "").replace(",", ".")
    yield from kept


def filled(cells: Sequence[Any]) -> list[Any]:
    """Return the cells that are neither None nor blank."""
    return [cell for cell in cells if str("" if cell is None else cell).strip()]


def laid_out(
    rows: Iterator[Cells], name: str, *, empty: Any, hint: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows below the header, which is the first row, as ``(line, row)``.

    Empty columns after the last column with a name are dropped; other columns without a name are
    named by their number.

    Args:
        empty: The value of the missing cells of a short row.
        hint: The hint for a row that is wider than the header.
    """
    line, cells = next(rows, (0, []))
    header = [str("" if cell is None else cell).strip() for cell in cells]
    if len(header) > limit("columns"):
        raise over("columns", name, line)
    while len(header) > 1 and not header[-1]:
        header.pop()
    nameless = [at for at, column in enumerate(header) if not column][1:]
    for at in nameless:
        header[at] = f"column {at + 1}"
    twice = next((column for column, times in Counter(header).items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns are called '{twice}'", file=name, line=line, hint="rename one of them"
        )
    for line, cells in rows:
        if len(cells) > len(header) and filled(cells[len(header) :]):
            raise InputError(
                f"the row has {len(cells)} cells, the header has {len(header)}",
                file=name,
                line=line,
                hint=f"{hint}; remove titles above the header",
            )
        whole = cells[: len(header)] + [empty] * (len(header) - len(cells))
        yield line, dict(zip(header, whole, strict=True))
