"""Time references that need no digits, and the parts by which times compare."""

import re
from dataclasses import dataclass

__all__ = ["TimeReference", "atoms", "time_references"]

_SPANS = r"year|quarter|month|week|decade|session|summer|winter|spring|autumn|century"
_RELATIVE = {
    **dict.fromkeys(("prior", "previous", "preceding"), "last"),
    **dict.fromkeys(("coming", "following", "upcoming"), "next"),
    "current": "this",
}
_PATTERN = re.compile(
    r"\b(?:(?P<which>last|this|next|prior|previous|preceding|coming|current|upcoming)"
    rf"[\s-](?P<span>{_SPANS})s?"
    r"|(?:a|one)[\s-](?P<ago>year|quarter|month|week)[\s-](?:ago|earlier|prior|before)"
    r"|(?P<over>year|quarter|month|week)[\s-](?:over|on)[\s-](?:year|quarter|month|week)"
    r"|(?P<short>YoY|QoQ|MoM|y/y|q/q|m/m)"
    r"|(?P<adverb>yesterday|today|tomorrow|tonight))\b",
    re.IGNORECASE,
)
_SHORT = {"y": "year", "q": "quarter", "m": "month"}


@dataclass(frozen=True, slots=True)
class TimeReference:
    """A time that a text names; two with equal values name the same time.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        value: The time in one spelling.
        relative: Whether it is told from the day of writing ("last year").
    """

    start: int
    end: int
    text: str
    value: str
    relative: bool = False


def time_references(text: str) -> list[TimeReference]:
    """Return the relative times of a text ("last year", "year over year"), in order."""
    return [
        TimeReference(m.start(), m.end(), m[0], _value(m), True) for m in _PATTERN.finditer(text)
    ]


def _value(match: re.Match[str]) -> str:
    part = {name: found.casefold() for name, found in match.groupdict().items() if found}
    if "which" in part:
        return f"{_RELATIVE.get(part['which'], part['which'])} {part['span']}"
    if "short" in part:
        return f"last {_SHORT[part['short'][0]]}"
    if "adverb" in part:
        return part["adverb"]
    return f"last {part.get('ago') or part['over']}"


_DATE = re.compile(r"(?P<year>[0-9]{4})?-{1,2}(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?")
_PERIOD = re.compile(r"(?:(?:FY)?(?P<year>[0-9]{4})-)?(?P<part>[QH][1-4])")


def atoms(value: str) -> frozenset[str]:
    """Return what a time's value names: {"Q2", "2025"} of "2025-Q2", {"month 05"} of "--05".

    A time that names more than another but agrees with it has all of its parts.
    """
    date, period = _DATE.fullmatch(value), _PERIOD.fullmatch(value)
    if date:
        named = (
            date["year"],
            date["month"] and f"month {date['month']}",
            date["day"] and f"day {date['day']}",
        )
        return frozenset(part for part in named if part)
    if period:
        return frozenset(part for part in (period["year"], period["part"]) if part)
    return frozenset((value.removeprefix("FY"),))
