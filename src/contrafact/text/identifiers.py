"""Names that hold a number, with values that compare: Q2 is the second quarter."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from contrafact.text.dates import date_value, period_value, time_value, year_value
from contrafact.text.number_names import IdentifierKind, number_names
from contrafact.text.numerals import WORDS, words_value

__all__ = ["Identifier", "IdentifierKind", "identifiers"]


@dataclass(frozen=True, slots=True)
class Identifier:
    """A stretch of a text that looks like a quantity and is a name.

    Attributes:
        text: The words: ``source[start:end]``.
        start: Where it begins, in characters.
        end: Where it ends.
        kind: What it names.
        value: What it names, in one spelling: two identifiers of a kind are the same when their
            values are equal, however they are written.
    """

    text: str
    start: int
    end: int
    kind: IdentifierKind
    value: str


_NUMBER_WORD = re.compile(rf"\b{WORDS}", re.IGNORECASE)
_ORDINALS = {
    word: str(n)
    for n, word in enumerate(
        ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 2
    )
}


def _plain(text: str) -> str:
    """Return a name in small letters, its numbers in digits and its words in the singular."""
    name = _NUMBER_WORD.sub(lambda m: f"{words_value(m[0]):f}", text.casefold())
    words = re.split(r"[\s-]+", name)
    return " ".join(re.sub(r"(?<=..)ies\Z", "y", w).removesuffix("s") for w in words)


def _ranking(text: str) -> str:
    name = re.sub(r"\b(?:nos?\b\.?|number)[\s-]?(?=\w)|#\s?", "#", text.casefold())
    name = re.sub(r"\A(?P<n>[0-9]+)(?:st|nd|rd|th)", r"\g<n>", name)
    words = re.split(r"[\s-]+", name)
    words[0] = _ORDINALS.get(words[0], words[0])
    return _NUMBER_WORD.sub(lambda m: f"{words_value(m[0]):f}", " ".join(words))


def _closed(text: str) -> str:
    name = re.sub(r"\A(?:form)\s", "", text.casefold())
    return re.sub(r"[\s()-]+", "", name)


_VALUES: dict[IdentifierKind, Callable[[str], str]] = {
    "year": year_value,
    "quarter": period_value,
    "half": period_value,
    "date": date_value,
    "time": time_value,
    "ranking": _ranking,
    "version": _closed,
    "form": _closed,
    "ticker": str.casefold,
}


def identifiers(text: str) -> list[Identifier]:
    """Return what only looks like a quantity, in order and without overlap.

    Years, quarters, halves, dates (days of the week and months among them), times, versions,
    rankings, indices and tenors of instruments, forms, tickers, and other names with a number.
    """
    return [
        Identifier(
            name.text, name.start, name.end, name.kind, _VALUES.get(name.kind, _plain)(name.text)
        )
        for name in number_names(text)
    ]
