"""Quantities: their text, value and context, and the writing of another value in their style."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, get_args

from contrafact.text.numerals import decimal_places, digits_value, number_words, scale_tail

__all__ = [
    "ROLES",
    "Direction",
    "Form",
    "Quantity",
    "QuantityKind",
    "Role",
    "in_one_spelling",
    "precision",
    "render",
    "same_measure",
    "same_value",
    "worth",
    "written_value",
]

QuantityKind = Literal["money", "percent", "basis points", "duration", "ratio", "number"]
Direction = Literal["up", "down"]
Role = Literal[
    "money",
    "price",
    "eps",
    "revenue",
    "percent",
    "margin",
    "share",
    "utilisation",
    "engagement",
    "count",
    "multiple",
    "rate",
    "policy rate",
    "inflation",
    "unemployment",
    "gdp",
    "duration",
    "number",
]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Form:
    """The written form of a quantity, in which another value can be written.

    The quantity's text is ``sign + before + number + after``; its value is that of ``number`` times
    ``factor``.

    Attributes:
        style: In digits ("3.5%"), in words ("two million"), as a fraction ("two-thirds"), a
            multiple in a verb ("doubled") or a fold ("threefold"), a part of a percentage point
            ("quarter-point"), a stock split ("10-for-1"), or vaguely ("billions").
        sign: "+", "-", "−" or nothing; "(" or "$(" for a loss in brackets.
        before: The currency sign or code before the number.
        after: The magnitude and unit after the number.
        factor: The value of a ``number`` of 1.
    """

    style: Literal["digits", "words", "fraction", "multiple", "fold", "part", "split", "vague"]
    sign: str = ""
    before: str = ""
    number: str = ""
    after: str = ""
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that a text states.

    Attributes:
        text: ``source[start:end]``, with sign, currency and unit, but without a counted noun
            ("12,000" of "12,000 jobs").
        value: In units of the currency, percent, basis points (percentage points times 100), days,
            as a multiple ("doubled" is 2), a fraction of the whole ("halved" and "by half" are
            0.5), or the number itself. None for vague words ("billions",
            "double-digit").
        unit: A currency's ISO code ("$" alone is "USD"), "%", "pp" (percentage
            points), "bps", "x", "days" and the like, or the noun counted ("jobs", "units"). None if
            there is none.
        role: The measured variable, by the words around the quantity.
        direction: The direction of the movement that the sentence states, or that two figures show
            ("from $90 to $96"). None without a movement, or if it is denied.
        link: The kind of a pair, and the index of its other quantity in the returned list:
            ("range", i) for "10% to 14%", ("from-to", i) for "from $90 to $96" and "to $41 from
            $38.50".
        is_old: Whether it is the old value of a from-to pair.
        is_level: Whether it is a level ("at $96", "to 5%"), not a change ("up 12%", "by $3").
        is_loss: Whether the amount is a loss ("net loss of $5 million").
        is_estimate: Whether analysts or markets expected the amount.
    """

    text: str
    start: int
    end: int
    value: float | None
    kind: QuantityKind
    unit: str | None = None
    role: Role = "number"
    direction: Direction | None = None
    link: tuple[str, int] | None = None
    is_old: bool = False
    is_level: bool = True
    is_loss: bool = False
    is_estimate: bool = False
    form: Form = Form("vague")


_FRACTIONS = {
    1 / 10: "a tenth",
    1 / 5: "a fifth",
    1 / 4: "a quarter",
    1 / 3: "a third",
    2 / 5: "two-fifths",
    1 / 2: "half",
    3 / 5: "three-fifths",
    2 / 3: "two-thirds",
    3 / 4: "three-quarters",
    4 / 5: "four-fifths",
}
_VERBS: dict[float, str] = {2: "doubl", 3: "tripl", 4: "quadrupl"}
_FOLDS: dict[float, str] = {
    **dict(enumerate(("two", "three", "four", "five", "six", "seven", "eight"), 2)),
    10: "ten",
}
_PARTS: dict[float, str] = {25: "quarter", 50: "half", 75: "three-quarter", 100: "full"}
_IN_WORDS = {"fraction": _FRACTIONS, "multiple": _VERBS, "fold": _FOLDS, "part": _PARTS}
"""The values that words can express, by style."""


