"""What a quantity is: its place, its worth, and what the sentence says of it."""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ROLES",
    "Direction",
    "Expectation",
    "Form",
    "Quantity",
    "QuantityKind",
    "Role",
    "Scenario",
]

QuantityKind = Literal["money", "percent", "basis points", "duration", "ratio", "number"]
Direction = Literal["up", "down"]
Expectation = Literal["beat", "miss"]
Scenario = Literal["A", "B", "C", "D", "E", "F"]
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
ROLES: tuple[Role, ...] = (
    *("money", "price", "eps", "revenue", "percent", "margin", "share", "utilisation"),
    *("engagement", "count", "multiple", "rate", "policy rate", "inflation", "unemployment"),
    *("gdp", "duration", "number"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a quantity is written, so that another value can be written the same way.

    ``sign + before + number + after`` is the quantity's text, and its value is what ``number``
    is worth times ``factor``.

    Attributes:
        style: How the number is given: in digits ("3.5%"), in words ("two million"), as a
            fraction ("two-thirds"), a multiple in a verb ("doubled") or a fold ("threefold"),
            a part of a percentage point ("quarter-point"), a stock split ("10-for-1"), or
            vaguely ("billions").
        sign: "+", "-", "−" or nothing.
        before: What stands before the number: a currency sign or code.
        number: The digits or the words.
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
        start: Where it begins, in characters.
        end: Where it ends.
        value: Its worth: units of currency (whichever it is), percent, basis points (percentage
            points times 100), days, a multiple ("doubled" is 2), a fraction of the whole
            ("halved" and "by half" are 0.5), or the number itself. None where the words are
            vague ("billions", "double-digit").
        kind: What is counted.
        unit: The unit as the text has it: a currency's ISO code ("$" alone is "USD"), "%", "pp"
            (percentage points), "bps", "x", "days" and the like, or the noun counted ("jobs",
            "units"). None where nothing is named.
        role: What the quantity measures, by the words around it; one of `ROLES`.
        direction: Where the sentence says that the measured thing moves; where it says so only
            by two figures ("from $90 to $96"), the figures decide. None where nothing moves or
            the movement is denied.
        scenario: The scenario of RFC-BENCH, appendix S.2: A stock price, B company metric,
            C operations and users, D shares and ratios, E guidance and forecasts, F sector and
            index. None for the rest, macro-economic figures among them.
        link: The partner of a pair, by its index in the list returned: ("range", i) for
            "10% to 14%", ("from-to", i) for "from $90 to $96" and "to $41 from $38.50".
        is_old: True for the old value of a from-to pair.
        is_level: True for a level ("at $96", "to 5%"), False for a change ("up 12%", "by $3").
        is_loss: True where the amount is a loss ("net loss of $5 million").
        is_estimate: True where the amount is what analysts or markets expected.
        expectation: Whether the sentence calls the result that the quantity states a beat or a
            miss.
        form: How it is written; see `render`.
    """

    text: str
    start: int
    end: int
    value: float | None
    kind: QuantityKind
    unit: str | None = None
    role: Role = "number"
    direction: Direction | None = None
    scenario: Scenario | None = None
    link: tuple[str, int] | None = None
    is_old: bool = False
    is_level: bool = True
    is_loss: bool = False
    is_estimate: bool = False
    expectation: Expectation | None = None
    form: Form = Form("vague")
