"""Tables of ratings, and raters' agreement: coefficients with their intervals."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.files.fields import is_absent, skeleton
from contrafact.files.tables import Row, read_rows, source_name
from contrafact.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    with_interval,
)
from contrafact.stats.classification import binary_figures
from contrafact.stats.intervals import Interval, Proportion
from contrafact.text.delimit import seen

__all__ = [
    "Against",
    "Agreement",
    "agreement",
    "agreement_object",
    "category_word",
    "ratings_of",
    "read_ratings",
]

Rating = str | float | None
"""A category; None if a rater did not rate an item."""

MOST_APART = 2
"""The mean number of categories per rater above which raters must share at least one."""

_WORDS = 2
"""The mean number of words above which ratings that hardly ever repeat count as free text."""

_LONG = ("item", "rater", "rating")
_ITEM_NAMES = ("item", "id", "item_id", "sample", "sample_id")

# Pairs of words whose first is the positive category by default.
_POSITIVE = {
    "yes": "no", "y": "n", "true": "false", "t": "f", "1": "0", "1.0": "0.0", "pass": "fail",
    "passed": "failed", "correct": "wrong", "right": "wrong", "valid": "invalid",
    "positive": "negative",
}  # fmt: skip

_LABELS = {
    "percent": "agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "krippendorff_alpha": "Krippendorff's alpha",
    "cohen_kappa": "Cohen's kappa",
    "f1": "F1",
}
_SHARES = frozenset(("percent", "accuracy", "precision", "recall", "specificity"))


@dataclass(frozen=True)
class RatingsTable:
    """Ratings of items by raters, cells of shape (items, raters), both in the file's order.

    With counts, an item's name occurs several times. Notes name categories with several spellings,
    and say if the numbers do not look like ratings.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    cells: tuple[tuple[Rating, ...], ...]
    numbers: bool
    notes: tuple[str, ...] = ()

    def column(self, rater: str) -> list[Rating]:
        place = self.raters.index(rater)
        return [row[place] for row in self.cells]


