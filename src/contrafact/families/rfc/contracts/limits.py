"""How far a number may move: the ranges of new values, and the limits of macro-economic ones.

RFC-BENCH, appendix S.2, 6 and 7.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contrafact.families.rfc.contracts.exempt_numbers import WHOLE
from contrafact.families.rfc.contracts.numbers import worth
from contrafact.text.quantities import Quantity

__all__ = [
    "DECLINES",
    "MACRO",
    "MACRO_LIMITS",
    "SHOCK",
    "TWICE",
    "Bounds",
    "allowed",
    "macro_problem",
]

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

MACRO_LIMITS: Mapping[str, float] = MappingProxyType(
    {
        "monthly inflation": 3.3,
        "inflation": 30.0,
        "unemployment": 25.0,
        "quarterly GDP": 10.0,
        "GDP": 20.0,
        "rate decision": 1.0,
    }
)
"""Percent, or points, within which macro-economic values stay (S.2, 7; monthly inflation "within
about 3 points")."""

ABOUT = 1.05
"""Times a limit of GDP that "about" allows (ours)."""

UNUSUAL_POLICY_MOVE = 2.0
"""Points by which a policy rate's level moves that no decision would bring about (ours: S.2, 7 is
of decisions; between two levels there may be several)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a new value may lie: from ``low`` to ``high``, or at most ``half``.

    Attributes:
        low: The least value of the upper range.
        high: The most.
        half: The most of the lower range.
    """

    low: float
    high: float
    half: float

    def holds(self, value: float, slack: float) -> bool:
        """Return whether a value lies in either range, rounding apart."""
        return self.low - slack <= value <= self.high + slack or 0 < value <= self.half + slack

    def in_words(self, unit: str) -> str:
        """Return the ranges in words."""

        def figure(value: float) -> str:
            return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"

        return (
            f"{figure(self.low)} to {figure(self.high)}{unit}, or under {figure(self.half)}{unit}"
        )


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


MACRO = ("inflation", "unemployment", "gdp", "policy rate")
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
SHOCK = re.compile(
    r"\b(?:shock|emergency|surprise|unexpected|jumbo|outsized|aggressive)", re.IGNORECASE
)


def macro_problem(
    original: str,
    clause: str,
    old: Quantity,
    new: Quantity,
    limits: Mapping[str, float] = MACRO_LIMITS,
) -> str | None:
    """Return what makes a new macro-economic value impossible (S.2, 7), none if nothing.

    Args:
        original: The whole original, which may speak of a crisis or a shock.
        clause: The clause around the value, in the rewrite.
        old: The value it had.
        new: The value it has.
        limits: How far it may go.
    """
    if old.value is None or new.value is None:
        return None
    points, before = worth(new), worth(old)
    size = abs(points)
    if old.role == "inflation":
        if _MONTHLY.search(clause) and not _ANNUAL.search(clause):
            if size > limits["monthly inflation"] >= abs(before):
                return f"a monthly move of {points:g}% is beyond 3 points"
        elif size > limits["inflation"] >= abs(before) and not _HYPER.search(original):
            return f"inflation of {points:g}% is beyond {limits['inflation']:g}%"
    elif old.role == "unemployment":
        if not 0 <= points <= WHOLE:
            return f"unemployment of {points:g}% is impossible"
        if points > limits["unemployment"] >= before and not _CRISIS.search(original):
            return f"unemployment of {points:g}% is beyond {limits['unemployment']:g}%"
    elif old.role == "gdp":
        if old.kind == "money" or _REBOUND.search(original):
            return None
        quarterly = _QUARTERLY.search(clause) and not _ANNUAL.search(clause)
        most = limits["quarterly GDP" if quarterly else "GDP"]
        if size > most * ABOUT and abs(before) <= most:
            kind = "quarterly" if quarterly else "annual"
            return f"a {kind} change of GDP of {points:g}% is beyond {most:g}%"
    elif old.role == "policy rate" and not SHOCK.search(original):
        if not old.is_level or old.kind == "basis points":
            most = limits["rate decision"]
            if size > most + 1e-9 and abs(before) <= most:
                whole = math.isclose(size, round(size))
                shown = f"{size:g} points" if whole else f"{size * 100:g} basis points"
                return f"a rate decision of {shown} is beyond {most:g} percentage point"
        elif abs(points - before) > max(UNUSUAL_POLICY_MOVE, abs(before)):
            return f"a policy rate of {points:g}%, once {before:g}%, is beyond any usual decision"
    return None
