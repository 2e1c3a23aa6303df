"""Numbers, times and identifiers that must stay, and which quantity stands for which.

RFC-BENCH, appendices Q.1, 2; Q.2; Q.4, 3; R.1; S.2, 3; S.3, 1.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from contrafact.families.rfc.contracts.pair import (
    Pair,
    Side,
    Span,
    TimeReference,
    read_once,
    time_parts,
)
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.text.quantities import Identifier, Quantity
from contrafact.text.tokens import stem

__all__ = [
    "GRADE",
    "NumberKey",
    "QuantityMatch",
    "changed_numbers",
    "grades_kept",
    "identifiers_kept",
    "number_key",
    "numbers_kept",
    "ordinals_kept",
    "place",
    "precision",
    "quantity_matches",
    "same_value",
    "times_kept",
    "worth",
]


def place(found: Quantity | Identifier | TimeReference) -> Span:
    """Return where something is in its text, in characters."""
    return found.start, found.end


# What two quantities share


def worth(quantity: Quantity) -> float:
    """Return a quantity's value, basis points in percent; 0 if it has none."""
    value = quantity.value or 0.0
    return value / 100 if quantity.kind == "basis points" else value


def precision(quantity: Quantity) -> float:
    """Return half of the last place that a quantity is written to, in its measure."""
    match = re.search(r"[.,](\d+)\Z", quantity.form.number)
    decimals = 0
    if match and (match[0][0] == "." or len(match[1]) < 3):
        decimals = len(match[1])
    return 0.5 * 10.0**-decimals * abs(quantity.form.factor)


