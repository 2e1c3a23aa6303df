"""Tables of ratings, wide or long, from any file of rows."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contrafact.errors import InputError
from contrafact.family.data import DataReport, DataSpec
from contrafact.files.fields import is_absent
from contrafact.files.tables import Row, read_rows, source_name

__all__ = ["SPEC", "Rating", "RatingsTable", "ratings_of", "read_ratings"]

Rating = str | float | None
"""A category; none where a rater did not rate an item."""

MOST_APART = 2
"""Categories a rater, on average, beyond which raters who share none of them are no raters."""

_WORDS = 2
"""Words of a rating, on average, beyond which ratings that hardly ever come twice are free text."""

_LONG = ("item", "rater", "rating")
_ITEM_NAMES = ("item", "id", "item_id", "sample", "sample_id")


@dataclass(frozen=True)
class RatingsTable:
    """Ratings of items by raters, cells of shape (items, raters), both in the file's order.

    With counts, one item's name stands several times. Notes say what was made one category that the
    file spells in several ways, and whether the numbers look like no ratings.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    cells: tuple[tuple[Rating, ...], ...]
    numbers: bool
    notes: tuple[str, ...] = ()

    def column(self, rater: str) -> list[Rating]:
        """Return one rater's ratings, item by item."""
        place = self.raters.index(rater)
        return [row[place] for row in self.cells]


def read_ratings(
    path: str,
    *,
    raters: Sequence[str] = (),
    count: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
) -> RatingsTable:
    """Return the ratings in a file: CSV, Excel, JSONL, JSON or Parquet, or ``-``.

    Long: columns ``item``, ``rater`` and ``rating``. Wide: a column of items (``item`` or ``id``,
    else the first) and one column per rater. Empty cells are missing ratings. Spellings of a
    category that differ only in case are one.

    Args:
        path: The file.
        raters: The raters to take, of a wide file the columns; all where none is named.
        count: A column of a wide file with the number of items that a row stands for.
        missing: Words that stand for no rating, in any case, besides ``NULL`` and its like.
        columns: By name (``item``, ``rater``, ``rating``, of a wide file any), the file's name for
            the column, where they differ.

    Raises:
        InputError: There are not two raters, an item is rated twice by one, a cell is no rating,
            or the columns hold something else: words of which no two raters share one.
    """
    name = source_name(path)
    rows = list(read_rows(path, columns))
    if absent := {word.strip().casefold() for word in missing}:
        rows = [(line, _without(row, absent)) for line, row in rows]
    table = ratings_of(rows, name, raters=raters, count=count)
    if not raters and (texts := _free_texts(table)):
        rest = [one for one in table.raters if one not in texts]
        raise InputError(
            f"the column '{texts[0]}' looks like no rater: nearly every cell is a text of its own",
            file=name,
            hint=f"name the raters: {' '.join(f'--rater {one}' for one in rest or table.raters)}",
        )
    if not _share_none(table):
        return table
    problem = "no two raters have a value in common, so these are no ratings"
    if not table.numbers:
        raise InputError(problem, file=name, hint="name the raters with --rater")
    return replace(table, notes=(*table.notes, f"{problem}, or some on a fine scale"))


def ratings_of(
    rows: Sequence[Row], name: str, *, raters: Sequence[str] = (), count: str | None = None
) -> RatingsTable:
    """Return the ratings in rows, each with its line, as `read_ratings` does, of this name."""
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    if not columns:
        what = "columns" if rows else "rows"
        raise InputError(f"the file holds no {what}", file=name, hint="give at least one item")
    folded = {column.strip().casefold(): column for column in columns}
    long = all(column in folded for column in _LONG)
    if long and count is not None:
        raise InputError("counts are for a wide table", file=name, hint="leave --count out")
    read = _long(rows, folded, name) if long else _wide(rows, columns, count, name)
    table: dict[str, dict[str, Any]] = read[0]
    known, times = read[1], read[2]
    for rater in raters:
        if rater not in known:
            raise InputError(
                f"there is no rater '{rater}'", file=name, hint=f"there are {', '.join(known)}"
            )
    chosen = [rater for rater in known if not raters or rater in raters]
    if len(chosen) < 2:
        raise InputError(
            f"there is {len(chosen) or 'no'} rater", file=name, hint="agreement takes two or more"
        )
    return _made(table, chosen, times)


def _without(row: Mapping[str, Any], absent: Collection[str]) -> dict[str, Any]:
    """Return a row whose cells of such words are empty."""
    return {
        name: None if isinstance(cell, str) and cell.strip().casefold() in absent else cell
        for name, cell in row.items()
    }


def _free_texts(table: RatingsTable) -> list[str]:
    """Return raters whose ratings are texts, of several words, that hardly ever come twice."""
    found = []
    for rater in table.raters:
        cells = [cell for cell in table.column(rater) if isinstance(cell, str)]
        words = sum(len(cell.split()) for cell in cells)
        if len(cells) > 2 and words > _WORDS * len(cells) and len(set(cells)) > len(cells) / 2:
            found.append(rater)
    return found


def _share_none(table: RatingsTable) -> bool:
    """Whether raters use many categories, and no two of them the same one."""
    own = [{cell for cell in table.column(rater) if cell is not None} for rater in table.raters]
    apart = sum(map(len, own))
    return apart > MOST_APART * len(own) and apart == len(set().union(*own))


