"""How far raters agree: every coefficient, with its interval, and where they do not."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    percent_agreement,
    with_interval,
)
from contrafact.stats.classification import binary_figures
from contrafact.stats.intervals import Interval, Proportion
from contrafact.study.ratings import Rating, RatingsTable

__all__ = ["Against", "Agreement", "Coefficient", "Disagreement", "agreement", "agreement_object"]

# Pairs of words of which the first is positive, where none is named.
_POSITIVE = {
    "yes": "no", "y": "n", "true": "false", "t": "f", "1": "0", "1.0": "0.0", "pass": "fail",
    "passed": "failed", "correct": "wrong", "right": "wrong", "valid": "invalid",
    "positive": "negative",
}  # fmt: skip

_LABELS = {
    "percent": "agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "krippendorff_alpha": "Krippendorff's alpha",
    "cohen_kappa": "Cohen's kappa",
    "f1": "F1",
}
_SHARES = frozenset(("percent", "accuracy", "precision", "recall", "specificity"))


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of some raters' agreement, over ``n`` items.

    NaN stands for what is undefined, and for bounds that there are none of; ``why`` says why.
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
        """What a reader sees."""
        return _LABELS.get(self.name, self.name)

    def cells(self, raters: int) -> tuple[str, str, str, str, str]:
        """Return label, whose it is, value, interval and items, in a table of so many raters."""
        whose = "all" if len(self.raters) == raters > 2 else " and ".join(self.raters)
        if math.isnan(self.low):
            bounds = self.why.removeprefix("undefined: ")
        else:
            bounds = f"{self._shown(self.low)} to {self._shown(self.high)}"
        return self.label, whose, self._shown(self.estimate), bounds, str(self.n)

    def _shown(self, value: float) -> str:
        if math.isnan(value):
            return "undefined"
        return f"{100 * value:.1f}%" if self.name in _SHARES else f"{value:.2f}"


@dataclass(frozen=True)
class Against:
    """A rater measured against one that is taken for the truth.

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
class Disagreement:
    """Ratings of an item that differ, none where missing; ``count`` items have them."""

    item: str
    ratings: dict[str, Rating]
    count: int


@dataclass(frozen=True)
class Agreement:
    """All that a table of ratings says of its raters.

    ``items``, ``ratings`` and ``missing`` (cells) are counts; ``prevalence`` is each category's
    share of all ratings, ``by_rater`` of each rater's. Coefficients are percent agreement, Fleiss'
    kappa, Gwet's AC1 and AC2 and Krippendorff's alpha of all raters, percent agreement and Cohen's
    kappa of every two; ``against`` has every other rater against the reference, where one is named.
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
    disagreements: tuple[Disagreement, ...]
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

    Categories are all that raters could choose, in their order; where none is given they are those
    that occur, and in order only if they are numbers. The others are measured against the
    ``reference``; of two categories ``positive`` is the one that counts so.

    Raises:
        InputError: A rating is not among the categories, the reference is unknown, or there are
            not two categories, or no telling which is positive, to measure against it.
    """
    known = _categories(table, categories)
    how: dict[str, Any] = {"level": level, "resamples": resamples}
    against: list[Against] = []
    if positive is not None:
        _category_named(known, positive)
    if reference is not None:
        if reference not in table.raters:
            raise InputError(
                f"there is no rater '{reference}'", hint=f"there are {', '.join(table.raters)}"
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
        coefficients=tuple(_coefficients(table, known, bool(categories), seed, how)),
        against=tuple(against),
        disagreements=tuple(_disagreements(table)),
        notes=table.notes,
    )


