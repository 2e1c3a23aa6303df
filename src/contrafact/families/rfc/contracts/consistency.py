"""How the figures of a text hang together: comparisons in words, and arithmetic.

RFC-BENCH, appendix S.2, items 2 and 8 (related numbers move consistently, what was more stays
more).
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from contrafact.families.rfc.contracts.numbers import precision, worth
from contrafact.families.rfc.contracts.pair import Side, Span, read_once
from contrafact.text.quantities import Quantity
from contrafact.text.tokens import Caseless

__all__ = [
    "Comparative",
    "Relation",
    "Residual",
    "comparatives",
    "earlier_and_later",
    "expected_and_actual",
    "follows_by",
    "relations",
]

COMPARATIVE_REACH = 60
"""Characters from comparing words to the figure that they lead to, at most (ours)."""

EXPECTED_WINDOW = 30
"""Characters after a figure in which words say that it was expected (ours)."""

EARLIER_WINDOW = 70
"""Characters before a figure in which words say that it is an earlier one (ours)."""

MAX_QUANTITIES = 24
"""Quantities of a text beyond which its arithmetic is not looked into (ours: a table would be full
of chance agreements)."""

SENTENCE_QUANTITIES = range(2, 9)
"""Quantities of a sentence between which arithmetic is looked for (ours, likewise)."""

MAX_PARTS = 4
"""Parts of a sum, at most (ours, likewise)."""

MULTIPLE_TOLERANCE = 0.1
"""Share by which "doubled" or "three times" may be off (ours: such words are approximate)."""

# Figures that a text sets against each other in words

_MORE = (
    r"more|higher|greater|larger|bigger|faster|quicker|steeper|sharper|wider|heavier|pricier"
    r"|longer"
)
_LESS = r"fewer|less|lower|smaller|slower|narrower|shallower|milder|lighter|cheaper|shorter"
_EITHER = r"better|worse|stronger|weaker|deeper"
_ARTICLE = r"(?:the|an?|its|their|his|her|last|what|analysts['’]?|wall\sstreet['’]s|an\sestimated)"
_THAN = re.compile(
    rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS})|(?P<either>{_EITHER}))"
    rf"(?:\s(?:\w+\s){{0,2}})?\s?than\s(?P<article>{_ARTICLE}\s)?",
    re.IGNORECASE,
)
_RELATIVE_TO = Caseless(
    r"\b(?:(?P<more>above|ahead\sof|exceed(?:ed|s|ing)|beat(?:s|ing)?|top(?:ped|s|ping)"
    r"|surpass(?:ed|es|ing)|up\sfrom)"
    r"|(?P<less>below|short\sof|shy\sof|behind|miss(?:ed|es|ing)|trail(?:ed|s|ing)"
    r"|lag(?:ged|s|ging)|down\sfrom))\s(?P<article>" + _ARTICLE + r"\s)(?:\w+\s){0,2}?"
)
_EXPECTED = re.compile(
    r"\b(?:consensus|estimates?|expect\w*|forecasts?|predict\w*|projection\w*|projected"
    r"|pencill?ed|analysts?|economists?|street|target\w*)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|n['’]t)\s\Z", re.IGNORECASE)
_BREAK = re.compile(r"[;]|[.!?]\s")
_OF_THEM = re.compile(r"\b[Oo]f\s(?:the\s|its\s|their\s|all\s|some\s|about\s)*\Z")


@dataclass(frozen=True, slots=True)
class Comparative:
    """One figure set against another.

    Attributes:
        this: The index of the figure that is compared.
        that: The index of what it is compared with.
        sign: +1 if the words say that the first is the larger, -1 the smaller, 0 either.
        words: Where the words are that say so.
    """

    this: int
    that: int
    sign: int
    words: Span


@read_once
def comparatives(side: Side) -> list[Comparative]:
    """Return the figures that a text sets against each other, in order.

    "More than 40 stores" compares nothing; "more than the 40 that were planned" does.
    """
    found = list(_parts_of_counts(side))
    for match in _THAN.finditer(side.text) if side.has("than") else ():
        found += _compared(side, match, preposition=False)
    for match in _RELATIVE_TO.finditer(side.text, side.small):
        found += _compared(side, match, preposition=True)
    return found


def _parts_of_counts(side: Side) -> Iterator[Comparative]:
    """Yield "of the 40 analysts, 31 …": a part of a count is no larger than the count."""
    found = side.quantities
    for whole, part in pairwise(range(len(found))):
        a, b = found[whole], found[part]
        if not a.kind == b.kind == "number" or a.value is None or b.value is None:
            continue
        between = side.text[a.end : b.start]
        if re.fullmatch(r"\s(?:out\s)?of\s(?:the\s|its\s|all\s)?", between):
            yield Comparative(whole, part, -1, (a.start, b.end))
            continue
        if not _OF_THEM.search(side.text[: a.start]):
            continue
        if re.fullmatch(r"\s[^.,;]{1,50},\s(?:only\s|just\s|about\s|some\s)?", between):
            yield Comparative(part, whole, -1, (a.start, b.end))


def _compared(side: Side, match: re.Match[str], *, preposition: bool) -> Iterator[Comparative]:
    """Yield what comparing words compare, both ends of a range where they lead to one."""
    found = side.quantities
    end = match.end("article") if match["article"] else match.end()
    that = next((i for i, q in enumerate(found) if q.start >= end), None)
    if that is None or found[that].value is None or _DENIED.search(side.text[: match.start()]):
        return
    between = side.text[end : found[that].start]
    if len(between) > COMPARATIVE_REACH or _BREAK.search(between) or "," in between:
        return
    expected = found[that].is_estimate or bool(
        _EXPECTED.search(between + side.text[found[that].end : found[that].end + EXPECTED_WINDOW])
    )
    moved = match[0].split()[0].casefold() in ("up", "down")
    if preposition and not (expected or moved):
        return  # "above the $90 level" is a place
    if not preposition and not match["article"] and not found[that].is_estimate:
        return
    this = _nearest(side, match.start(), that)
    if this is None:
        return
    sign = 1 if match["more"] else -1 if match["less"] else 0
    compared = [(this, that)]
    a, b = found[this].link, found[that].link
    if a and b and a[0] == b[0] == "range":
        compared = list(zip(sorted((this, a[1])), sorted((that, b[1])), strict=True))
    for i, j in compared:
        yield Comparative(i, j, sign, (match.start(), found[j].end))


def _nearest(side: Side, before: int, that: int) -> int | None:
    """Return the last figure before some words that is of another's kind."""
    sentence, other = side.sentence_of(before), side.quantities[that]
    for i in range(that - 1, -1, -1):
        quantity = side.quantities[i]
        if quantity.start < sentence.start:
            return None
        if quantity.end > before or quantity.kind != other.kind or quantity.value is None:
            continue
        if quantity.kind == "money" and quantity.unit != other.unit:
            continue
        if quantity.is_estimate or ";" in side.text[quantity.end : before]:
            return None
        opposed = {quantity.direction, other.direction} == {"up", "down"}
        return None if opposed else i
    return None


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


