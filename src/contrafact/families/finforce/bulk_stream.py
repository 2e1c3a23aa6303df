"""Rows of a pipe as they arrive, so that scenarios go out while the input is still open."""

import asyncio
import io
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from contrafact.errors import InputError
from contrafact.files.delimited import dialect_of
from contrafact.files.tables import Row, open_table, source_name

__all__ = ["ahead", "arriving_rows", "standard_input"]

_Item = TypeVar("_Item")
_BOM = b"\xef\xbb\xbf"
# Not divided into lines, or refused whole: a JSON list, Parquet, a workbook, gzip, UTF-16.
_NOT_LINES = (b"[", b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")


def standard_input() -> BinaryIO:
    """Return standard input with a buffer of its own.

    A thread may be waiting in it when the program ends; the interpreter's own buffer would then
    bring the interpreter down with it.
    """
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))


def arriving_rows(stream: BinaryIO) -> Iterator[Row]:
    """Yield the rows of a pipe as ``(line, row)``, each as soon as it has arrived.

    JSON Lines and CSV go row by row; a JSON list and Parquet are read to their end first. Messages
    call the pipe ``standard input``.

    Raises:
        InputError: As `contrafact.files.tables.read_rows` does, when the bad row is reached.
    """
    with tempfile.TemporaryDirectory() as folder:
        blank, first = 0, stream.readline()
        while first and not first.removeprefix(_BOM).strip():
            blank, first = blank + 1, stream.readline()
        start = first.removeprefix(_BOM).lstrip()
        if not first or start.startswith(_NOT_LINES) or start.strip() == b"{":
            yield from _read(Path(folder) / "rows", first + stream.read(), blank)
        elif start.startswith(b"{"):
            path = Path(folder) / "rows.jsonl"
            number = blank + 1
            while first:
                if first.strip():
                    yield from _read(path, first, number - 1)
                number, first = number + 1, stream.readline()
        else:
            yield from _records(Path(folder) / "rows.csv", first, stream, blank)


def _records(path: Path, first: bytes, stream: BinaryIO, line: int) -> Iterator[Row]:
    """Read each record of a CSV file behind a copy of the header."""
    header = _record(first, stream)
    header = header if header.endswith(b"\n") else header + b"\n"
    delimiter = dialect_of(header.decode("utf-8", "replace"))
    if header.lower().startswith((b"sep=", b'"sep=', _BOM + b"sep=")):
        header = _record(stream.readline(), stream)
        header, line = header if header.endswith(b"\n") else header + b"\n", line + 1
    yield from _read(path, header, line, delimiter)  # no rows, but a wrong header is an error
    line += header.count(b"\n")
    while record := _record(stream.readline(), stream):
        if record.strip():
            yield from _read(path, header + record, line - header.count(b"\n"), delimiter)
        line += record.count(b"\n")


def _record(first: bytes, stream: BinaryIO) -> bytes:
    """Return one record: lines, until every quote is closed."""
    lines, quotes = [first], first.count(b'"')
    while quotes % 2 and (more := stream.readline()):
        lines.append(more)
        quotes += more.count(b'"')
    return b"".join(lines)


def _read(
    path: Path, data: bytes, lines_before: int, delimiter: str | None = None
) -> Iterator[Row]:
    path.write_bytes(data)
    try:
        table = open_table(path, decimals=False, delimiter=delimiter, name=source_name("-"))
        for line, row in table.rows:
            yield lines_before + line, row
    except InputError as error:
        line_there = None if error.line is None else lines_before + error.line
        raise InputError(
            error.problem, file=source_name("-"), line=line_there, hint=error.hint
        ) from None


class _End:
    """Marks the end of what a thread reads; holds why it ended, if that was an error."""

    def __init__(self, error: Exception | None):
        self.error = error


async def ahead(items: Iterable[_Item], room: int) -> AsyncGenerator[_Item, None]:
    """Yield the items of an iterable that may block, reading up to ``room`` of them ahead.

    A thread reads them, so that waiting for the next one holds up nothing else. The thread does not
    keep the program from ending. What the iterable raises is raised after the items before it.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[_Item | _End] = asyncio.Queue()
    free = threading.Semaphore(room)
    stopped = threading.Event()

    def hand_on(item: _Item | _End) -> bool:
        free.acquire()
        if stopped.is_set():
            return False
        try:
            loop.call_soon_threadsafe(queue.put_nowait, item)
        except RuntimeError:  # the loop was closed meanwhile: the rest is not wanted
            return False
        return True

    def read() -> None:
        error: Exception | None = None
        try:
            for item in items:
                if not hand_on(item):
                    return
        except Exception as caught:  # noqa: BLE001 - raised again where the items are taken
            error = caught
        hand_on(_End(error))

    threading.Thread(target=read, name="rows", daemon=True).start()
    try:
        while not isinstance(item := await queue.get(), _End):
            free.release()
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        free.release()