def _coefficients(
    table: RatingsTable, known: list[Rating], in_order: bool, seed: int, how: Mapping[str, Any]
) -> Iterator[Coefficient]:
    """Yield the coefficients of all raters, then those of every two."""
    cells = np.array([list(row) for row in table.cells], dtype=object)

    def made(
        name: str, function: Callable[..., float], raters: Sequence[str], stream: int
    ) -> Coefficient:
        columns = [table.raters.index(rater) for rater in raters]
        rng = np.random.default_rng([seed, stream, *columns])
        found = with_interval(function, cells[:, columns], rng=rng, **how)
        return _coefficient(name, tuple(raters), found)

    yield made("percent", percent_agreement, table.raters, 1)
    yield made("fleiss_kappa", fleiss_kappa, table.raters, 2)
    yield made("gwet_ac1", partial(gwet_ac1, categories=known), table.raters, 3)
    # Two categories are as far apart in either order.
    if table.numbers or in_order or len(known) <= 2:
        yield made("gwet_ac2", partial(gwet_ac2, categories=known), table.raters, 4)
    else:
        why = "undefined: the categories have no order; give it with --categories"
        nan = math.nan
        yield Coefficient("gwet_ac2", table.raters, nan, nan, nan, 0, why)
    yield made("krippendorff_alpha", krippendorff_alpha, table.raters, 5)
    for pair in combinations(table.raters, 2):
        yield made("cohen_kappa", cohen_kappa, pair, 6)
        if len(table.raters) > 2:
            yield made("percent", percent_agreement, pair, 7)


def agreement_object(found: Agreement) -> dict[str, Any]:
    """Return an agreement as JSON has it; what is undefined is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {_word(key): plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    fields: dict[str, Any] = plain(asdict(found))
    return {"format": "contrafact-agreement", "version": 1, **fields}


def _word(category: Rating) -> str:
    number = isinstance(category, float) and category.is_integer()
    return str(int(category)) if number and isinstance(category, float) else str(category)


def _categories(table: RatingsTable, given: Sequence[str]) -> list[Rating]:
    seen = {cell for row in table.cells for cell in row if cell is not None}
    if not seen:
        raise InputError("there is not one rating", hint="fill in the raters' columns")
    if not given:
        return sorted(seen, key=lambda one: (isinstance(one, str), one))
    try:
        known = [_as_rating(one, table.numbers, seen) for one in given]
    except ValueError:
        raise InputError("a category is not a number, as the ratings are") from None
    strange = sorted(map(_word, seen.difference(known)))
    if strange:
        raise InputError(
            f"ratings that are not among the categories: {', '.join(strange[:5])}",
            hint="name all categories with --categories",
        )
    return list(dict.fromkeys(known))


def _as_rating(text: str, numbers: bool, seen: set[Any]) -> Rating:
    if numbers:
        return float(text)
    spelled = {str(one).casefold(): one for one in seen}
    return str(spelled.get(text.strip().casefold(), text.strip()))


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
            f"which of {_both(known)} is positive is not plain", hint="say it with --positive"
        )
    return second


def _category_named(known: Sequence[Rating], named: str) -> Rating:
    wanted = named.strip().casefold()
    for one in known:
        if wanted in (_word(one).casefold(), str(one).casefold()):
            return one
    raise InputError(f"there is no category '{named}'", hint=f"there are {_both(known)}")


def _both(known: Sequence[Rating]) -> str:
    return " and ".join(map(_word, known))


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
    figures = tuple(_coefficient(name, (rater, reference), one) for name, one in found.items())
    return Against(rater, reference, positive, **counts, figures=figures)


def _coefficient(name: str, raters: tuple[str, ...], found: Interval | Proportion) -> Coefficient:
    why = ""
    if math.isnan(found.low):
        why = found.method if isinstance(found, Interval) else "no interval: too few items"
    if math.isnan(found.estimate):
        why = "undefined: no item has two ratings, or only one category was used"
        if name == "f1":
            why = "undefined: neither has a positive item"
        elif isinstance(found, Proportion):
            why = "undefined: there is no such item"
    return Coefficient(name, raters, found.estimate, found.low, found.high, found.n, why)


def _shares(cells: Sequence[Rating], known: Sequence[Rating]) -> dict[Rating, float]:
    counts: Counter[Rating] = Counter(cell for cell in cells if cell is not None)
    total = counts.total()
    return {one: counts[one] / total if total else math.nan for one in known}


def _disagreements(table: RatingsTable) -> list[Disagreement]:
    counts = Counter(table.items)
    rows = dict(zip(table.items, table.cells, strict=True))
    return [
        Disagreement(item, dict(zip(table.raters, row, strict=True)), counts[item])
        for item, row in rows.items()
        if len({cell for cell in row if cell is not None}) > 1
    ]
