"""What a numerical rewrite may leave unchanged, and how far the values it changes may move.

RFC-BENCH, appendices R.2 and S.2: periods, versions, counts in words and shares (items 1, 3 and 4),
the ranges of new values (6), and the limits of macro-economic ones (7).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from contrafact.families.rfc.contracts.numbers import matched_quantities
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, worth

SMALL_NUMBER = 20
"""The largest number in words that may stay unchanged, as a count of people or turns (ours)."""

WHOLE = 100.0
"""The percentage that a decline or a part of a whole cannot exceed (S.2, 4)."""

REACH = 80
"""How many characters around a figure are searched for words that tell what it is (ours)."""

_SHARES = ("share", "utilisation", "engagement")

# Periods

_PERIOD = expression("exempt", "period")
_PERIOD_AFTER = re.compile(
    r"\s?(?:ago|earlier|high|low|ended|ending|through|to\s(?:end|june|march))", re.IGNORECASE
)


def is_period(side: Side, quantity: Quantity) -> bool:
    """Return whether a quantity names a period ("the past three months"), not a value to change."""
    return quantity.kind == "duration" and bool(
        "-" in quantity.text
        or _PERIOD.search(side.text, max(0, quantity.start - REACH), quantity.start)
        or _PERIOD_AFTER.match(side.text, quantity.end)
    )


# Counts and vague numbers

_AGED = re.compile(r"\bage[sd]?\s(?:\d+\s(?:to|and|-)\s)?(?:between\s)?\Z", re.IGNORECASE)


def is_exempt(side: Side, quantity: Quantity) -> bool:
    """Return whether a small or vague number may stay: "two analysts", "a third", "dozens"."""
    if quantity.value is None or quantity.value == 0:
        return True
    if quantity.form.style in ("fraction", "multiple", "fold", "vague"):
        return True
    small = abs(quantity.value) <= SMALL_NUMBER and quantity.kind in ("number", "ratio")
    spelled = quantity.form.style == "words" or bool(re.match(r"[^\W\d]", quantity.text))
    before = side.text[max(0, quantity.start - REACH) : quantity.start]
    return (small and spelled) or bool(_AGED.search(before))


# Numbers that are names

_LISTED = expression("exempt", "listed")
_LIST_START = expression("exempt", "list_start")
_INDEX = re.compile(r"\b(?:index|gauge|PMI|ISM|indicator|survey|reading|barometer)\b", re.I)
_OF_THE_WORLD = expression("exempt", "of_the_world")
_COUNTED = re.compile(r"\s(?:\w+\s)?[a-z]+(?:s|people|men|women)\b")
_OF_A_LINE = re.compile(r"\s(?:series|models?|lines?|handsets?|jets|consoles?)\b")
_ONE_MODEL = re.compile(r"\s(?:series|model|handset|jet|console)\b")
_NAMED = re.compile(r"\b([A-Z][\w-]{0,60})\s\Z")


def is_version(side: Side, quantity: Quantity) -> bool:
    """Return whether a number is a name: a product's version ("the Lumen 7 camera"), the count of a
    listicle ("10 Best AI Stocks"), a constant of the world ("of the 50 states").
    """
    if quantity.kind != "number" or not re.fullmatch(r"\d{1,4}|[A-Za-z]+", quantity.text):
        return False
    text, start, end = side.text, quantity.start, quantity.end
    sentence = side.sentence_of(start)
    before = text[max(sentence.start, start - REACH) : start]
    if _LISTED.match(text, end) and _LIST_START.search(before):
        return sentence.titled or start > sentence.start
    if _is_constant(side, quantity, before):
        return True
    if quantity.form.style == "digits" and _ONE_MODEL.match(text, end) and quantity.value != 1:
        return True
    named = _NAMED.search(before)
    if quantity.form.style != "digits" or named is None or sentence.titled or quantity.unit:
        return False
    if named.start() == 0:
        return False
    return not _COUNTED.match(text, end) or bool(_OF_A_LINE.match(text, end))


def _is_constant(side: Side, quantity: Quantity, before: str) -> bool:
    of_all = re.search(r"\b(?:of|all|the)\s(?:the\s|its\s|all\s)?\Z", before)
    if of_all and _OF_THE_WORLD.match(side.text, quantity.end):
        return True
    line = re.search(r"\b(?:above|below|under|over|past|of|crossed)\s(?:[\w-]+\s){0,2}\Z", before)
    splits = re.match(
        r"[\s-](?:mark|level|threshold|line|point|mean|indicat|signal|show)",
        side.text[quantity.end :],
    )
    return quantity.value in (0, 50, 100) and bool((line or splits) and _INDEX.search(side.text))


@read_once
def perturbed_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the index pairs of corresponding quantities, without numbers that are names."""
    return [
        (i, j)
        for i, j in matched_quantities(pair)
        if not is_version(pair.original, pair.original.quantities[i])
    ]


