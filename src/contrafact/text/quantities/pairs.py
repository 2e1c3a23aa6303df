"""Quantities that belong together: the ends of a range, an old and a new value."""

import re
from typing import NamedTuple

from contrafact.text.quantities.quantity import Quantity

__all__ = ["Pair", "pairs"]


class Pair(NamedTuple):
    """Two neighbouring quantities, ``second == first + 1``; ``old`` is the old one of from-to."""

    first: int
    second: int
    kind: str
    old: int | None


_FILL = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|just|over|under|more than|less than"
    r"|as (?:high|low|much) as|a|an|the|its|some|only|at least|[a-z]+ly|between)\s)*"
)
_FROM = re.compile(rf"\bfrom\s{_FILL}\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s(?:about\s|around\s)?\Z", re.IGNORECASE)
_RANGING = re.compile(
    r"\b(?:rang(?:e|es|ed|ing)|anywhere|var(?:y|ies|ied|ying)|spanning)\s(?:\w+\s){0,2}from\s\Z",
    re.I,
)
_WORDS = r"(?:[\s,]+(?!to\b|from\b)[^\s,;:.!?]+){0,8}?"
_TO_AFTER = re.compile(rf"{_WORDS},?\sto\s{_FILL}", re.IGNORECASE)
_FROM_AFTER = re.compile(rf"{_WORDS}[,(]?\s[,(]?(?:up\s|down\s)?from\s{_FILL}", re.IGNORECASE)
_VERSUS = re.compile(
    rf"{_WORDS},?\s\(?(?:compared\s(?:with|to)|versus|vs\.?|against)\s{_FILL}", re.IGNORECASE
)
_EARLIER = re.compile(
    r"[^.;]{0,40}?\b(?:a\s(?:year|month|quarter|week)\s(?:ago|earlier|before)|previously|last\s(?:year"
    r"|month|quarter)|(?:the\s)?(?:prior|previous|preceding|same|year-ago|year-earlier)\b|in\s20[0-9]{2})",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s?[-–—]\s?|\sto\s(?:about\s|around\s)?")


def pairs(text: str, found: list[Quantity], ends: list[int], moved: set[int]) -> list[Pair]:
    """Return the pairs of a text's quantities; a quantity is in one pair at most.

    Args:
        text: The text.
        found: Its quantities, in order.
        ends: Where its sentences end.
        moved: The indices of the changes that follow a word of movement ("rose $5").
    """
    result: list[Pair] = []
    sentence, first, i = 0, 0, 0
    while i + 1 < len(found):
        low, high = found[i], found[i + 1]
        while ends[sentence] <= low.start:
            first = ends[sentence]
            sentence += 1
        pair = None
        if high.end <= ends[sentence] and low.kind == high.kind and low.kind != "duration":
            pair = _pair(text, first, ends[sentence], low, high, i, i in moved)
        if pair is None:
            i += 1
        else:
            result.append(pair)
            i += 2
    return result


def _pair(
    text: str, first: int, end: int, low: Quantity, high: Quantity, i: int, moved: bool
) -> Pair | None:
    before = text[max(first, low.start - 60) : low.start]
    gap = (text, low.end, high.start)
    if _RANGING.search(before) and _TO_AFTER.fullmatch(*gap):
        return Pair(i, i + 1, "range", None)
    if _FROM.search(before) and _TO_AFTER.fullmatch(*gap):
        return Pair(i, i + 1, "from-to", i)
    if _FROM_AFTER.fullmatch(*gap):
        return Pair(i, i + 1, "from-to", i + 1)
    if _VERSUS.fullmatch(*gap) and _EARLIER.match(text[high.end : end]):
        return Pair(i, i + 1, "from-to", i + 1)
    if _BETWEEN.search(before) and text[low.end : high.start].casefold() == " and ":
        return Pair(i, i + 1, "range", None)
    if _DASH.fullmatch(*gap):
        far = moved and low.value and high.value and high.value > 4 * low.value
        return None if far else Pair(i, i + 1, "range", None)
    return None
