"""Figures that a text sets against each other in words: fewer than the 165,000 predicted.

RFC-BENCH, appendices R.1 and S.2, items 2 and 8: what was more stays more, and the words say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from contrafact.families.rfc.contracts.findings import Span
from contrafact.families.rfc.contracts.pair import Side
from contrafact.text.quantities import Quantity

__all__ = ["Comparative", "comparatives"]

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
_BESIDE = re.compile(
    r"\b(?:(?P<more>above|ahead\sof|exceed(?:ed|s|ing)|beat(?:s|ing)?|top(?:ped|s|ping)"
    r"|surpass(?:ed|es|ing)|up\sfrom)"
    r"|(?P<less>below|short\sof|shy\sof|behind|miss(?:ed|es|ing)|trail(?:ed|s|ing)"
    r"|lag(?:ged|s|ging)|down\sfrom))\s(?P<article>" + _ARTICLE + r"\s)(?:\w+\s){0,2}?",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\b(?:consensus|estimates?|expect\w*|forecasts?|predict\w*|projection\w*|projected"
    r"|pencill?ed|analysts?|economists?|street|target\w*)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|n['’]t)\s\Z", re.IGNORECASE)
_BREAK = re.compile(r"[;]|[.!?]\s")
_REACH = 60  # characters from the words to the figure they lead to


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


def comparatives(side: Side) -> list[Comparative]:
    """Return the figures that a text sets against each other, in order.

    "More than 40 stores" compares nothing; "more than the 40 that were planned" does.
    """
    known = side.memo.get("comparatives")
    if not isinstance(known, list):
        known = side.memo["comparatives"] = list(_found(side))
    return known


_OF_THEM = re.compile(r"\b[Oo]f\s(?:the\s|its\s|their\s|all\s|some\s|about\s)*\Z")


def _parts(side: Side) -> Iterator[Comparative]:
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


def _found(side: Side) -> Iterator[Comparative]:
    yield from _parts(side)
    for match in _THAN.finditer(side.text):
        yield from _compared(side, match, beside=False)
    for match in _BESIDE.finditer(side.text):
        yield from _compared(side, match, beside=True)


def _compared(side: Side, match: re.Match[str], *, beside: bool) -> Iterator[Comparative]:
    found = side.quantities
    end = match.end("article") if match["article"] else match.end()
    that = next((i for i, q in enumerate(found) if q.start >= end), None)
    if that is None or found[that].value is None or _DENIED.search(side.text[: match.start()]):
        return
    between = side.text[end : found[that].start]
    if len(between) > _REACH or _BREAK.search(between) or "," in between:
        return
    expected = found[that].is_estimate or bool(
        _EXPECTED.search(between + side.text[found[that].end : found[that].end + 30])
    )
    moved = match[0].split()[0].casefold() in ("up", "down")
    if beside and not (expected or moved):
        return  # "above the $90 level" is a place
    if not beside and not match["article"] and not found[that].is_estimate:
        return
    this = _nearest(side, match.start(), found[that], that)
    if this is None:
        return
    sign = 1 if match["more"] else -1 if match["less"] else 0
    for i, j in _ends(found, this, that):
        yield Comparative(i, j, sign, (match.start(), found[j].end))


def _nearest(side: Side, before: int, other: Quantity, that: int) -> int | None:
    """Return the last figure before the words that is of the other's kind."""
    sentence = side.sentence_of(before)
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


def _ends(found: list[Quantity], this: int, that: int) -> list[tuple[int, int]]:
    """Return the pairs to compare: the lower ends and the upper ends of two ranges."""
    a, b = found[this].link, found[that].link
    if a and b and a[0] == b[0] == "range":
        lows, highs = sorted((this, a[1])), sorted((that, b[1]))
        return list(zip(lows, highs, strict=True))
    return [(this, that)]
