"""What a family says of its data: how a file of a schema is recognised, and what a check finds.

A family lists its schemas in ``Family.data``; ``contrafact data check FILE`` asks them all whether
the file's first row is theirs, and prints the report of the one that says so.
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
    """A table of a report; cells are texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class DataReport:
    """What a check found in a file: ``rows`` rows, and what is in it, in the order to show.

    ``violations`` are sentences on what is wrong, ``notes`` on what a loader can live with.
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
    """A schema of a family's files: whether a file's first row is of it, and its check.

    The check gets the rows and the name that messages call the file. A row that is wrong is a
    violation in the report; it raises only what ends the reading.
    """

    recognises: Callable[[Mapping[str, Any]], bool]
    check: Callable[[Iterable[Row], str], DataReport]


def violations_of(
    refused: Iterable[InputError], noun: str, duplicates: Iterable[tuple[int, int]]
) -> list[str]:
    """Return a sentence for each row that was refused, and for each that another line has too."""
    sentences = [
        f"line {error.line}: {error.problem}" + (f"; {error.hint}" if error.hint else "")
        for error in refused
    ]
    return sentences + [f"line {line}: the {noun} of line {first} again"
                        for line, first in duplicates]  # fmt: skip


def contradictions(what: str, rows: Iterable[tuple[int, str, str]]) -> list[str]:
    """Return a sentence for each row that says otherwise of a text than the first that has it.

    Args:
        what: What is said of the text, such as "the label".
        rows: The line, the text (one whatever its case, its spaces and what does not print), and
            what is said of it.
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
    """Return a sentence for each row with the text of a row before it, as `contradictions`."""
    first: dict[bytes, int] = {}
    lines = [(line, first.setdefault(_key(text), line)) for line, text in rows]
    return [f"line {line}: the {noun} of line {before} again" for line, before in lines
            if line != before]  # fmt: skip


def _key(text: str) -> bytes:
    folded = " ".join(printable(text).split()).casefold().encode()
    return hashlib.blake2b(folded, digest_size=16).digest()


def _short(text: str, most: int = 60) -> str:
    text = " ".join(printable(text).split())
    return f"'{text if len(text) <= most else text[: most - 1] + '…'}'"
