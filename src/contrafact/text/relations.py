"""Relations between the figures of a text.

These are comparisons in words, earlier and later values, expected and actual values, and arithmetic
(sums, shares, products, changes).
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations

from contrafact.text.alignment import Span
from contrafact.text.quantities import Quantity, precision, same_measure, worth
from contrafact.text.quantities.roles import expression
from contrafact.text.reading import Side, read_once

__all__ = [
    "Relation",
    "comparatives",
    "earlier_and_later",
    "expected_and_actual",
    "is_exact",
    "relations",
    "unannounced_relations",
    "whole",
]

# Thresholds of our own
REACH = 60
"""The most characters between comparing words and their figure."""

MAX_QUANTITIES = 24
"""A text with more quantities is a table, full of chance agreements: its arithmetic is ignored."""

SENTENCE_QUANTITIES = range(2, 9)
"""The quantities of a sentence in which arithmetic is looked for, for the same reason."""

MAX_PARTS = 4
"""The most parts of a sum, for the same reason."""

MULTIPLE_TOLERANCE = 0.1
"""The relative error that "doubled" or "three times" may have: such words are approximate."""


# Figures that a text compares in words

_MORE = r"more|higher|greater|larger|bigger|faster|quicker|steeper|sharper|wider|heavier|longer"
_LESS = r"fewer|less|lower|smaller|slower|narrower|shallower|milder|lighter|cheaper|shorter"
_ARTICLE = r"(?:the|an?|its|their|his|her|last|what|analysts['’]?|wall\sstreet['’]s|an\sestimated)"
_THAN = re.compile(
    rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS})|better|worse|stronger|weaker|deeper)"
    rf"(?:\s(?:\w+\s){{0,2}})?\s?than\s(?P<article>{_ARTICLE}\s)?",
    re.IGNORECASE,
)
_RELATIVE_TO = re.compile(
    r"\b(?:(?P<more>above|ahead\sof|exceed(?:ed|s|ing)|beat(?:s|ing)?|top(?:ped|s|ping)"
    r"|surpass(?:ed|es|ing)|up\sfrom)"
    r"|(?P<less>below|short\sof|shy\sof|behind|miss(?:ed|es|ing)|trail(?:ed|s|ing)"
    r"|lag(?:ged|s|ging)|down\sfrom))\s(?P<article>" + _ARTICLE + r"\s)(?:\w+\s){0,2}?",
    re.IGNORECASE,
)
_EXPECTED = expression("relations", "expected")
_DENIED = re.compile(r"\b(?:no|not|never|n['’]t)\s\Z", re.IGNORECASE)
_BREAK = re.compile(r"[;,]|[.!?]\s")
_OF = re.compile(r"\s(?:out\s)?of\s(?:the\s|its\s|all\s)?")
_OF_THEM = re.compile(r"\b[Oo]f\s(?:the\s|its\s|their\s|all\s|some\s|about\s)*\Z")
_SOME = re.compile(r"\s[^.,;]{1,50},\s(?:only\s|just\s|about\s|some\s)?")


@dataclass(frozen=True, slots=True)
class Comparative:
    """A comparison of two figures, ``this`` with ``that``, by their indices.

    Attributes:
        sign: +1 if the words state that ``this`` is larger, -1 if smaller, 0 if neither.
        words: The span of the comparing words.
    """

    this: int
    that: int
    sign: int
    words: Span


@read_once
def comparatives(side: Side) -> list[Comparative]:
    """Return the comparisons of figures in a text.

    "More than 40 stores" compares nothing; "more than the 40 that were planned" does.
    """
    comparisons = list(_parts_of_counts(side))
    for match in _THAN.finditer(side.text):
        comparisons += _compared(side, match, preposition=False)
    for match in _RELATIVE_TO.finditer(side.text):
        comparisons += _compared(side, match, preposition=True)
    return comparisons


def _parts_of_counts(side: Side) -> Iterator[Comparative]:
    """Yield comparisons of a count's part with the whole: "9 of 15", "of the 40 analysts, 31 …"."""
    for i, (a, b) in enumerate(pairwise(side.quantities)):
        if not a.kind == b.kind == "number" or a.value is None or b.value is None:
            continue
        if _OF.fullmatch(side.text, a.end, b.start):
            yield Comparative(i, i + 1, -1, (a.start, b.end))
        elif _SOME.fullmatch(side.text, a.end, b.start) and _OF_THEM.search(side.text, 0, a.start):
            yield Comparative(i + 1, i, -1, (a.start, b.end))


