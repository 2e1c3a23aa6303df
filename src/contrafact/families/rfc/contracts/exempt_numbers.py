"""Numbers that a numerical rewrite may leave, or must: periods, versions, small ones in words."""

import re

from contrafact.families.rfc.contracts.numbers import quantity_matches
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.text.quantities import Quantity

__all__ = [
    "SMALL_NUMBER",
    "is_exempt",
    "is_period",
    "is_version",
    "matched_quantities",
    "perturbed_quantities",
]

SMALL_NUMBER = 20
"""The largest number in words that may count people or turns and stay (ours)."""

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
    return bool(
        _PERIOD.search(side.text[max(0, quantity.start - 24) : quantity.start])
        or _PERIOD_AFTER.match(side.text[quantity.end : quantity.end + 12])
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
        after = side.text[quantity.end : quantity.end + 20]
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
    return not _COUNTED.match(side.text[quantity.end : quantity.end + 30])


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