_EARLIER_FORECAST = re.compile(
    r"\b(?:from|against|than)\s(?:an?|its|the|their)\s(?:previous|earlier|prior|initial|original)\s"
    r"(?:\w+\s)?(?:forecasts?|estimates?|projections?|guidance|outlook|targets?)\sof\s(?:about\s)?\Z",
    re.IGNORECASE,
)


def is_earlier_forecast(side: Side, quantity: Quantity) -> bool:
    """Return whether a figure is a forecast that another one replaced, and so no estimate of it:
    "cut to 3.1% from a previous forecast of 3.8%".
    """
    before = side.text[max(0, quantity.start - EARLIER_WINDOW) : quantity.start]
    return bool(_EARLIER_FORECAST.search(before))


@read_once
def earlier_and_later(side: Side) -> list[tuple[int, int]]:
    """Return pairs of quantities, (earlier, later): the first is what the second was before."""
    found, result = side.quantities, []
    for i, quantity in enumerate(found):
        if quantity.value is None:
            continue
        linked = quantity.link
        if linked is not None and linked[0] == "from-to":
            if _FROM.search(side.text[: quantity.start]):
                result.append((i, linked[1]))
            continue
        before = side.text[max(0, quantity.start - EARLIER_WINDOW) : quantity.start]
        sentence = side.sentence_of(quantity.start)
        earlier = is_earlier_forecast(side, quantity)
        if not (earlier or _FROM.search(before) or _AGAINST.search(before)):
            continue
        if quantity.is_estimate and not earlier:
            continue
        others = [
            j
            for j, other in enumerate(found[:i])
            if other.start >= sentence.start
            and other.kind == quantity.kind
            and other.unit == quantity.unit
            and other.value is not None
            and (earlier or not other.is_estimate)
            and (earlier or other.is_level or quantity.kind != "percent")
            and ";" not in side.text[other.end : quantity.start]
        ]
        if others:
            result.append((i, others[-1]))
    return list(dict.fromkeys(result))


