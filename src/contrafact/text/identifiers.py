"""Names that hold a number, with values that compare: Q2 is the second quarter."""

from dataclasses import dataclass
from typing import Literal

from contrafact.text.number_names import number_names

__all__ = ["Identifier", "IdentifierKind", "identifiers"]

IdentifierKind = Literal[
    "year",
    "quarter",
    "half",
    "date",
    "time",
    "version",
    "ranking",
    "index",
    "form",
    "ticker",
    "other",
]


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


_KINDS: dict[str, IdentifierKind] = {
    "year": "year",
    "quarter": "quarter",
    "half": "half",
    "date": "date",
    "time": "time",
    "version": "version",
    "rank": "ranking",
    "ordinal": "ranking",
    "index": "index",
    "form": "form",
    "ticker": "ticker",
}


def identifiers(text: str) -> list[Identifier]:
    """Return what only looks like a quantity, in order and without overlap."""
    return [
        Identifier(
            n.text, n.start, n.end, _KINDS.get(n.kind, "other"), " ".join(n.text.casefold().split())
        )
        for n in number_names(text)
    ]
