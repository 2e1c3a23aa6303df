"""A pair under check: what is read in each text, once, and the two texts aligned word by word.

The lowest module of the contracts: a `Side` holds the tokens, sentences, quantities, identifiers
and times of one text, a `Pair` two sides and their `Alignment`. What other modules read in a side
or a pair is decorated with `read_once`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, TypeVar

from contrafact.records import Manipulation
from contrafact.text.alignment import (
    Alignment,
    Change,
    Sentence,
    Span,
    Token,
    align,
    sentences,
    tokenize,
)
from contrafact.text.parsing import Entity, entities
from contrafact.text.quantities import Identifier, Quantity, identifiers, quantities
from contrafact.text.times import TIME_KINDS, TimeReference, times
from contrafact.text.tokens import folded, small_letters, stem

__all__ = ["Change", "Pair", "Polarity", "Side", "Span", "Token", "read_once"]

Polarity = Callable[[Sequence[str]], list[float]]
"""Gives each text its tone, from -1 (negative) to 1 (positive)."""

Reading = TypeVar("Reading")
Source = TypeVar("Source", bound="Side | Pair")


def read_once(reader: Callable[[Source], Reading]) -> Callable[[Source], Reading]:
    """Decorate a function that reads something in a side or a pair: its result is kept with it."""

    @wraps(reader)
    def kept(source: Source) -> Reading:
        readings: dict[object, Any] = source.readings
        try:
            result: Reading = readings[reader]
        except KeyError:
            result = readings[reader] = reader(source)
        return result

    return kept


class Side:
    """One text of a pair and what is read in it, each on first use."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.readings: dict[object, object] = {}

    @cached_property
    def folded(self) -> str:
        """The text in small letters, in which `has` looks."""
        return folded(self.text)

    @cached_property
    def small(self) -> str | None:
        """The text in small letters, each in its place; see `small_letters`."""
        return small_letters(self.text)

    @cached_property
    def casefolded(self) -> str:
        """The text without case."""
        return self.text.casefold()

    def has(self, *parts: str) -> bool:
        """Return whether the text has one of these, in any case: what a pattern cannot do without.

        Patterns that seldom match are searched only where it has; that is much cheaper.
        """
        return any(part in self.folded for part in parts)

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities, in order."""
        return quantities(self.text)

    @cached_property
    def identifiers(self) -> list[Identifier]:
        """What only looks like a quantity and is no time: versions, ranks, index names."""
        return [found for found in self._names if found.kind not in TIME_KINDS]

    @cached_property
    def times(self) -> list[TimeReference]:
        """Every reference to a time, in order: dates, years, quarters, weekdays, "last year"."""
        return times(self.text, self._names, [(q.start, q.end) for q in self.quantities])

    @cached_property
    def _names(self) -> list[Identifier]:
        return identifiers(self.text)

    @cached_property
    def tokens(self) -> list[Token]:
        """The words; a quantity is one token, and so is an identifier or a time."""
        wholes = [(q.start, q.end, "#") for q in self.quantities]
        wholes += [(name.start, name.end, "@") for name in self.identifiers]
        wholes += [(time.start, time.end, "@t") for time in self.times]
        return tokenize(self.text, wholes)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the words."""
        return frozenset(stem(token.key) for token in self.tokens if token.is_word)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return sentences(self.text)

    @cached_property
    def entities(self) -> list[Entity]:
        """Named entities; slow to read, and asked only where capitals leave a name open."""
        return entities(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _ends(self) -> list[int]:
        return [token.end for token in self.tokens]

    def span_tokens(self, start: int, end: int) -> range:
        """Return the tokens that a stretch of characters touches."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def token_span(self, tokens: Span) -> Span | None:
        """Return where a run of tokens is, in characters; none if it is empty."""
        first, end = tokens
        return (self.tokens[first].start, self.tokens[end - 1].end) if end > first else None

    def excerpt(self, span: Span | None) -> str:
        """Return the words of a stretch of characters; none where there is no stretch."""
        return "" if span is None else self.text[span[0] : span[1]]

    def place_of(self, position: int) -> int:
        """Return which sentence a character is in, by its number."""
        return bisect_right([sentence.end for sentence in self.sentences], position)

    def sentence_of(self, position: int) -> Sentence:
        """Return the sentence that a character is in."""
        for sentence in self.sentences:
            if position < sentence.end:
                return sentence
        return self.sentences[-1] if self.sentences else Sentence(0, len(self.text), False)


class Pair:
    """The original and the rewrite of one manipulation.

    Args:
        manipulation: Which one.
        original: The paragraph as published, or its side.
        rewritten: Its manipulated version.
        polarity: A model of financial tone, if there is one.
    """

    def __init__(
        self,
        manipulation: Manipulation,
        original: str | Side,
        rewritten: str | Side,
        polarity: Polarity | None = None,
    ) -> None:
        self.manipulation = manipulation
        self.original = original if isinstance(original, Side) else Side(original)
        self.rewritten = rewritten if isinstance(rewritten, Side) else Side(rewritten)
        self.polarity = polarity
        self.readings: dict[object, object] = {}

    @cached_property
    def alignment(self) -> Alignment:
        """The two texts word by word; quantities meet quantities whatever their values."""
        return align(self.original.tokens, self.rewritten.tokens)

    @property
    def changes(self) -> list[Change]:
        """The stretches in which the texts differ, in order."""
        return self.alignment.changes

    def tokens(self, change: Change) -> tuple[list[Token], list[Token]]:
        """Return the tokens of a change: the original's and the rewrite's."""
        return (
            self.original.tokens[slice(*change.original)],
            self.rewritten.tokens[slice(*change.rewritten)],
        )

    def spans(self, change: Change) -> tuple[Span | None, Span | None]:
        """Return where a change is in both texts, in characters; none where it has no words."""
        return (
            self.original.token_span(change.original),
            self.rewritten.token_span(change.rewritten),
        )

    def texts(self, change: Change) -> tuple[str, str]:
        """Return the words of a change in both texts."""
        a, b = self.spans(change)
        return self.original.excerpt(a), self.rewritten.excerpt(b)

    def goes_with_cause(self, start: int, end: int, *, reach: int = 3) -> bool:
        """Return whether a stretch of the original may be gone with the cause that a causal rewrite
        replaces: words near it are changed too, so that it is not taken out by itself.
        """
        if self.manipulation != "causal":
            return False
        own = self.original.span_tokens(start, end)
        near = range(own.start - reach, own.stop + reach)
        return any(i not in own and self.alignment.change_in_original(i) for i in near)
