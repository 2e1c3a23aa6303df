"""The times in a text, by value: dates, quarters, weekdays, "last year", "a year ago"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contrafact.text.identifiers import Identifier

__all__ = ["TimeReference", "time_parts", "times"]

TIME_KINDS = ("year", "quarter", "half", "date", "time")
_SPANS = r"year|quarter|month|week|decade|session|summer|winter|spring|autumn|century"
_RELATIVE = {
    **dict.fromkeys(("prior", "previous", "preceding"), "last"),
    **dict.fromkeys(("coming", "following", "upcoming"), "next"),
    "current": "this",
}
_TIME = re.compile(
    r"\b(?:(?P<which>last|this|next|prior|previous|preceding|coming|current|upcoming)"
    rf"[\s-](?P<span>{_SPANS})s?"
    r"|(?:a|one)[\s-](?P<ago>year|quarter|month|week)[\s-](?:ago|earlier|prior|before)"
    r"|(?P<over>year|quarter|month|week)[\s-](?:over|on)[\s-](?:year|quarter|month|week)"
    r"|(?P<short>yoy|qoq|mom|y/y|q/q|m/m)"
    r"|(?P<adverb>yesterday|today|tomorrow|tonight))\b",
    re.IGNORECASE,
)
_SHORT = {"y": "year", "q": "quarter", "m": "month"}
_DATE = re.compile(r"(?P<year>[0-9]{4})?-{1,2}(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?")
_PERIOD = re.compile(r"(?:(?:FY)?(?P<year>[0-9]{4})-)?(?P<part>[QH][1-4])")


@dataclass(frozen=True, slots=True)
class TimeReference:
    """A reference to a time; ``value`` is equal for equal times.

    It is ``relative`` if it depends on the day of writing ("last year").
    """

    start: int
    end: int
    text: str
    value: str
    relative: bool = False


def times(
    text: str, names: Sequence[Identifier], taken: list[tuple[int, int]]
) -> list[TimeReference]:
    """Return all references to times, in order; relative ones must not overlap ``taken``."""
    references = [
        TimeReference(n.start, n.end, n.text, n.value) for n in names if n.kind in TIME_KINDS
    ]
    taken = [*taken, *((name.start, name.end) for name in names)]
    for match in _TIME.finditer(text):
        start, end = match.span()
        if not any(first < end and start < last for first, last in taken):
            references.append(TimeReference(start, end, match[0], _time_value(match), True))
    return sorted(references, key=lambda time: time.start)


def _time_value(match: re.Match[str]) -> str:
    part = {name: words.casefold() for name, words in match.groupdict().items() if words}
    if "which" in part:
        return f"{_RELATIVE.get(part['which'], part['which'])} {part['span']}"
    if "short" in part:
        return f"last {_SHORT[part['short'][0]]}"
    if "adverb" in part:
        return part["adverb"]
    return f"last {part.get('ago') or part['over']}"


def time_parts(value: str) -> frozenset[str]:
    """Return the parts of a time's value: {"Q2", "2025"} of "2025-Q2", {"month 05"} of "--05".

    A more precise time that agrees with another has all parts of the other.
    """
    if date := _DATE.fullmatch(value):
        day = date["day"] and f"day {date['day']}"
        return frozenset(filter(None, (date["year"], f"month {date['month']}", day)))
    if period := _PERIOD.fullmatch(value):
        return frozenset(filter(None, (period["year"], period["part"])))
    return frozenset((value.removeprefix("FY"),))
