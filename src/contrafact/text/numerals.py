"""Numbers in English prose, in digits and in words, and their values."""

import re
import unicodedata
from decimal import Decimal

from contrafact.text.delimit import Characters
from contrafact.text.tokens import alternation, folded

__all__ = ["DIGITS", "SCALES", "digits_value"]

# Parts of regular expressions for grammars. All ignore case, and use possessive repeats, so that
# long sequences of digits take linear time. Python before 3.11.5 has a bug in possessive repeats of
# groups: these are greedy in an atomic group instead.

VULGAR = "½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
"""Fractions in one character."""

DIGITS = (
    rf"(?:[0-9]{{0,3}}[{VULGAR}]"  # 2½
    r"|[0-9]{1,3}+(?>(?:\.[0-9]{3})+),[0-9]{1,2}+(?![0-9])"  # 1.234,5
    r"|[0-9]{1,3}+(?>(?:\.[0-9]{3}){2,})(?![0-9.,][0-9])"  # 1.234.567
    r"|[0-9]{1,3}+(?>(?:['’][0-9]{3})+)(?>\.[0-9]++|)"  # 1'234'567.50
    r"|(?<![0-9] )[1-9][0-9]{0,2}+(?>(?: [0-9]{3})+)(?>[.,][0-9]{1,2}|)(?![0-9]| [0-9])"  # 816 000
    r"|(?:[0-9]++,[0-9]{1,2}+|0,[0-9]{3,}+)(?![0-9]|[.,][0-9])"  # 3,5 and 0,125
    r"|[0-9]{1,3}+(?>(?:,[0-9]{2,3})+)(?>\.[0-9]++|)"  # 1,250,000 and 12,50,000.5
    r"|[0-9]{1,3}[\s-][0-9]{1,2}/(?:[2-58]|16|32|64)(?![0-9/])"  # 2-1/2
    r"|[0-9]++(?>\.[0-9]++|)"
    r"|\.[0-9]++)"
)
"""A number in digits, without its sign."""

_POWERS_OF_TEN = {
    2: ("hundred",),
    3: ("k", "thousand"),
    5: ("lakh", "lakhs"),
    6: ("m", "mm", "mio", "mn", "mln", "mil", "million"),
    7: ("cr", "crore", "crores"),
    9: ("b", "mrd", "bn", "bln", "bil", "billion"),
    12: ("t", "tn", "trn", "trln", "trillion", "l cr", "lakh crore"),
}
SCALES = {name: 10**power for power, names in _POWERS_OF_TEN.items() for name in names}
SCALES["dozen"] = 12
"""The values of magnitudes by their names in lower case."""

MAGNITUDE = (
    r"(?:[\s\-]?(?:lakh\scrore|l\scr|hundred|thousand|million|billion|trillion|crores?|lakhs?|dozen"
    r"|mn|mln|mil|bn|bln|bil|tn|trn|trln|cr|mm|mio|mrd)|[kmbt])(?![^\W_])"
)
"""A magnitude after digits; a space may stand before it unless it is one letter (``5m``)."""

_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {
    **{word: n for n, word in enumerate(_UNITS, start=1)},
    **{word: n for n, word in enumerate(_TEENS, start=10)},
    **{word: 10 * n for n, word in enumerate(_TENS, start=2)},
    "a": 1,
    "an": 1,
    "zero": 0,
}
_UNIT_WORD = "|".join(_UNITS)
_PIECE = f"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{_UNIT_WORD})\\b)?|{'|'.join(_TEENS)}|{_UNIT_WORD})"
_BIG = r"(?:lakh\scrore|thousand|million|billion|trillion|crore|lakh|dozen)"

# Fails at once if no number word follows, which is the usual case.
_GUARD = rf"(?=(?:{alternation([*_SMALL, 'half'])})(?![^\W_]))"

WORDS = (
    rf"{_GUARD}(?:half[ -]an?[ -]{_BIG}"
    rf"|(?:{_PIECE}|an?)[ -]hundred(?:[ -](?:and[ -])?{_PIECE})?(?>(?:[ -]{_BIG}){{0,2}})"
    rf"|(?:{_PIECE}|an?)(?>(?:[ -]{_BIG}){{1,2}})"
    rf"|(?:{_PIECE})[ -]and[ -]a[ -]half(?:[ -]{_BIG})?"
    rf"|{_PIECE}|zero)\b"
)
"""A number in words: ``twenty-five``, ``a hundred and ten thousand``, ``half a billion``."""


