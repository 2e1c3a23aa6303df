"""The description of a family's data files: how each schema is recognised and checked.

A family lists its schemas in ``Family.data``; ``contrafact data check FILE`` asks each of them
whether it recognises the file's first row, and prints the report of the first schema that does.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contrafact.errors import InputError
from contrafact.files.tables import Row
from contrafact.text.delimit import printable

__all__ = ["DataReport", "DataSpec", "DataTable", "contradictions", "repeats", "violations_of"]


@dataclass(frozen=True)
class DataTable:
    """A table of a data check's report; its cells are texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DataReport:
    """A check's report on a file: the number of rows, and its ``contents`` in the order shown.

    ``violations`` are sentences about errors, ``notes`` about faults that a loader tolerates.
    """

    rows: int
    contents: tuple[str | DataTable, ...]
    violations: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.violations


@dataclass(frozen=True)
class DataSpec:
    """A schema of a family's files: how its first row is recognised, and how a file is checked.

    The check receives the rows and the file's name for messages. A wrong row is a violation in the
    report; the check raises only errors that end the reading.
    """

    recognises: Callable[[Mapping[str, Any]], bool]
    check: Callable[[Iterable[Row], str], DataReport]


def violations_of(
    refused: Iterable[InputError], noun: str, duplicates: Iterable[tuple[int, int]]
) -> list[str]:
    """Return a sentence for each refused row and for each duplicate of an earlier line."""
    sentences = [
        f"line {error.line}: {error.problem}" + (f"; {error.hint}" if error.hint else "")
        for error in refused
    ]
    return sentences + [f"line {line}: repeats the {noun} of line {first}"
                        for line, first in duplicates]  # fmt: skip


def contradictions(what: str, rows: Iterable[tuple[int, str, str]]) -> list[str]:
    """Return a sentence for each row that contradicts the first row with the same text.

    Args:
        what: The name of the value, such as "the label".
        rows: The line, the text (compared ignoring case, spacing and non-printing characters), and
            the value given for it.
    """
    first: dict[bytes, tuple[int, str]] = {}
    sentences = []
    for line, text, value in rows:
        before, earlier = first.setdefault(_key(text), (line, value))
        if value != earlier:
            where = "itself" if before == line else f"line {before}"
            sentences.append(
                f"line {line}: {what} is {_short(value)}, and {_short(earlier)} in {where}, "
                f"of the same text ({_short(text)})"
            )
    return sentences


def repeats(noun: str, rows: Iterable[tuple[int, str]]) -> list[str]:
    """Return a sentence for each row that repeats an earlier row's text (see `contradictions`)."""
    first: dict[bytes, int] = {}
    lines = [(line, first.setdefault(_key(text), line)) for line, text in rows]
    return [f"line {line}: repeats the {noun} of line {before}" for line, before in lines
            if line != before]  # fmt: skip


def _key(text: str) -> bytes:
    folded = " ".join(printable(text).split()).casefold().encode()
    return hashlib.blake2b(folded, digest_size=16).digest()


def _short(text: str, most: int = 60) -> str:
    text = " ".join(printable(text).split())
    return f"'{text if len(text) <= most else text[: most - 1] + '…'}'"
