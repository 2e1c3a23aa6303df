"""Tables as people lay them out: a title above the header, nameless columns, ragged rows.

Text tables and workbooks are both rows of cells; what becomes the header, and what becomes of the
rest, is decided here for both.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from contrafact.console import say_once
from contrafact.errors import InputError
from contrafact.files.fields import FIELD_NAMES, fold
from contrafact.files.limits import limit, over

Cells = tuple[int, list[Any]]
"""A row's line, counted from 1, and its cells."""

KNOWN_NAMES = frozenset(fold(name) for names in FIELD_NAMES.values() for name in names)
"""The folded names of all fields: a row that has one is a header."""

_LOOKED_AT = 12
"""Rows among which the header is looked for; titles, dates and notes above it are fewer."""


def filled(cells: Sequence[Any]) -> list[Any]:
    """Return the cells that hold something: neither nothing nor a text of spaces."""
    return [cell for cell in cells if str("" if cell is None else cell).strip()]


def header_place(
    rows: Sequence[Sequence[Any]], named: Collection[str] = KNOWN_NAMES, *, padded: bool = True
) -> int:
    """Return which of a table's first rows is its header; 0 unless there is reason for another.

    A first row with a known name is the header. Else it is the first row with more cells than all
    above it that has two known names, or follows rows of one filled cell each (titles) and has a
    known name, or distinct texts over rows of at least two cells.

    Args:
        padded: Whether a title is followed by empty cells, as where Excel saves a text table: a
            lone cell may be the header of a single column there, whose texts hold delimiters.
    """
    cells = [filled(row) for row in rows]
    if not cells or any(fold(cell) in named for cell in cells[0]):
        return 0
    for place in range(1, len(cells)):
        widest = max(map(len, cells[:place]))
        if len(cells[place]) <= widest:
            continue
        known_names = sum(fold(cell) in named for cell in cells[place])
        below = cells[place + 1 : place + 4]
        names = all(isinstance(cell, str) for cell in cells[place])
        distinct = names and len(set(cells[place])) == len(cells[place])
        likely = distinct and bool(below) and all(len(row) > 1 for row in below)
        title = widest == 1 and (not padded or min(map(len, rows[:place])) > 1)
        if known_names > 1 or (title and (known_names or likely)):
            return place
    return 0


def laid_out(
    rows: Iterator[Cells],
    name: str,
    *,
    named: Collection[str],
    padded: bool = True,
    empty: Any = "",
    hint: str = "name every column that holds something",
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows below a table's header as ``(line, row)``.

    Rows above the header are left out, and that is said. Columns without a name behind the last
    that has one are dropped where they are empty; another column without a name is called by its
    place. A short row lacks the last cells.
    """
    first = list(islice(rows, 1))
    if not first:
        return
    if not any(fold(cell) in named for cell in filled(first[0][1])):
        first += islice(rows, _LOOKED_AT - 1)
    place = header_place([cells for _, cells in first], named, padded=padded)
    line, cells = first[place]
    header = [str("" if cell is None else cell).strip() for cell in cells]
    if len(header) > limit("columns"):
        raise over("columns", name, line)
    while len(header) > 1 and not header[-1]:
        header.pop()
    nameless = [at for at, column in enumerate(header) if not column][1:]
    for at in nameless:
        header[at] = f"column {at + 1}"
    twice = next((column for column, times in Counter(header).items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns are called '{twice}'", file=name, line=line, hint="rename one of them"
        )
    if place:
        shown = ", ".join(repr(column) for column in header[:4])
        above = "1 row above it is" if place == 1 else f"{place} rows above it are"
        say_once(f"{name}: line {line} is taken for the header ({shown}); {above} left out")
    for line, cells in chain(first[place + 1 :], rows):
        if len(cells) > len(header) and filled(cells[len(header) :]):
            raise InputError(
                f"the row has {len(cells)} cells, the header has {len(header)}",
                file=name,
                line=line,
                hint=hint,
            )
        whole = cells[: len(header)] + [empty] * (len(header) - len(cells))
        yield line, dict(zip(header, whole, strict=True))
