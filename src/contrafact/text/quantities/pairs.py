"""Quantities that belong together: the ends of a range, an old and a new value."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from contrafact.text.quantities.quantity import Quantity

__all__ = ["Pair", "pairs"]


class Pair(NamedTuple):
    """Two quantities of one sentence, by index; ``old`` is the old one of from-to."""

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
_ASIDE = re.compile(r",?\sor\s(?:about\s)?|\s\((?:or\s|about\s)*", re.IGNORECASE)
_DASH = re.compile(r"\s?[-–—]\s?|\sto\s(?:about\s|around\s)?")


def pairs(text: str, found: list[Quantity], ends: list[int], changed: set[int]) -> list[Pair]:
    """Return the pairs of a text's quantities; a quantity is in one pair at most.

    Args:
        text: The text.
        found: Its quantities, in order.
        ends: Where its sentences end.
        changed: The indices of the changes that follow a word of movement ("rose $5").
    """
    result: list[Pair] = []
    used: set[int] = set()
    for i, low in enumerate(found[:-1]):
        if i in used or low.kind == "duration":
            continue
        sentence = bisect_right(ends, low.start)
        first, end = (ends[sentence - 1] if sentence else 0), ends[sentence]
        for j in _candidates(text, found, i):
            if found[j].kind != low.kind or found[j].end > end or j in used:
                continue
            pair = _pair(text, (first, end), found, i, j, i in changed)
            if pair:
                result.append(pair)
                used |= {i, j}
                break
    return result


def _candidates(text: str, found: list[Quantity], i: int) -> Iterator[int]:
    """Yield the next quantity, and the one after an aside: "$5 million, or 12 cents a share"."""
    if i + 2 < len(found) and _ASIDE.fullmatch(text, found[i].end, found[i + 1].start):
        yield i + 2
    yield i + 1


def _pair(
    text: str, sentence: tuple[int, int], found: list[Quantity], i: int, j: int, changed: bool
) -> Pair | None:
    low, high = found[i], found[j]
    before = text[max(sentence[0], low.start - 60) : low.start]
    start = low.end if j == i + 1 else found[i + 1].end
    gap = text[start : high.start]
    if _TO_AFTER.fullmatch(gap):
        if _RANGING.search(before):
            return Pair(i, j, "range", None)
        if _FROM.search(before):
            return Pair(i, j, "from-to", i)
    if _FROM_AFTER.fullmatch(gap) and not _starts_a_pair(text, found, j):
        return Pair(i, j, "from-to", j)
    if _VERSUS.fullmatch(gap) and _EARLIER.match(text[high.end : sentence[1]]):
        return Pair(i, j, "from-to", j)
    if j > i + 1:
        return None
    if _BETWEEN.search(before) and gap.casefold() == " and ":
        return Pair(i, j, "range", None)
    if _DASH.fullmatch(gap):
        far = changed and low.value and high.value and high.value > 4 * low.value
        return None if far else Pair(i, j, "range", None)
    return None


def _starts_a_pair(text: str, found: list[Quantity], j: int) -> bool:
    """Whether the quantity after "from" has its own "to": "beat estimates from 2% to 3%"."""
    return j + 1 < len(found) and bool(_DASH.fullmatch(text, found[j].end, found[j + 1].start))
