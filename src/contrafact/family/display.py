"""The contents of a report's chapter as data (tables, charts), and number formats.

Families make these; `contrafact.report` draws, writes and escapes them. Texts of models and news
are held unescaped.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = [
    "MARK",
    "MISSING",
    "OWN",
    "PUBLISHED",
    "VALID_HEADING",
    "Column",
    "Fact",
    "GridChart",
    "Kind",
    "Panel",
    "Table",
    "Warned",
    "Warnings",
    "count",
    "figure_text",
    "finished_table",
    "format_number",
    "listed",
    "missing",
    "percent",
    "stacked",
    "with_figures",
    "with_published",
]

Kind = Literal["text", "count", "share", "points", "number", "signed", "coefficient", "p"]
"""How a number is shown: ``share`` and ``points`` are fractions of 1, in percent and percentage
points; ``signed`` and ``points`` carry their sign."""


class Warned(NamedTuple):
    """A warning to read before quoting a figure: a code, a heading and a text."""

    code: str
    title: str
    text: str


Warnings = list[Warned]

OWN = "own"
MARK = "mark"
PUBLISHED = "published"
"""The values of a table's column ``source``, which says whose figures a line shows: a system's; a
reference's or a control's, which is never marked as the best; or a paper's."""

MISSING = "–"
VALID = "_valid"
STRICT = "_strict"
"""The ends of the keys of a measure's columns in either form."""
VALID_HEADING = "Over valid outputs"
BOTH_HEADING = "Valid and strict"


def missing(value: object) -> bool:
    """Whether a cell holds nothing: None, NaN or NA."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def format_number(value: object, kind: Kind, *, more_digits: int = 0) -> str:
    """Return a number or text as it is shown; None and NaN give a dash. Minus signs are U+2212."""
    if missing(value):
        return MISSING
    if kind == "text":
        return str(value)
    number = float(str(value))
    if kind == "count":
        return f"{number:,.0f}"
    if kind == "p":
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    digits = (3 if kind == "coefficient" else 1) + more_digits
    number = round(number * (100 if kind in ("share", "points") else 1), digits) + 0.0
    sign = "+" if kind in ("points", "signed") and number > 0 else ""
    if kind == "share" and number in (0, 100) and 1e-9 < float(str(value)) < 1 - 1e-9:
        sign = "<" if number else ">"
    return f"{sign}{number:,.{digits}f}".replace("-", "−")


def figure_text(value: float, kind: Kind) -> str:
    """Return a figure as it is written in a sentence: a share with a percent sign."""
    return format_number(value, kind) + ("%" if kind == "share" else "")


def percent(share: float) -> str:
    return figure_text(share, "share")


def count(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun; the plural adds an s unless another is given."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True)
class Column:
    """A column of a table: ``key`` is its name in the table's frame.

    ``<key>_low`` and ``<key>_high``, if the frame has them, are its bounds; ``<key>_sd`` is its
    spread over few-shot draws; ``<key>_kind`` a line's own kind. ``group`` is a heading over
    several columns; in a ``ranked`` column the best is marked, unless another is in its interval.
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
        return self.label + {"high": " ↑", "low": " ↓", None: ""}[self.better]


@dataclass(frozen=True)
class Table:
    """A table: numbers in a frame, with the labels and notes needed to read them.

    The frame has one row per line and one column per ``Column.key``, and may have ``source``
    ("own", "mark" or "published") and the column named by ``group_by``, whose values head groups
    of lines.
    ``clusters`` names the column that counts the clusters behind a line: if every line rests on a
    single cluster, no best is marked.
    """

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    group_by: str | None = None
    published_label: str = ""
    clusters: str = ""

    def without_empty_columns(self, keep: Collection[str] = ()) -> "Table":
        """Return the table without its empty columns, except those in ``keep``."""
        there = {*keep, *self.frame.columns[self.frame.notna().any()]}
        return replace(self, columns=tuple(c for c in self.columns if c.key in there))

    @cached_property
    def shown(self) -> tuple[Column, ...]:
        """The columns to show: strict ones are left out where all are as over valid outputs."""
        strict = [c.key for c in self.columns if c.key.endswith(STRICT)]
        if not strict or not all(map(self._as_valid, strict)):
            return self.columns

        def both(heading: str) -> str:
            return heading.replace(VALID_HEADING, BOTH_HEADING)

        return tuple(
            replace(c, group=both(c.group), label=both(c.label))
            for c in self.columns
            if c.key not in strict
        )

    def _as_valid(self, key: str) -> bool:
        """Whether a strict column, with its bounds, is as the valid one, but in published lines."""
        valid = key.removesuffix(STRICT) + VALID
        lines = self.frame
        if "source" in lines.columns:
            lines = lines[lines["source"].ne(PUBLISHED)]
        one, other = (
            lines.reindex(columns=[f"{name}{end}" for end in ("", "_low", "_high")]).to_numpy(float)
            for name in (key, valid)
        )
        same = np.allclose(one, other, rtol=0, atol=1e-9, equal_nan=True)
        return valid in {column.key for column in self.columns} and same

    @property
    def raw(self) -> pd.DataFrame:
        """The unformatted numbers with their bounds, as in the CSV file."""
        wanted: list[str] = [] if self.group_by is None else [self.group_by]
        for column in self.columns:
            wanted += [f"{column.key}{end}" for end in ("", "_low", "_high", "_sd")]
        return self.frame[[key for key in (*wanted, "source") if key in self.frame.columns]]


