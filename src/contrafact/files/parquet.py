"""Parquet in: rows a few at a time, of a file that may stand for much more than it holds.

Texts stay in the dictionary that they are stored in until it is known how long a row's are; what a
page unpacks to is read from its own header, and not from what the file says of it elsewhere.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.limits import limit, most_unpacked, over

__all__ = ["MOST_PARTS", "parquet_rows"]

MOST_PARTS = 1_000_000
"""Of one list in Parquet's description of itself."""

_AT_ONCE = 1_024  # rows that are unpacked together, at most
_HEADER = 2**16  # bytes that hold a page's header


def parquet_rows(stream: BinaryIO, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows with their numbers, from 1."""
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    number = 0
    with stream:
        try:
            size = stream.seek(0, 2)
            plain = parquet.ParquetFile(stream, thrift_container_size_limit=MOST_PARTS)
            described = plain.metadata
            _check(described, stream, name, size)
            texts = [
                column.path
                for column in map(described.schema.column, range(described.num_columns))
                if column.physical_type == "BYTE_ARRAY" and "Decimal" not in str(column)
            ]
            file = parquet.ParquetFile(stream, metadata=described, read_dictionary=texts)
            for batch in file.iter_batches(batch_size=_batch_size(described)):
                for part in _measured(batch, name, number):
                    for row in part.cast(plain.schema_arrow).to_pylist():
                        number += 1
                        yield number, row
        except UnicodeDecodeError as error:
            raise InputError(
                f"a text near row {number + 1} is not UTF-8", file=name, hint="write the file again"
            ) from error
        except MemoryError:
            raise over("memory", name) from None
        except (pyarrow.ArrowException, OSError, ValueError, LookupError) as error:
            place = f" after row {number}" if number else ""
            raise InputError(
                f"is not Parquet, or is damaged{place}", file=name, hint="write the file again"
            ) from error


def _check(described: Any, stream: BinaryIO, name: str, size: int) -> None:
    """Refuse a file that says of itself, or whose pages say, that it is over a limit."""
    chunks = [
        described.row_group(at).column(place)
        for at in range(described.num_row_groups)
        for place in range(described.num_columns)
    ]
    found = {
        "rows": described.num_rows,
        "columns": described.num_columns,
        "unpacked": sum(one.total_uncompressed_size for one in chunks),
        "cells": sum(one.num_values for one in chunks),
        "part": max((page for one in chunks for page in _pages(one, stream)), default=0),
    }
    for what, count in found.items():
        if count > limit(what):
            raise over(what, name)
    if 64 * found["cells"] > most_unpacked(size):
        raise over("expanded", name)
    for place, chunk in enumerate(chunks):
        column = described.schema.column(place % described.num_columns)
        many = chunk.num_values > max(limit("values"), 1_000 * chunk.total_compressed_size)
        if column.max_repetition_level and many:
            raise over("values", name)


def _pages(chunk: Any, stream: BinaryIO) -> Iterator[int]:
    """Yield how many bytes each page of a column unpacks to, by the pages' headers."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    while at < end:
        stream.seek(at)
        length, fields = _fields(stream.read(_HEADER))
        yield fields[2]
        at += length + max(0, fields[3])


def _fields(data: bytes, at: int = 0) -> tuple[int, dict[int, int]]:
    """Return where a structure of Thrift's compact protocol ends, and its whole numbers."""
    found, field = {}, 0
    while kind := data[at] & 15:
        step, at = data[at] >> 4, at + 1
        if step:
            field += step
        else:
            field, at = _number(data, at)
        begun, at = at, _behind(data, at, kind)
        if kind in (4, 5, 6):
            found[field] = _number(data, begun)[0]
    return at + 1, found


def _behind(data: bytes, at: int, kind: int, *, listed: bool = False) -> int:
    """Return the place behind a value of a kind."""
    if kind in (1, 2):  # a truth value stands in the kind, but in a list
        return at + listed
    if kind in (3, 7):
        return at + (1 if kind == 3 else 8)
    if kind in (4, 5, 6):
        return _number(data, at)[1]
    if kind == 8:
        length, at = _unsigned(data, at)
        return at + length
    if kind in (9, 10):
        count, of, at = data[at] >> 4, data[at] & 15, at + 1
        if count == 15:
            count, at = _unsigned(data, at)
        for _ in range(count):
            at = _behind(data, at, of, listed=True)
        return at
    if kind == 12:
        return _fields(data, at)[0]
    raise ValueError(f"no kind of value: {kind}")


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def _batch_size(described: Any) -> int:
    """Return how many rows are unpacked together: of wide ones, and of long lists, fewer."""
    rows = max(1, described.num_rows)
    groups = [described.row_group(at) for at in range(described.num_row_groups)]
    cells = sum(
        group.column(at).num_values for group in groups for at in range(described.num_columns)
    )
    return max(1, min(_AT_ONCE, 2**16 * rows // max(1, cells)))


def _measured(batch: Any, name: str, number: int) -> Iterator[Any]:
    """Yield a batch, in rows where it is large; one that is over a limit raises."""
    values, size, cell = _extent(batch)
    if max(values - limit("values"), size - limit("row"), cell - limit("cell")) <= 0:
        yield batch
        return
    for at in range(batch.num_rows) if batch.num_rows > 1 else ():
        yield from _measured(batch.slice(at, 1), name, number + at)
    if batch.num_rows == 1:
        found = {"values": values, "row": size, "cell": cell}
        raise over(next(what for what, has in found.items() if has > limit(what)), name, number + 1)


def _extent(batch: Any) -> tuple[int, int, int]:
    """Return how many values a batch has, the bytes of its texts, and of the longest of them."""
    from pyarrow import compute

    values = size = longest = 0
    for leaf in (leaf for column in batch.columns for leaf in _leaves(column)):
        values += len(leaf)
        if hasattr(leaf, "dictionary"):
            lengths = compute.binary_length(leaf.dictionary).take(leaf.indices)
            size += compute.sum(lengths).as_py() or 0
            longest = max(longest, compute.max(lengths).as_py() or 0)
    return values, size, longest


def _leaves(array: Any) -> Iterator[Any]:
    """Yield the arrays of plain values that an array is made of."""
    from pyarrow import types

    if types.is_nested(array.type):
        inner = array.flatten()
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _leaves(one)
    else:
        yield getattr(array, "storage", array)
