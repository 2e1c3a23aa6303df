"""A table before it is written: its columns, its numbers, and how each cell reads."""

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd

__all__ = ["Cell", "Column", "Kind", "Row", "RowGroup", "Table", "format_number", "row_groups"]

Kind = Literal["text", "count", "share", "points", "number", "signed", "coefficient", "p"]
"""How a number reads: ``share`` and ``points`` are fractions of 1 shown in percent and percentage
points, ``signed`` and ``points`` carry their sign."""

OWN, PUBLISHED = "own", "published"
MISSING = "–"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: Its name in the table's frame. Where the frame has them, ``<key>_low`` and
            ``<key>_high`` bound it and ``<key>_sd`` is its spread over few-shot draws.
        label: What a reader sees.
        kind: How its values read.
        group: A heading over several columns, or empty.
        better: Whether more or less is better; None where neither is.
        ranked: Whether the best and second best are marked.
    """

    key: str
    label: str
    kind: Kind
    group: str = ""
    better: Literal["high", "low"] | None = None
    ranked: bool = True

    @property
    def heading(self) -> str:
        """The label with an arrow towards what is better."""
        arrow = {"high": " ↑", "low": " ↓", None: ""}[self.better]
        return self.label + arrow


@dataclass(frozen=True)
class Table:
    """A table: numbers in a frame, and what a reader needs to read them.

    The frame has one row per line and one column per ``Column.key``, and may have ``source``
    ("own" or "published") and the column named by ``group_by``, whose values head groups of lines.
    """

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    group_by: str | None = None
    published_label: str = ""

    def without_empty_columns(self) -> "Table":
        """Return the table without the columns that hold no value at all."""
        columns = tuple(c for c in self.columns if self.frame[c.key].notna().any())
        return replace(self, columns=columns)

    @property
    def raw(self) -> pd.DataFrame:
        """The numbers as they are, with their bounds, as the CSV file has them."""
        wanted: list[str] = [] if self.group_by is None else [self.group_by]
        for column in self.columns:
            parts = (column.key, *(f"{column.key}_{end}" for end in ("low", "high", "sd")))
            wanted += [part for part in parts if part in self.frame.columns]
        if "source" in self.frame.columns:
            wanted.append("source")
        return self.frame[wanted]


@dataclass(frozen=True)
class Cell:
    """A cell as it reads: the figure, its interval, its spread, and its rank (1, 2 or 0)."""

    text: str
    kind: Kind
    interval: str = ""
    spread: str = ""
    rank: int = 0


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class RowGroup:
    """Lines of a table under one heading."""

    label: str
    published: bool
    rows: tuple[Row, ...] = field(default_factory=tuple)


def format_number(value: object, kind: Kind, *, more_digits: int = 0) -> str:
    """Return how a value reads; a missing one is a dash. Minus signs are U+2212.

    Args:
        value: A number, a text, or nothing (None, NaN).
        kind: How it reads.
        more_digits: Decimals beyond the usual one (of coefficients, three).
    """
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return MISSING
    if kind == "text":
        return str(value)
    number = float(str(value))
    if kind == "count":
        return f"{number:,.0f}"
    if kind == "p":
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    digits = _digits(kind) + more_digits
    number = round(number * _scale(kind), digits) + 0.0
    sign = "+" if kind in ("points", "signed") and number > 0 else ""
    return f"{sign}{number:,.{digits}f}".replace("-", "−")


def _digits(kind: Kind) -> int:
    return 3 if kind == "coefficient" else 1


def _scale(kind: Kind) -> int:
    return 100 if kind in ("share", "points") else 1


def row_groups(table: Table) -> list[RowGroup]:
    """Return the table's lines as they read, own ones first, published ones in a group apart.

    The best and second best of a column are marked among the own lines of a group, judged as
    printed, so that two equal figures share their mark.
    """
    frame = table.frame
    published = (
        frame["source"].eq(PUBLISHED)
        if "source" in frame.columns
        else pd.Series(False, index=frame.index)
    )
    groups: list[RowGroup] = []
    own = frame[~published]
    if table.group_by is None:
        parts = [("", own)] if len(own) else []
    else:
        parts = [(str(name), part) for name, part in own.groupby(table.group_by, sort=False)]
    for label, part in parts:
        groups.append(RowGroup(label, False, _own_rows(part, table.columns)))
    if published.any():
        rows = _published_rows(frame[published], table.columns)
        groups.append(RowGroup(table.published_label, True, rows))
    return groups


def _own_rows(frame: pd.DataFrame, columns: tuple[Column, ...]) -> tuple[Row, ...]:
    ranks = {column.key: _ranks(frame, column) for column in columns}
    return tuple(
        tuple(_cell(line, column, ranks[column.key][i]) for column in columns)
        for i, line in enumerate(_lines(frame))
    )


def _published_rows(frame: pd.DataFrame, columns: tuple[Column, ...]) -> tuple[Row, ...]:
    """Return lines as the paper prints them: two decimals, no intervals, no marks."""
    return tuple(
        tuple(
            Cell(
                format_number(line.get(c.key), c.kind, more_digits=int(c.kind in _PRINTED)), c.kind
            )
            for c in columns
        )
        for line in _lines(frame)
    )


_PRINTED: frozenset[Kind] = frozenset({"share", "points", "number", "signed"})
"""What the paper prints with one decimal more than our own figures have."""


def _lines(frame: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(key): value for key, value in line.items()} for line in frame.to_dict("records")]


def _cell(line: dict[str, object], column: Column, rank: int) -> Cell:
    key, kind = column.key, column.kind
    text = format_number(line.get(key), kind)
    low, high = (format_number(line.get(f"{key}_{end}"), kind) for end in ("low", "high"))
    between = " to " if kind in ("points", "signed", "coefficient") else "–"
    interval = "" if MISSING in (low, high, text) else f"{low}{between}{high}"
    plain: Kind = {"points": "share", "signed": "number"}.get(kind, kind)  # type: ignore[assignment]
    spread = format_number(line.get(f"{key}_sd"), plain)
    return Cell(text, kind, interval, "" if spread == MISSING else spread, rank)


def _ranks(frame: pd.DataFrame, column: Column) -> list[int]:
    """Return 1 for the best, 2 for the second best, 0 otherwise; nothing to rank gives all 0."""
    nothing = [0] * len(frame)
    if column.better is None or not column.ranked or column.key not in frame.columns:
        return nothing
    shown = frame[column.key].astype(float) * _scale(column.kind)
    values = [round(float(value), _digits(column.kind)) for value in shown]
    distinct = sorted({v for v in values if not math.isnan(v)}, reverse=column.better == "high")
    if len(distinct) < 2:
        return nothing
    return [1 if v == distinct[0] else 2 if v == distinct[1] else 0 for v in values]
