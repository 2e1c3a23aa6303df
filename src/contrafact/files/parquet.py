"""Parquet in: rows a few at a time, of a file that may stand for much more than it holds.

What a page unpacks to is read from its own header, and not from what the file says of it elsewhere.
A text that is stored once may stand in every row, so the larger a column's dictionary, the fewer
rows are unpacked together; texts in lists stay in theirs until it is known how long a row's are.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.limits import limit, most_unpacked, over

__all__ = ["MOST_PARTS", "parquet_rows"]

MOST_PARTS = 1_000_000
"""Of one list in Parquet's description of itself."""

_AT_ONCE = 1_024  # rows that are unpacked together, at most
_TEXTS = 2**27  # bytes that their texts may have, if each is the longest that is stored
_DICTIONARY, _ENTRIES = 7, -1  # a page's field of what it is, if that; and what that has first
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
            texts, stored = _check(described, stream, name, size)
            coded = parquet.ParquetFile(stream, metadata=described, read_dictionary=texts)
            for batch in _batches(coded, plain, _batch_size(described, stored)):
                for part in _measured(batch, name, number):
                    for row in part.to_pylist():
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


def _batches(coded: Any, plain: Any, size: int) -> Iterator[Any]:
    """Yield the rows of a file in batches, texts in their dictionaries where that can be."""
    import pyarrow

    for group in range(coded.num_row_groups):
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


def _check(described: Any, stream: BinaryIO, name: str, size: int) -> tuple[list[str], int]:
    """Refuse a file that says of itself, or whose pages say, that it is over a limit.

    Returns:
        The columns of lists with long texts in their dictionaries, and how many bytes the
        dictionaries of other columns have in a group of rows, at most.
    """
    chunks = [
        described.row_group(at).column(place)
        for at in range(described.num_row_groups)
        for place in range(described.num_columns)
    ]
    pages = [[*_pages(one, stream)] for one in chunks]
    found = {
        "rows": described.num_rows,
        "columns": described.num_columns,
        "unpacked": sum(one.total_uncompressed_size for one in chunks),
        "cells": sum(one.num_values for one in chunks),
        "part": max((page[0] for own in pages for page in own), default=0),
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
    texts: set[str] = set()
    stored = [0] * described.num_row_groups
    for place, own in enumerate(pages):
        group, at = divmod(place, described.num_columns)
        column = described.schema.column(at)
        bytes_, entries = sum(size for size, count in own if count), sum(n for _, n in own)
        if not column.max_repetition_level:
            stored[group] += bytes_
        elif column.physical_type == "BYTE_ARRAY" and bytes_ > min(2**21, 1_024 * entries):
            texts.add(column.path)
    return sorted(texts), max(stored, default=0)


def _pages(chunk: Any, stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield the bytes that each page of a column unpacks to, and a dictionary's entries."""
    if not (at := chunk.data_page_offset):
        return  # of no rows
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    while at < end:
        stream.seek(at)
        length, fields = _fields(stream.read(_HEADER))
        yield fields[2], fields.get(_ENTRIES, 0)
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
        elif kind == 12 and field == _DICTIONARY:
            found[_ENTRIES] = _fields(data, begun)[1].get(1, 0)
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


def _batch_size(described: Any, stored: int) -> int:
    """Return how many rows are unpacked together: of wide or long ones, and long lists, fewer."""
    rows = max(1, described.num_rows)
    groups = [described.row_group(at) for at in range(described.num_row_groups)]
    cells = sum(
        group.column(at).num_values for group in groups for at in range(described.num_columns)
    )
    return int(max(1, min(_AT_ONCE, 2**16 * rows // max(1, cells), _TEXTS // max(1, stored))))


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
    """Yield the arrays of plain values that an array is made of."""
    from pyarrow import types

    if types.is_nested(array.type):
        inner = array.flatten()
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _leaves(one)
    else:
        yield getattr(array, "storage", array)
