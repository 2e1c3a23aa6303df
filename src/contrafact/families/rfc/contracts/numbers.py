"""Quantities laid beside their counterparts, and numbers and times that must stay."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.times import TimeReference, atoms
from contrafact.text.quantities import Identifier, Quantity

__all__ = [
    "Meeting",
    "changed_numbers",
    "identifiers_kept",
    "meetings",
    "number_key",
    "numbers_kept",
    "same_value",
    "times_kept",
]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A quantity of the original and the one that stands for it; either may be missing.

    Attributes:
        before: Its index among the original's quantities.
        after: Its index among the rewrite's.
    """

    before: int | None
    after: int | None


def meetings(pair: Pair) -> list[Meeting]:
    """Return which quantity of the rewrite stands for which of the original, in order.

    Those in unchanged surroundings meet; those in a changed stretch meet in order, like with
    like first. What is left over is lost or added.
    """
    a, b = pair.original, pair.rewritten
    places = [
        {side.span_tokens(q.start, q.end)[0]: i for i, q in enumerate(side.quantities)}
        for side in (a, b)
    ]
    found: list[Meeting] = []
    left: list[list[int]] = [[], []]
    for token, i in places[0].items():
        other = pair.alignment.to_after.get(token)
        if other is not None and other in places[1]:
            found.append(Meeting(i, places[1][other]))
        else:
            left[0].append(i)
    met = {meeting.after for meeting in found}
    left[1] = [i for i in places[1].values() if i not in met]
    found += _matched(a, b, left[0], left[1])
    return sorted(
        found, key=lambda m: (m.before if m.before is not None else math.inf, m.after or 0)
    )


def _matched(a: Side, b: Side, before: list[int], after: list[int]) -> Iterator[Meeting]:
    rest = list(after)
    for test in (_equal, _alike, _same_kind):
        for i in list(before):
            j = next((j for j in rest if test(a.quantities[i], b.quantities[j])), None)
            if j is not None:
                before.remove(i)
                rest.remove(j)
                yield Meeting(i, j)
    yield from (Meeting(i, None) for i in before)
    yield from (Meeting(None, j) for j in rest)


def _equal(a: Quantity, b: Quantity) -> bool:
    return a.kind == b.kind and same_value(a, b)


def _alike(a: Quantity, b: Quantity) -> bool:
    return a.kind == b.kind and a.role == b.role and a.unit == b.unit


def _same_kind(a: Quantity, b: Quantity) -> bool:
    return a.kind == b.kind or {a.kind, b.kind} == {"percent", "basis points"}


