"""Arithmetic that links the numbers of a text, and must link them still once they changed.

RFC-BENCH, appendix S.2, item 8: related numbers move consistently.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from contrafact.families.rfc.contracts.pair import Side
from contrafact.families.rfc.contracts.ranges import precision
from contrafact.text.quantities import Quantity

__all__ = ["Error", "Relation", "comparisons", "expected_figures", "relations"]

_MOST = 24  # quantities of a text beyond which its arithmetic is not looked into


class Error(NamedTuple):
    """How far values are from a relation.

    Attributes:
        off: The distance.
        room: How far rounding lets them be.
        scale: The size of what is worked out.
    """

    off: float
    room: float
    scale: float


@dataclass(frozen=True, slots=True)
class Relation:
    """An arithmetic relation that holds between quantities of a text.

    Attributes:
        what: The relation in words.
        members: The quantities' indices, in the order that ``error`` takes.
        error: How far values are from the relation, and how far rounding lets them be.
    """

    what: str
    members: tuple[int, ...]
    error: Callable[[list[Quantity]], Error]

    def holds(self, found: list[Quantity], slack: float = 1.0) -> bool:
        """Whether the relation holds between values, as far as they are written."""
        error = self.error(found)
        return error.off <= error.room * slack + 1e-9


def _value(quantity: Quantity) -> float:
    value = quantity.value or 0.0
    return value / 100 if quantity.kind == "basis points" else value


def _room(quantity: Quantity) -> float:
    return precision(quantity) / (100 if quantity.kind == "basis points" else 1)


def _change_error(found: list[Quantity]) -> Error:
    """old, new, percent: new is old moved by percent."""
    old, new, percent = found
    if not _value(old):
        return Error(math.inf, 0.0, 0.0)
    worked = abs(100 * (_value(new) - _value(old)) / _value(old))
    room = (
        100 * (_room(new) + _room(old) * abs(_value(new) / _value(old))) / abs(_value(old))
    ) + _room(percent)
    return Error(abs(worked - abs(_value(percent))), room, worked)


def _multiple_error(found: list[Quantity]) -> Error:
    """old, new, multiple: new is so many times old."""
    old, new, times = found
    if not _value(old):
        return Error(math.inf, 0.0, 0.0)
    return Error(
        abs(_value(new) / _value(old) - _value(times)), 0.1 * abs(_value(times)), _value(times)
    )


def _sum_error(found: list[Quantity]) -> Error:
    """The first is the sum of the others."""
    whole, *parts = found
    room = _room(whole) + sum(_room(part) for part in parts)
    return Error(abs(_value(whole) - sum(_value(part) for part in parts)), room, _value(whole))


def _hundred_error(found: list[Quantity]) -> Error:
    """Percentages that make up a whole."""
    return Error(
        abs(100 - sum(_value(part) for part in found)), sum(_room(part) for part in found), 100.0
    )


def _product_error(found: list[Quantity]) -> Error:
    """The first is the second times the third."""
    whole, one, many = found
    worked = _value(one) * _value(many)
    room = _room(whole) + _room(one) * abs(_value(many)) + _room(many) * abs(_value(one))
    return Error(abs(_value(whole) - worked), room, _value(whole))


def _part_error(found: list[Quantity]) -> Error:
    """part, whole, percent: part is so many percent of whole."""
    part, whole, percent = found
    worked = _value(whole) * _value(percent) / 100
    room = (
        _room(part)
        + (_room(whole) * abs(_value(percent)) + _room(percent) * abs(_value(whole))) / 100
    )
    return Error(abs(_value(part) - worked), room, _value(part))


_SUM = re.compile(
    r"\b(?:total\w*|combined|together|altogether|overall|in all|sum|of which|including|split"
    r"|compris\w+"
    r"|consist\w+|respectively|made up|plus|both|divided|remaining|rest|by)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"\b(?:of (?:its |total |the |all )?(?:revenue|sales|profit|customers|users|orders|shares"
    r"|votes|income|mix)"
    r"|share|remaining|remainder|rest|other|split|while|respectively|accounted|made up"
    r"|came from)\b",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"\b(?:each|apiece|per|a share|a unit|a barrel|an ounce|a piece)\b", re.IGNORECASE
)
_PART_OF = re.compile(
    r"\b(?:valu\w+|represent\w+|equal\w*|equivalent|account\w+|or about|or roughly|worth|of its"
    r"|of the)\b"
    r"|,\sor\s",
    re.IGNORECASE,
)


def relations(side: Side) -> list[Relation]:
    """Return the arithmetic that plainly links the quantities of a text, and holds.

    Two figures and the change between them, parts and their whole, shares of one whole, a price
    and a number and what they come to, a percentage of a whole. Only figures of one sentence (a
    change may stand in the one beside it) and with a word that links them are taken.
    """
    found = side.quantities
    if len(found) > _MOST:
        return []
    places = [_place(side, q) for q in found]
    result = [*_changes(side, places), *_within_sentence(side, places)]
    return [relation for relation in result if relation.holds([found[i] for i in relation.members])]


def _place(side: Side, quantity: Quantity) -> int:
    return next(
        (i for i, s in enumerate(side.sentences) if quantity.start < s.end), len(side.sentences)
    )


def _changes(side: Side, places: list[int]) -> Iterator[Relation]:
    found = side.quantities
    for old, new in comparisons(side):
        if _value(found[old]) == _value(found[new]):
            continue
        for i, quantity in enumerate(found):
            if i in (old, new) or abs(places[i] - places[new]) > 1:
                continue
            if quantity.value is None:
                continue
            rates = found[new].kind in ("percent", "basis points")
            if quantity.kind == "percent" and not quantity.is_level and not rates:
                yield Relation(
                    f"{found[old].text} to {found[new].text} is {quantity.text}",
                    (old, new, i),
                    _change_error,
                )
            elif quantity.kind == "ratio" and quantity.value > 1:
                yield Relation(
                    f"{found[new].text} is {quantity.text} from {found[old].text}",
                    (old, new, i),
                    _multiple_error,
                )
            elif (
                quantity.kind == found[new].kind or (rates and quantity.kind == "basis points")
            ) and (not quantity.is_level or _by(side, quantity)):
                low, high = sorted((old, new), key=lambda k: _value(found[k]))
                yield Relation(
                    f"{found[high].text} less {found[low].text} is {quantity.text}",
                    (high, low, i),
                    _sum_error,
                )


def _by(side: Side, quantity: Quantity) -> bool:
    return bool(re.search(r"\bby\s(?:\w+\s)?\Z", side.text[: quantity.start]))


def _within_sentence(side: Side, places: list[int]) -> Iterator[Relation]:
    found = side.quantities
    for place, sentence in enumerate(side.sentences):
        here = [i for i, p in enumerate(places) if p == place and found[i].value]
        if not 2 <= len(here) <= 8:
            continue
        text = side.text[sentence.start : sentence.end]
        yield from _sums(found, here, text)
        if _PARTS.search(text):
            shares = [i for i in here if found[i].kind == "percent" and found[i].direction is None]
            if len(shares) >= 2 and not any(found[i].link for i in shares):
                yield Relation("the shares make up 100%", tuple(shares), _hundred_error)
        for whole, one, many in _triples(here):
            a, b, c = found[whole], found[one], found[many]
            if _EACH.search(text) and a.kind == b.kind == "money" and c.kind == "number":
                yield Relation(
                    f"{c.text} at {b.text} come to {a.text}", (whole, one, many), _product_error
                )
            if (
                _PART_OF.search(text)
                and a.kind == b.kind
                and c.kind == "percent"
                and a.kind
                in (
                    "money",
                    "number",
                )
            ):
                yield Relation(f"{a.text} is {c.text} of {b.text}", (whole, one, many), _part_error)


def _triples(here: list[int]) -> Iterator[tuple[int, int, int]]:
    for i, j, k in combinations(here, 3):
        yield from ((i, j, k), (i, k, j), (j, i, k), (j, k, i), (k, i, j), (k, j, i))


def _sums(found: list[Quantity], here: list[int], text: str) -> Iterator[Relation]:
    if not _SUM.search(text):
        return
    for whole in here:
        alike = [
            i
            for i in here
            if i != whole
            and found[i].kind == found[whole].kind
            and found[i].unit == found[whole].unit
            and 0 < _value(found[i]) < _value(found[whole])
        ]
        for size in range(2, min(len(alike), 4) + 1):
            for parts in combinations(alike, size):
                yield Relation(
                    f"{' and '.join(found[i].text for i in parts)} come to {found[whole].text}",
                    (whole, *parts),
                    _sum_error,
                )


_FROM = re.compile(
    r"\bfrom\s(?:about\s|around\s|roughly\s|nearly\s|a\s|an\s|its\s|the\s|just\s|an?\sestimated\s"
    r"|as\s\w+\sas\s|previous\s|prior\s|earlier\s"
    r"|(?:net\s|operating\s|pre-?tax\s)?(?:profit|loss|income|deficit|surplus|gain)\sof\s)*\Z",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:compared (?:with|to)|versus|vs\.?|against|than|up from|down from)\s(?:\S+\s){0,7}\Z",
    re.IGNORECASE,
)


def comparisons(side: Side) -> list[tuple[int, int]]:
    """Return pairs of quantities, (old, new), of which one is what the other was before."""
    found, result = side.quantities, []
    for i, quantity in enumerate(found):
        if quantity.value is None:
            continue
        linked = quantity.link
        if linked is not None and linked[0] == "from-to":
            if _FROM.search(side.text[: quantity.start]):
                result.append((i, linked[1]))
            continue
        before = side.text[max(0, quantity.start - 70) : quantity.start]
        sentence = side.sentence_of(quantity.start)
        if not (_FROM.search(before) or _AGAINST.search(before)) or quantity.is_estimate:
            continue
        others = [
            j
            for j, other in enumerate(found[:i])
            if other.start >= sentence.start
            and other.kind == quantity.kind
            and other.unit == quantity.unit
            and other.value is not None
            and not other.is_estimate
            and (other.is_level or quantity.kind != "percent")
            and not any(c in side.text[other.end : quantity.start] for c in ";")
        ]
        if others:
            result.append((i, others[-1]))
    return list(dict.fromkeys(result))


def expected_figures(side: Side) -> list[tuple[int, int]]:
    """Return pairs of quantities, (expected, actual): what analysts looked for and what came."""
    found, result = side.quantities, []
    for i, quantity in enumerate(found):
        if quantity.value is None or not quantity.is_estimate:
            continue
        sentence = side.sentence_of(quantity.start)
        alike = [
            j
            for j, other in enumerate(found)
            if j != i
            and other.kind == quantity.kind
            and other.unit == quantity.unit
            and other.value is not None
            and not other.is_estimate
            and not _by(side, other)
            and (other.role == quantity.role or {other.role, quantity.role} & {"money", "number"})
            and sentence.start <= other.start < sentence.end
        ]
        if alike:
            near = min(alike, key=lambda j: (found[j].start > quantity.start, abs(j - i)))
            result.append((i, near))
    return result
