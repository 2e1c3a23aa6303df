"""How far a number may move: the ranges of RFC-BENCH, appendix S.2, items 4 to 7."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from contrafact.text.quantities import Quantity

__all__ = [
    "Bounds",
    "allowed",
    "bounded_share",
    "is_level_of_whole",
    "is_macro",
    "is_shock",
    "macro_problem",
    "precision",
]

_SHARES = ("share", "utilisation", "engagement")
_MACRO = ("inflation", "unemployment", "gdp", "policy rate")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a new value may lie: above ``low`` and up to ``high``, or at most half.

    Attributes:
        low: The least value of the upper range.
        high: The most.
        half: The most of the lower range.
        note: What a reader should know of the range that applied, if anything.
    """

    low: float
    high: float
    half: float
    note: str = ""

    def holds(self, value: float, slack: float) -> bool:
        """Whether a value lies in either range, rounding apart."""
        return self.low - slack <= value <= self.high + slack or 0 < value <= self.half + slack

    def said(self, unit: str) -> str:
        """Return the ranges in words."""
        return (
            f"{_plain(self.low)} to {_plain(self.high)}{unit}, or under {_plain(self.half)}{unit}"
        )


def _plain(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def precision(quantity: Quantity) -> float:
    """Return half of the last place that a quantity is written to, in its measure."""
    match = re.search(r"[.,](\d+)\Z", quantity.form.number)
    decimals = 0
    if match and (match[0][0] == "." or len(match[1]) < 3):
        decimals = len(match[1])
    return 0.5 * 10.0**-decimals * abs(quantity.form.factor)


def allowed(old: Quantity, direction: str | None) -> Bounds:
    """Return the ranges for a quantity's new value (magnitudes; signs are kept elsewhere).

    Percentages that go up or down have those of item 6. A percentage that only stands at a level
    may lie in either's; money, counts and multiples follow the style of increases, 1.5 times to
    twice, or under half.
    """
    x = abs(old.value or 0.0)
    if old.kind != "percent":
        return Bounds(1.5 * x, 2 * x, 0.5 * x)
    if direction == "down":
        return _decline(x)
    up = _increase(x)
    if direction == "up":
        return up
    down = _decline(x)
    return Bounds(min(up.low, down.low), max(up.high, down.high), up.half)


def _increase(x: float) -> Bounds:
    if x >= 130:
        return Bounds(1.5 * x, 2 * x, 0.5 * x)
    return Bounds(1.5 * x, max(2 * x, 200.0), 0.5 * x)


def _decline(x: float) -> Bounds:
    if x < 40:
        return Bounds(1.5 * x, 60.0, 0.5 * x)
    if x < 60:
        return Bounds(1.5 * x, 90.0, 0.5 * x)
    return Bounds(1.3 * x, 100.0, 0.5 * x)


_RATIO_OF_WHOLE = re.compile(
    r"\A\s?(?:stake|interest\sin|ownership|share\sof|of\s(?:its|the|their|all|total|revenue|sales"
    r"|customers?|users|respondents|shares|analysts|investors|orders|capacity|profit|equity|gdp"
    r"|income"
    r"|households|consumers|companies|voting|which|those|global|u\.?s\.?|group|net|employees"
    r"|workers"
    r"|people|americans|homes|firms|businesses|traders|economists|staff|production|output"
    r"|respondents|managers|executives|voters|members|adults|workforce|seats|portfolio))",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\A\s(?:of\s(?:the\s)?(?:\w+\s)?(?:respondents|managers|executives|those|analysts|investors"
    r"|economists|consumers|voters|members|adults|households|firms|companies)\b"
    r"|(?:said|say|saying|think|thought|believe[ds]?|answered|agreed?|plan(?:ned)?\sto)\b"
    r"|(?:chance|probability|likelihood|odds)\b)",
    re.IGNORECASE,
)
_SHARE_AT = re.compile(
    r"(?:\b(?:market\sshare|share\sof\s(?:the\s)?\w+|occupancy|load\sfactor|utili[sz]ation)\b"
    r"[^.;,%]{0,45}?\s(?:to|of|at|from|was|is|reached|hit)\s(?:about\s|around\s|nearly\s)?"
    r"(?:\d[\d.]*\s?%\sfrom\s)?"
    r"|\b(?:chance|probability|likelihood|odds)\s(?:\w+\s){0,2}(?:of|at|to)\s)\Z",
    re.IGNORECASE,
)


def bounded_share(text: str, quantity: Quantity) -> bool:
    """Whether a percentage is a part of a whole: a share, a utilisation, an engagement, a mix."""
    if quantity.kind != "percent":
        return quantity.role in _SHARES
    if abs(quantity.value or 0.0) > 100:
        return False  # "net retention at 118%": beyond a whole already
    if quantity.role in _SHARES or is_level_of_whole(text, quantity):
        return True
    return quantity.is_level and bool(_RATIO_OF_WHOLE.match(text[quantity.end : quantity.end + 40]))


def is_level_of_whole(text: str, quantity: Quantity) -> bool:
    """Whether a percentage says how large a part is, by its words: "62% said", "share to 34%"."""
    return quantity.kind == "percent" and bool(
        _SAID.match(text[quantity.end : quantity.end + 60])
        or _SHARE_AT.search(text[max(0, quantity.start - 80) : quantity.start])
    )


def is_macro(quantity: Quantity) -> bool:
    """Whether the macro-economic limits apply instead of the ranges."""
    return quantity.role in _MACRO


_MONTHLY = re.compile(
    r"\b(?:month[\s-](?:over|on|to)[\s-]month|mom|m/m|monthly|from (?:the )?(?:previous|prior"
    r"|last|a) month"
    r"|on the month|in the month|for the month|a month earlier|from (?:january|february|march"
    r"|april|may|june"
    r"|july|august|september|october|november|december))\b",
    re.IGNORECASE,
)
_QUARTERLY = re.compile(
    r"\b(?:quarter[\s-](?:over|on|to)[\s-]quarter|qoq|q/q|quarterly|from (?:the )?(?:previous"
    r"|prior|last) "
    r"quarter|(?:first|second|third|fourth|this|last|the|final|previous) quarter|q[1-4]"
    r"|three months)\b",
    re.IGNORECASE,
)
_ANNUAL = re.compile(
    r"\b(?:annuali[sz]ed|annual|year[\s-](?:over|on)[\s-]year|yoy|y/y|from a year"
    r"|a year (?:earlier|ago)"
    r"|full[\s-]year|for the year|per year)\b",
    re.IGNORECASE,
)
_HYPER = re.compile(r"\bhyper-?inflation", re.IGNORECASE)
_CRISIS = re.compile(
    r"\b(?:cris[ie]s|youth|young|teenage|depression|pandemic|lockdown)", re.IGNORECASE
)
_REBOUND = re.compile(r"\b(?:cris[ie]s|rebound|reopening|pandemic|lockdown)", re.IGNORECASE)
_SHOCK = re.compile(
    r"\b(?:shock|emergency|surprise|unexpected|jumbo|outsized|aggressive)", re.IGNORECASE
)


def is_shock(text: str) -> bool:
    """Whether a text speaks of a shock move of rates already."""
    return bool(_SHOCK.search(text))


def macro_problem(original: str, sentence: str, old: Quantity, new: Quantity) -> Iterator[str]:
    """Yield what makes a new macro-economic value impossible (item 7).

    Args:
        original: The whole original, which may speak of a crisis or a shock.
        sentence: The sentence around the value.
        old: The value it had.
        new: The value it has.
    """
    if old.value is None or new.value is None:
        return
    points = new.value / 100 if new.kind == "basis points" else new.value
    before = old.value / 100 if old.kind == "basis points" else old.value
    size = abs(points)
    if old.role == "inflation":
        if _MONTHLY.search(sentence) and not _ANNUAL.search(sentence):
            if size > 3.0 + 0.3 and abs(before) <= 3.3:
                yield f"a monthly move of {points:g}% is beyond 3 points"
        elif size > 30.0 and not _HYPER.search(original) and abs(before) <= 30.0:
            yield f"inflation of {points:g}% is beyond 30%"
    elif old.role == "unemployment":
        if not 0 <= points <= 100:
            yield f"unemployment of {points:g}% is impossible"
        elif points > 25.0 and not _CRISIS.search(original) and before <= 25.0:
            yield f"unemployment of {points:g}% is beyond 25%"
    elif old.role == "gdp":
        if old.kind == "money" or _REBOUND.search(original):
            return
        quarterly = _QUARTERLY.search(sentence) and not _ANNUAL.search(sentence)
        most = 10.0 if quarterly else 20.0
        if size > most * 1.05 and abs(before) <= most:
            kind = "quarterly" if quarterly else "annual"
            yield f"a {kind} change of GDP of {points:g}% is beyond {most:g}%"
    elif old.role == "policy rate" and not _SHOCK.search(original):
        if not old.is_level or old.kind == "basis points":
            if size > 1.0 + 1e-9 and abs(before) <= 1.0:
                yield f"a rate decision of {_points(size)} is beyond 1 percentage point"
        elif abs(points - before) > max(2.0, abs(before)):
            yield f"a policy rate of {points:g}%, once {before:g}%, is beyond any usual decision"


def _points(size: float) -> str:
    return (
        f"{size * 100:g} basis points"
        if not math.isclose(size, round(size))
        else f"{size:g} points"
    )
