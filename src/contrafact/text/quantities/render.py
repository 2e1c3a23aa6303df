"""Another value, written the way a quantity is written."""

import re
from decimal import ROUND_HALF_EVEN, Decimal

from contrafact.text.numerals import number_words, scale_tail
from contrafact.text.quantities.quantity import Form, Quantity

__all__ = ["render"]

_FRACTIONS = {
    "a tenth": 1 / 10,
    "a fifth": 1 / 5,
    "a quarter": 1 / 4,
    "a third": 1 / 3,
    "two-fifths": 2 / 5,
    "half": 1 / 2,
    "three-fifths": 3 / 5,
    "two-thirds": 2 / 3,
    "three-quarters": 3 / 4,
    "four-fifths": 4 / 5,
}
_VERBS = {2.0: "doubl", 3.0: "tripl", 4.0: "quadrupl"}
_FOLDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 10: "ten"}
_PARTS = {25: "quarter", 50: "half", 75: "three-quarter", 100: "full"}


def render(quantity: Quantity, new_value: float) -> str:
    """Return the text of another value, in the style in which a quantity is written.

    Sign, currency, magnitude, unit, grouping and the number of decimals stay; words stay words
    where words can say the value, and become digits where they cannot. A fraction or a multiple
    in words ("two-thirds", "doubled") becomes the nearest one that words can say.

    Args:
        quantity: A quantity of `quantities`.
        new_value: The value to write, in the measure of ``quantity.value``.

    Raises:
        ValueError: The quantity is vague ("billions"): it has no value to change.
    """
    form, style = quantity.form, quantity.form.style
    if quantity.value is None:
        raise ValueError(f"{quantity.text!r} states no value that could be changed")
    if style in ("digits", "words"):
        number = float(new_value) / form.factor
        sign = "-" if number < 0 else form.sign if form.sign == "+" or number == 0 else ""
        if number < 0 and form.sign in ("-", "−"):
            sign = form.sign
        written = _digits(form, abs(number)) if style == "digits" else _words(form, abs(number))
        return f"{sign}{form.before}{written}{form.after}"
    if style == "fraction":
        return _fraction(form, new_value)
    if style == "multiple":
        stem = _VERBS[min(_VERBS, key=lambda v: abs(v - new_value))]
        return _cased(form.number, stem) + form.after if quantity.value > 1 else quantity.text
    if style == "fold":
        return (
            _cased(form.number, _FOLDS[min(_FOLDS, key=lambda v: abs(v - new_value))]) + form.after
        )
    if style == "part":
        part = _PARTS[min(_PARTS, key=lambda v: abs(v - new_value))]
        return form.before + _cased(form.number, part) + form.after
    top = Decimal(repr(new_value / form.factor)).quantize(Decimal(1), ROUND_HALF_EVEN)
    return f"{top}{form.after}"


def _cased(like: str, text: str) -> str:
    if like.isupper() and len(like) > 1:
        return text.upper()
    return text[:1].upper() + text[1:] if like[:1].isupper() else text


def _digits(form: Form, number: float) -> str:
    old = form.number
    if "/" in old:  # "2 1/2" has no other fractions to give: 3.2 is written so
        return format(Decimal(repr(round(number, 1))).normalize(), "f")
    comma = re.fullmatch(r"[0-9]+,[0-9]{1,2}", old)
    decimals = len(old.rpartition("," if comma else ".")[2]) if comma or "." in old else 0
    shown = str(Decimal(repr(number)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN))
    whole, _, part = shown.partition(".")
    if comma:
        return f"{whole},{part}"
    if re.match(r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}", old):
        head, last = whole[:-3], whole[-3:]
        pairs = [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
        whole = ",".join([*pairs, last])
    elif "," in old or len(old.partition(".")[0]) < 4 or 1900 <= int(whole) < 2100:
        # Ungrouped, the last would read as a year.
        whole = f"{int(whole):,}"
    if old.startswith(".") and whole == "0":
        whole = ""
    return f"{whole}.{part}" if part else whole


def _words(form: Form, number: float) -> str:
    tail, scale = scale_tail(form.number)
    count = number / scale
    written = number_words(round(count)) if count == round(count) and 0 < count < 1000 else None
    if written is None:
        written = format(Decimal(repr(round(count, 2))).normalize(), "f")
    return _cased(form.number, written) + tail


def _fraction(form: Form, value: float) -> str:
    name = min(_FRACTIONS, key=lambda n: abs(_FRACTIONS[n] - value))
    return _cased(form.number, name)