def read_ratings(
    source: str | Sequence[Mapping[str, Any]],
    *,
    raters: Sequence[str] = (),
    count: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> RatingsTable:
    """Return the ratings in rows or in a file: CSV, Excel, JSONL, JSON or Parquet, or ``-``.

    Long: columns ``item``, ``rater`` and ``rating``. Wide: a column of items (``item`` or ``id``,
    else the first if it holds no ratings) and one column per rater. Empty cells are missing
    ratings. Spellings of a category that differ only in case or invisible characters are equal,
    and so are "1" and "1.0".

    Args:
        source: The file, or rows.
        raters: The raters to take (in a wide file, the columns); all by default.
        count: A column of a wide file with the number of items that a row stands for.
        columns: The file's column for each name that differs (``item``, ``rater``, ``rating``; in
            a wide file, any).

    Raises:
        InputError: There are fewer than two raters, an item is rated twice by a rater or by two
            whose names look alike, a cell is not a rating, or the columns do not hold ratings,
            since no two raters share a word.
    """
    rows: list[Row]
    if isinstance(source, str):
        name, rows = source_name(source), list(read_rows(source, columns, guarded=True))
    else:
        name, rows = "data", [(line, dict(row)) for line, row in enumerate(source, start=1)]
    table = ratings_of(rows, name, raters=raters, count=count)
    if not raters and (texts := _free_texts(table)):
        rest = [rater for rater in table.raters if rater not in texts]
        flags = " ".join(f"--rater {rater}" for rater in rest or table.raters)
        raise InputError(
            f"the column '{texts[0]}' is probably not a rater: nearly all its texts are different",
            file=name,
            hint=f"name the raters: {flags}",
        )
    if not _share_none(table):
        return table
    problem = "no two raters have a value in common, so these are not ratings"
    if not table.numbers:
        raise InputError(problem, file=name, hint="name the raters with --rater")
    return replace(table, notes=(*table.notes, f"{problem}, or some on a fine scale"))


def ratings_of(
    rows: Sequence[Row], name: str, *, raters: Sequence[str] = (), count: str | None = None
) -> RatingsTable:
    """Return the ratings in rows with line numbers, as `read_ratings`; ``name`` is for messages."""
    columns = list(dict.fromkeys(column for _, row in rows for column in row))
    if not columns:
        what = "columns" if rows else "rows"
        raise InputError(f"the file holds no {what}", file=name, hint="give at least one item")
    folded = {column.strip().casefold(): column for column in columns}
    long = all(column in folded for column in _LONG)
    if long and count is not None:
        raise InputError("counts are for a wide table", file=name, hint="leave --count out")
    noted: list[str] = []
    if long:
        read = _long(rows, folded)
    else:
        item_of = _item_column(rows, columns, count, raters, name, noted)
        read = _wide(rows, columns, item_of, count, name)
    table: dict[str, dict[str, str | None]] = {}
    names, items = _Spellings(skeleton), _Spellings(skeleton)
    times: dict[str, int] = {}
    rows_of: set[str] = set()
    for line, item, given, stands_for in read:
        if not seen(item) or (long and not all(map(seen, given))):
            missing = "rater" if seen(item) else "item"
            raise InputError(f"there is no {missing}", file=name, line=line, hint="fill it in")
        if not long and item in rows_of:
            raise _twice([item], [], long).at(name, line)
        rows_of.add(item)
        own = table.setdefault(items.of(item)[0], {})
        times[items.of(item)[0]] = stands_for
        for rater, cell in given.items():
            rating, first = _rating(cell, name, line), names.of(rater)[0]
            if own.get(first) is not None and rating is not None:
                raise _twice(items.of(item), names.of(rater), long).at(name, line)
            own[first] = own.get(first) if rating is None else rating
    known = names.firsts
    for rater in raters:
        if skeleton(rater) not in known:
            raise InputError(
                f"there is no rater '{rater}'",
                file=name,
                hint=f"the raters are {', '.join(known.values())}",
            )
    wanted = set(map(skeleton, raters)) or known.keys()
    chosen = [rater for key, rater in known.items() if key in wanted]
    if len(chosen) < 2:
        raise InputError(
            f"there is {len(chosen) or 'no'} rater", file=name, hint="agreement needs two or more"
        )
    notes = (*noted, *names.notes("rater "), *items.notes("item "))
    return _made(table, chosen, times, notes)


class _Spellings:
    """Groups of spellings that are equal by a key, each named by its first spelling."""

    def __init__(self, key: Callable[[str], str]) -> None:
        self._key = key
        self._known: dict[str, list[str]] = {}

    def of(self, name: str) -> list[str]:
        """Return the spellings of a name found so far, including this one."""
        spellings = self._known.setdefault(self._key(name), [])
        if name not in spellings:
            spellings.append(name)
        return spellings

    @property
    def firsts(self) -> dict[str, str]:
        """The first spelling of each name, by key."""
        return {key: spellings[0] for key, spellings in self._known.items()}

    def notes(self, what: str = "") -> Iterator[str]:
        """Yield a sentence for each name with several spellings."""
        for first, *others in self._known.values():
            if others:
                yield f"{what}'{first}' also stands for {', '.join(map(ascii, sorted(others)))}"


def _twice(items: Sequence[str], raters: Sequence[str], long: bool) -> InputError:
    """Return the error for an item rated twice by a rater, or by two whose names look alike."""
    if alike := next((names for names in (raters, items) if len(names) > 1), None):
        return InputError(
            f"{alike[0]!a} and {alike[-1]!a} look alike, and {raters[0]} rates {items[0]} "
            "twice if they are the same",
            hint="keep one rating, or give one of them another name",
        )
    if long:
        return InputError(f"{raters[0]} rates {items[0]} a second time", hint="keep one rating")
    return InputError(f"{items[0]} occurs twice", hint="keep one row")


def _free_texts(table: RatingsTable) -> list[str]:
    """Return the raters whose ratings are texts of several words that hardly ever repeat."""
    found = []
    for rater in table.raters:
        cells = [cell for cell in table.column(rater) if isinstance(cell, str)]
        words = sum(len(cell.split()) for cell in cells)
        if len(cells) > 2 and words > _WORDS * len(cells) and len(set(cells)) > len(cells) / 2:
            found.append(rater)
    return found


def _share_none(table: RatingsTable) -> bool:
    """Return whether raters use many categories but no two raters share one."""
    own = [{cell for cell in table.column(rater) if cell is not None} for rater in table.raters]
    apart = sum(map(len, own))
    return apart > MOST_APART * len(own) and apart == len(set().union(*own))


_DOUBTFUL = frozenset(
    (
        *("na", "n/a", "n.a.", "none", "nil", "-", "--", "?", ".", "blank", "empty"),
        *("skip", "skipped", "missing", "unknown", "tbd", "tba"),
    )
)
"""Words that mostly mean a missing rating but can be a category."""

_Read = Iterator[tuple[int, str, dict[str, Any], int]]
"""For each row: the line, the item, cells by rater, and how many items it stands for."""


def _long(rows: Sequence[Row], folded: Mapping[str, str]) -> _Read:
    item, rater, rating = (folded[column] for column in _LONG)
    for line, row in rows:
        yield line, _text(row.get(item)), {_text(row.get(rater)): row.get(rating)}, 1


def _item_column(
    rows: Sequence[Row],
    columns: Sequence[str],
    count: str | None,
    raters: Sequence[str],
    name: str,
    notes: list[str],
) -> str | None:
    """Return the column of a wide table's items; None if each row is an item without a name.

    Without a column that is called so, the first is, unless it holds what raters rate with.
    """
    if count is not None and count not in columns:
        raise InputError(f"there is no column '{count}'", file=name, hint="name one with --count")
    named = [column for column in columns if column.strip().casefold() in _ITEM_NAMES]
    if named or count is not None:  # rows with a count represent many items and need no name
        return named[0] if named else None
    first, *others = columns
    cells = [_text(row.get(first)) for _, row in rows]
    ratings = {_same(_text(row.get(other))) for _, row in rows for other in others}
    is_rater = skeleton(first) in map(skeleton, raters)
    if not is_rater and ratings.isdisjoint(map(_same, filter(None, cells))):
        notes.append(f"the column '{first}' is taken for the items")
        return first
    if not is_rater and len(set(cells)) == len(cells):
        raise InputError(
            f"the column '{first}' may be the items or a rater",
            file=name,
            hint=f"for items add --columns item={first}, for a rater name all with --rater",
        )
    notes.append(f"no column is called 'item', and '{first}' holds ratings: each row is an item")
    return None


def _wide(
    rows: Sequence[Row], columns: Sequence[str], item_of: str | None, count: str | None, name: str
) -> _Read:
    raters = [column for column in columns if column not in (item_of, count)]
    for line, row in rows:
        item = f"line {line}" if item_of is None else _text(row.get(item_of))
        times = 1 if count is None else _count(row.get(count), name, line)
        yield line, item, {rater: row.get(rater) for rater in raters}, times


def _made(
    table: Mapping[str, Mapping[str, Any]],
    raters: Sequence[str],
    times: Mapping[str, int],
    notes: tuple[str, ...],
) -> RatingsTable:
    given = [table[item].get(rater) for item in table for rater in raters]
    texts = [cell for cell in given if cell is not None]
    numbers = bool(texts) and all(_is_number(seen(text)) for text in texts)
    words = _Spellings(_same)
    for text in texts:
        if _is_number(_same(text)):
            words.of(_same(text))
        words.of(text)
    spelling = words.firsts

    def value(text: str | None) -> Rating:
        if text is None:
            return None
        return float(seen(text)) if numbers else spelling[_same(text)]

    notes += () if numbers else tuple(words.notes())
    doubtful = [
        one for one in spelling.values() if one.casefold() in _DOUBTFUL or one.startswith("#")
    ]
    notes += tuple(
        f"'{first}' counts as a category; if it means a missing rating, leave its cells empty"
        for first in doubtful
    )
    items = [item for item in table for _ in range(times[item])]
    cells = [tuple(value(table[item].get(rater)) for rater in raters) for item in items]
    return RatingsTable(tuple(items), tuple(raters), tuple(cells), numbers, notes)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _rating(value: Any, name: str, line: int) -> str | None:
    if isinstance(value, list | dict):
        raise InputError("is not a rating", file=name, line=line, hint="write a word or a number")
    return None if is_absent(seen(value) if isinstance(value, str) else value) else _text(value)


def _count(value: Any, name: str, line: int) -> int:
    text = _text(value).removesuffix(".0")
    if not text.isascii() or not text.isdigit() or int(text) > 1_000_000:
        raise InputError(
            f"'{text[:20]}' is not a count", file=name, line=line, hint="write a whole number"
        )
    return int(text)


def _same(text: str) -> str:
    """Return a category's normal form: a number's value, or the visible word in lower case."""
    plain = seen(text)
    return category_word(float(plain)) if _is_number(plain) else plain.casefold()


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of some raters' agreement, over ``n`` items.

    NaN means an undefined estimate or missing bounds; ``why`` says why.
    """

    name: str
    raters: tuple[str, ...]
    estimate: float
    low: float
    high: float
    n: int
    why: str

    @property
    def label(self) -> str:
        return _LABELS.get(self.name, self.name)

    def cells(self, raters: int) -> tuple[str, str, str, str, str]:
        """Return label, raters, value, interval and items, for a table of ``raters`` raters."""
        whose = "all" if len(self.raters) == raters > 2 else " and ".join(self.raters)
        if math.isnan(self.low):
            bounds = self.why
        else:
            bounds = f"{self._shown(self.low)} to {self._shown(self.high)}"
        return self.label, whose, self._shown(self.estimate), bounds, str(self.n)

    def _shown(self, value: float) -> str:
        if math.isnan(value):
            return "undefined"
        return f"{100 * value:.1f}%" if self.name in _SHARES else f"{value:.2f}"


@dataclass(frozen=True)
class Against:
    """A rater compared with a reference rater whose ratings count as true.

    The counts are of items that both call positive, either alone, or neither.
    """

    rater: str
    reference: str
    positive: Rating
    both: int
    only_rater: int
    only_reference: int
    neither: int
    figures: tuple[Coefficient, ...]


@dataclass(frozen=True)
class Agreement:
    """The agreement of the raters of a table.

    ``items``, ``ratings`` and ``missing`` (cells) are counts; ``prevalence`` is each category's
    share of all ratings, ``by_rater`` of each rater's. Coefficients are percent agreement, Fleiss'
    kappa, Gwet's AC1 and Krippendorff's alpha of all raters, percent agreement and Cohen's
    kappa of every pair; ``against`` compares every other rater with the reference, if one is named.
    ``disagreements`` have an ``item`` that is rated differently, its ``ratings`` by rater (None if
    missing), and ``count``, how many such items there are.
    """

    items: int
    raters: tuple[str, ...]
    ratings: int
    missing: int
    categories: tuple[Rating, ...]
    prevalence: dict[Rating, float]
    by_rater: dict[str, dict[Rating, float]]
    coefficients: tuple[Coefficient, ...]
    against: tuple[Against, ...]
    disagreements: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def agreement(
    table: RatingsTable,
    *,
    categories: Sequence[str] = (),
    reference: str | None = None,
    positive: str | None = None,
    seed: int = 0,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Agreement:
    """Return how far the raters of a table agree.

    ``categories`` are all that raters could choose; by default they are the categories that occur.
    The other raters are compared with the ``reference``; ``positive`` names the positive one of
    two categories.

    Raises:
        InputError: A rating is not among the categories, the reference is unknown, or a comparison
            with it is impossible: there are not two categories, or it is unclear which is positive.
    """
    known = _categories(table, categories)
    how: dict[str, Any] = {"level": level, "resamples": resamples}
    against: list[Against] = []
    if positive is not None:
        _category_named(known, positive)
    if reference is not None:
        if reference not in table.raters:
            raise InputError(
                f"there is no rater '{reference}'", hint=f"the raters are {', '.join(table.raters)}"
            )
        yes = _positive(known, positive)
        against = [
            _against(table, rater, reference, yes, seed, how)
            for rater in table.raters
            if rater != reference
        ]
    given = [cell for row in table.cells for cell in row if cell is not None]
    return Agreement(
        items=len(table.items),
        raters=table.raters,
        ratings=len(given),
        missing=len(table.items) * len(table.raters) - len(given),
        categories=tuple(known),
        prevalence=_shares(given, known),
        by_rater={rater: _shares(table.column(rater), known) for rater in table.raters},
        coefficients=tuple(_coefficients(table, known, seed, how)),
        against=tuple(against),
        disagreements=tuple(_disagreements(table)),
        notes=table.notes,
    )


def _coefficients(
    table: RatingsTable, known: list[Rating], seed: int, how: Mapping[str, Any]
) -> Iterator[Coefficient]:
    """Yield the coefficients for all raters together, then for every pair of raters."""
    cells = np.array([list(row) for row in table.cells], dtype=object)

    def made(
        name: str, function: Callable[..., float], raters: Sequence[str], stream: int
    ) -> Coefficient:
        columns = [table.raters.index(rater) for rater in raters]
        rng = np.random.default_rng([seed, stream, *columns])
        found = with_interval(function, cells[:, columns], rng=rng, **how)
        rated_twice = any(sum(cell is not None for cell in row) > 1 for row in cells[:, columns])
        return _coefficient(name, tuple(raters), found, rated_twice)

    yield made("percent", percent_agreement, table.raters, 1)
    yield made("fleiss_kappa", fleiss_kappa, table.raters, 2)
    yield made("gwet_ac1", partial(gwet_ac1, categories=known), table.raters, 3)
    yield made("krippendorff_alpha", krippendorff_alpha, table.raters, 5)
    for pair in combinations(table.raters, 2):
        yield made("cohen_kappa", cohen_kappa, pair, 6)
        if len(table.raters) > 2:
            yield made("percent", percent_agreement, pair, 7)


def agreement_object(found: Agreement) -> dict[str, Any]:
    """Return an agreement as a JSON object; undefined values become null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {category_word(key): plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    fields: dict[str, Any] = plain(asdict(found))
    return {"format": "contrafact-agreement", "version": 1, **fields}


def category_word(category: Rating) -> str:
    """Return a category as it is written: whole numbers without a point."""
    number = isinstance(category, float) and category.is_integer()
    return str(int(category)) if number and isinstance(category, float) else str(category)


def _categories(table: RatingsTable, given: Sequence[str]) -> list[Rating]:
    used = {cell for row in table.cells for cell in row if cell is not None}
    if not used:
        raise InputError("there are no ratings", hint="fill in the raters' columns")
    if not given:
        return sorted(used, key=lambda category: (isinstance(category, str), category))
    try:
        known = [_as_rating(text, table.numbers, used) for text in given]
    except ValueError:
        raise InputError("a category is not a number, as the ratings are") from None
    strange = sorted(map(category_word, used.difference(known)))
    if strange:
        raise InputError(
            f"ratings that are not among the categories: {', '.join(strange[:5])}",
            hint="name all categories with --categories",
        )
    return list(dict.fromkeys(known))


def _as_rating(text: str, numbers: bool, known: set[Any]) -> Rating:
    if numbers:
        return float(text)
    spelled = {_same(str(category)): category for category in known}
    return str(spelled.get(_same(text), text.strip()))


def _positive(known: Sequence[Rating], named: str | None) -> Rating:
    if len(known) != 2:
        raise InputError(
            f"there are {len(known)} categories, and a reference needs two",
            hint="leave --reference out, or rate with two",
        )
    if named is not None:
        return _category_named(known, named)
    first, second = known
    words = str(first).casefold(), str(second).casefold()
    if _POSITIVE.get(words[0]) == words[1]:
        return first
    if _POSITIVE.get(words[1]) != words[0]:
        raise InputError(
            f"it is unclear which of {_both(known)} is positive", hint="name it with --positive"
        )
    return second


def _category_named(known: Sequence[Rating], named: str) -> Rating:
    for category in known:
        if _same(named) == _same(category_word(category)):
            return category
    raise InputError(f"there is no category '{named}'", hint=f"the categories are {_both(known)}")


def _both(known: Sequence[Rating]) -> str:
    return " and ".join(map(category_word, known))


def _against(
    table: RatingsTable,
    rater: str,
    reference: str,
    positive: Rating,
    seed: int,
    how: dict[str, Any],
) -> Against:
    pairs = [
        (float(truth == positive), float(rating == positive))
        for truth, rating in zip(table.column(reference), table.column(rater), strict=True)
        if truth is not None and rating is not None
    ]
    rng = np.random.default_rng([seed, 8, table.raters.index(rater)])
    truths, ratings = [truth for truth, _ in pairs], [rating for _, rating in pairs]
    counts, found = binary_figures(truths, ratings, rng=rng, **how)
    figures = tuple(
        _coefficient(name, (rater, reference), figure) for name, figure in found.items()
    )
    return Against(rater, reference, positive, **counts, figures=figures)


def _coefficient(
    name: str, raters: tuple[str, ...], found: Interval | Proportion, rated_twice: bool = True
) -> Coefficient:
    why = ""
    if math.isnan(found.low):
        why = found.method if isinstance(found, Interval) else "no interval: too few items"
    if math.isnan(found.estimate):
        why = "only one category was used" if rated_twice else "no item has two ratings"
        if name == "f1":
            why = "neither has a positive item"
        elif isinstance(found, Proportion):
            why = "there is no such item"
    return Coefficient(name, raters, found.estimate, found.low, found.high, found.n, why)


def _shares(cells: Sequence[Rating], known: Sequence[Rating]) -> dict[Rating, float]:
    counts: Counter[Rating] = Counter(cell for cell in cells if cell is not None)
    total = counts.total()
    return {category: counts[category] / total if total else math.nan for category in known}


def _disagreements(table: RatingsTable) -> list[dict[str, Any]]:
    counts = Counter(table.items)
    rows = dict(zip(table.items, table.cells, strict=True))
    return [
        {"item": item, "ratings": dict(zip(table.raters, row, strict=True)), "count": counts[item]}
        for item, row in rows.items()
        if len({cell for cell in row if cell is not None}) > 1
    ]