def same_value(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities are worth the same, however they are written."""
    if a.value is None or b.value is None:
        return a.value is b.value and _words(a.text) == _words(b.text)
    return math.isclose(_worth(a), _worth(b), rel_tol=1e-9, abs_tol=1e-12)


def _worth(quantity: Quantity) -> float:
    value = quantity.value or 0.0
    return value / 100 if quantity.kind == "basis points" else value


def _words(text: str) -> str:
    return " ".join(text.casefold().replace("-", " ").split())


Key = tuple[str, float | str]


def number_key(quantity: Quantity, *, signed: bool = True) -> Key:
    """Return what two quantities share that are the same number, however they are written."""
    kind = "percent" if quantity.kind == "basis points" else quantity.kind
    if quantity.value is None:
        return kind, _words(quantity.text)
    worth = _worth(quantity)
    return kind, float(f"{worth if signed else abs(worth):.9g}")


def numbers_kept(pair: Pair) -> Iterator[Violation]:
    """Every number of the original stands in the rewrite, in its place, and no other does."""
    yield from changed_numbers(pair, number_key, frozenset())


def changed_numbers(
    pair: Pair, _key: Callable[[Quantity], Key], excused: frozenset[int]
) -> Iterator[Violation]:
    """Yield the numbers that are changed, lost or new.

    Args:
        pair: The pair.
        _key: What makes two numbers one.
        excused: Indices of the original's quantities that may change.
    """
    a, b = pair.original.quantities, pair.rewritten.quantities
    ours, theirs = {_key(q) for q in a}, {_key(q) for q in b}
    swaps = 0
    for meeting in meetings(pair):
        before = None if meeting.before is None else a[meeting.before]
        after = None if meeting.after is None else b[meeting.after]
        if before and after:
            if _key(before) == _key(after) or meeting.before in excused:
                if _recoined(before, after):
                    yield fail(
                        "number-changed",
                        f"'{before.text}' became '{after.text}', in another currency",
                        _span(before),
                        _span(after),
                    )
                continue
            if _key(before) in theirs and _key(after) in ours and not _in_place(pair, meeting):
                swaps += 1
                continue
            if _converted(before, after):
                yield review(
                    "number-changed",
                    f"'{before.text}' is now '{after.text}'",
                    _span(before),
                    _span(after),
                )
                continue
            yield fail(
                "number-changed",
                f"'{before.text}' became '{after.text}'",
                _span(before),
                _span(after),
            )
        elif before and _key(before) not in theirs:
            if _incidental(before):
                yield review("number-lost", f"'{before.text}' is gone", _span(before))
            else:
                yield fail("number-lost", f"'{before.text}' is gone", _span(before))
        elif after and _key(after) not in ours:
            if _incidental(after):
                yield review("number-added", f"'{after.text}' is new", None, _span(after))
            else:
                yield fail("number-added", f"'{after.text}' is new", None, _span(after))
    if swaps:
        yield review("number-changed", "numbers stand in another order than in the original")


_COIN = re.compile(r"[^\W\d_]+\Z")


def _recoined(a: Quantity, b: Quantity) -> bool:
    """Whether an amount of money is now one in another currency."""
    if a.kind != "money" or b.kind != "money":
        return False
    if a.unit and b.unit:
        return a.unit != b.unit
    names = [_COIN.search(q.text) for q in (a, b)]
    return a.unit != b.unit and all(names)


def _converted(a: Quantity, b: Quantity) -> bool:
    """Whether the same amount lost or gained only its unit or its magnitude's name."""
    return a.value is not None and a.value == b.value and "number" in (a.kind, b.kind)


def _incidental(quantity: Quantity) -> bool:
    """Whether a number is a small word that prose takes and drops: "two", "double"."""
    return quantity.form.style in ("words", "multiple", "fraction", "fold") and quantity.kind in (
        "number",
        "ratio",
    )


def _in_place(pair: Pair, meeting: Meeting) -> bool:
    """Whether the words around a number are the same in both texts."""
    if meeting.before is None or meeting.after is None:
        return False
    a, b = pair.original, pair.rewritten
    q, r = a.quantities[meeting.before], b.quantities[meeting.after]
    i, j = a.span_tokens(q.start, q.end)[0], b.span_tokens(r.start, r.end)[0]
    return pair.alignment.to_after.get(i) == j and (
        pair.alignment.to_after.get(i - 1) == j - 1 or pair.alignment.to_after.get(i + 1) == j + 1
    )


def _span(found: Quantity | Identifier | TimeReference) -> Span:
    return found.start, found.end


def times_kept(pair: Pair) -> Iterator[Violation]:
    """Dates, years, quarters, weekdays and "last year" stay; they compare by value."""
    a, b = pair.original, pair.rewritten
    ours = [atoms(time.value) for time in a.times]
    theirs = [atoms(time.value) for time in b.times]
    known = frozenset().union(*ours) if ours else frozenset()
    kept = frozenset().union(*theirs) if theirs else frozenset()
    places = {b.span_tokens(t.start, t.end)[0]: t for t in b.times}
    met: set[int] = set()
    for time, parts in zip(a.times, ours, strict=True):
        token = pair.alignment.to_after.get(a.span_tokens(time.start, time.end)[0])
        other = places.get(token) if token is not None else None
        if other is not None and token is not None:
            met.add(token)
            theirs_here = atoms(other.value)
            if not (parts <= theirs_here or theirs_here <= parts):
                moved = (
                    parts <= kept and theirs_here <= known and not _same_place(pair, time, other)
                )
                told = review if moved else fail
                yield told(
                    "date-changed",
                    f"'{time.text}' became '{other.text}'",
                    _span(time),
                    _span(other),
                )
                continue
        if not parts & kept:
            told = review if time.relative else fail
            yield told("date-lost", f"'{time.text}' is gone", _span(time))
        elif not parts <= kept:
            yield review("date-lost", f"part of '{time.text}' is gone", _span(time))
    for place, time in places.items():
        if place in met:
            continue
        if not atoms(time.value) <= known:
            told = review if time.relative else fail
            yield told("date-added", f"'{time.text}' is new", None, _span(time))


def _same_place(pair: Pair, a: TimeReference, b: TimeReference) -> bool:
    """Whether the words on both sides of two times are the same."""
    i = pair.original.span_tokens(a.start, a.end)[0]
    j = pair.rewritten.span_tokens(b.start, b.end)[0]
    to = pair.alignment.to_after
    return to.get(i - 1, -1) == j - 1 and to.get(i + 1, -1) == j + 1


def identifiers_kept(pair: Pair) -> Iterator[Violation]:
    """Versions, ranks, index names and forms stay."""
    a, b = pair.original, pair.rewritten
    ours = {_identity(name) for name in a.identifiers}
    theirs = {_identity(name) for name in b.identifiers}
    for name in a.identifiers:
        if _identity(name) not in theirs and not _plainly_in(name.text, b.text):
            yield fail("identifier-changed", f"'{name.text}' is gone or changed", _span(name))
    for name in b.identifiers:
        if _identity(name) not in ours and not _plainly_in(name.text, a.text):
            yield fail("identifier-changed", f"'{name.text}' is new or changed", None, _span(name))


def _identity(name: Identifier) -> tuple[str, str]:
    """Return what names the same thing; a high and a low of one span are a direction apart."""
    return name.kind, re.sub(r"\s(?:high|low|peak|trough)s?\Z", "", name.value)


def _plainly_in(words: str, text: str) -> bool:
    return words.casefold() in text.casefold()
