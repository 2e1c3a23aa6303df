"""Rules on numbers that must stay, and which quantities of the two texts correspond.

RFC-BENCH, appendices Q.1, 2; Q.4, 3; R.1; S.3, 1.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from contrafact.families.rfc.contracts.pair import Pair, Side, Span, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import expression, groups
from contrafact.text.numerals import SCALES
from contrafact.text.quantities import Identifier, Quantity, same_value, worth
from contrafact.text.quantities.quantity import in_one_spelling
from contrafact.text.times import TimeReference
from contrafact.text.tokens import stem


def place(found: Quantity | Identifier | TimeReference) -> Span:
    """Return the span of a quantity, identifier or time in its text, in characters."""
    return found.start, found.end


# Equal quantities

NumberKey = tuple[str, float | str]
"""A quantity's kind and its value, or its words if it has no value."""


def number_key(quantity: Quantity, *, signed: bool = True) -> NumberKey:
    kind = "percent" if quantity.kind == "basis points" else quantity.kind
    if quantity.value is None:
        return kind, in_one_spelling(quantity.text)
    value = worth(quantity)
    return kind, float(f"{value if signed else abs(value):.9g}")


# Corresponding quantities


@dataclass(frozen=True, slots=True)
class QuantityMatch:
    original: int | None
    rewritten: int | None


@read_once
def quantity_matches(pair: Pair) -> list[QuantityMatch]:
    """Return which quantity of the rewrite corresponds to which of the original, in order.

    Quantities in unchanged surroundings match; in a changed stretch they match in order, the most
    similar first. A quantity without a match is lost or added.
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
        found, key=lambda m: (m.original if m.original is not None else math.inf, m.rewritten or 0)
    )


@read_once
def matched_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the corresponding quantities of the two texts, as pairs of indices."""
    return [
        (match.original, match.rewritten)
        for match in quantity_matches(pair)
        if match.original is not None and match.rewritten is not None
    ]


# Rules


@rule(
    "number-changed",
    "number-lost",
    "number-added",
    about="numbers",
    paper="Q.1, 2; Q.4, 3; R.1; S.3, 1",
    manipulations=("flipping", "sentiment", "causal"),
    to_review="small number words; a unit dropped or added; numbers in another order; in causal "
    "distortion, what changes with the words around it: it may be the replaced cause's",
)
def numbers_kept(
    pair: Pair,
    *,
    crossing: Annotated[float, "ours: share by which a level may cross its bound (R.1)"] = 0.25,
) -> Iterator[Finding]:
    """Every number of the original is in the rewrite, in the same currency, and no other number is.
    In flipping, figures of a sentence may trade places, signs may turn, "doubled" may become
    "halved", and a figure may move a little to the other side of a figure that stays.
    """
    a, b = pair.original.quantities, pair.rewritten.quantities
    flipped = pair.manipulation == "flipping"
    keys = [[number_key(q, signed=not flipped) for q in found] for found in (a, b)]
    excused = _reversals(pair, crossing) if flipped else set()
    moved = 0
    for match in quantity_matches(pair):
        i, j = match.original, match.rewritten
        if i is not None and j is not None:
            finding = None
            if keys[0][i] == keys[1][j] or i in excused:
                if is_other_unit(a[i], b[j]):
                    finding = fail("number-changed", f"'{b[j].text}' is in another unit")
            elif keys[0][i] in keys[1] and keys[1][j] in keys[0] and not _is_in_place(pair, i, j):
                moved += 1
            elif a[i].value == b[j].value is not None and "number" in (a[i].kind, b[j].kind):
                # Only the unit or the magnitude's name is lost or gained.
                finding = review("number-changed", f"'{a[i].text}' is now '{b[j].text}'")
            else:
                # A replaced cause may have figures of its own.
                lenient = pair.is_of_the_causes(place(a[i]), place(b[j]))
                message = f"'{a[i].text}' became '{b[j].text}'"
                finding = Finding("number-changed", message, for_review=lenient)
            if finding is not None:
                yield replace(finding, original_span=place(a[i]), rewritten_span=place(b[j]))
        elif i is not None and keys[0][i] not in keys[1]:
            lenient = _is_incidental(a[i]) or pair.goes_with_cause(*place(a[i]))
            message = f"'{a[i].text}' is gone"
            yield Finding("number-lost", message, place(a[i]), for_review=lenient)
        elif j is not None and keys[1][j] not in keys[0]:
            message = f"'{b[j].text}' is new"
            yield Finding("number-added", message, None, place(b[j]), _is_incidental(b[j]))
    if moved:
        yield review("number-changed", "numbers stand in another order than in the original")


