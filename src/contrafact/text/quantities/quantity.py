"""What a quantity is: its place, worth and context; and how another value is written."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, get_args

from contrafact.text.numerals import digits_value, number_words, scale_tail

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
    """How a quantity is written, so that another value can be written the same way.

    ``sign + before + number + after`` is the quantity's text, and its value is what ``number``
    is worth times ``factor``.

    Attributes:
        style: In digits ("3.5%"), in words ("two million"), as a fraction ("two-thirds"), a
            multiple in a verb ("doubled") or a fold ("threefold"), a part of a percentage point
            ("quarter-point"), a stock split ("10-for-1"), or vaguely ("billions").
        sign: "+", "-", "−" or nothing; "(" or "$(" of a loss in brackets.
        before: What stands before the number: a currency sign or code.
        after: What stands after it: magnitude and unit.
        factor: What one of ``number`` is worth.
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
        text: The words, sign, currency and unit included: ``source[start:end]``. The noun that
            is counted is not part of it ("12,000" of "12,000 jobs").
        value: Its worth: units of currency (whichever it is), percent, basis points (percentage
            points times 100), days, a multiple ("doubled" is 2), a fraction of the whole
            ("halved" and "by half" are 0.5), or the number itself. None where the words are
            vague ("billions", "double-digit").
        unit: The unit as the text has it: a currency's ISO code ("$" alone is "USD"), "%", "pp"
            (percentage points), "bps", "x", "days" and the like, or the noun counted ("jobs",
            "units"). None where nothing is named.
        role: What the quantity measures, by the words around it; one of `ROLES`.
        direction: Where the sentence says that the measured thing moves; where it says so only
            by two figures ("from $90 to $96"), the figures decide. None where nothing moves or
            the movement is denied.
        link: The partner of a pair, by its index in the list returned: ("range", i) for
            "10% to 14%", ("from-to", i) for "from $90 to $96" and "to $41 from $38.50".
        is_old: True for the old value of a from-to pair.
        is_level: True for a level ("at $96", "to 5%"), False for a change ("up 12%", "by $3").
        is_loss: True where the amount is a loss ("net loss of $5 million").
        is_estimate: True where the amount is what analysts or markets expected.
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
        new_value: The value to write, in the measure of ``quantity.value``.

    Raises:
        ValueError: The quantity is vague ("billions"): it has no value to change.
    """
    form, style = quantity.form, quantity.form.style
    if quantity.value is None:
        raise ValueError(f"{quantity.text!r} states no value that could be changed")
    if style in ("digits", "words"):
        number = float(new_value) / form.factor
        written = _digits(form, abs(number)) if style == "digits" else _words(form, abs(number))
        if form.sign.endswith("("):  # the brackets are a minus
            sign, after = form.sign, form.after
            if number > 0:
                sign, after = sign[:-1], after.replace(")", "", 1)
            return f"{sign}{form.before}{written}{after}"
        sign = "-" if number < 0 else form.sign if form.sign == "+" or number == 0 else ""
        if number < 0 and form.sign in ("-", "−"):
            sign = form.sign
        return f"{sign}{form.before}{written}{form.after}"
    if style == "fraction":
        return _cased(form.number, min(_FRACTIONS, key=lambda n: abs(_FRACTIONS[n] - new_value)))
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


def written_value(quantity: Quantity, new_value: float) -> float | None:
    """Return the value that `render` would write in digits, which rounds; None of words."""
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


def worth(quantity: Quantity) -> float:
    """Return a quantity's value, basis points in percent; 0 if it has none."""
    value = quantity.value or 0.0
    return value / 100 if quantity.kind == "basis points" else value


def precision(quantity: Quantity) -> float:
    """Return half of the last place that a quantity is written to, in its measure."""
    if quantity.form.style == "part":
        return 0.0
    number = quantity.form.number
    last = None if number.count(".") > 1 else re.search(r"\.(\d+)\Z|,(\d{1,2})\Z", number)
    decimals = len(last[1] or last[2]) if last else 0
    return 0.5 * 10.0**-decimals * abs(quantity.form.factor)


def same_measure(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities are of one kind and unit, and both have a value."""
    return (a.kind, a.unit) == (b.kind, b.unit) and a.value is not None and b.value is not None


def same_value(a: Quantity, b: Quantity) -> bool:
    """Return whether two quantities are worth the same, however they are written."""
    if a.value is None or b.value is None:
        return a.value is b.value and in_one_spelling(a.text) == in_one_spelling(b.text)
    return math.isclose(worth(a), worth(b), rel_tol=1e-9, abs_tol=1e-12)


def in_one_spelling(text: str) -> str:
    """Return words without case, hyphens and the plural of the last."""
    return " ".join(text.casefold().replace("-", " ").split()).removesuffix("s")
