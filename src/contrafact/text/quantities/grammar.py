"""The grammar of quantities: money, percentages, basis points, durations, plain numbers.

A rule is a pattern and a function that turns a match into a quantity. Rules are tried in order on
the text that `identifiers` and earlier rules have not matched.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from contrafact.text.identifiers import MOST_FIGURES, identifiers, too_many_figures
from contrafact.text.numerals import (
    DIGITS,
    MAGNITUDE,
    WORDS,
    digits_value,
    magnitude_value,
    plain_digits,
    words_value,
)
from contrafact.text.quantities.quantity import Form, Quantity, QuantityKind
from contrafact.text.quantities.roles import cue_data
from contrafact.text.tokens import folded

_OF_COUNTRY = {
    ("canadian", "dollar"): "CAD",
    ("australian", "dollar"): "AUD",
    ("hong kong", "dollar"): "HKD",
    ("singapore", "dollar"): "SGD",
}


@cache
def _currencies(name: str) -> dict[str, str]:
    """Return the ISO codes of currencies by their ``signs`` or by their ``words``."""
    rows: dict[str, str] = cue_data()["currency"][name]
    return {spelled: code for code, row in rows.items() for spelled in row.split()}


def currency_code(text: str) -> str | None:
    """Return the ISO code of a written currency ("€", "Rs.", "Canadian dollars", "HKD").

    A dollar without a country is the US dollar, a peso the Mexican one; ambiguous words ("crowns",
    "dinars") give None.
    """
    name = re.sub(r"[\s-]+", " ", folded(text.strip(" -.\t\n")))
    name = name.removeprefix("of ")
    signs, words = _currencies("signs"), _currencies("words")
    if name in signs:
        return signs[name]
    if re.fullmatch("[a-z]{3}", name) and name not in words:
        return name.upper()
    country, _, word = name.removesuffix(" sterling").rpartition(" ")
    word = word if word in words else word.removesuffix("s")
    return _OF_COUNTRY.get((country, word)) or words.get(word)


_SYMBOL = (
    r"(?:(?:US|AU?|CA?|HK|S|NZ?|NT|R|Z|T|MX)?\$|[€£¥₹₩₽₦฿₺₱₫₴₿]"
    r"|(?<!\w)(?:Rs\.?|Rp\.?|RM|R\$|kr)"
    # One letter is a currency only before a large amount: N300bn, P17.4B.
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
_PERCENT = r"(?:\s?[%‰]|[\s-]?(?:per[\s-]?cent|pct|(?-i:pc))\b\.?|\s?p\.c\.)(?!age)"
_POINTS = (
    r"(?:[\s-]?(?:percentage|pct|per\s?cent|%)[\s-]points?\b|\s?(?:ppts?|pp)\b|\s?p\.p\.(?!\w))"
)
_CENTS = (
    r"(?:[\s-](?:cents?|pence|paisa|paise)\b(?!\s?per\s?cent)|\s?(?:¢|cts?\b)|(?-i:[cp])(?!\w))"
)
_BASIS = r"[\s-]?(?:basis[\s-]points?|bps?)\b"
_DAYS = {"hour": Decimal(1) / 24, "day": Decimal(1), "week": Decimal(7)}
_DAYS |= dict.fromkeys(("month", "mth"), Decimal("30.4375"))
_DAYS |= dict.fromkeys(("year", "yr"), Decimal("365.25"))
_DAYS |= {"quarter": Decimal("91.3125"), "decade": Decimal("3652.5")}
_SPANS = {"mth": "month", "yr": "year"}
_DURATION = rf"[\s-](?P<span>{'|'.join(_DAYS)})s?\b(?!-point)"
_MEASURE = r"(?:mboe(?:/d)?|[KMGT]Wh?|kV|km|kg|mt|bpd|boe|bcf|MHz|GHz)\b"
_RATIO = r"(?:x(?!\w)|[\s-]?fold\b|-times\b)"

# The start of an amount in digits: a guard that fails quickly without one.
_DIGITS_FOLLOW = (
    r"(?=[-+−$€£¥₹₩₽₦฿₺₱₫₴₿0-9.½¼¾⅓⅔⅕-⅞]|(?<![A-Za-z0-9])[A-Za-z]{1,3}(?:\.|\$)?\s?[0-9.])"
)
# A number: a sign unless it follows a word or number, digits or words, a magnitude. Digits next to
# letters ("A320", "3D") are names; "GPT-4" is one because it has no unit.
_AMOUNT_START = (
    rf"(?P<sign>(?<![\w%)$€£¥])[+\-−])?"
    rf"(?:(?P<symbol>(?<![A-Za-z0-9]){_SYMBOL}\s?|(?<!\w){_CODE}\s?)"
    rf"|(?<![\w.])(?<![0-9],))"
)
_IN_DIGITS = rf"{_DIGITS_FOLLOW}{_AMOUNT_START}(?P<digits>{DIGITS})(?P<magnitude>{MAGNITUDE})?"
_UNIT = (
    rf"(?:(?P<points>{_POINTS})|(?P<percent>{_PERCENT})|(?P<basis>{_BASIS})"
    rf"|(?P<currency>[\s-]?{_CURRENCY_WORD}|\s{_CODE}\b)|(?P<cents>{_CENTS})"
    rf"|(?P<ratio>{_RATIO})|(?P<duration>{_DURATION})|(?P<measure>{_MEASURE}))?"
)
# A loss in the notation of accounts: "(1.2)", "$(0.12)", "(3.4)m".
_IN_BRACKETS = (
    rf"(?P<sign>(?:(?P<outside>(?<![A-Za-z0-9]){_SYMBOL}\s?)|(?<!\w))\()"
    rf"(?P<symbol>{_SYMBOL}\s?)?(?P<digits>{DIGITS})(?P<magnitude>{MAGNITUDE})?"
    rf"(?P<inside>{_PERCENT})?\)(?P<scale>{MAGNITUDE})?{_UNIT}"
)
_IN_WORDS = rf"{_AMOUNT_START}(?P<words>\b{WORDS})"
# Nobody states an amount with more digits.
_MAX_DIGITS = 40
# "3D", "10th", "1:30" are not numbers, whatever comes before them.
_NO_NAME_AFTER = r"(?![^\W_]|_|[.,:/][0-9])"
_NAME_BEFORE = re.compile(r"[^\W\d_]{2}[-–]\Z|[A-Z][-–]\Z")

_TWO_SPEED = re.compile(
    r"-(?:speed|way|tier|sided|step|pronged|wheel|party|track|horse|stop|off)\b|\s(?:said|say|to\stango)\b",
    re.IGNORECASE,
)

_VERB = (
    r"(?!\s?-\s?|\s(?:down|dip|digits?|edged|check|whammy|taxation|counting|standards?|shift|bill))"
)
_FRACTION_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_FRACTION_TOPS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}
_FACTORS = {"doubl": "2", "tripl": "3", "trebl": "3", "quadrupl": "4", "halv": "0.5"}
_FACTORS |= {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_FACTORS |= {"eight": "8", "ten": "10"}

_Style = Literal["fraction", "multiple", "fold", "part", "split"]


class _Amount(NamedTuple):
    value: Decimal | None
    kind: QuantityKind
    unit: str | None
    form: Form


_Reader = Callable[[re.Match[str]], _Amount | None]


def _unit(part: dict[str, str | None]) -> tuple[Decimal, QuantityKind, str | None]:
    """Return the value of one unit of an amount, the amount's kind, and the unit's name."""
    if part["points"]:
        return Decimal(100), "basis points", "pp"
    if part["percent"]:
        return Decimal("0.1" if "‰" in part["percent"] else 1), "percent", "%"
    if part["basis"]:
        return Decimal(1), "basis points", "bps"
    if part["cents"]:
        coin = _COINS.get(part["cents"].strip(), part["cents"])
        return Decimal("0.01"), "money", currency_code(part["symbol"] or coin)
    if part["symbol"] or part["currency"]:
        return Decimal(1), "money", currency_code(part["currency"] or part["symbol"] or "")
    if part["ratio"]:
        return Decimal(1), "ratio", "x"
    if part["span"]:
        span = folded(part["span"])
        return _DAYS[span], "duration", f"{_SPANS.get(span, span)}s"
    return Decimal(1), "number", part["measure"]


_COINS = {"¢": "cent", "c": "cent", "ct": "cent", "cts": "cent", "p": "pence"}


def _read_amount(match: re.Match[str]) -> _Amount | None:
    part = match.groupdict()
    digits, magnitude, words = part.get("digits"), part.get("magnitude") or "", part.get("words")
    sign = part["sign"] or ""
    worth, kind, unit = _unit(part)
    if digits and len(digits) > _MAX_DIGITS:
        return None
    if magnitude == "mm" and kind != "money":
        return None  # millimetres
    if kind == "number":
        # A bare "one" is a pronoun, and bare digits after "GPT-" are part of a name.
        if words and folded(words) in ("one", "zero"):
            return None
        if words and _TWO_SPEED.match(match.string, match.end()):
            return None
        before = match.string[max(0, match.start() - 4) : match.start()]
        if digits and not magnitude and _NAME_BEFORE.search(before):
            return None
    if words:
        value, factor = words_value(words), worth
    else:
        factor = magnitude_value(magnitude) * worth
        value = digits_value(match["digits"]) * magnitude_value(magnitude)
    number = match.span("words" if words else "digits")
    form = Form(
        "words" if words else "digits",
        sign,
        match.string[match.start() + len(sign) : number[0]],
        match.string[slice(*number)],
        match.string[number[1] : match.end()].rstrip(),
        float(factor),
    )
    return _Amount((-value if sign in ("-", "−") else value) * worth, kind, unit, form)


# After these words, an amount in brackets is a loss; after others an aside: "fell (4.5%)".
_NUMBER_FOLLOWS = re.compile(
    r"(?:\b(?:of|was|were|is|are|be|to|at|on|by|from|in|with|and|or|than|versus|vs\.?|against|posted"
    r"|reported|EPS)|[:=|])\s*\Z",
    re.IGNORECASE,
)


def _read_in_brackets(match: re.Match[str]) -> _Amount | None:
    """Return a number in brackets as a loss, if a unit, a scale or a word outside says so."""
    part = match.groupdict()
    part["symbol"] = part["symbol"] or part["outside"]
    part["percent"] = part["percent"] or part["inside"]
    magnitude = part["magnitude"] or part["scale"] or ""
    worth, kind, unit = _unit(part)
    outside = part["outside"] or part["scale"] or (kind != "number" and not match[0].endswith(")"))
    before = match.string[max(0, match.start() - 12) : match.start()]
    if len(match["digits"]) > _MAX_DIGITS or not (outside or _NUMBER_FOLLOWS.search(before)):
        return None
    if kind == "number" and not outside and re.fullmatch("[0-9]{1,2}", match["digits"]):
        return None  # "and (2)" numbers an item of a list
    factor = magnitude_value(magnitude) * worth
    first, last = match.span("digits")
    form = Form(
        "digits",
        match["sign"],
        match.string[match.end("sign") : first],
        match["digits"],
        match.string[last : match.end()].rstrip(),
        float(factor),
    )
    return _Amount(-digits_value(match["digits"]) * factor, kind, unit, form)


def _form(style: _Style, match: re.Match[str], group: str, factor: float = 1.0) -> Form:
    start, end = match.span(group)
    text, offset = match[0].rstrip(), match.start()
    return Form(style, "", text[: start - offset], match[group], text[end - offset :], factor)


def _read_part_of_point(match: re.Match[str]) -> _Amount:
    parts = {"quarter": 25, "half": 50, "three-quarter": 75, "full": 100}
    parts |= {"¼": 25, "½": 50, "¾": 75}
    value = Decimal(parts[folded(match["part"]).replace(" ", "-").removesuffix("s")])
    return _Amount(value, "basis points", "pp", _form("part", match, "part", 100.0))


def _read_fraction(match: re.Match[str]) -> _Amount:
    top, bottom = folded(match["top"] or "a"), folded(match["bottom"]).rstrip("s")
    if bottom.isdigit():
        value = Decimal(top) / Decimal(bottom)
    else:
        parts = _FRACTION_PARTS["half" if bottom == "halve" else bottom]
        value = Decimal(_FRACTION_TOPS[top]) / parts
    return _Amount(value, "ratio", None, Form("fraction", number=match[0].rstrip()))


def _read_factor(match: re.Match[str]) -> _Amount:
    style: _Style = "fold" if "fold" in match.groupdict() else "multiple"
    value = Decimal(_FACTORS[folded(match[style])])
    return _Amount(value, "ratio", "x", _form(style, match, style))


def _read_split(match: re.Match[str]) -> _Amount | None:
    top, bottom = (
        digits_value(n) if n[0].isdigit() else words_value(n) for n in (match["new"], match["old"])
    )
    # "Three in five" is a part; "five in two plants" is not one.
    if not bottom or ("-for-" not in folded(match[0]) and top >= bottom):
        return None
    return _Amount(top / bottom, "ratio", None, _form("split", match, "new", float(1 / bottom)))


def _read_vague(match: re.Match[str]) -> _Amount:
    form = Form("vague", number=match[0].rstrip())
    if match["currency"] or match["symbol"]:
        return _Amount(None, "money", currency_code(match["currency"] or match["symbol"]), form)
    return _Amount(None, "number", None, form)


_RULES: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (
            r"\b(?P<part>three[ -]quarters?|quarter|half|full|[¼½¾])(?:[ -]of)?(?:[ -]an?)?[ -]"
            r"(?:percentage[ -])?points?\b",
            _read_part_of_point,
        ),
        (rf"\b(?P<new>[0-9]{{1,6}}|{WORDS})-for-(?P<old>[0-9]{{1,6}}|{WORDS})\b", _read_split),
        (
            rf"\b(?P<multiple>doubl|tripl|trebl|quadrupl)(?:e[sd]|ed|(?:ing|e)\b{_VERB})\b",
            _read_factor,
        ),
        (r"\b(?P<multiple>halv)(?:es?|ed|ing)\b", _read_factor),
        (r"\b(?P<fold>two|three|four|five|six|seven|eight|ten)-?fold\b", _read_factor),
        (
            r"\b(?P<top>one|two|three|four)-(?P<bottom>half|thirds?|quarters?|fourths?|fifths?|tenths?)"
            r"\b(?!-)",
            _read_fraction,
        ),
        (
            rf"(?<![\w.,$€£¥₹])(?P<new>[0-9]{{1,3}}|{WORDS})\s(?:in|out\sof)(?:\severy)?\s"
            rf"(?P<old>[0-9]{{1,3}}|{WORDS})\b(?![-%.,][\w]|\s(?:per\s?cent|percent|years?|months?"
            r"|weeks?|days?|hours?|quarters?|decades?|sessions?|million|billion|trillion))",
            _read_split,
        ),
        (r"(?<![\w./,-])(?P<top>[1-9])/(?P<bottom>[2-9])(?=\sof\s[a-zA-Z])", _read_fraction),
        (
            r"\b(?:(?P<top>a|one|two|three|four)\s)?(?P<bottom>half|thirds?|quarters?|fifths?|tenths?)"
            r"(?=\sof\s(?:the|its|their|his|her|all|our|total|investors|firms|consumers)\b)"
            r"(?!\sof\sthe\s(?:year|month|decade|century)\b)",
            _read_fraction,
        ),
        (
            r"\b(?P<top>a|one)\s(?P<bottom>third|quarter|fifth|tenth)(?=\sof\s[a-zA-Z])"
            r"(?!\sof\san?\b|\sof\sthe\s(?:year|month|decade|century)\b)",
            _read_fraction,
        ),
        (
            r"(?<!first )(?<!second )\b(?P<bottom>half)(?P<top>)(?=\sof\s[a-zA-Z])"
            r"(?!\sof\s(?:an?|next|last|this|the\s(?:year|month|decade|century|quarter))\b)",
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
            r"\b(?:(?:low|mid|high|upper)[ -]){0,2}(?:single|double|triple)[ -]digits?\b"
            r"(?P<currency>)(?P<symbol>)",
            _read_vague,
        ),
        (
            r"\b(?:low|mid|high|upper)[ -](?:to[ -](?:mid|high|upper)[ -])?"
            r"(?:teens|(?<=-)teen|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies)\b"
            r"(?P<currency>)(?P<symbol>)",
            _read_vague,
        ),
        (_IN_BRACKETS + _NO_NAME_AFTER, _read_in_brackets),
        (_IN_DIGITS + _UNIT + _NO_NAME_AFTER, _read_amount),
        (_IN_WORDS + _UNIT + _NO_NAME_AFTER, _read_amount),
    )
)


def found_quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order, without information from their sentences."""
    text = plain_digits(text)
    taken = bytearray(len(text))
    for name in identifiers(text):
        taken[name.start : name.end] = b"\x01" * (name.end - name.start)
    found: list[tuple[Quantity, re.Match[str]]] = []
    tried = 0
    for pattern, reader in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if taken.find(1, start, end) >= 0:
                continue
            tried += 1
            if tried > MOST_FIGURES:
                raise too_many_figures()
            read = reader(match)
            if read is None:
                continue
            end = start + len(match[0].rstrip())
            value = None if read.value is None else float(read.value)
            taken[start:end] = b"\x01" * (end - start)
            quantity = Quantity(
                text[start:end], start, end, value, read.kind, read.unit, form=read.form
            )
            found.append((quantity, match))
    found.sort(key=lambda pair: pair[0].start)
    return _with_ranges(text, found)


