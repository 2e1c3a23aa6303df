"""Losses, what was expected, and whether a result beat it."""

import re
from functools import cache

from contrafact.text.alternatives import alternatives
from contrafact.text.quantities.cues import cue_data
from contrafact.text.quantities.quantity import Expectation, Quantity

__all__ = ["Outcome", "outcome"]

# Words further off, in characters, say nothing of a quantity.
_REACH = 160

Outcome = tuple[bool, bool, Expectation | None]


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{alternatives(cue_data()['outcome'][name])})(?!\w)", re.I)


_NO_LOSS_BEFORE = re.compile(r"\b(?:stop|job|weight|storm|flood|fire|credit|loan)[\s-]\Z", re.I)
_OF_VALUE = re.compile(
    r"\s(?:in|of|from|off)\s(?:[\w'’]+\s){0,2}?(?:market\s)?(?:value|valuation|cap\b|capitali[sz]ation|worth)",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[,;:]\s|\b(?:while|but|after|as|whereas)\b", re.IGNORECASE)
_EXPECTED_BEFORE = re.compile(
    r"\b(?<!\bis\s)(?<!\bare\s)(?:estimates?|consensus|expectations?|forecasts?|projections?|views?|expected|expecting"
    r"|predicted|street)\b(?:\s(?:of|for|was|were|is|at|a|an|the|to|about|around|in|poll|average|profit"
    r"|earnings|revenue|sales|eps|loss|rise|gain|increase|decline|fall|drop|[a-z]+ly)){0,7}"
    r"\s?\Z",
    re.IGNORECASE,
)
_EXPECTED_AFTER = re.compile(
    r"(?:\s(?:per|a)\sshare|\sin\s\w+)?(?:\s(?:that|which))?,?\s\(?(?:(?:expected|forecast|estimated|projected|predicted"
    r"|consensus|estimates?)\b|(?:the\s)?(?:[\w.]+\s){0,3}?(?:analysts?|economists|wall\sstreet|street|markets?)\b"
    r"['’s]*\s(?:[\w.]+\s){0,3}?(?:expect\w*|forecast\w*|estimate\w*|projected|consensus|predicted"
    r"|anticipated|polled)\b)",
    re.IGNORECASE,
)
_COMPANY_GUIDES = re.compile(
    r"\b(?:its|their|guidance|company|raised?s?|lifted|lifts|cut|hikes?)\b", re.I
)


def outcome(text: str, quantity: Quantity, first: int, end: int) -> Outcome:
    """Return whether a quantity is a loss, an estimate, and a beat or a miss.

    Args:
        text: The text.
        quantity: The quantity.
        first: Where its sentence begins.
        end: Where its sentence ends.
    """
    before = text[max(first, quantity.start - _REACH) : quantity.start]
    after = text[quantity.end : min(end, quantity.end + _REACH)]
    is_estimate = _is_estimate(before, after)
    if quantity.kind == "duration":
        return False, False, None
    return _is_loss(before, after, quantity), is_estimate, _expectation(before, after, is_estimate)


def _is_loss(before: str, after: str, quantity: Quantity) -> bool:
    if quantity.kind != "money":
        return False
    right = re.match(r"(?:\s[\w.-]+){0,3}?\s(?:loss(?:es)?)\b(?!-)", after, re.IGNORECASE)
    if right and not _BREAK.search(right[0]):
        return True
    if _OF_VALUE.match(after):
        return False
    nearest, is_loss = -1, False
    for name in ("loss", "profit"):
        for match in _pattern(name).finditer(before):
            if match.end() > nearest and not _NO_LOSS_BEFORE.search(before[: match.start()]):
                nearest, is_loss = match.end(), name == "loss"
    if nearest < 0 or not is_loss:
        return False
    gap = before[nearest:]
    return gap.count(" ") <= 14 and not re.search(r"\b(?:but|while|whereas)\b|;", gap)


def _is_estimate(before: str, after: str) -> bool:
    if _EXPECTED_AFTER.match(after):
        return True
    match = _EXPECTED_BEFORE.search(before[-90:])
    return bool(match) and not _COMPANY_GUIDES.search(before[-90:])


def _expectation(before: str, after: str, is_estimate: bool) -> Expectation | None:
    """Return beat or miss by the nearest word of the sentence, None for an estimate itself."""
    if is_estimate:
        return None
    nearest: tuple[int, Expectation] | None = None
    sides: tuple[Expectation, Expectation] = ("beat", "miss")
    for name in sides:
        for match in _pattern(name).finditer(before):
            distance = len(before) - match.end()
            if nearest is None or distance < nearest[0]:
                nearest = distance, name
        for match in _pattern(name).finditer(after):
            if nearest is None or match.start() < nearest[0]:
                nearest = match.start(), name
    if nearest is None or not _pattern("expected").search(before + " " + after):
        return None
    return nearest[1]
