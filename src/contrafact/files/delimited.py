"""Text tables as people's programs write them: which encoding, which delimiter, which decimals.

Excel writes "CSV" in Windows-1252 and "Unicode text" in UTF-16, divides by semicolons where the
decimal mark is a comma, and says so in a first line ``sep=;``. All of that is read; what was not
plain UTF-8 is said in one line on standard error. Rows of cells, of workbooks as well, become rows
by the names in their header here.
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
"""The byte-order mark by which Excel knows UTF-8."""

_DELIMITERS = ("\t", ",", ";")
_KNOWN_NAMES = frozenset(name for field in FIELD_NAMES for name in names_of(field))
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_HEAD = 65_536
_RECORDS = 40
"""Records by which a delimiter is chosen."""
_MOST_ACCENTED = 0.3
"""Share of letters outside ASCII above which bytes are no Windows-1252: measured, at most 0.15 in
sentences of languages that it can write, at least 0.41 in those of other scripts (decision 17)."""
# "0,5", "1.234,5"; a column is one of numbers if all its cells are, and one has a comma.
_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?")
_BAD_CSV = {  # by what the csv module says
    "new-line": "a line break within a row",
    "expected after": "text stands behind a closing quote",
    "end of data": "a quote is opened and never closed",
    "NUL": "a NUL stands in it",
}
_SAVE = "save it as UTF-8 (in Excel: CSV UTF-8)"


Cells = tuple[int, list[Any]]
"""A row's line, counted from 1, and its cells."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written.

    Attributes:
        mark: Whether it begins with a byte-order mark, without which Excel takes UTF-8 for
            Windows-1252.
    """

    delimiter: str = ","
    mark: bool = False


def utf8_stream(stream: BinaryIO, name: str, *, legacy: bool) -> tuple[BinaryIO, bool | None]:
    """Return a text's bytes in UTF-8, from the start, and whether they were in another encoding or
    began with a byte-order mark; None of ASCII alone, which does not tell UTF-8 from Windows-1252.

    UTF-16 is known by its byte-order mark. What is not UTF-8 is Windows-1252 if that may be
    (``legacy``) and more bytes speak for it than for UTF-8 with damaged places; damaged UTF-8 is
    returned as it is, for its reader to name the line. Another encoding than UTF-8 is said on
    standard error.
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
        # Half a character becomes U+FFFD where rows are made of the text.
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
    """Return the rest of a stream that can only be read at once, up to the limit on that."""
    data = stream.read(limit("whole") + 1)
    if len(data) > limit("whole"):
        raise over("whole", name)
    return data


def decode_line(data: bytes, name: str, line: int) -> str:
    """Return UTF-8 as text; an InputError names the line of the first wrong byte."""
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
    # Split at line feeds alone: U+2028 and its kin may stand inside a JSON text.
    most = limit("row")
    for number, raw in enumerate(iter(lambda: stream.readline(most + 1), b""), start=1):
        if len(raw) > most:
            raise over("row", name, number)
        yield number, decode_line(raw.removeprefix(BOM) if number == 1 else raw, name, number)


def dialect_of(head: str) -> str:
    """Return what divides a table's cells, by its beginning.

    A first line ``sep=;`` says it. Else it is the one of comma, semicolon and tab under which the
    header has a known name, the most rows are as wide as the header, and it has the most columns:
    the first of these that decides. If none does, it is the tab before the comma before the
    semicolon, and the comma where there is one column.
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
            pass  # a wrong delimiter, or a wrong row: its reader will name it
        if not rows or len(rows[0]) < 2:
            return False, 0.0, 0
        header, *below = rows
        even = sum(len(row) == len(header) for row in below) / len(below) if below else 1.0
        return any(fold(cell) in _KNOWN_NAMES for cell in header), even, len(filled(header))

    best = max(_DELIMITERS, key=fit)  # the first of equals
    return best if fit(best)[2] else ","


def _declared(head: str) -> str:
    """Return the delimiter that a first line ``sep=;`` names; empty without such a line."""
    found = _SEP_LINE.fullmatch(head.lstrip("\ufeff\r\n").split("\n", 1)[0])
    return found[1] if found else ""


def read_delimited(
    stream: BinaryIO, name: str, *, tabs: bool
) -> tuple[Dialect, Iterator[tuple[int, dict[str, Any]]]]:
    """Return how a text table is written, and its rows, one at a time."""
    stream, foreign = utf8_stream(stream, name, legacy=True)
    head = stream.read(_HEAD)
    stream.seek(0)
    if b"\r" in head and b"\n" not in head:  # as old Macs end lines
        with stream:
            head = read_whole(stream, name).replace(b"\r", b"\n")
        stream, head = io.BytesIO(head), head[:_HEAD]
    if len(head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1] or head
    text = head.decode("utf-8", "replace")
    declared = bool(_declared(text))
    delimiter = "\t" if tabs and not declared else dialect_of(text)
    # Excel where commas are decimal; of ASCII alone nobody knows what it was saved as.
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
            size += len(text)  # of a row, which quotes may spread over lines
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
            if declared and cells:  # the line that says what divides the others
                declared = False
            elif cells and (len(cells) == 1 or filled(cells)):
                yield line, cells


def with_decimal_points(
    rows: Iterable[tuple[int, dict[str, Any]]],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield rows in whose numeric columns a point stands for the decimal comma.

    A column is numeric if every cell that has a value (`contrafact.files.fields.is_absent`) is a
    number as German, French or Spanish Excel writes it, and at least one has a decimal comma; its
    thousands lose their points. Others stay.
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
    """Return the cells that hold something: neither nothing nor a text of spaces."""
    return [cell for cell in cells if str("" if cell is None else cell).strip()]


def laid_out(
    rows: Iterator[Cells], name: str, *, empty: Any, hint: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows below the header, which is the first row, as ``(line, row)``.

    Columns without a name behind the last that has one are dropped where they are empty; another
    column without a name is called by its place. A short row lacks the last cells.

    Args:
        empty: What stands for a cell that a short row lacks.
        hint: What to do about a row that is wider than the header.
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
