"""How far a number may move: the ranges of new values, and the limits of macro-economic ones.

RFC-BENCH, appendix S.2, 6 and 7.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from contrafact.families.rfc.contracts.exempt import WHOLE
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, worth

__all__ = ["MACRO", "MACRO_LIMITS", "TWICE", "allowed", "macro_problem", "role_of"]

# How far a number may move

LARGER = 1.5
TWICE = 2.0
HALF = 0.5
"""A new value has 1.5 times to twice the old one's size, or at most half of it (S.2, 6, for
increases; money and counts follow their style)."""

ABSOLUTE_TOP, ABSOLUTE_BELOW = 200.0, 130.0
"""An increase of less than 130% may reach 200% instead of twice its size. S.2, 6 says "200% of X",
which the paper's own 28% for 8% (2.2.2) exceeds: both readings are allowed."""

DECLINES: tuple[tuple[float, float, float], ...] = (
    (40.0, 1.5, 60.0),
    (60.0, 1.5, 90.0),
    (math.inf, 1.3, 100.0),
)
"""A decline of less than so many percent becomes at least so many times as large, and at most so
many percent (S.2, 6); or at most `HALF` as large."""

MACRO_LIMITS: Mapping[str, float] = {
    "monthly inflation": 3.3,
    "inflation": 30.0,
    "unemployment": 25.0,
    "quarterly GDP": 10.0,
    "GDP": 20.0,
    "rate decision": 1.0,
}
"""Percent, or points, within which macro-economic values stay (S.2, 7; monthly inflation "within
about 3 points")."""

ABOUT = 1.05  # times a limit of GDP that "about" allows (ours)

UNUSUAL_POLICY_MOVE = 2.0
"""Points by which a policy rate's level moves that no decision would bring about (ours: S.2, 7 is
of decisions; between two levels there may be several)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a new value may lie: from ``low`` to ``high``, or at most ``half``."""

    low: float
    high: float
    half: float

    def holds(self, value: float, slack: float) -> bool:
        return self.low - slack <= value <= self.high + slack or 0 < value <= self.half + slack

    def in_words(self, unit: str) -> str:
        low, high, half = (
            f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"
            for value in (self.low, self.high, self.half)
        )
        return f"{low} to {high}{unit}, or under {half}{unit}"


def allowed(old: Quantity) -> Bounds:
    """Return the ranges for a quantity's new value (magnitudes; signs are kept elsewhere).

    Percentages that go up or down have those of S.2, item 6. A percentage that only stands at a
    level may lie in either's; money, counts and multiples follow the style of increases.
    """
    x = abs(old.value or 0.0)
    if old.kind != "percent":
        return Bounds(LARGER * x, TWICE * x, HALF * x)
    top = TWICE * x if x >= ABSOLUTE_BELOW else max(TWICE * x, ABSOLUTE_TOP)
    up = Bounds(LARGER * x, top, HALF * x)
    times, most = next((row[1:] for row in DECLINES if x < row[0]), DECLINES[-1][1:])
    down = Bounds(times * x, most, HALF * x)
    if old.is_level or old.direction is None:
        return Bounds(min(up.low, down.low), max(up.high, down.high), up.half)
    return down if old.direction == "down" else up


# Macro-economic values

MACRO = ("inflation", "unemployment", "gdp", "policy rate")
_MONTH = r"january|february|march|april|may|june|july|august|september|october|november|december"
_MONTHLY = re.compile(
    r"\b(?:month[\s-](?:over|on|to)[\s-]month|mom|m/m|monthly"
    r"|from (?:the )?(?:previous|prior|last|a) month|(?:on|in|for) the month|a month earlier"
    rf"|from (?:{_MONTH}))\b",
    re.IGNORECASE,
)
_QUARTERLY = expression("limits", "quarterly")
_ANNUAL = expression("limits", "annual")
_EXCEPTIONS = {
    "inflation": re.compile(r"\bhyper-?inflation", re.IGNORECASE),
    "unemployment": re.compile(
        r"\b(?:cris[ie]s|youth|young|teenage|depression|pandemic|lockdown)", re.IGNORECASE
    ),
    "gdp": re.compile(r"\b(?:cris[ie]s|rebound|reopening|pandemic|lockdown)", re.IGNORECASE),
    "policy rate": re.compile(
        r"\b(?:shock|emergency|surprise|unexpected|jumbo|outsized|aggressive)", re.IGNORECASE
    ),
}
_PRICES = re.compile(
    r"\b(?:(?:consumer|producer)\sprice|core\sprices|CPI|PPI|inflation|cost\sof\sliving)", re.I
)
_STILL_PRICES = re.compile(r"(?:It|In the (?:12|twelve) months|Core|Excluding|The index|Prices)\b")
_CLAUSE = re.compile(r"[,;]\s|\s(?:and|while|but|as)\s")


def role_of(side: Side, quantity: Quantity) -> str:
    """Return what a quantity measures; a percentage of a sentence on consumer prices is inflation,
    whatever its words call it.
    """
    if quantity.kind == "percent" and quantity.role in ("price", "percent", "rate"):
        sentence = side.sentence_of(quantity.start)
        before = side.sentence_of(max(0, sentence.start - 1)).start
        start = before if _STILL_PRICES.match(side.text, sentence.start) else sentence.start
        if _PRICES.search(side.text, start, sentence.end):
            return "inflation"
    return quantity.role


def macro_problem(
    pair: Pair, old: Quantity, new: Quantity, limits: Mapping[str, float] = MACRO_LIMITS
) -> str | None:
    """Return what makes a new macro-economic value impossible (S.2, 7), none if nothing."""
    role, points, before = role_of(pair.original, old), worth(new), worth(old)
    if role == "unemployment" and not 0 <= points <= WHOLE:
        return f"unemployment of {points:g}% is impossible"
    if old.kind == "money" or _EXCEPTIONS[role].search(pair.original.text):
        return None
    clause = _clause(pair.rewritten, new)
    annual = bool(_ANNUAL.search(clause))
    if role == "inflation" and _MONTHLY.search(clause) and not annual:
        role = "monthly inflation"
    if role == "gdp":
        role = "quarterly GDP" if _QUARTERLY.search(clause) and not annual else "GDP"
    if role == "policy rate":
        if old.is_level and old.kind != "basis points":
            if abs(points - before) <= max(UNUSUAL_POLICY_MOVE, abs(before)):
                return None
            return f"a policy rate of {points:g}%, once {before:g}%, is beyond any usual decision"
        role = "rate decision"
    most = limits[role]
    if abs(points) > most * (ABOUT if "GDP" in role else 1.0) + 1e-9 and abs(before) <= most:
        return f"'{new.text}' is beyond {most:g} points: {role}"
    return None


def _clause(side: Side, quantity: Quantity) -> str:
    sentence = side.sentence_of(quantity.start)
    before = [m.end() for m in _CLAUSE.finditer(side.text, sentence.start, quantity.start)]
    after = _CLAUSE.search(side.text, quantity.end, sentence.end)
    return side.text[
        before[-1] if before else sentence.start : after.start() if after else sentence.end
    ]