@read_once
def expected_and_actual(side: Side) -> list[tuple[int, int]]:
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
            and not follows_by(side, other)
            and (other.role == quantity.role or {other.role, quantity.role} & {"money", "number"})
            and sentence.start <= other.start < sentence.end
        ]
        if alike:
            near = min(alike, key=lambda j: (found[j].start > quantity.start, abs(j - i)))
            result.append((i, near))
    return result


def follows_by(side: Side, quantity: Quantity) -> bool:
    """Return whether "by" leads to a quantity, so that it is a change."""
    return bool(re.search(r"\bby\s(?:\w+\s)?\Z", side.text[: quantity.start]))


# Arithmetic between figures


class Residual(NamedTuple):
    """How far values are from a relation.

    Attributes:
        distance: How far.
        rounding: How far rounding lets them be.
        scale: The size of what is worked out.
    """

    distance: float
    rounding: float
    scale: float


@dataclass(frozen=True, slots=True)
class Relation:
    """An arithmetic relation that holds between quantities of a text.

    Attributes:
        what: The relation in words.
        members: The quantities' indices, in the order that ``residual`` takes.
        residual: How far values are from the relation, and how far rounding lets them be.
    """

    what: str
    members: tuple[int, ...]
    residual: Callable[[list[Quantity]], Residual]

    def holds(self, found: list[Quantity], slack: float = 1.0) -> bool:
        """Return whether the relation holds between values, as far as they are written.

        Args:
            found: The quantities, in the order of the members.
            slack: How many times the rounding they may be off.
        """
        residual = self.residual(found)
        return residual.distance <= residual.rounding * slack + 1e-9


def _rounding(quantity: Quantity) -> float:
    """Return the precision of a quantity in the measure of its worth."""
    return precision(quantity) / (100 if quantity.kind == "basis points" else 1)


def _percent_change(found: list[Quantity]) -> Residual:
    """old, new, percent: new is old moved by percent."""
    old, new, percent = found
    x, y = worth(old), worth(new)
    if not x:
        return Residual(math.inf, 0.0, 0.0)
    change = abs(100 * (y - x) / x)
    rounding = (100 * (_rounding(new) + _rounding(old) * abs(y / x)) / abs(x)) + _rounding(percent)
    return Residual(abs(change - abs(worth(percent))), rounding, change)


def _multiple(found: list[Quantity]) -> Residual:
    """old, new, multiple: new is so many times old."""
    old, new, times = found
    if not worth(old):
        return Residual(math.inf, 0.0, 0.0)
    return Residual(
        abs(worth(new) / worth(old) - worth(times)),
        MULTIPLE_TOLERANCE * abs(worth(times)),
        worth(times),
    )


def _sum(found: list[Quantity]) -> Residual:
    """The first is the sum of the others."""
    whole, *parts = found
    rounding = _rounding(whole) + sum(_rounding(part) for part in parts)
    return Residual(abs(worth(whole) - sum(worth(part) for part in parts)), rounding, worth(whole))


def _hundred_percent(found: list[Quantity]) -> Residual:
    """Percentages that make up a whole."""
    return Residual(
        abs(100 - sum(worth(part) for part in found)), sum(_rounding(part) for part in found), 100.0
    )


def _product(found: list[Quantity]) -> Residual:
    """The first is the second times the third."""
    whole, one, many = found
    rounding = (
        _rounding(whole) + _rounding(one) * abs(worth(many)) + _rounding(many) * abs(worth(one))
    )
    return Residual(abs(worth(whole) - worth(one) * worth(many)), rounding, worth(whole))


