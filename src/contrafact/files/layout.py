"""Rows of cells, of text tables and workbooks alike, as rows by the names in their header."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from contrafact.errors import InputError
from contrafact.files.limits import limit, over

Cells = tuple[int, list[Any]]
"""A row's line, counted from 1, and its cells."""


def filled(cells: Sequence[Any]) -> list[Any]:
    """Return the cells that hold something: neither nothing nor a text of spaces."""
    return [cell for cell in cells if str("" if cell is None else cell).strip()]


def laid_out(
    rows: Iterator[Cells], name: str, *, empty: Any, hint: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows below the header, which is the first row, as ``(line, row)``.

    Columns without a name behind the last that has one are dropped where they are empty; another
    column without a name is called by its place. A short row lacks the last cells.

    Args:
        empty: What stands for a cell that a short row lacks.
        hint: What to do about a row that is wider than the header.
    """
    line, cells = next(rows, (0, []))
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
    for line, cells in rows:
        if len(cells) > len(header) and filled(cells[len(header) :]):
            raise InputError(
                f"the row has {len(cells)} cells, the header has {len(header)}",
                file=name,
                line=line,
                hint=f"{hint}; remove titles above the header",
            )
        whole = cells[: len(header)] + [empty] * (len(header) - len(cells))
        yield line, dict(zip(header, whole, strict=True))