def _compared(side: Side, match: re.Match[str], *, preposition: bool) -> Iterator[Comparative]:
    """Yield the comparisons that words state; two ranges are compared by both ends."""
    found, end = side.quantities, match.end("article") if match["article"] else match.end()
    that = next((i for i, q in enumerate(found) if q.start >= end), None)
    if that is None or found[that].value is None or _DENIED.search(side.text[: match.start()]):
        return
    if _follows_by(side, found[that]):
        return  # "beat the consensus by 5 cents" is a difference
    between = side.text[end : found[that].start]
    if len(between) > REACH or _BREAK.search(between):
        return
    after = side.text[found[that].end : found[that].end + REACH // 2]
    expected = found[that].is_estimate or _EXPECTED.search(between + after)
    moved = match[0].split()[0].casefold() in ("up", "down")
    if preposition and not (expected or moved):
        return  # "above the $90 level" is a position, not a comparison
    if not preposition and not match["article"] and not found[that].is_estimate:
        return
    this = _nearest(side, match.start(), that)
    if this is None:
        return
    sign = 1 if match["more"] else -1 if match["less"] else 0
    a, b = found[this].link, found[that].link
    ends = [(this, that)]
    if a and b and a[0] == b[0] == "range":
        ends = list(zip(sorted((this, a[1])), sorted((that, b[1])), strict=True))
    for i, j in ends:
        yield Comparative(i, j, sign, (match.start(), found[j].end))


def _nearest(side: Side, before: int, that: int) -> int | None:
    """Return the last figure before the comparing words, in their sentence, of the other's kind."""
    sentence, other = side.sentence_of(before), side.quantities[that]
    for i in range(that - 1, -1, -1):
        quantity = side.quantities[i]
        if quantity.start < sentence.start:
            return None
        if quantity.end > before or quantity.value is None or quantity.kind != other.kind:
            continue
        if quantity.kind == "money" and quantity.unit != other.unit:
            continue
        if quantity.is_estimate or ";" in side.text[quantity.end : before]:
            return None
        opposed = {quantity.direction, other.direction} == {"up", "down"}
        return None if opposed else i
    return None


_FROM = expression("relations", "from")
_AGAINST = expression("relations", "against")
_EARLIER_FORECAST = expression("relations", "earlier_forecast")


@read_once
def earlier_and_later(side: Side) -> list[tuple[int, int]]:
    """Return pairs of indices: of an earlier value, and of the later value of the same variable."""
    found, result = side.quantities, []
    for i, quantity in enumerate(found):
        before = side.text[max(0, quantity.start - REACH) : quantity.start]
        if quantity.value is None:
            continue
        if quantity.link is not None and quantity.link[0] == "from-to":
            if _FROM.search(before):
                result.append((i, quantity.link[1]))
            continue
        forecast = bool(_EARLIER_FORECAST.search(before))
        if not forecast and (
            quantity.is_estimate or not (_FROM.search(before) or _AGAINST.search(before))
        ):
            continue
        start = side.sentence_of(quantity.start).start
        others = [
            j
            for j, other in enumerate(found[:i])
            if other.start >= start
            and quantity.link != ("range", j)
            and same_measure(other, quantity)
            and (forecast or not other.is_estimate)
            and (forecast or other.is_level or quantity.kind != "percent")
            and ";" not in side.text[other.end : quantity.start]
        ]
        result += [(i, j) for j in others[-1:]]
    return list(dict.fromkeys(result))


@read_once
def expected_and_actual(side: Side) -> list[tuple[int, int]]:
    """Return pairs of indices: of the value that analysts expected, and of the actual value."""
    found, result = side.quantities, []
    for i, quantity in enumerate(found):
        if quantity.value is None or not quantity.is_estimate:
            continue
        sentence = side.place_of(quantity.start)
        alike = [
            j
            for j, other in enumerate(found)
            if same_measure(other, quantity)
            and not other.is_estimate
            and not _follows_by(side, other)
            and (other.role == quantity.role or {other.role, quantity.role} & {"money", "number"})
            and side.place_of(other.start) == sentence
        ]
        if alike:
            near = min(alike, key=lambda j: (found[j].start > quantity.start, abs(j - i)))
            result.append((i, near))
    return result


def _follows_by(side: Side, quantity: Quantity) -> bool:
    """Return whether "by" comes before a quantity, which is then a change."""
    return bool(re.search(r"\bby\s(?:\w+\s)?\Z", side.text[: quantity.start]))


# Arithmetic between figures

Formula = Callable[[list[float]], float]
"""A function that returns the distance of values from a relation; 0 if it holds."""


def _change(values: list[float]) -> float:
    old, new, percent = values
    return abs(100 * (new - old) / old) - abs(percent) if old else math.inf


def _multiple(values: list[float]) -> float:
    old, new, times = values
    apart = new / old - times if old else math.inf
    return max(0.0, abs(apart) - MULTIPLE_TOLERANCE * abs(times))


def whole(values: list[float]) -> float:
    """Return how much shares in percent leave of a whole; below 0 if they are more."""
    return 100 - sum(values)


def _sum(values: list[float]) -> float:
    return values[0] - sum(values[1:])


@dataclass(frozen=True, slots=True)
class Relation:
    """An arithmetic relation of quantities; their indices are in the order of its formula."""

    what: str
    members: tuple[int, ...]
    formula: Formula

    def holds(self, found: list[Quantity], slack: float = 1.0, share: float = 0.0) -> bool:
        """Return whether the relation holds, up to the rounding of the written quantities.

        The error may be ``slack`` times the sum of the largest effects of rounding each quantity,
        plus a ``share`` of the computed value.
        """
        values = [worth(q) for q in found]
        apart = abs(self.formula(values))
        if not math.isfinite(apart):
            return False
        rounding = 0.0
        for i, quantity in enumerate(found):
            step = precision(quantity) / (100 if quantity.kind == "basis points" else 1)
            moved = [*values[:i], values[i] + step, *values[i + 1 :]]
            rounding += abs(abs(self.formula(moved)) - apart)
        scale = values[2] if self.formula is _change else values[0]
        return apart <= rounding * slack + share * abs(scale) + 1e-9


_SUM_WORDS = expression("relations", "sum_words")
_SHARE_WORDS = expression("relations", "share_words")
_EACH = re.compile(
    r"\b(?:each|apiece|per|a share|a unit|a barrel|an ounce|a piece)\b", re.IGNORECASE
)
_PART_OF = expression("relations", "part_of")


@read_once
def relations(side: Side) -> list[Relation]:
    """Return the arithmetic relations that hold between quantities of a text.

    The quantities must be in one sentence (a change may be in the next), with a linking word.
    """
    found = side.quantities
    if len(found) > MAX_QUANTITIES:
        return []
    places = [side.place_of(q.start) for q in found]
    supposed = [*_change_relations(side, places), *_sentence_relations(side, places)]
    return [one for one in supposed if one.holds([found[i] for i in one.members])]


def _change_relations(side: Side, places: list[int]) -> Iterator[Relation]:
    found = side.quantities
    for old, new in earlier_and_later(side):
        a, b = found[old], found[new]
        if worth(a) == worth(b):
            continue
        rates = b.kind in ("percent", "basis points")
        for i, q in enumerate(found):
            if i in (old, new) or abs(places[i] - places[new]) > 1 or q.value is None:
                continue
            if q.kind == "percent" and not q.is_level and not rates:
                yield Relation(f"{a.text} to {b.text} is {q.text}", (old, new, i), _change)
            elif q.kind == "ratio" and q.value > 1:
                yield Relation(f"{b.text} is {q.text} from {a.text}", (old, new, i), _multiple)
            elif (q.kind == b.kind or (rates and q.kind == "basis points")) and (
                not q.is_level or _follows_by(side, q)
            ):
                low, high = sorted((old, new), key=lambda k: worth(found[k]))
                what = f"{found[high].text} less {found[low].text} is {q.text}"
                yield Relation(what, (high, low, i), _sum)


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
                yield Relation("the shares make up 100%", tuple(shares), whole)
        each, part_of = _EACH.search(text), _PART_OF.search(text)
        for three in permutations(here, 3) if each or part_of else ():
            a, b, c = (found[i] for i in three)
            if each and a.kind == b.kind == "money" and c.kind == "number":
                what = f"{c.text} at {b.text} come to {a.text}"
                yield Relation(what, three, _product)
            if part_of and a.kind == b.kind in ("money", "number") and c.kind == "percent":
                what = f"{a.text} is {c.text} of {b.text}"
                yield Relation(what, three, _part)


def _sums(found: list[Quantity], here: list[int]) -> Iterator[Relation]:
    for whole in here:
        top = found[whole]
        alike = [
            i
            for i in here
            if i != whole and same_measure(found[i], top) and 0 < worth(found[i]) < worth(top)
        ]
        for size in range(2, min(len(alike), MAX_PARTS) + 1):
            for parts in combinations(alike, size):
                shown = " and ".join(found[i].text for i in parts)
                yield Relation(f"{shown} come to {top.text}", (whole, *parts), _sum)


# Arithmetic that no word announces


_MIDDLE = re.compile(r"\b(?:mid-?point|middle|average|mean|halfway|midway)\b", re.IGNORECASE)


def _product(values: list[float]) -> float:
    return values[0] - values[1] * values[2]


def _part(values: list[float]) -> float:
    return values[0] - values[1] * values[2] / 100


def _step(values: list[float]) -> float:
    """Return how far a change is from its percentage of a level, or of the level before it.

    A gain of $162 to $9,160 is 1.8% of the level before; few figures tell it from 1.8% of $9,160.
    """
    step, level, percent = values
    return min((step - n * percent / 100 for n in (level, level - step, level + step)), key=abs)


def _middle(values: list[float]) -> float:
    return values[0] - (values[1] + values[2]) / 2


@read_once
def unannounced_relations(side: Side) -> list[Relation]:
    """Return the arithmetic between figures of a sentence that no linking word announces.

    Three figures, of which two have one unit: a sum or difference, a change in percent, a part in
    percent, a price times a number, a multiple; the middle of two, where a word names it; or a
    whole and its three or four parts. Figures drawn at random agree so in one text of 200,
    and in none of 1,700 where two of them have three significant digits (`is_exact`).
    """
    found = side.quantities
    if len(found) > MAX_QUANTITIES:
        return []
    announced = {frozenset(relation.members) for relation in relations(side)}
    agree: list[Relation] = []
    for start, end in _whole_sentences(side):
        here = [i for i, q in enumerate(found) if start <= q.start < end and q.value]
        if len(here) not in SENTENCE_QUANTITIES:
            continue
        middle = bool(_MIDDLE.search(side.text, start, end))
        supposed = [*_triples(found, here, middle=middle), *_parts(side, start, here)]
        shares = [i for i in here if found[i].kind == "percent"]
        if len(shares) > 1 and not any(found[i].direction or found[i].link for i in shares):
            supposed.append(Relation("the shares make up 100%", tuple(shares), whole))
        agree += [
            relation
            for relation in supposed
            if frozenset(relation.members) not in announced
            and relation.holds([found[i] for i in relation.members])
        ]
    return agree


def _whole_sentences(side: Side) -> list[Span]:
    """Return the spans of sentences; parts separated by a semicolon are one sentence."""
    spans: list[Span] = []
    for sentence in side.sentences:
        if spans and side.text[: spans[-1][1]].rstrip().endswith(";"):
            spans[-1] = (spans[-1][0], sentence.end)
        else:
            spans.append((sentence.start, sentence.end))
    return spans


def is_exact(members: Sequence[Quantity]) -> bool:
    """Return whether at least two figures are written with three significant digits."""
    digits = [re.sub(r"\D", "", q.form.number).strip("0") for q in members]
    return sum(len(written) >= 3 for written in digits) >= 2


def _triples(found: list[Quantity], here: list[int], *, middle: bool) -> Iterator[Relation]:
    for three in combinations(here, 3):
        low, between, high = sorted(three, key=lambda i: worth(found[i]))
        a, b, c = found[low], found[between], found[high]
        rates = {q.kind for q in (a, b, c)} == {"percent", "basis points"}
        if rates or (same_measure(a, b) and same_measure(b, c)):
            shown = f"{a.text} and {b.text}"
            yield Relation(f"{shown} come to {c.text}", (high, low, between), _sum)
            if middle:
                what = f"{b.text} is the middle of {a.text} and {c.text}"
                yield Relation(what, (between, low, high), _middle)
    for pair in combinations(here, 2):
        less, more = sorted(pair, key=lambda i: worth(found[i]))
        a, b = found[less], found[more]
        if not same_measure(a, b) or not 0 < worth(a) < worth(b):
            continue
        for i in here:
            c = found[i]
            if i in pair or c.value is None or c.value <= 0:
                continue
            if c.kind == "percent" and a.kind not in ("percent", "basis points"):
                yield Relation(f"{a.text} to {b.text} is {c.text}", (less, more, i), _change)
                yield Relation(f"{b.text} to {a.text} is {c.text}", (more, less, i), _change)
                formula = _step if c.direction else _part
                yield Relation(f"{a.text} is {c.text} of {b.text}", (less, more, i), formula)
            elif c.kind == "ratio" and c.value > 1:
                yield Relation(f"{b.text} is {c.text} {a.text}", (less, more, i), _multiple)
            elif c.kind == "number" and a.kind == "money":
                what = f"{c.text} at {a.text} come to {b.text}"
                yield Relation(what, (more, less, i), _product)


def _parts(side: Side, start: int, here: list[int]) -> Iterator[Relation]:
    """Yield a whole and its parts: those that a colon opens, or all other figures of its measure
    ("on three lines: $40m, $25m and $12m").
    """
    found = side.quantities
    colon = side.text.find(":", start, found[here[-1]].start)
    for whole in here:
        alike = [i for i in here if i != whole and same_measure(found[i], found[whole])]
        opened = [i for i in alike if 0 <= colon < found[i].start]
        for parts in dict.fromkeys((tuple(opened), tuple(alike))):
            if 3 <= len(parts) <= MAX_PARTS:
                shown = ", ".join(found[i].text for i in parts)
                yield Relation(f"{shown} come to {found[whole].text}", (whole, *parts), _sum)