_DOUBTFUL = frozenset(
    (
        *("na", "n/a", "n.a.", "none", "nil", "-", "--", "?", ".", "blank", "empty"),
        *("skip", "skipped", "missing", "unknown", "tbd", "tba"),
    )
)
"""What people write for no rating, and some of them for one."""

_Read = tuple[dict[str, dict[str, Any]], list[str], dict[str, int]]


def _long(rows: Sequence[Row], folded: Mapping[str, str], name: str) -> _Read:
    item_of, rater_of, rating_of = (folded[column] for column in _LONG)
    table: dict[str, dict[str, Any]] = {}
    raters: dict[str, None] = {}
    for line, row in rows:
        item, rater = _text(row.get(item_of)), _text(row.get(rater_of))
        if not item or not rater:
            missing = "item" if not item else "rater"
            raise InputError(f"there is no {missing}", file=name, line=line, hint="fill it in")
        raters[rater] = None
        own = table.setdefault(item, {})
        if rater in own:
            raise InputError(
                f"{rater} rates {item} a second time", file=name, line=line, hint="keep one rating"
            )
        own[rater] = _rating(row.get(rating_of), name, line)
    return table, list(raters), dict.fromkeys(table, 1)


def _wide(rows: Sequence[Row], columns: Sequence[str], count: str | None, name: str) -> _Read:
    if count is not None and count not in columns:
        raise InputError(f"there is no column '{count}'", file=name, hint="name one with --count")
    named = [column for column in columns if column.strip().casefold() in _ITEM_NAMES]
    # Rows with a count stand for many items and need no name.
    item_of = named[0] if named else None if count is not None else columns[0]
    raters = [column for column in columns if column not in (item_of, count)]
    table: dict[str, dict[str, Any]] = {}
    times: dict[str, int] = {}
    for line, row in rows:
        item = f"line {line}" if item_of is None else _text(row.get(item_of))
        if not item:
            raise InputError(
                f"there is no {item_of or 'item'}", file=name, line=line, hint="fill it in"
            )
        if item in table:
            raise InputError(f"{item} is there twice", file=name, line=line, hint="keep one row")
        table[item] = {rater: _rating(row.get(rater), name, line) for rater in raters}
        times[item] = 1 if count is None else _count(row.get(count), name, line)
    return table, raters, times


def _made(
    table: Mapping[str, Mapping[str, Any]], raters: Sequence[str], times: Mapping[str, int]
) -> RatingsTable:
    given = [table[item].get(rater) for item in table for rater in raters]
    texts = [cell for cell in given if cell is not None]
    numbers = bool(texts) and all(_is_number(text) for text in texts)
    spelling: dict[str, str] = {}
    merged: dict[str, set[str]] = {}
    for text in texts:
        first = spelling.setdefault(text.casefold(), text)
        merged.setdefault(first, set()).add(text)

    def value(text: str | None) -> Rating:
        if text is None:
            return None
        return float(text) if numbers else spelling[text.casefold()]

    notes = tuple(
        f"'{first}' stands also for {', '.join(repr(other) for other in sorted(own - {first}))}"
        for first, own in merged.items()
        if len(own) > 1 and not numbers
    )
    doubtful = [
        one for one in spelling.values() if one.casefold() in _DOUBTFUL or one.startswith("#")
    ]
    notes += tuple(
        f"'{first}' counts as a category; where it stands for no rating, give --missing {first}"
        for first in doubtful
    )
    items = [item for item in table for _ in range(times[item])]
    cells = [tuple(value(table[item].get(rater)) for rater in raters) for item in items]
    return RatingsTable(tuple(items), tuple(raters), tuple(cells), numbers, notes)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _rating(value: Any, name: str, line: int) -> str | None:
    if isinstance(value, list | dict):
        raise InputError("is no rating", file=name, line=line, hint="write a word or a number")
    return None if is_absent(value) else _text(value)


def _count(value: Any, name: str, line: int) -> int:
    text = _text(value).removesuffix(".0")
    if not text.isascii() or not text.isdigit() or int(text) > 1_000_000:
        raise InputError(
            f"'{text[:20]}' is no count", file=name, line=line, hint="write a whole number"
        )
    return int(text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_long(row: Mapping[str, Any]) -> bool:
    return set(_LONG) <= {str(column).strip().casefold() for column in row}


def _checked(rows: Iterable[Row], name: str) -> DataReport:
    """Return what a long table of ratings holds: each rater's one rating of an item, or not."""
    first: dict[tuple[str, str], tuple[int, str | None]] = {}
    violations, count = [], 0
    for line, row in rows:
        count += 1
        cells = {str(column).strip().casefold(): value for column, value in row.items()}
        item, rater = _text(cells.get("item")), _text(cells.get("rater"))
        try:
            rating = _rating(cells.get("rating"), name, line)
        except InputError as error:
            violations.append(f"line {line}: {error.problem}")
            continue
        if not item or not rater:
            violations.append(f"line {line}: there is no {'rater' if item else 'item'}")
            continue
        before, earlier = first.setdefault((item, rater), (line, rating))
        if before != line:
            other = "" if rating == earlier else f", '{rating}' and there '{earlier}'"
            violations.append(f"line {line}: {rater} rates {item}, as on line {before}{other}")
    items, raters = ({pair[at] for pair in first} for at in (0, 1))
    what = f"{count:,} ratings of {len(items):,} items by {len(raters):,} raters."
    return DataReport(count, (what,), tuple(violations), ())


SPEC = DataSpec(recognises=_is_long, check=_checked)
"""Long tables of ratings, as ``contrafact agree`` reads them."""