_JOINER = re.compile(r"\s?[-–—]\s?|\sto\s|\sor\s")
_BETWEEN = re.compile(r"\bbetween\s\Z", re.IGNORECASE)


def _with_ranges(text: str, found: list[tuple[Quantity, re.Match[str]]]) -> list[Quantity]:
    """Return the quantities, with one kind and one magnitude for both ends of each range."""
    result = [quantity for quantity, _ in found]
    for i, ((_, low_match), (_, high_match)) in enumerate(pairwise(found)):
        low, high = result[i], result[i + 1]
        joined = _JOINER.fullmatch(text, low.end, high.start) or (
            folded(text[low.end : high.start]) == " and "
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
            worth, kind, unit = _unit(high_parts)
            result[i] = _scaled(low, scale * float(worth), kind, unit)
        elif low.kind == "money" and high.kind in ("number", "money"):
            result[i] = _scaled(low, scale, low.kind, low.unit)
            result[i + 1] = replace(high, kind="money", unit=low.unit)
        elif low.kind == high.kind:
            result[i] = _scaled(low, scale, low.kind, low.unit)
    return result


def _scaled(quantity: Quantity, scale: float, kind: QuantityKind, unit: str | None) -> Quantity:
    if quantity.value is None:
        return quantity
    form = replace(quantity.form, factor=quantity.form.factor * scale)
    return replace(quantity, value=quantity.value * scale, kind=kind, unit=unit, form=form)
