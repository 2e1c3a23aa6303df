"""Numbers that a numerical rewrite may or must leave: periods, versions, counts in words, shares.

RFC-BENCH, appendices R.2 and S.2, 1, 3 and 4.
"""

import re

from contrafact.families.rfc.contracts.numbers import matched_quantities
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, worth

__all__ = [
    "SMALL_NUMBER",
    "WHOLE",
    "is_bounded_share",
    "is_exempt",
    "is_period",
    "is_version",
    "perturbed_quantities",
]

SMALL_NUMBER = 20
"""The largest number in words that may count people or turns and stay (ours)."""

WHOLE = 100.0
"""Percent that a decline, and a part of a whole, cannot exceed (S.2, 4)."""

REACH = 80
"""Characters before and after a figure in which words decide what it is (ours)."""

_SHARES = ("share", "utilisation", "engagement")

# Periods

_PERIOD = expression("exempt", "period")
_PERIOD_AFTER = re.compile(
    r"\s?(?:ago|earlier|high|low|ended|ending|through|to\s(?:end|june|march))", re.IGNORECASE
)


def is_period(side: Side, quantity: Quantity) -> bool:
    """Whether a duration names a period ("the past three months"), which is no quantity here."""
    return quantity.kind == "duration" and bool(
        "-" in quantity.text
        or _PERIOD.search(side.text, max(0, quantity.start - REACH), quantity.start)
        or _PERIOD_AFTER.match(side.text, quantity.end)
    )


# Counts and vague numbers

_AGED = re.compile(r"\bage[sd]?\s(?:\d+\s(?:to|and|-)\s)?(?:between\s)?\Z", re.IGNORECASE)


def is_exempt(side: Side, quantity: Quantity) -> bool:
    """Whether a small or vague number may stay: "two analysts", "a third", "doubled", "dozens"."""
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
_NAMED = re.compile(r"\b([A-Z][\w-]{0,60})\s\Z")


def is_version(side: Side, quantity: Quantity) -> bool:
    """Whether a number is a name and stays: a product's version ("the Lumen 7 camera"), the count
    of a listicle ("10 Best AI Stocks"), a constant of the world ("of the 50 states").
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
    """Return the quantities that stand for each other, without those that are names."""
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
