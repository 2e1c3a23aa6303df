"""A text with its words, sentences, quantities, identifiers and times, each computed once.

Functions of other modules that analyse a `Side` are decorated with `read_once`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, Protocol, TypeVar

from contrafact.text.alignment import Sentence, Span, Token, sentences, tokenize
from contrafact.text.parsing import Entity, entities
from contrafact.text.quantities import Identifier, Quantity, identifiers, quantities
from contrafact.text.quantities.context import Movement, movements
from contrafact.text.times import TIME_KINDS, TimeReference, times
from contrafact.text.tokens import folded, stem

__all__ = ["Side", "read_once"]

Result = TypeVar("Result")


class Read(Protocol):
    """A side or a pair of sides that stores the results of functions decorated with `read_once`."""

    readings: dict[object, object]


Source = TypeVar("Source", bound=Read)


def read_once(reader: Callable[[Source], Result]) -> Callable[[Source], Result]:
    """Decorate a function of a side or a pair so that its result is stored there."""

    @wraps(reader)
    def kept(source: Source) -> Result:
        readings: dict[object, Any] = source.readings
        if reader not in readings:
            readings[reader] = reader(source)
        result: Result = readings[reader]
        return result

    return kept


class Side:
    """A text and its analyses, each computed at first use, in the order of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.readings: dict[object, object] = {}

    @cached_property
    def folded(self) -> str:
        return folded(self.text)

    @cached_property
    def casefolded(self) -> str:
        return self.text.casefold()

    @cached_property
    def quantities(self) -> list[Quantity]:
        return quantities(self.text)

    @cached_property
    def identifiers(self) -> list[Identifier]:
        """Names that look like quantities, except times: versions, ranks, index names."""
        return [name for name in self._names if name.kind not in TIME_KINDS]

    @cached_property
    def times(self) -> list[TimeReference]:
        """All references to times: dates, years, quarters, weekdays, "last year"."""
        return times(self.text, self._names, [(q.start, q.end) for q in self.quantities])

    @cached_property
    def _names(self) -> tuple[Identifier, ...]:
        return identifiers(self.text)

    @cached_property
    def movements(self) -> list[Movement]:
        """The words of movement up or down."""
        return movements(self.text)

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens: words, and whole quantities, identifiers and times."""
        wholes = [(q.start, q.end, "#") for q in self.quantities]
        wholes += [(name.start, name.end, "@") for name in self.identifiers]
        wholes += [(time.start, time.end, "@t") for time in self.times]
        return tokenize(self.text, wholes)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stem(token.key) for token in self.tokens if token.is_word)

    @cached_property
    def sentences(self) -> list[Sentence]:
        return sentences(self.text)

    @cached_property
    def entities(self) -> list[Entity]:
        """Named entities; slow, so only used if capitals do not show whether a word is a name."""
        return entities(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _ends(self) -> list[int]:
        return [token.end for token in self.tokens]

    def span_tokens(self, start: int, end: int) -> range:
        """Return the indices of the tokens that overlap a span of characters."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def token_span(self, tokens: Span) -> Span | None:
        """Return the span of characters of a range of tokens; None if it is empty."""
        first, end = tokens
        return (self.tokens[first].start, self.tokens[end - 1].end) if end > first else None

    def excerpt(self, span: Span | None) -> str:
        """Return the text of a span of characters; "" for None."""
        return "" if span is None else self.text[span[0] : span[1]]

    def place_of(self, position: int) -> int:
        """Return the number of the sentence that a character is in."""
        return bisect_right([sentence.end for sentence in self.sentences], position)

    def sentence_of(self, position: int) -> Sentence:
        """Return the sentence that a character is in."""
        for sentence in self.sentences:
            if position < sentence.end:
                return sentence
        return self.sentences[-1] if self.sentences else Sentence(0, len(self.text), False)