def finished_table(
    key: str,
    title: str,
    caption: str,
    columns: Sequence[Column],
    frame: pd.DataFrame,
    notes: Sequence[str] = (),
) -> Table:
    """Return a table of a report's own figures, without empty columns."""
    table = Table(key, title, caption, tuple(columns), frame.assign(source=OWN), tuple(notes))
    return table.without_empty_columns()


def with_figures(
    frame: pd.DataFrame,
    figures: pd.DataFrame,
    wanted: Mapping[str, Mapping[str, str | int]],
    on: Sequence[str] = ("system",),
) -> pd.DataFrame:
    """Return a table's lines with added columns: each figure, its bounds and its spread.

    Args:
        frame: The lines, with the columns ``on``, by which a figure is matched to its line.
        figures: One figure per row; ValueError if several belong to the same line and new column.
        wanted: The new columns, each with the conditions that select its rows of ``figures``:
            ``{"accuracy_valid": {"measure": "accuracy", "form": "valid"}}``.
    """
    ends = {"estimate": "", "low": "_low", "high": "_high", "sd_over_draws": "_sd"}
    ends = {name: end for name, end in ends.items() if name in figures.columns}
    # A report asks this for every figure it shows: 16 of them take 2 ms, and by merges took 83.
    numbers = {name: np.append(figures[name].to_numpy(dtype=float), np.nan) for name in ends}
    asked = {condition for where in wanted.values() for condition in where.items()}
    rows_with = {
        condition: figures[condition[0]].eq(condition[1]).to_numpy(dtype=bool)
        for condition in asked
    }
    keys, lines = (
        list(zip(*(rows[column].tolist() for column in on), strict=True))
        for rows in (figures, frame)
    )
    added: dict[str, NDArray[np.float64]] = {}
    for key, where in wanted.items():
        rows = np.logical_and.reduce([rows_with[condition] for condition in where.items()])
        row_of = {keys[row]: int(row) for row in np.flatnonzero(rows)}
        if len(row_of) < np.count_nonzero(rows):
            raise ValueError(f"one line has more than one figure: {key}, {dict(where)}")
        taken = [row_of.get(line, -1) for line in lines]
        added |= {f"{key}{end}": numbers[name][taken] for name, end in ends.items()}
    frame = frame.reset_index(drop=True)
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)


def stacked(key: str, title: str, by: str, parts: Mapping[str, Table]) -> Table:
    """Join tables with the same columns into one, each table's name as a heading over its lines."""
    first = next(iter(parts.values()))
    columns = {column: None for table in parts.values() for column in table.columns}
    frames = [table.frame.assign(**{by: name}) for name, table in parts.items()]
    frame = pd.concat(frames, ignore_index=True)
    notes = dict.fromkeys(note for table in parts.values() for note in table.notes)
    shown = tuple(column for column in columns if column.key in frame.columns)
    return replace(
        first, key=key, title=title, columns=shown, frame=frame, notes=tuple(notes), group_by=by
    )


def with_published(
    table: Table, rows: pd.DataFrame, label: str, notes: Sequence[str] = ()
) -> Table:
    """Return a table with a paper's rows added below, limited to the columns that the table has."""
    keys = [column.key for column in table.columns if column.key in rows.columns]
    if table.group_by is not None and table.group_by in rows.columns:
        keys.append(table.group_by)
    added = rows[keys].assign(source=PUBLISHED)
    joined = pd.concat([table.frame.astype(object), added.astype(object)], ignore_index=True)
    for column in table.columns:
        for end in ("", "_low", "_high", "_sd"):
            if column.kind != "text" and f"{column.key}{end}" in joined.columns:
                joined[f"{column.key}{end}"] = pd.to_numeric(joined[f"{column.key}{end}"])
    return replace(table, frame=joined, published_label=label, notes=(*table.notes, *notes))


@dataclass(frozen=True)
class Panel:
    """One panel of a chart: estimates with their bounds, each of shape (rows, series)."""

    title: str
    values: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    kind: Kind = "share"

    @classmethod
    def of_columns(
        cls, title: str, frame: pd.DataFrame, keys: Sequence[str], kind: Kind = "share"
    ) -> "Panel":
        """Return a panel of a table's columns, with bounds: lines as rows, columns as series."""
        ends = ("", "_low", "_high")
        frame = frame.reindex(columns=[f"{key}{end}" for end in ends for key in keys])
        grids = frame.to_numpy(float).reshape(len(frame), 3, len(keys))
        return cls(title, grids[:, 0], grids[:, 1], grids[:, 2], kind)


@dataclass(frozen=True)
class GridChart:
    """A chart as data: bars with intervals, by row and series, in panels side by side.

    Attributes:
        series: The series' names; a series without a name has no legend.
        axis: The label of the estimates' axis.
    """

    key: str
    title: str
    caption: str
    rows: Sequence[str]
    series: Sequence[str]
    panels: Sequence[Panel]
    colours: Sequence[str] = ("opportunity", "risk", "third", "headline")
    axis: str = ""


@dataclass(frozen=True)
class Fact:
    """A fact at the top of a chapter: a label, a figure or a name, and a line below."""

    label: str
    text: str
    below: str = ""
    is_name: bool = False
