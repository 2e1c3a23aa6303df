"""Reads Parquet a few rows at a time, since a file may unpack to far more than its size.

The unpacked size of a page is read from its own header, not from the file's metadata. A text that
is stored once may be in every row, so the larger a column's dictionary, the fewer rows are unpacked
together; texts in lists stay dictionary-encoded until the length of a row's texts is known.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.limits import limit, most_unpacked, over

__all__ = ["MOST_PARTS", "parquet_rows"]

MOST_PARTS = 1_000_000
"""The most entries that one list of a file's footer may have."""

_AT_ONCE = 1_024  # rows that are unpacked together, at most
_TEXTS = 2**27  # bytes that their texts may have, if each is the longest in the dictionary
_DICTIONARY = 7  # the field of a page's header with the number of a dictionary's entries
_ENTRIES = -1  # the key of that number in the result of `_fields`
_HEADER = 2**16  # bytes that are enough for a page's header


def parquet_rows(
    stream: BinaryIO,
    name: str,
    stretch: range | None = None,
    rows_of: Callable[[Any], Iterable[dict[str, Any]]] = lambda batch: batch.to_pylist(),
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows with their numbers, from 1.

    Args:
        stretch: The rows to read, counted from 0, if a file is read in pieces; the whole file may
            then exceed the limits of one process. None reads all rows.
        rows_of: Turns an Arrow batch into rows.
    """
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    number = 0
    with stream:
        try:
            size = stream.seek(0, 2)
            plain = parquet.ParquetFile(stream, thrift_container_size_limit=MOST_PARTS)
            described = plain.metadata
            if stretch is None:
                _check_whole(described, name, size)
                groups, skipped, left = range(described.num_row_groups), 0, 2**62
            else:
                groups, skipped = _groups_of(described, stretch)
                number, left = stretch.start, len(stretch)
            texts, stored = _check_pages(described, groups, stream, name)
            coded = parquet.ParquetFile(stream, metadata=described, read_dictionary=texts)
            for batch in _batches(coded, plain, groups, _batch_size(described, groups, stored)):
                if skipped >= batch.num_rows:
                    skipped -= batch.num_rows
                    continue
                wanted, skipped = batch.slice(skipped, left), 0
                left -= wanted.num_rows
                for part in _measured(wanted, name, number):
                    for row in rows_of(part):
                        number += 1
                        yield number, row
                if not left:
                    return
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


def _groups_of(described: Any, stretch: range) -> tuple[range, int]:
    """Return the row groups that contain a stretch, and how many of their rows come before it."""
    ends = list(
        accumulate(described.row_group(at).num_rows for at in range(described.num_row_groups))
    )
    first, last = bisect_right(ends, stretch.start), bisect_left(ends, stretch.stop)
    return range(first, min(last + 1, len(ends))), stretch.start - (ends[first - 1] if first else 0)


def _batches(coded: Any, plain: Any, groups: Iterable[int], size: int) -> Iterator[Any]:
    """Yield the rows of row groups in batches, with dictionary-encoded texts if possible."""
    import pyarrow

    for group in groups:
        done = 0
        try:
            for batch in coded.iter_batches(batch_size=size, row_groups=[group]):
                done += batch.num_rows
                yield batch
        except pyarrow.ArrowNotImplementedError:  # texts in lists, with more than one dictionary
            for batch in plain.iter_batches(batch_size=min(size, 64), row_groups=[group]):
                if done < batch.num_rows:
                    yield batch.slice(done)
                done = max(0, done - batch.num_rows)


def _check_whole(described: Any, name: str, size: int) -> None:
    """Raise an error if a file's metadata exceed a limit; ``size`` is its size in bytes."""
    groups = [described.row_group(at) for at in range(described.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(described.num_columns)]
    counted = {
        "rows": described.num_rows,
        "columns": described.num_columns,
        "unpacked": sum(chunk.total_uncompressed_size for chunk in chunks),
        "cells": sum(chunk.num_values for chunk in chunks),
    }
    for what, count in counted.items():
        if count > limit(what):
            raise over(what, name)
    if 64 * counted["cells"] > most_unpacked(size):
        raise over("expanded", name)


def _check_pages(
    described: Any, groups: Iterable[int], stream: BinaryIO, name: str
) -> tuple[list[str], int]:
    """Raise an error if the page headers of row groups exceed a limit.

    Returns:
        The list columns with long texts in their dictionaries, and the largest total size, in
        bytes, of the other columns' dictionaries in a row group.
    """
    texts: set[str] = set()
    most_stored = 0
    for group in groups:
        stored = 0
        for at in range(described.num_columns):
            chunk, column = described.row_group(group).column(at), described.schema.column(at)
            pages = [*_pages(chunk, stream)]
            if max((size for size, _ in pages), default=0) > limit("part"):
                raise over("part", name)
            many = chunk.num_values > max(limit("values"), 1_000 * chunk.total_compressed_size)
            if column.max_repetition_level and many:
                raise over("values", name)
            bytes_, entries = sum(size for size, count in pages if count), sum(n for _, n in pages)
            if not column.max_repetition_level:
                stored += bytes_
            elif column.physical_type == "BYTE_ARRAY" and bytes_ > min(2**21, 1_024 * entries):
                texts.add(column.path)
        most_stored = max(most_stored, stored)
    return sorted(texts), most_stored


def _pages(chunk: Any, stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield the unpacked size of each page of a column, and the number of dictionary entries."""
    if not (at := chunk.data_page_offset):
        return  # a column without rows
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    while at < end:
        stream.seek(at)
        length, fields = _fields(stream.read(_HEADER))
        yield fields[2], fields.get(_ENTRIES, 0)
        at += length + max(0, fields[3])


def _fields(data: bytes, at: int = 0) -> tuple[int, dict[int, int]]:
    """Return the position after a structure in Thrift's compact protocol, and its integers."""
    numbers, field = {}, 0
    while kind := data[at] & 15:
        step, at = data[at] >> 4, at + 1
        if step:
            field += step
        else:
            field, at = _number(data, at)
        begun, at = at, _behind(data, at, kind)
        if kind in (4, 5, 6):
            numbers[field] = _number(data, begun)[0]
        elif kind == 12 and field == _DICTIONARY:
            numbers[_ENTRIES] = _fields(data, begun)[1].get(1, 0)
    return at + 1, numbers


def _behind(data: bytes, at: int, kind: int, *, listed: bool = False) -> int:
    """Return the position after a value of a Thrift type."""
    if kind in (1, 2):  # a boolean is part of the type, except in a list
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
    raise ValueError(f"unknown type of value: {kind}")


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


def _batch_size(described: Any, groups: Iterable[int], stored: int) -> int:
    """Return how many rows to unpack together: fewer if they have many cells or long texts."""
    rows = cells = 0
    for group in map(described.row_group, groups):
        rows += group.num_rows
        cells += sum(group.column(at).num_values for at in range(described.num_columns))
    rows = max(1, rows)
    return int(max(1, min(_AT_ONCE, 2**16 * rows // max(1, cells), _TEXTS // max(1, stored))))


def _measured(batch: Any, name: str, number: int) -> Iterator[Any]:
    """Yield a batch, or its single rows if it is too large; a row over a limit raises."""
    values, size, cell = _extent(batch)
    if max(values - limit("values"), size - limit("row"), cell - limit("cell")) <= 0:
        yield batch
        return
    for at in range(batch.num_rows) if batch.num_rows > 1 else ():
        yield from _measured(batch.slice(at, 1), name, number + at)
    if batch.num_rows == 1:
        counted = {"values": values, "row": size, "cell": cell}
        what = next(what for what, count in counted.items() if count > limit(what))
        raise over(what, name, number + 1)


def _extent(batch: Any) -> tuple[int, int, int]:
    """Return the number of a batch's values, the bytes of its texts, and those of the longest."""
    from pyarrow import compute, types

    values = size = longest = 0
    for leaf in (leaf for column in batch.columns for leaf in _leaves(column)):
        values += len(leaf)
        lengths = None
        if hasattr(leaf, "dictionary"):
            if types.is_binary(kind := leaf.type.value_type) or types.is_string(kind):
                lengths = compute.binary_length(leaf.dictionary).take(leaf.indices)
        elif types.is_binary(leaf.type) or types.is_string(leaf.type):
            lengths = compute.binary_length(leaf)
        if lengths is not None:
            size += compute.sum(lengths).as_py() or 0
            longest = max(longest, compute.max(lengths).as_py() or 0)
    return values, size, longest


def _leaves(array: Any) -> Iterator[Any]:
    """Yield the arrays of plain values inside an array."""
    from pyarrow import types

    if types.is_nested(array.type):
        inner = array.flatten()
        for child in inner if isinstance(inner, list) else [inner]:
            yield from _leaves(child)
    else:
        yield getattr(array, "storage", array)