def digits_value(text: str) -> Decimal:
    """Return the value of a number in digits, as `DIGITS` matches it."""
    if text[-1] in VULGAR:
        part = unicodedata.normalize("NFKC", text[-1])
        return Decimal(text[:-1] or 0) + _fraction(part.replace("\N{FRACTION SLASH}", "/"))
    if "/" in text:
        whole, _, part = text.replace("-", " ").partition(" ")
        return Decimal(whole) + _fraction(part)
    _, decimals = decimal_places(text)
    return Decimal(re.sub("[^0-9]", "", text)).scaleb(-decimals)


_DECIMAL_COMMA = re.compile(
    r"(?:[0-9]+|[0-9]{1,3}(?:[.'’ ][0-9]{3})+),(?P<few>[0-9]{1,2})|0,(?P<more>[0-9]+)"
)


def decimal_places(text: str) -> tuple[str, int]:
    """Return a number's decimal mark, which may be a comma or missing, and its decimal places.

    A comma is a decimal mark before the last one or two digits, and after a zero that begins the
    number; a point is one unless there are several.
    """
    if comma := _DECIMAL_COMMA.fullmatch(text):
        return ",", len(comma["few"] or comma["more"])
    return (".", len(text.partition(".")[2])) if text.count(".") == 1 else ("", 0)


def _fraction(text: str) -> Decimal:
    top, bottom = text.split("/")
    return Decimal(top) / Decimal(bottom)


_SIGNS_ALIKE = {
    **dict.fromkeys("\u00a0\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    **dict(zip("％．，－﹣＋٫٬×＄", "%.,--+.,x$", strict=True)),
}
_PLAIN = Characters(lambda one: _SIGNS_ALIKE.get(one) or str(unicodedata.decimal(one, one)))

_MINUS = re.compile(r"(?<![^\s(])–(?=[0-9.])")


def plain_digits(text: str) -> str:
    """Return a text of the same length whose numbers the grammar can read.

    Digits of any script and full-width and Arabic signs become ASCII ones, non-breaking and thin
    spaces become spaces, and a dash that begins a number becomes a minus.
    """
    return text if text.isascii() else _MINUS.sub("-", text.translate(_PLAIN))


def magnitude_value(text: str) -> Decimal:
    """Return the value of a magnitude (``bn`` is 1e9); 1 for an empty text."""
    name = " ".join(folded(text.replace("-", " ")).split())
    return Decimal(SCALES[name]) if name else Decimal(1)


def words_value(text: str) -> Decimal:
    """Return the value of a number in words, as `WORDS` matches it."""
    words = [w for w in re.split(r"[\s-]+", folded(text)) if w != "and"]
    if "half" in words[1:]:
        i = words.index("half")
        return (words_value(" ".join(words[: i - 1])) + Decimal("0.5")) * _scale(words[i + 1 :])
    if words[0] == "half":
        return Decimal("0.5") * _scale(words[2:])
    total = Decimal(0)
    while words and words[0] not in SCALES:
        total += _SMALL[words.pop(0)]
        if words and words[0] == "hundred":
            total *= SCALES[words.pop(0)]
    return total * _scale(words)


def _scale(words: list[str]) -> Decimal:
    factor = Decimal(1)
    for word in words:
        factor *= SCALES[word]
    return factor


def number_words(number: int) -> str:
    """Return a whole number from 0 to 999 in words; 100 is "one hundred", not "a hundred"."""
    if not 0 <= number < 1000:
        raise ValueError(f"{number} is outside 0 to 999")
    hundreds, rest = divmod(number, 100)
    if hundreds:
        head = f"{_UNITS[hundreds - 1]} hundred"
        return f"{head} and {number_words(rest)}" if rest else head
    if number < 10:
        return _UNITS[number - 1] if number else "zero"
    if number < 20:
        return _TEENS[number - 10]
    tens, unit = divmod(number, 10)
    return f"{_TENS[tens - 2]}-{_UNITS[unit - 1]}" if unit else _TENS[tens - 2]


def scale_tail(words: str) -> tuple[str, float]:
    """Return the magnitude at the end of a number in words, separator included, and its value.

    ``"two million"`` gives ``(" million", 1e6)``, ``"two"`` gives ``("", 1.0)``.
    """
    match = re.search(rf"(?:[ -]{_BIG})+\Z", words, re.IGNORECASE)
    if match is None:
        return "", 1.0
    return match[0], float(_scale(re.split(r"[\s-]+", folded(match[0].strip(" -")))))