def _percentage_of(found: list[Quantity]) -> Residual:
    """part, whole, percent: part is so many percent of whole."""
    part, whole, percent = found
    rounding = (
        _rounding(part)
        + (_rounding(whole) * abs(worth(percent)) + _rounding(percent) * abs(worth(whole))) / 100
    )
    return Residual(abs(worth(part) - worth(whole) * worth(percent) / 100), rounding, worth(part))


_SUM_WORDS = re.compile(
    r"\b(?:total\w*|combined|together|altogether|overall|in all|sum|of which|including|split"
    r"|compris\w+"
    r"|consist\w+|respectively|made up|plus|both|divided|remaining|rest|by)\b",
    re.IGNORECASE,
)
_SHARE_WORDS = re.compile(
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


@read_once
def relations(side: Side) -> list[Relation]:
    """Return the arithmetic that plainly links the quantities of a text, and holds.

    Two figures and the change between them, parts and their whole, shares of one whole, a price
    and a number and what they come to, a percentage of a whole. Only figures of one sentence (a
    change may stand in the one next to it) and with a word that links them are taken.
    """
    found = side.quantities
    if len(found) > MAX_QUANTITIES:
        return []
    places = [
        next((i for i, s in enumerate(side.sentences) if q.start < s.end), len(side.sentences))
        for q in found
    ]
    supposed = [*_change_relations(side, places), *_sentence_relations(side, places)]
    return [
        relation for relation in supposed if relation.holds([found[i] for i in relation.members])
    ]


def _change_relations(side: Side, places: list[int]) -> Iterator[Relation]:
    found = side.quantities
    for old, new in earlier_and_later(side):
        if worth(found[old]) == worth(found[new]):
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
                    _percent_change,
                )
            elif quantity.kind == "ratio" and quantity.value > 1:
                yield Relation(
                    f"{found[new].text} is {quantity.text} from {found[old].text}",
                    (old, new, i),
                    _multiple,
                )
            elif (
                quantity.kind == found[new].kind or (rates and quantity.kind == "basis points")
            ) and (not quantity.is_level or follows_by(side, quantity)):
                low, high = sorted((old, new), key=lambda k: worth(found[k]))
                yield Relation(
                    f"{found[high].text} less {found[low].text} is {quantity.text}",
                    (high, low, i),
                    _sum,
                )


def _sentence_relations(side: Side, places: list[int]) -> Iterator[Relation]:
    found = side.quantities
    for place, sentence in enumerate(side.sentences):
        here = [i for i, p in enumerate(places) if p == place and found[i].value]
        if len(here) not in SENTENCE_QUANTITIES:
            continue
        text = side.text[sentence.start : sentence.end]
        if _SUM_WORDS.search(text):
            yield from _sums(found, here)
        if _SHARE_WORDS.search(text):
            shares = [i for i in here if found[i].kind == "percent" and found[i].direction is None]
            if len(shares) >= 2 and not any(found[i].link for i in shares):
                yield Relation("the shares make up 100%", tuple(shares), _hundred_percent)
        each, part_of = _EACH.search(text), _PART_OF.search(text)
        for triple in combinations(here, 3):
            for whole, one, many in permutations(triple):
                a, b, c = found[whole], found[one], found[many]
                if each and a.kind == b.kind == "money" and c.kind == "number":
                    yield Relation(
                        f"{c.text} at {b.text} come to {a.text}", (whole, one, many), _product
                    )
                if part_of and a.kind == b.kind in ("money", "number") and c.kind == "percent":
                    yield Relation(
                        f"{a.text} is {c.text} of {b.text}", (whole, one, many), _percentage_of
                    )


def _sums(found: list[Quantity], here: list[int]) -> Iterator[Relation]:
    for whole in here:
        alike = [
            i
            for i in here
            if i != whole
            and found[i].kind == found[whole].kind
            and found[i].unit == found[whole].unit
            and 0 < worth(found[i]) < worth(found[whole])
        ]
        for size in range(2, min(len(alike), MAX_PARTS) + 1):
            for parts in combinations(alike, size):
                yield Relation(
                    f"{' and '.join(found[i].text for i in parts)} come to {found[whole].text}",
                    (whole, *parts),
                    _sum,
                )
