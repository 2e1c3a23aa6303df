"""Limits on the content of files.

A file of a few kilobytes can unpack to gigabytes. Its metadata are checked before its rows are
read, and rows, cells and depth are counted while they are read. Texts and rows are measured before
they are built.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from contrafact.errors import InputError

__all__ = ["bounded_rows", "limit", "over"]

VARIABLE = "CONTRAFACT_LIMITS"
"""The variable that names other limits: ``rows=1000,cells=20000``."""

RowT = TypeVar("RowT")

_MIB, _GIB = 2**20, 2**30
_LIMITS = {
    "size": (64 * _GIB, "is over {:,} bytes"),
    "unpacked": (16 * _GIB, "unpacks to over {:,} bytes"),
    "whole": (2 * _GIB, "is over {:,} bytes, and can only be read whole"),
    "expanded": (512 * _MIB, "takes over {:,} bytes, a thousand times its size"),
    "part": (256 * _MIB, "has a part that unpacks to over {:,} bytes"),
    "row": (64 * _MIB, "has a row of over {:,} bytes"),
    "values": (1_000_000, "has a row of over {:,} values"),
    "cell": (16 * _MIB, "has a cell of over {:,} bytes"),
    "rows": (500_000_000, "has over {:,} rows"),
    "columns": (16_384, "has over {:,} columns"),
    "cells": (100_000_000, "has over {:,} cells"),
    "depth": (64, "is nested over {:,} deep"),
    "seconds": (3_600, "takes over {:,} seconds of processor time to read"),
    "memory": (16 * _GIB, "takes over {:,} bytes of memory to read"),
}
"""Each limit's default and message; seconds only apply to files that `apart` reads."""
_OF_FREE = {"whole": 8, "expanded": 4, "part": 8, "row": 16, "cell": 64, "memory": 2}
"""Limits in memory are at most the free memory divided by this."""
_PLAIN = 1_000  # times its own size that a file may unpack to without further checks
_VALUE = 64  # bytes that a value takes, approximately


def limit(name: str) -> int:
    """Return a limit from `VARIABLE`, or its default, which may depend on the free memory."""
    named = named_limits(os.environ.get(VARIABLE, ""))
    if name in named:
        return named[name]
    most = _LIMITS[name][0]
    return min(most, _free_memory() // _OF_FREE[name]) if name in _OF_FREE else most


@cache
def _free_memory() -> int:
    """Return how many bytes of memory were free at the first call, in this container."""
    bounds = [2**62]
    for path, start in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            lines = Path(path).read_text().splitlines()
            line = next(line for line in lines if line.startswith(start))
            bounds.append(int(line.removeprefix(start).split()[0]) * (1024 if start else 1))
        except (OSError, StopIteration, ValueError):
            continue  # macOS has neither file, and "max" means no limit
    return min(bounds)


def most_unpacked(size: int) -> int:
    """Return how many bytes a file of a given size may unpack to; a bomb exceeds this."""
    return min(limit("unpacked"), max(limit("expanded"), _PLAIN * size))


@cache
def named_limits(text: str) -> dict[str, int]:
    """Return the limits in the text of the variable.

    Raises:
        InputError: A name or a number is invalid.
    """
    limits = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if name not in _LIMITS or not (number.isascii() and number.isdigit()):
            raise InputError(
                f"{VARIABLE}: '{part}' is not a valid limit",
                hint=f"write NAME=NUMBER, NAME one of {', '.join(_LIMITS)}",
            )
        limits[name] = int(number)
    return limits


def over(name: str, file: str, line: int | None = None) -> InputError:
    """Return the error that a file exceeds a limit."""
    return passed(name, limit(name), file, line)


def passed(name: str, number: int, file: str | Path, line: int | None = None) -> InputError:
    """Return the error that a file exceeds a limit, whose value is ``number``."""
    hint = f"if this is intended, set {VARIABLE}={name}=NUMBER to a larger one"
    return InputError(_LIMITS[name][1].format(number), file=file, line=line, hint=hint)


def bounded_rows(
    rows: Iterator[tuple[int, RowT]], file: str, *, nested: bool, size: int = 2**62
) -> Iterator[tuple[int, RowT]]:
    """Yield rows while they are within the limits on rows, columns, cells and depth.

    The error object in place of an unreadable row is passed on.

    Args:
        nested: Whether cells may be lists and objects, whose values count as cells.
        size: The size of the file in bytes; its rows may take at most a thousand times as much.
    """
    names = ("rows", "columns", "cells", "depth", "unpacked")
    most = [limit(name) for name in names]
    cells, texts, bytes_most = 0, 0, most_unpacked(size)
    for count, (line, row) in enumerate(rows, start=1):
        if not isinstance(row, dict):
            yield line, row
            continue
        values, depth, characters = _extent(row) if nested else (len(row), 1, 0)
        cells, texts = cells + values, texts + characters
        counted = (count, len(row), cells, depth, texts)
        for name, number, allowed in zip(names, counted, most, strict=True):
            if number > allowed:
                raise over(name, file, line)
        if texts + _VALUE * cells > bytes_most:
            raise over("expanded", file, line)
        yield line, row


def _extent(row: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the number of values in a row, their depth, and the number of their characters."""
    level: list[Any] = [row]
    values, depth, size = 0, 0, 0
    while level:
        inner = [one.values() if isinstance(one, dict) else one for one in level]
        values, depth = values + sum(map(len, inner)), depth + 1
        size += sum(
            len(value) for part in inner for value in part if isinstance(value, str | bytes)
        )
        level = [value for part in inner for value in part if isinstance(value, dict | list)]
    return values, depth, size
