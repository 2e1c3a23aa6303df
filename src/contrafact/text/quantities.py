"""Quantities in financial prose: money, percentages, basis points, durations, plain numbers.

The grammar is a list of rules, tried in order on what earlier rules left; each rule is a pattern
and a reader that turns a match into a quantity. Digits that name something (years, quarters,
index names, forms, versions) are set aside first by `number_names`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from contrafact.text.number_names import number_names
from contrafact.text.numerals import (
    DIGITS,
    MAGNITUDE,
    WORDS,
    digits_value,
    magnitude_value,
    words_value,
)

__all__ = ["Quantity", "QuantityKind", "new_quantities", "quantities"]

QuantityKind = Literal["money", "percent", "basis points", "duration", "ratio", "number"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a text states.

    Attributes:
        text: The words, sign, currency and unit included: ``source[start:end]``.
        start: Where it begins, in characters.
        end: Where it ends.
        value: Its worth: units of currency (whichever it is), percent, basis points (percentage
            points times 100), days, a multiple ("halved" is 0.5), or the number itself. None
            where the words are vague ("billions", "double-digit").
        kind: What is counted.
    """

    text: str
    start: int
    end: int
    value: float | None
    kind: QuantityKind


_SYMBOL = (
    r"(?:(?:US|AU?|CA?|HK|S|NZ?|NT|R|Z|T|MX)?\$|[€£¥₹₩₽₦฿₺₱₫₴₿]"
    r"|(?<!\w)(?:Rs\.?|Rp\.?|RM|R\$|kr)"
    # One letter stands for a currency where a large amount follows: N300bn, P17.4B.
    r"|(?<!\w)(?-i:N(?=[0-9]{3}|[0-9]+,[0-9]|[0-9.]+(?-i:[mbt]n?\b))"
    r"|[PBK](?=[0-9.]+(?:[mbt]n|[MBT])\b)))"
)
_CODE = (
    r"(?:USD|EUR|GBP|JPY|CNY|CNH|RMB|INR|CHF|CAD|AUD|NZD|HKD|SGD|KRW|BRL|ZAR|MXN|RUB|TRY|SEK|NOK"
    r"|DKK|PLN|NGN|IDR|MYR|THB|PHP|PKR|BDT|AED|SAR|ILS|KES|GHS|EGP|VND|TWD|BTC|ETH)"
)
_CURRENCY_WORD = (
    r"(?:U\.?S\.?\s|Canadian\s|Australian\s|Hong\sKong\s|Singapore\s|Swiss\s)?"
    r"(?:dollars?|euros?|pounds?(?:\ssterling)?|yen|yuan|renminbi|rupees?|rupiah|francs?|won|pesos?"
    r"|roubles?|rubles?|rand|reais|real|lira|zloty|kron(?:a|e|er|or)|crowns?|dinars?|dirhams?|riyals?"
    r"|shekels?|shillings?|naira|cedis?|baht|ringgit|dong|taka|hryvnias?|bitcoins?)\b"
)
_PERCENT = r"(?:\s?[%％]|[\s-]?(?:per\s?cent|percent|pct)\b\.?)(?!age)"
_POINTS = r"(?:[\s-]?(?:percentage|pct|per\s?cent|percent|%)[\s-]points?\b|\s?(?:ppts?|pp)\b)"
_BASIS = r"[\s-]?(?:basis[\s-]points?|bps?)\b"
_DAYS = {"hour": Decimal(1) / 24, "day": Decimal(1), "week": Decimal(7)}
_DAYS |= dict.fromkeys(("month", "mth"), Decimal("30.4375"))
_DAYS |= dict.fromkeys(("year", "yr"), Decimal("365.25"))
_DAYS |= {"quarter": Decimal("91.3125"), "decade": Decimal("3652.5")}
_DURATION = rf"[\s-](?P<span>{'|'.join(_DAYS)})s?\b(?!-point)"
_MEASURE = r"(?:[KMGT]Wh?|kV|km|kg|mt|bpd|boe|bcf|MHz|GHz)\b"
_RATIO = r"(?:x(?!\w)|[\s-]?fold\b|-times\b)"

# A number: a sign where no word or number stands before it, digits or words, a magnitude.
# Digits stuck to letters ("A320", "3D") are names; "GPT-4" is told apart by its missing unit.
_AMOUNT = (
    rf"(?P<sign>(?<![\w%)$€£¥])[+\-−])?"
    rf"(?:(?P<symbol>(?<![A-Za-z0-9]){_SYMBOL}\s?|(?<!\w){_CODE}\s?)"
    rf"|(?<![\w.])(?<![0-9],))"
    rf"(?:(?P<digits>{DIGITS})(?P<magnitude>{MAGNITUDE})?|(?P<words>\b{WORDS}))"
)
_UNIT = (
    rf"(?:(?P<points>{_POINTS})|(?P<percent>{_PERCENT})|(?P<basis>{_BASIS})"
    rf"|(?P<currency>[\s-]?{_CURRENCY_WORD}|\s{_CODE}\b)|(?P<cents>[\s-]cents?\b(?!\s?per\s?cent))"
    rf"|(?P<ratio>{_RATIO})|(?P<duration>{_DURATION})|{_MEASURE})?"
)
# A longer run of digits is no amount that anyone states.
_MAX_DIGITS = 40
# "3D", "10th", "1:30" are no numbers, whatever stands before them.
_NO_NAME_AFTER = r"(?![^\W_]|_|[.,:/][0-9])"
_NAME_BEFORE = re.compile(r"[^\W\d_]{2,}[-–]\Z|[A-Z][-–]\Z")