def same_value(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities are worth the same, however they are written."""
    if a.value is None or b.value is None:
        return a.value is b.value and _words(a.text) == _words(b.text)
    return math.isclose(worth(a), worth(b), rel_tol=1e-9, abs_tol=1e-12)


def _words(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").split())


NumberKey = tuple[str, float | str]
"""A kind and a value, or the words of what has none."""


def number_key(quantity: Quantity, *, signed: bool = True) -> NumberKey:
    """Return what two quantities share that are the same number, however they are written."""
    kind = "percent" if quantity.kind == "basis points" else quantity.kind
    if quantity.value is None:
        return kind, _words(quantity.text)
    value = worth(quantity)
    return kind, float(f"{value if signed else abs(value):.9g}")


# Which stands for which


@dataclass(frozen=True, slots=True)
class QuantityMatch:
    """A quantity of the original and the one that stands for it; either may be missing.

    Attributes:
        original: Its index among the original's quantities.
        rewritten: Its index among the rewrite's.
    """

    original: int | None
    rewritten: int | None


@read_once
def quantity_matches(pair: Pair) -> list[QuantityMatch]:
    """Return which quantity of the rewrite stands for which of the original, in order.

    Those in unchanged surroundings match; those in a changed stretch match in order, like with
    like first. What is left over is lost or added.
    """
    a, b = pair.original, pair.rewritten
    places = [
        {side.span_tokens(q.start, q.end)[0]: i for i, q in enumerate(side.quantities)}
        for side in (a, b)
    ]
    found: list[QuantityMatch] = []
    before: list[int] = []
    for token, i in places[0].items():
        other = pair.alignment.to_rewritten.get(token)
        if other is not None and other in places[1]:
            found.append(QuantityMatch(i, places[1][other]))
        else:
            before.append(i)
    matched = {match.rewritten for match in found}
    after = [i for i in places[1].values() if i not in matched]

    def equal(p: Quantity, q: Quantity) -> bool:
        return p.kind == q.kind and same_value(p, q)

    def alike(p: Quantity, q: Quantity) -> bool:
        return p.kind == q.kind and p.role == q.role and p.unit == q.unit

    def same_kind(p: Quantity, q: Quantity) -> bool:
        return p.kind == q.kind or {p.kind, q.kind} == {"percent", "basis points"}

    for test in (equal, alike, same_kind):
        for i in list(before):
            j = next((j for j in after if test(a.quantities[i], b.quantities[j])), None)
            if j is not None:
                before.remove(i)
                after.remove(j)
                found.append(QuantityMatch(i, j))
    found += [QuantityMatch(i, None) for i in before]
    found += [QuantityMatch(None, j) for j in after]
    return sorted(
        found,
        key=lambda m: (m.original if m.original is not None else math.inf, m.rewritten or 0),
    )


# Rules


@rule(
    "number-changed",
    "number-lost",
    "number-added",
    about="numbers",
    paper="Q.4, 3; S.3, 1",
    manipulations=("sentiment", "causal"),
    to_review="small number words; a unit dropped or added; numbers in another order",
    in_cause="lost-to-review",
)
def numbers_kept(pair: Pair) -> Iterator[Finding]:
    """Every number of the original stands in the rewrite, in its place and its currency, and no
    other does.
    """
    yield from changed_numbers(pair, number_key)


def changed_numbers(
    pair: Pair, key: Callable[[Quantity], NumberKey], excused: Collection[int] = ()
) -> Iterator[Finding]:
    """Yield the numbers that are changed, lost or new.

    Args:
        pair: The pair.
        key: What makes two numbers one.
        excused: Indices of the original's quantities that may change.
    """
    a, b = pair.original.quantities, pair.rewritten.quantities
    had, has = {key(q) for q in a}, {key(q) for q in b}
    swaps = 0
    for match in quantity_matches(pair):
        before = None if match.original is None else a[match.original]
        after = None if match.rewritten is None else b[match.rewritten]
        if before and after:
            spans = (place(before), place(after))
            if key(before) == key(after) or match.original in excused:
                if _is_other_currency(before, after):
                    yield fail(
                        "number-changed",
                        f"'{before.text}' became '{after.text}', in another currency",
                        *spans,
                    )
            elif key(before) in has and key(after) in had and not _is_in_place(pair, match):
                swaps += 1
            elif (
                before.value is not None
                and before.value == after.value
                and "number" in (before.kind, after.kind)
            ):  # the same amount lost or gained only its unit or its magnitude's name
                yield review("number-changed", f"'{before.text}' is now '{after.text}'", *spans)
            else:
                yield fail("number-changed", f"'{before.text}' became '{after.text}'", *spans)
        elif before and key(before) not in has:
            yield Finding(
                "number-lost",
                f"'{before.text}' is gone",
                place(before),
                for_review=_is_incidental(before),
            )
        elif after and key(after) not in had:
            yield Finding(
                "number-added",
                f"'{after.text}' is new",
                None,
                place(after),
                for_review=_is_incidental(after),
            )
    if swaps:
        yield review("number-changed", "numbers stand in another order than in the original")


_MAGNITUDES = {stem(word) for word in ("million", "billion", "trillion", "thousand", "bn", "mn")}
_CURRENCY_NAME = re.compile(r"[^\W\d_]+\Z")


def _is_other_currency(a: Quantity, b: Quantity) -> bool:
    """Whether an amount of money is now one in another currency."""
    if a.kind != "money" or b.kind != "money":
        return False
    words = [_CURRENCY_NAME.search(q.text) for q in (a, b)]
    names = [stem(found[0]) for found in words if found]
    if len(names) == 2 and names[0] != names[1] and not {*names} & _MAGNITUDES:
        return True
    if a.unit and b.unit:
        return a.unit != b.unit
    return a.unit != b.unit and all(_CURRENCY_NAME.search(q.text) for q in (a, b))


def _is_incidental(quantity: Quantity) -> bool:
    """Whether a number is a small word that prose takes and drops: "two", "double"."""
    return quantity.form.style in ("words", "multiple", "fraction", "fold") and quantity.kind in (
        "number",
        "ratio",
    )


def _is_in_place(pair: Pair, match: QuantityMatch) -> bool:
    """Whether the words around a number are the same in both texts."""
    if match.original is None or match.rewritten is None:
        return False
    a, b, to = pair.original, pair.rewritten, pair.alignment.to_rewritten
    i = a.span_tokens(*place(a.quantities[match.original]))[0]
    j = b.span_tokens(*place(b.quantities[match.rewritten]))[0]
    return to.get(i) == j and (to.get(i - 1) == j - 1 or to.get(i + 1) == j + 1)


@rule(
    "date-changed",
    "date-lost",
    "date-added",
    about="times",
    paper="Q.2; S.2, 3; S.3, 1",
    to_review='"last year" dropped or new; times in another order; part of a date dropped',
    in_cause="lost-to-review",
)
def times_kept(pair: Pair) -> Iterator[Finding]:
    """Dates, years, quarters, weekdays and "last year" stay; they compare by value."""
    a, b, to = pair.original, pair.rewritten, pair.alignment.to_rewritten
    had = [time_parts(time.value) for time in a.times]
    has = [time_parts(time.value) for time in b.times]
    known, kept = frozenset[str]().union(*had), frozenset[str]().union(*has)
    places = {b.span_tokens(*place(time))[0]: time for time in b.times}
    matched: set[int] = set()
    for time, parts in zip(a.times, had, strict=True):
        at = a.span_tokens(*place(time))[0]
        token = to.get(at)
        other = places.get(token) if token is not None else None
        if other is not None and token is not None:
            matched.add(token)
            others = time_parts(other.value)
            if not (parts <= others or others <= parts):
                same_words_around = (
                    to.get(at - 1, -1) == token - 1 and to.get(at + 1, -1) == token + 1
                )
                yield Finding(
                    "date-changed",
                    f"'{time.text}' became '{other.text}'",
                    place(time),
                    place(other),
                    for_review=parts <= kept and others <= known and not same_words_around,
                )
                continue
        if not parts & kept:
            yield Finding(
                "date-lost", f"'{time.text}' is gone", place(time), for_review=time.relative
            )
        elif not parts <= kept:
            yield review("date-lost", f"part of '{time.text}' is gone", place(time))
    for token, time in places.items():
        if token not in matched and not time_parts(time.value) <= known:
            yield Finding(
                "date-added", f"'{time.text}' is new", None, place(time), for_review=time.relative
            )


_ORDINAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|thirteenth|fifteenth|twentieth|\d{1,3}(?:st|nd|rd|th)"
    r"|(?:two|three|four|five|six|seven|eight|nine|ten)-(?:phase|stage|step|part|way|tier|storey))\b",
    re.IGNORECASE,
)


_PHASES = re.compile(
    r"\b(?:single|two|three|four|five|six|seven|eight|nine|ten)-(?P<what>phase|stage|step|part|way|tier"
    r"|storey|wheel|door|seat)(?:er|s)?\b",
    re.IGNORECASE,
)


def _phases(side: Side) -> list[re.Match[str]]:
    return list(_PHASES.finditer(side.text)) if side.has("-") else []


GRADE = r"(?:AAA|AA[+-]?|A[+-]|BBB[+-]?|BB[+-]?|B[+-]|CCC[+-]?|[ABC]a{1,2}[1-3])(?![\w+])"
"""A credit rating, as agencies write it; a bare "A" or "B" may be anything."""

_GRADES = re.compile(rf"(?<![\w-]){GRADE}")


@rule("identifier-changed", about="times", paper="R.1; S.1, 3", in_cause="ignored")
def grades_kept(pair: Pair) -> Iterator[Finding]:
    """Credit ratings keep their grades; flipping may swap the old one and the new."""
    had, has = (Counter(_GRADES.findall(side.text)) for side in (pair.original, pair.rewritten))
    if had and has and had != has:
        new = next(iter(has - had), None)
        old = next(iter(had - has), None)
        if new and old:
            yield fail("identifier-changed", f"'{old}' became '{new}'")


@rule("identifier-changed", about="times", paper="R.2; S.2, 3", in_cause="ignored")
def ordinals_kept(pair: Pair) -> Iterator[Finding]:
    """What is the sixth stays the sixth, and what has three phases keeps three."""
    had, has = (_phases(side) for side in (pair.original, pair.rewritten))
    if len(had) == len(has):
        for one, two in zip(had, has, strict=True):
            if one[0].casefold() != two[0].casefold() and one["what"] == two["what"]:
                message = f"'{one[0]}' became '{two[0]}'"
                yield fail("identifier-changed", message, one.span(), two.span())
    for change in pair.changes:
        a, b = pair.texts(change)
        old, new = _ORDINAL.search(a), _ORDINAL.search(b)
        if old is None or new is None or old[0].casefold() in b.casefold():
            continue
        if new[0].casefold() not in a.casefold():
            yield fail("identifier-changed", f"'{old[0]}' became '{new[0]}'", *pair.spans(change))


_RANK = re.compile(r"\bRank\W{1,3}(?:of\s)?#?\Z", re.IGNORECASE)


@rule(
    "identifier-changed",
    about="times",
    paper="R.2; S.2, 3",
    to_review="in flipping, a rank, which may be a rating that is reversed",
    in_cause="lost-to-review",
)
def identifiers_kept(pair: Pair) -> Iterator[Finding]:
    """Versions, ranks, index names and forms stay."""

    def identity(name: Identifier) -> tuple[str, str]:
        # A high and a low of one span are a direction apart.
        return name.kind, re.sub(r"\s(?:high|low|peak|trough)s?\Z", "", name.value)

    def is_reversible(side: Side, name: Identifier) -> bool:
        return pair.manipulation == "flipping" and bool(_RANK.search(side.text[: name.start]))

    a, b = pair.original, pair.rewritten
    had = {identity(name) for name in a.identifiers}
    has = {identity(name) for name in b.identifiers}
    for name in a.identifiers:
        if identity(name) not in has and name.text.casefold() not in b.text.casefold():
            yield Finding(
                "identifier-changed",
                f"'{name.text}' is gone or changed",
                place(name),
                for_review=is_reversible(a, name),
            )
    for name in b.identifiers:
        if identity(name) not in had and name.text.casefold() not in a.text.casefold():
            yield Finding(
                "identifier-changed",
                f"'{name.text}' is new or changed",
                None,
                place(name),
                for_review=is_reversible(b, name),
            )