def render(quantity: Quantity, new_value: float) -> str:
    """Return the text of another value, in the style of a quantity.

    Sign, currency, magnitude, unit, grouping and the number of decimals stay. Words stay words if
    they can express the value, else they become digits. A fraction or a multiple in words
    ("two-thirds", "doubled") becomes the nearest one that words can express.

    Args:
        new_value: The new value, in the units of ``quantity.value``.

    Raises:
        ValueError: The quantity is vague ("billions") and has no value.
    """
    form, style = quantity.form, quantity.form.style
    if quantity.value is None:
        raise ValueError(f"{quantity.text!r} states no value that could be changed")
    if style in ("digits", "words"):
        number = float(new_value) / form.factor
        written = _digits(form, abs(number)) if style == "digits" else _words(form, abs(number))
        if form.sign.endswith("("):  # brackets mean minus
            sign, after = form.sign, form.after
            if number > 0:
                sign, after = sign[:-1], after.replace(")", "", 1)
            return f"{sign}{form.before}{written}{after}"
        sign = "-" if number < 0 else form.sign if form.sign == "+" or number == 0 else ""
        if number < 0 and form.sign in ("-", "−"):
            sign = form.sign
        return f"{sign}{form.before}{written}{form.after}"
    if style == "multiple" and quantity.value <= 1:
        return quantity.text
    if style in _IN_WORDS:
        words = _IN_WORDS[style]
        nearest = words[min(words, key=lambda value: abs(value - new_value))]
        return form.before + _cased(form.number, nearest) + form.after
    top = Decimal(repr(new_value / form.factor)).quantize(Decimal(1), ROUND_HALF_EVEN)
    return f"{top}{form.after}"


def written_value(quantity: Quantity, new_value: float) -> float | None:
    """Return the value that `render` would write in digits, rounded; None if it writes words."""
    if quantity.value is None or quantity.form.style != "digits":
        return None
    written = _digits(quantity.form, abs(float(new_value) / quantity.form.factor))
    size = float(digits_value(written)) * abs(quantity.form.factor)
    return -size if new_value < 0 else size


def _cased(like: str, text: str) -> str:
    if like.isupper() and len(like) > 1:
        return text.upper()
    return text[:1].upper() + text[1:] if like[:1].isupper() else text


def _digits(form: Form, number: float) -> str:
    old = form.number
    if "/" in old:  # another value in the style of "2 1/2": 3.2
        return format(Decimal(repr(round(number, 1))).normalize(), "f")
    mark, decimals = decimal_places(old)
    shown = str(Decimal(repr(number)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN))
    whole, _, part = shown.partition(".")
    before = old.rpartition(mark)[0] if mark else old
    grouped = re.search(r"[0-9]([.,'’ ])[0-9]", before)
    if re.match(r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}", old):
        head, last = whole[:-3], whole[-3:]
        pairs = [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
        whole = ",".join([*pairs, last])
    elif grouped or (mark != "," and (len(before) < 4 or 1900 <= int(whole) < 2100)):
        # Without the comma, 1,950 would read as a year.
        whole = f"{int(whole):,}".replace(",", grouped[1] if grouped else ",")
    if old.startswith(".") and whole == "0":
        whole = ""
    return f"{whole}{mark}{part}" if part else whole


def _words(form: Form, number: float) -> str:
    tail, scale = scale_tail(form.number)
    count = number / scale
    written = number_words(round(count)) if count == round(count) and 0 < count < 1000 else None
    if written is None:
        written = format(Decimal(repr(round(count, 2))).normalize(), "f")
    return _cased(form.number, written) + tail


def worth(quantity: Quantity) -> float:
    """Return a quantity's value, with basis points in percent; 0 if it has none."""
    value = quantity.value or 0.0
    return value / 100 if quantity.kind == "basis points" else value


def precision(quantity: Quantity) -> float:
    """Return half a unit of a quantity's last written digit, in the units of its value."""
    if quantity.form.style == "part":
        return 0.0
    _, decimals = decimal_places(quantity.form.number)
    return 0.5 * 10.0**-decimals * abs(quantity.form.factor)


LARGE = 1_000.0
"""The least count that may leave out its unit (ours)."""


def same_measure(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities have the same kind and unit, and both have a value.

    Of two large counts of one size, one may leave its unit out ("5.1 million tonnes from 4.6
    million").
    """
    if a.value is None or b.value is None or a.kind != b.kind:
        return False
    low, high = sorted((abs(a.value), abs(b.value)))
    bare = a.kind == "number" and not (a.unit and b.unit) and low >= LARGE and high < 3 * low
    return a.unit == b.unit or bare


def same_value(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities have the same value, however they are written."""
    if a.value is None or b.value is None:
        return a.value is b.value and in_one_spelling(a.text) == in_one_spelling(b.text)
    return math.isclose(worth(a), worth(b), rel_tol=1e-9, abs_tol=1e-12)


def in_one_spelling(text: str) -> str:
    """Return words without case, hyphens and a final plural s."""
    return " ".join(text.casefold().replace("-", " ").split()).removesuffix("s")