_VERB = (
    r"(?!\s?-\s?|\s(?:down|dip|digits?|edged|check|whammy|taxation|counting|standards?|shift|bill))"
)
_FRACTION_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_FRACTION_TOPS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_MULTIPLES = {"doubl": "2", "tripl": "3", "trebl": "3", "quadrupl": "4", "halv": "0.5"}
_FOLD = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10}

_Reader = Callable[[re.Match[str]], tuple[Decimal | None, QuantityKind] | None]


def _unit(part: dict[str, str | None]) -> tuple[Decimal, QuantityKind]:
    """Return what one of the amount's unit is worth, and what it counts."""
    if part["points"]:
        return Decimal(100), "basis points"
    if part["percent"]:
        return Decimal(1), "percent"
    if part["basis"]:
        return Decimal(1), "basis points"
    if part["symbol"] or part["currency"]:
        return Decimal(1), "money"
    if part["cents"]:
        return Decimal("0.01"), "money"
    if part["ratio"]:
        return Decimal(1), "ratio"
    if part["span"]:
        return _DAYS[part["span"].casefold()], "duration"
    return Decimal(1), "number"


def _read_amount(match: re.Match[str]) -> tuple[Decimal, QuantityKind] | None:
    part = match.groupdict()
    digits, magnitude, words = part["digits"], part["magnitude"] or "", part["words"]
    unit, kind = _unit(part)
    if digits and len(digits) > _MAX_DIGITS:
        return None
    if kind == "number":
        # A bare "one" is a pronoun, and bare digits after "GPT-" are part of a name.
        if words and words.casefold() in ("one", "zero"):
            return None
        before = match.string[max(0, match.start() - 4) : match.start()]
        if digits and not magnitude and _NAME_BEFORE.search(before):
            return None
    value = words_value(words) if words else digits_value(digits) * magnitude_value(magnitude)
    return (-value if part["sign"] in ("-", "−") else value) * unit, kind


def _read_part_of_point(match: re.Match[str]) -> tuple[Decimal, QuantityKind]:
    parts = {"quarter": 25, "half": 50, "three-quarter": 75, "full": 100}
    return Decimal(parts[match["part"].casefold().replace(" ", "-")]), "basis points"


def _read_fraction(match: re.Match[str]) -> tuple[Decimal, QuantityKind]:
    bottom = match["bottom"].casefold().rstrip("s")
    top = match["top"].casefold() if match["top"] else "a"
    value = Decimal(_FRACTION_TOPS[top]) / _FRACTION_PARTS[bottom if bottom != "halve" else "half"]
    return value, "ratio"


def _read_multiple(match: re.Match[str]) -> tuple[Decimal, QuantityKind]:
    return Decimal(_MULTIPLES[match["multiple"].casefold()]), "ratio"


def _read_fold(match: re.Match[str]) -> tuple[Decimal, QuantityKind]:
    return Decimal(_FOLD[match["fold"].casefold()]), "ratio"


def _read_split(match: re.Match[str]) -> tuple[Decimal, QuantityKind] | None:
    top, bottom = (
        digits_value(n) if n[0].isdigit() else words_value(n) for n in (match["new"], match["old"])
    )
    return (top / bottom, "ratio") if bottom else None


def _read_vague(match: re.Match[str]) -> tuple[None, QuantityKind]:
    return None, "money" if match["currency"] or match["symbol"] else "number"


