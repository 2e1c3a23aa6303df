"""Reads rows from Excel workbooks, and writes tables whose texts are never read as formulas.

Rows are read one at a time, without styles. A formula is read as the value that Excel has stored
with it; an error (``#NAME?``, which Excel shows for a headline that begins with ``-``) as None.
"""

import datetime
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, BinaryIO

from contrafact.console import say_once
from contrafact.errors import InputError
from contrafact.files.delimited import Cells, filled, laid_out
from contrafact.files.fields import as_cell, guarded
from contrafact.files.limits import limit, most_unpacked, over
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

__all__ = ["check_cells", "split_sheet"]

WORKBOOKS = (".xlsx", ".xlsm")
MAX_CELL = 32_767
"""The most characters in an Excel cell."""
MAX_ROWS = 1_048_576

_WIDEST = 60  # the widest column, in characters; longer texts wrap
_ERRORS = frozenset(
    ("#N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!")
)
# Characters that XML cannot hold, or changes, are written in a workbook as _xHHHH_.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPED = re.compile("_x(00(?:0[0-8B-Fb-f]|1[0-9A-Fa-f]|5[Ff])|[Ff]{3}[EFef])_")
_SHARED = re.compile(rb"<(?:\w{1,40}:)?si[\s/>]")
_UNIT = re.compile(rb"<(?:\w{1,40}:)?(?:row|si)[\s/>]")
_UNUSED = 100_000  # shared texts without a cell, of which some programs leave a few
_DIGITS = 15  # digits of a number that Excel keeps
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^<>]*>)[^<]*")
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError),
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, SyntaxError),
)
"""What openpyxl raises on a file that is no workbook, or a damaged one (its XML errors are
SyntaxErrors)."""


def split_sheet(path: str | Path) -> tuple[str, str | None]:
    """Return the path and the sheet's name in ``FILE.xlsx#Sheet``."""
    text = str(path)
    for mark in (match.start() for match in re.finditer("#", text)):  # a sheet's name may have one
        file, sheet = text[:mark], text[mark + 1 :]
        if file.lower().endswith(WORKBOOKS) and sheet and not Path(text).exists():
            return file, sheet
    return text, None


