"""Numbers exempt from change, or from the ranges: periods, versions, small ones, shares."""

import re

from contrafact.families.rfc.contracts.numbers import quantity_matches
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.text.quantities import Quantity

__all__ = [
    "SHARES",
    "SMALL_NUMBER",
    "WHOLE",
    "is_bounded_share",
    "is_exempt",
    "is_period",
    "is_share_in_words",
    "is_version",
    "matched_quantities",
    "perturbed_quantities",
]

SMALL_NUMBER = 20
"""The largest number in words that may count people or turns and stay (ours)."""

PERIOD_WINDOW = (24, 12)
"""Characters before and after a duration in which words make it a period (ours)."""

COUNTED_WINDOW = 30
"""Characters after a number in which a noun shows that it counts something (ours)."""

WHOLE = 100.0
"""Percent that a decline, and a part of a whole, cannot exceed (S.2, 4)."""

SHARE_WINDOW = (80, 60)
"""Characters before and after a percentage in which words make it the size of a part (ours)."""

SHARES = ("share", "utilisation", "engagement")
"""Roles of a percentage that is a part of a whole (S.2, 6)."""

# Numbers in words that count people or turns, not what is measured: a rewrite may leave them.
_COUNTED_IN_WORDS = re.compile(
    r"\A[\s-](?:of\b|or\b|people|analysts?|executives?|companies|firms|brothers|founders"
    r"|directors|sources|sides|parties"
    r"|countries|nations|states|ways|times|men|women|reasons|things|factors|key|main|major|big"
    r"|biggest|largest"
    r"|straight|consecutive|successive|other|different|separate|new\sreasons|top|traders|investors"
    r"|economists|officials|banks|rivals|partners|former|senior|more|days?|weeks?|months?|years?"
    r"|quarters?"
    r"|decades?|sessions?|of\sits|sister|neighbou?rs|continents|regions|fronts|takeaways|stocks)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:past|last|next|previous|first|over|in|for|the|within|every|final|recent|coming|prior"
    r"|after|of)\s"
    r"(?:the\s|past\s|last\s|next\s|first\s|coming\s|a\s)?\Z",
    re.IGNORECASE,
)
_PERIOD_AFTER = re.compile(
    r"\A\s?(?:ago|earlier|high|low|ended|ending|through|to\s(?:end|june|march))", re.IGNORECASE
)
_COUNTED = re.compile(r"\A\s(?:\w+\s)?[a-z]+(?:s|people|men|women)\b")


def is_period(side: Side, quantity: Quantity) -> bool:
    """Whether a duration names a period ("the past three months"), which is no quantity here."""
    if quantity.kind != "duration":
        return False
    before, after = PERIOD_WINDOW
    return bool(
        _PERIOD.search(side.text[max(0, quantity.start - before) : quantity.start])
        or _PERIOD_AFTER.match(side.text[quantity.end : quantity.end + after])
        or "-" in quantity.text
    )


def is_exempt(side: Side, quantity: Quantity) -> bool:
    """Whether a small or vague number may stay: "two analysts", "one-third", "dozens"."""
    if quantity.value is None:
        return True
    if (
        quantity.form.style == "words"
        and quantity.kind in ("number", "ratio")
        and quantity.value <= SMALL_NUMBER
    ):
        after = side.text[quantity.end : quantity.end + COUNTED_WINDOW]
        return bool(_COUNTED_IN_WORDS.match(after)) or after[:1] in ("-", "")
    if re.search(
        r"\bage[sd]?\s(?:\d+\s(?:to|and|-)\s)?(?:between\s)?\Z", side.text[: quantity.start]
    ):
        return True
    return quantity.form.style == "vague"


def is_version(side: Side, quantity: Quantity) -> bool:
    """Whether a bare number right after a capitalised word is its version: "the Lumen 7 camera"."""
    if quantity.kind != "number" or quantity.form.style != "digits" or quantity.form.after:
        return False
    if not re.fullmatch(r"\d{1,4}", quantity.text) or quantity.unit is not None:
        return False
    sentence = side.sentence_of(quantity.start)
    before = re.search(r"\b([A-Z][\w-]*)\s\Z", side.text[sentence.start : quantity.start])
    if before is None or sentence.titled or before.start() == 0:
        return False
    return not _COUNTED.match(side.text[quantity.end : quantity.end + COUNTED_WINDOW])


@read_once
def matched_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the quantities that stand for each other, by their indices, versions included."""
    return [
        (match.original, match.rewritten)
        for match in quantity_matches(pair)
        if match.original is not None and match.rewritten is not None
    ]


@read_once
def perturbed_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the quantities that stand for each other, without a product's version."""
    return [
        (i, j)
        for i, j in matched_quantities(pair)
        if not is_version(pair.original, pair.original.quantities[i])
    ]


# Parts of a whole

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
_ANSWERED = re.compile(
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


def is_bounded_share(text: str, quantity: Quantity) -> bool:
    """Return whether a percentage is a part of a whole: a share, a utilisation, a mix."""
    if quantity.kind != "percent":
        return quantity.role in SHARES
    if abs(quantity.value or 0.0) > WHOLE:
        return False  # "net retention at 118%": beyond a whole already
    if quantity.role in SHARES or is_share_in_words(text, quantity):
        return True
    return quantity.is_level and bool(
        _RATIO_OF_WHOLE.match(text[quantity.end : quantity.end + SHARE_WINDOW[1]])
    )


def is_share_in_words(text: str, quantity: Quantity) -> bool:
    """Return whether words make a percentage the size of a part: "62% said", "share to 34%"."""
    before, after = SHARE_WINDOW
    return quantity.kind == "percent" and bool(
        _ANSWERED.match(text[quantity.end : quantity.end + after])
        or _SHARE_AT.search(text[max(0, quantity.start - before) : quantity.start])
    )