@rule(
    "number-changed",
    about="numbers",
    paper="Q.1, 2; Q.2; S.2, 3",
    to_review="in numerical perturbation, where it may be a figure in a notation not known",
)
def digits_kept(pair: Pair) -> Iterator[Finding]:
    """Digits that are read neither as a quantity nor as a name stay, whatever they are."""
    had, has = (Counter(_unread(side)) for side in (pair.original, pair.rewritten))
    for text in (has - had) or (had - has):
        message = (
            f"'{text}' is {'new' if text in has - had else 'gone'}, digits of no known notation"
        )
        span = None
        if text in has:
            start = pair.rewritten.text.index(text)
            span = (start, start + len(text))
        yield Finding("number-changed", message, None, span, pair.manipulation == "numerical")


_DIGITS = re.compile(r"\d[\d.,]*\d|\d")


def _unread(side: Side) -> Iterator[str]:
    names = [*map(place, side.quantities), *map(place, side.identifiers), *map(place, side.times)]
    for match in _DIGITS.finditer(side.text):
        if not any(start < match.end() and match.start() < end for start, end in names):
            yield match[0]


_SET_AGAINST = expression("numbers", "set_against")


def _reversals(pair: Pair, crossing: float) -> set[int]:
    """Return the indices of figures that flipping may change: compared figures, multiples."""
    a, b = pair.original, pair.rewritten
    to = dict(matched_quantities(pair))
    found: set[int] = set()
    moved: set[tuple[float, float]] = set()
    had = {i: abs(worth(a.quantities[i])) for i in to}
    has = {i: abs(worth(b.quantities[j])) for i, j in to.items()}
    # The words are searched last, and only if two figures trade places or cross.
    for i, j in ((i, j) for i in to if has[i] != had[i] for j in to if j != i):
        (x, y), (u, v) = (had[i], had[j]), (has[i], has[j])
        trade = x != y and (u, v) == (y, x)
        crosses = v == y and (x - y) * (u - y) < 0 and abs(u - x) <= crossing * x
        one, other = a.quantities[i], a.quantities[j]
        unlike = one.kind != other.kind and "number" not in (one.kind, other.kind)
        if unlike or not (trade or crosses):
            continue
        low, high = sorted((a.sentence_of(one.start).start, a.sentence_of(other.start).start))
        if a.place_of(high) - a.place_of(low) > 1 or not (crosses or low == high):
            continue
        if _SET_AGAINST.search(a.text, low, a.sentence_of(high).end):
            found.add(i)
            moved.add((x, u))
    for i, j in to.items():
        old, new = a.quantities[i], b.quantities[j]
        turned = {old.form.style, new.form.style} == {"multiple"}
        if turned and (worth(old) - 1) * (worth(new) - 1) < 0:
            found.add(i)
        if (abs(worth(old)), abs(worth(new))) in moved:
            found.add(i)
    return found


_SIGNS = frozenset("$€£¥₹₩")
_MAGNITUDES = frozenset(map(stem, SCALES))
_CURRENCY_NAME = re.compile(r"(?<![^\W\d_])[^\W\d_]+\Z")


def is_other_unit(a: Quantity, b: Quantity) -> bool:
    """Return whether two amounts are of different currencies, or two counts of other measures."""
    if a.kind == b.kind == "number" and a.unit and b.unit:
        known = groups("measures").items()
        one, other = (next((of for of, own in known if q.unit in own), "") for q in (a, b))
        return "" not in (one, other) and one != other
    if a.kind != "money" or b.kind != "money":
        return False
    signs = {q.form.before.strip()[-1:] for q in (a, b)}
    if len(signs) == 2 and signs <= _SIGNS:
        return True
    words = [_CURRENCY_NAME.search(q.text) for q in (a, b)]
    names = [stem(found[0]) for found in words if found]
    # Both ends of a change get the same unit, so the currencies' names are compared first.
    if len(names) == 2 and names[0] != names[1] and not {*names} & _MAGNITUDES:
        return True
    if a.unit and b.unit:
        return a.unit != b.unit
    return a.unit != b.unit and all(words)


def _is_incidental(quantity: Quantity) -> bool:
    return quantity.form.style in ("words", "multiple", "fraction", "fold") and quantity.kind in (
        "number",
        "ratio",
    )


def _is_in_place(pair: Pair, original: int, rewritten: int) -> bool:
    a, b, to = pair.original, pair.rewritten, pair.alignment.to_rewritten
    i = a.span_tokens(*place(a.quantities[original]))[0]
    j = b.span_tokens(*place(b.quantities[rewritten]))[0]
    return to.get(i) == j and (to.get(i - 1) == j - 1 or to.get(i + 1) == j + 1)