def read_workbook(
    stream: BinaryIO, name: str, *, sheet: str | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a sheet as ``(line, row)``; blank ones are skipped.

    Texts, numbers and booleans are as in the sheet, dates are `datetime.date` or
    `datetime.datetime`, empty cells and errors are None. Hidden rows are included.

    Args:
        sheet: The name of the sheet; None reads the first visible one.
    """
    yield from laid_out(
        _records(stream, name, sheet),
        name,
        empty=None,
        hint="give every column with content a name in the header",
    )


def _records(stream: BinaryIO, name: str, sheet: str | None) -> Iterator[Cells]:
    from openpyxl import load_workbook

    warnings.filterwarnings("ignore", category=UserWarning, module=r"openpyxl\.")
    errors: list[tuple[int, str]] = []
    size = 0
    with stream:
        try:
            _check_size(stream, name)
            book = load_workbook(stream, read_only=True, data_only=True)
            rows = _sheet(book.worksheets, name, sheet)
            rows.reset_dimensions()  # some programs write wrong dimensions
            for line, values in enumerate(rows.iter_rows(values_only=True), start=1):
                size += len(values)
                if size > limit("cells"):
                    raise over("cells", name, line)
                if line > MAX_ROWS:
                    raise InputError(
                        f"has a row below the {MAX_ROWS:,} that a sheet can have",
                        file=name,
                        hint="save it again as .xlsx, or as CSV",
                    )
                cells = [_read(value) for value in values]
                for at, cell in enumerate(cells):
                    if isinstance(cell, str) and cell in _ERRORS:
                        errors.append((line, cell))
                        cells[at] = None
                if filled(cells):
                    yield line, cells
        except _BROKEN as error:
            raise InputError(
                "is not an Excel workbook, or is damaged",
                file=name,
                hint="unpack it, and name a table in it"
                if name.lower().endswith(".zip")
                else "save it again as .xlsx, or as CSV",
            ) from error
    if errors:
        line, cell = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        say_once(
            f"{name}: line {line} has Excel's error {cell}{more}, read as empty; "
            "begin the cell with an apostrophe if it is a text"
        )


def _check_size(stream: BinaryIO, name: str) -> None:
    """Raise an error if a workbook's parts, rows, texts or shared texts exceed a limit."""
    most = most_unpacked(stream.seek(0, io.SEEK_END))
    with zipfile.ZipFile(stream) as packed:
        if "mimetype" in packed.namelist():
            raise InputError(
                "is an OpenDocument file", file=name, hint="save it as .xlsx, or as CSV"
            )
        if sum(part.file_size for part in packed.infolist()) > min(limit("unpacked"), 2**31):
            raise over("unpacked", name)
        tags, unused = 0, -_UNUSED  # a shared text, or a cell, has at least four of them
        for part in packed.infolist():
            shared = part.filename.endswith("/sharedStrings.xml")
            if shared and part.file_size > limit("memory") // 4:  # openpyxl holds them as texts
                raise over("memory", name)
            for piece in _measured(packed, part, name):
                more = piece.count(b"<")
                tags += more
                unused += len(_SHARED.findall(piece)) if shared else -more
                if tags > 4 * limit("cells"):
                    raise over("cells", name)
                if 16 * tags > most:
                    raise over("expanded", name)
        if unused > 0:
            hint = "save it again as .xlsx, or as CSV"
            raise InputError("stores many texts that no cell uses", file=name, hint=hint)
    stream.seek(0)


def _measured(packed: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    """Yield a part's XML in pieces; raise an error if a text or a row exceeds a limit.

    The XML parser keeps in memory all that is between two tags, and a whole row or shared text.
    """
    text = tags = size = 0
    with packed.open(part) as stream:
        for piece in iter(lambda: stream.read(2**20), b""):
            if not size and b"<" not in piece[:8]:
                return  # a picture
            text = text + len(piece) if (last := piece.rfind(b"<")) < 0 else len(piece) - last
            begun = [found.start() for found in _UNIT.finditer(piece)]
            size, tags = size + len(piece), tags + piece.count(b"<")
            if begun:
                size, tags = len(piece) - begun[-1], piece.count(b"<", begun[-1])
            found = {"cell": text, "row": size, "values": tags}
            if problem := next((what for what, has in found.items() if has > limit(what)), None):
                raise over(problem, name)
            yield piece


def _sheet(sheets: Sequence[Any], name: str, wanted: str | None) -> Any:
    if not sheets:
        raise InputError("the workbook has no sheet of cells", file=name, hint="add one")
    if wanted is not None:
        folded = {sheet.title.casefold(): sheet for sheet in reversed(sheets)}
        exact = {sheet.title: sheet for sheet in sheets}
        chosen = exact.get(wanted) or folded.get(wanted.strip().casefold())
        if chosen is None:
            titles = ", ".join(f"'{sheet.title}'" for sheet in sheets[:8])
            raise InputError(
                f"there is no sheet '{wanted}' (found: {titles})",
                file=name,
                hint="give one of these after the #",
            )
        return chosen
    chosen, *others = [one for one in sheets if one.sheet_state == "visible"] or sheets
    if others:
        named = f"{name}#{others[0].title}"
        named = quote(named) if re.search(r"[^\w#./:-]", named) else named
        say_once(f"{name}: sheet '{chosen.title}' of {len(others) + 1} is read; another is {named}")
    return chosen


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    if isinstance(value, datetime.timedelta):
        return str(value)
    return value


def check_cells(rows: Sequence[tuple[int, dict[str, Any]]], file: str | Path, out: Path) -> None:
    """Raise an error before any work is done if an Excel sheet cannot hold the rows."""
    hint = f"name the output {out.stem}.csv, .jsonl or .parquet"
    if len(rows) >= MAX_ROWS:
        raise InputError(f"{len(rows):,} rows are too many for a sheet", file=file, hint=hint)
    for line, row in rows:
        _check_texts(row.items(), file, line, hint)


def _check_texts(cells: Iterable[tuple[str, Any]], file: str | Path, line: int, hint: str) -> None:
    for column, value in cells:
        if isinstance(value, str) and len(value) > MAX_CELL:
            raise InputError(
                f"the text in '{column}' has {len(value):,} characters, and a cell of Excel "
                f"holds {MAX_CELL:,}",
                file=file,
                line=line,
                hint=hint,
            )


def workbook_bytes(
    columns: Sequence[str], rows: Iterator[tuple[Any, ...]], file: str | Path
) -> bytes:
    """Return a workbook of one sheet, with a fixed header that has filters.

    Columns are as wide as their texts, up to a limit beyond which texts wrap.

    All texts are stored and marked as texts (like those a person types after an apostrophe), so
    that none is read as a formula and every character is kept. The same table gives the same bytes.

    Args:
        rows: None is an empty cell. Lists and objects become JSON.
    """
    from openpyxl import Workbook
    from openpyxl.utils import get_column_letter

    hint = "name the file .csv, .jsonl or .parquet"
    kept = list(rows)
    if len(kept) >= MAX_ROWS:
        raise InputError("there are too many rows for a sheet", file=file, hint=hint)
    for number, row in enumerate(kept, start=2):
        _check_texts(zip(columns, row, strict=True), file, number, hint)
    book = Workbook(write_only=True)
    sheet: WriteOnlyWorksheet = book.create_sheet("data")
    sheet.freeze_panes = "A2"
    for at, column in enumerate(zip(columns, *kept, strict=True), start=1):
        lengths = (len(line) for value in column for line in str(value or "").splitlines())
        sheet.column_dimensions[get_column_letter(at)].width = (
            min(_WIDEST, max(lengths, default=0)) + 2
        )
    if columns:
        sheet.auto_filter.ref = f"A1:{get_column_letter(len(columns))}{len(kept) + 1}"
    for row in (tuple(columns), *kept):
        sheet.append([_cell(sheet, value) for value in row])
    packed = io.BytesIO()
    book.save(packed)
    return _without_times(packed)


def _cell(sheet: "WriteOnlyWorksheet", value: Any) -> "WriteOnlyCell":
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment

    value = _written(value)
    if not isinstance(value, str):
        return WriteOnlyCell(sheet, value)
    cell = WriteOnlyCell(sheet)
    text = replace_surrogates(value)
    cell.value = _UNFIT.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    cell.data_type = "s"  # openpyxl reads "=…" as a formula
    if guarded(value) != value:
        cell.quotePrefix = True
    if len(value) > _WIDEST or "\n" in value:
        cell.alignment = Alignment(wrap_text=True, vertical="top")
    return cell


def _written(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date):
        zoned = isinstance(value, datetime.datetime) and value.tzinfo is not None
        return value.isoformat() if zoned or value.year < 1900 else value
    value = as_cell(value)
    if isinstance(value, bool | float | None):
        return value
    exact = isinstance(value, int) and len(str(abs(value))) <= _DIGITS
    return value if exact else str(value)


def _without_times(packed: io.BytesIO) -> bytes:
    """Return a workbook without the times of its creation and change."""
    whole = io.BytesIO()
    with (
        zipfile.ZipFile(packed) as source,
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            data = source.read(name)
            if name == "docProps/core.xml":
                data = _STAMP.sub(rb"\g<1>2000-01-01T00:00:00Z", data)
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, data)
    return whole.getvalue()