# Parts of a whole

_OF_WHOLE = expression("exempt", "of_whole")
_SHARE_AT = expression("exempt", "share_at")

_SURVEYED = re.compile(r"\b(?:polled|surveyed|respondents)\b", re.IGNORECASE)


def is_bounded_share(side: Side, quantity: Quantity) -> bool:
    """Return whether a percentage is a part of a whole: a share, a utilisation, a mix."""
    if quantity.kind != "percent" or abs(worth(quantity)) > WHOLE or quantity.direction == "down":
        return False
    if quantity.role in _SHARES and quantity.is_level:
        return True
    before = side.text[max(0, quantity.start - REACH) : quantity.start]
    if quantity.is_level and not quantity.direction and _SURVEYED.search(side.text):
        return True
    of_whole = bool(_OF_WHOLE.match(side.text, quantity.end)) and not quantity.direction
    return of_whole or (quantity.is_level and bool(_SHARE_AT.search(before)))


# How far a number may move

LARGER = 1.5
TWICE = 2.0
HALF = 0.5
"""A new value is 1.5 to 2 times the old value, or at most half of it (S.2, 6, on increases; money
and counts follow the same rule)."""

ABSOLUTE_TOP, ABSOLUTE_BELOW = 200.0, 130.0
"""An increase of less than 130% may reach 200% instead of twice its size. S.2, 6 says "200% of X",
which the paper's own 28% for 8% (2.2.2) exceeds: both readings are allowed."""

DECLINES: tuple[tuple[float, float, float], ...] = (
    (40.0, 1.5, 60.0),
    (60.0, 1.5, 90.0),
    (math.inf, 1.3, 100.0),
)
"""Rows of (limit, times, most): a decline of less than ``limit`` percent becomes at least ``times``
as large and at most ``most`` percent (S.2, 6), or at most `HALF` as large."""

MACRO_LIMITS: Mapping[str, float] = {
    "monthly inflation": 3.3,
    "inflation": 30.0,
    "unemployment": 25.0,
    "quarterly GDP": 10.0,
    "GDP": 20.0,
    "rate decision": 1.0,
}
"""The limits of macro-economic values, in percent or points (S.2, 7; monthly inflation "within
about 3 points")."""

ABOUT = 1.05  # factor by which "about" extends a limit of GDP (ours)

UNUSUAL_POLICY_MOVE = 2.0
"""The most points by which the level of a policy rate may plausibly move (ours: S.2, 7 limits a
single decision; between two levels there may be several)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The allowed range of a new value: from ``low`` to ``high``, or at most ``half``."""

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
    """Return the ranges for a quantity's new value (magnitudes; signs are checked elsewhere).

    Percentages that rise or fall have the ranges of S.2, item 6. A percentage that is a level may
    lie in either range; money, counts and multiples have the range of increases.
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
    """Return what a quantity measures; in a sentence on consumer prices, a percentage is inflation,
    whatever the words around it say.
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
    """Return why a new macro-economic value is impossible (S.2, 7), or None if it is possible."""
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