_RULES: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (
            r"\b(?P<part>three[ -]quarter|quarter|half|full)(?:[ -]of)?(?:[ -]an?)?[ -]"
            r"(?:percentage[ -])?points?\b",
            _read_part_of_point,
        ),
        (
            rf"\b(?P<new>[0-9]{{1,6}}|{WORDS})-for-(?P<old>[0-9]{{1,6}}|{WORDS})\b",
            _read_split,
        ),
        (
            rf"\b(?P<multiple>doubl|tripl|trebl|quadrupl)(?:e[sd]|ed|(?:ing|e)\b{_VERB})\b",
            _read_multiple,
        ),
        (r"\b(?P<multiple>halv)(?:es?|ed|ing)\b", _read_multiple),
        (r"\b(?P<fold>two|three|four|five|six|seven|eight|ten)-?fold\b", _read_fold),
        (
            r"\b(?P<top>one|two|three|four)-(?P<bottom>half|thirds?|quarters?|fourths?|fifths?|tenths?)"
            r"\b(?!-)",
            _read_fraction,
        ),
        (
            r"\b(?:(?P<top>a|one|two|three|four)\s)?"
            r"(?P<bottom>half|thirds?|quarters?|fifths?|tenths?)"
            r"(?=\sof\s(?:the|its|their|his|her|all|our|total|investors|firms|consumers)\b)"
            r"(?!\sof\sthe\s(?:year|month|decade|century)\b)",
            _read_fraction,
        ),
        (
            r"(?<=\bby )(?:a|one)\s(?P<bottom>half|third|quarter|fifth|tenth)(?P<top>)\b",
            _read_fraction,
        ),
        (r"(?:(?<=\bby )|(?<=\bin ))(?P<bottom>half)(?P<top>)\b", _read_fraction),
        (
            rf"(?P<symbol>{_SYMBOL})?\b(?:tens|hundreds|thousands|lakhs|crores|millions|billions"
            r"|trillions|dozens)(?:\sof\s(?:thousands|millions|billions|trillions))?\b"
            rf"(?P<currency>\s(?:of\s)?{_CURRENCY_WORD})?",
            _read_vague,
        ),
        (
            r"\b(?:single|double|triple|high-single|low-double|mid-single)[ -]digits?\b"
            r"(?P<currency>)(?P<symbol>)",
            _read_vague,
        ),
        (_AMOUNT + _UNIT + _NO_NAME_AFTER, _read_amount),
    )
)


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order and without overlap.

    For each, ``text[q.start:q.end]`` is ``q.text``. Both ends of a range are quantities of the
    range's kind: "3-5%" is 3 and 5 percent, "$1 to $2 billion" is one and two billion. Years,
    dates, hours, quarters, index names, ranks, forms, tenors of instruments and versions are not
    returned.
    """
    taken = bytearray(len(text))
    for name in number_names(text):
        taken[name.start : name.end] = b"\x01" * (name.end - name.start)
    found: list[tuple[Quantity, re.Match[str]]] = []
    for pattern, reader in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            read = reader(match)
            if read is None:
                continue
            end = start + len(match[0].rstrip())
            value = None if read[0] is None else float(read[0])
            taken[start:end] = b"\x01" * (end - start)
            found.append((Quantity(text[start:end], start, end, value, read[1]), match))
    found.sort(key=lambda pair: pair[0].start)
    return _with_ranges(text, found)


def new_quantities(original: str, other: str) -> list[Quantity]:
    """Return the quantities of ``other`` that ``original`` does not state.

    Two quantities are the same when kind and value agree, however they are written ("25 bps" and
    "a quarter point"); vague ones when kind and words agree.
    """
    known = {_key(quantity) for quantity in quantities(original)}
    return [quantity for quantity in quantities(other) if _key(quantity) not in known]


def _key(quantity: Quantity) -> tuple[str, float | str]:
    if quantity.value is None:
        return quantity.kind, " ".join(quantity.text.casefold().split())
    return quantity.kind, quantity.value


_JOINER = re.compile(r"\s?[-–—]\s?|\sto\s|\sor\s")
_BETWEEN = re.compile(r"\bbetween\s\Z", re.IGNORECASE)


def _with_ranges(text: str, found: list[tuple[Quantity, re.Match[str]]]) -> list[Quantity]:
    """Give the two ends of each range one kind and one magnitude."""
    result = [quantity for quantity, _ in found]
    for i in range(len(found) - 1):
        (low, low_match), (high, high_match) = (
            (result[i], found[i][1]),
            (result[i + 1], found[i + 1][1]),
        )
        joined = _JOINER.fullmatch(text, low.end, high.start) or (
            text[low.end : high.start].casefold() == " and "
            and _BETWEEN.search(text[max(0, low.start - 10) : low.start])
        )
        if not joined or low.value is None or high.value is None:
            continue
        low_parts, high_parts = low_match.groupdict(), high_match.groupdict()
        if not (low_parts.get("digits") and high_parts.get("digits")):
            continue
        scale = 1.0
        low_number, high_number = (digits_value(p["digits"]) for p in (low_parts, high_parts))
        if high_parts["magnitude"] and not low_parts["magnitude"] and low_number <= high_number:
            scale = float(magnitude_value(high_parts["magnitude"]))
        if low.kind == "number" and high.kind != "number":
            unit, kind = _unit(high_parts)
            result[i] = replace(low, kind=kind, value=low.value * scale * float(unit))
        elif low.kind == "money" and high.kind in ("number", "money"):
            result[i] = replace(low, value=low.value * scale)
            result[i + 1] = replace(high, kind="money")
        elif low.kind == high.kind:
            result[i] = replace(low, value=low.value * scale)
    return result
