"""The input in pieces, each a stretch of one file that is small enough for memory."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.errors import InputError
from contrafact.files.json_rows import json_problem
from contrafact.files.limits import bounded_rows, limit, over
from contrafact.files.parquet import MOST_PARTS, parquet_rows
from contrafact_ray.places import Place
from contrafact_ray.tables import from_cells

_CHUNK = 1 << 20
_TAIL = 8  # the last bytes of a Parquet file: the length of its footer, and a mark


@dataclass(frozen=True)
class Fragment:
    """A stretch of a file.

    Attributes:
        start: Where the stretch begins: a row of Parquet, a byte of JSON Lines.
        stop: Where the stretch ends, exclusive, in the same unit.
        first: The index of its first row in the file, from 0.
        rows: How many rows it has; for JSON Lines, how many lines.
    """

    file: Place
    kind: Literal["parquet", "jsonl"]
    start: int
    stop: int
    first: int
    rows: int
    digest: str


@dataclass(frozen=True)
class BadRow:
    """A line that cannot be read, and why."""

    reason: str


def fragments_of(file: Place, size: int) -> tuple[Fragment, ...]:
    """Divide a file into fragments of at most ``size`` rows, in order.

    Only the footer of a Parquet file is read; a file of JSON Lines is read to count its lines.
    """
    if not file.path.endswith(".parquet"):
        return _lines_in_pieces(file, size)
    try:
        with file.system.open_input_file(file.path) as stream:
            total = stream.size()
            stream.seek(max(0, total - _TAIL))
            footer = int.from_bytes(stream.read(4), "little")
            stream.seek(max(0, total - _TAIL - footer))
            digest = hashlib.sha256(stream.read()).hexdigest()[:16]
            stream.seek(0)
            opened = parquet.ParquetFile(stream, thrift_container_size_limit=MOST_PARTS)
            metadata = opened.metadata
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            "is not Parquet, or is damaged",
            file=file.given,
            hint="write the file again",
        ) from error
    rows = metadata.num_rows
    _check(metadata, file.given)
    pieces = [(at, min(at + size, rows)) for at in range(0, rows, size)]
    return tuple(Fragment(file, "parquet", a, b, a, b - a, digest) for a, b in pieces)


def _check(metadata: Any, name: str) -> None:
    """Refuse a file whose metadata state that a part of it is over a limit.

    The file may be larger than one process can read; each of its fragments is bounded by itself.
    """
    for what, count in (("rows", metadata.num_rows), ("columns", metadata.num_columns)):
        if count > limit(what):
            raise over(what, name)
    for at in range(metadata.num_row_groups):
        group = metadata.row_group(at)
        values = max((group.column(i).num_values for i in range(group.num_columns)), default=0)
        if values > max(group.num_rows, limit("cells")):
            raise over("cells", name)
        if group.total_byte_size > max(group.num_rows, 1) * limit("row"):
            raise over("row", name)


def _lines_in_pieces(file: Place, size: int) -> tuple[Fragment, ...]:
    digest = hashlib.sha256()
    bounds = [0]  # the bytes at which each fragment's lines end
    at = lines = begun = 0
    last = b"\n"
    try:
        with file.system.open_input_stream(file.path) as stream:
            while chunk := bytes(stream.read(_CHUNK)):
                digest.update(chunk)
                place = -1
                while (place := chunk.find(b"\n", place + 1)) >= 0:
                    lines, begun = lines + 1, at + place + 1
                    if lines % size == 0:
                        bounds.append(at + place + 1)
                at += len(chunk)
                if at - begun > limit("row"):
                    raise over("row", file.given, lines + 1)
                last = chunk
    except OSError as error:
        raise file.problem(error, "cannot be read") from error
    lines += not last.endswith(b"\n")
    if bounds[-1] < at:
        bounds.append(at)
    name = digest.hexdigest()[:16]
    return tuple(
        Fragment(file, "jsonl", a, b, number * size, min(size, lines - number * size), name)
        for number, (a, b) in enumerate(pairwise(bounds))
    )


def read_fragment(fragment: Fragment) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    """Yield a fragment's rows with their index in the file, from 0; blank lines are skipped."""
    reader = _parquet if fragment.kind == "parquet" else _lines
    name = fragment.file.given
    try:
        rows = ((place + 1, row) for place, row in reader(fragment))
        for line, row in bounded_rows(rows, name, nested=True):
            yield line - 1, row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot be read: {' '.join(str(error).split())[:200]}",
            file=name,
            hint="write the file again",
        ) from error


def _parquet(fragment: Fragment) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    stream = fragment.file.system.open_input_file(fragment.file.path)
    stretch = range(fragment.start, fragment.stop)
    for number, row in parquet_rows(stream, fragment.file.given, stretch, from_cells):
        yield number - 1, row


def _lines(fragment: Fragment) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    with fragment.file.system.open_input_file(fragment.file.path) as stream:
        stream.seek(fragment.start)
        data = bytes(stream.read(fragment.stop - fragment.start))
    for number, line in enumerate(data.split(b"\n")[: fragment.rows], start=fragment.first):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig" if number == 0 else "utf-8"))
        except UnicodeDecodeError as error:
            yield number, BadRow(f"is not UTF-8 (byte 0x{line[error.start]:02x})")
        except (ValueError, RecursionError) as error:
            yield number, BadRow(json_problem(error))
        else:
            if isinstance(row, dict):
                yield number, row
            else:
                yield number, BadRow("the row is not an object")
