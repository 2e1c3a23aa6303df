"""A pair under check: each side read once, and the two laid side by side."""

from bisect import bisect_left, bisect_right
from functools import cached_property

from contrafact.families.rfc.contracts.align import Alignment, align
from contrafact.families.rfc.contracts.findings import Span
from contrafact.families.rfc.contracts.options import Options
from contrafact.families.rfc.contracts.times import TimeReference, time_references
from contrafact.families.rfc.contracts.tokens import Sentence, Token, sentences, words
from contrafact.records import Manipulation
from contrafact.text.parsing import Entity, entities
from contrafact.text.quantities import Identifier, Quantity, identifiers, quantities
from contrafact.text.words import Match, lexicon

__all__ = ["Pair", "Side"]

_TIMES = ("year", "quarter", "half", "date", "time")


class Side:
    """One text of a pair and what the layers below read in it, each on first use."""

    def __init__(self, text: str, matches: list[Match] | None = None) -> None:
        self.text = text
        if matches is not None:
            self.matches = matches
        self._entities: list[Entity] | None = None
        self.memo: dict[str, object] = {}

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities, in order."""
        return quantities(self.text)

    @cached_property
    def identifiers(self) -> list[Identifier]:
        """What only looks like a quantity and is no time: versions, ranks, index names."""
        return [found for found in self._names if found.kind not in _TIMES]

    @cached_property
    def times(self) -> list[TimeReference]:
        """Every reference to a time, in order: dates, years, quarters, weekdays, "last year"."""
        found = [
            TimeReference(name.start, name.end, name.text, name.value)
            for name in self._names
            if name.kind in _TIMES
        ]
        taken = [(name.start, name.end) for name in self._names]
        taken += [(q.start, q.end) for q in self.quantities]
        found += [
            time
            for time in time_references(self.text)
            if not any(start < time.end and time.start < end for start, end in taken)
        ]
        return sorted(found, key=lambda time: time.start)

    @cached_property
    def _names(self) -> list[Identifier]:
        return identifiers(self.text)

    @cached_property
    def tokens(self) -> list[Token]:
        """The words; a quantity is one token, and so is an identifier or a time."""
        wholes = [(q.start, q.end, "#") for q in self.quantities]
        wholes += [(name.start, name.end, "@") for name in self.identifiers]
        wholes += [(time.start, time.end, "@t") for time in self.times]
        return words(self.text, wholes)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return sentences(self.text)

    @cached_property
    def matches(self) -> list[Match]:
        """Terms of the word lists, in order; they may overlap."""
        return lexicon().find(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _ends(self) -> list[int]:
        return [token.end for token in self.tokens]

    def found(self, *lists: str) -> list[Match]:
        """Return the terms of some lists."""
        return [match for match in self.matches if match.list in lists]

    def span_tokens(self, start: int, end: int) -> range:
        """Return the tokens that a stretch of characters touches."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def sentence_of(self, position: int) -> Sentence:
        """Return the sentence that a character is in."""
        for sentence in self.sentences:
            if position < sentence.end:
                return sentence
        return self.sentences[-1] if self.sentences else Sentence(0, len(self.text), False)

    @property
    def entities(self) -> list[Entity]:
        """Named entities, read only where capitals leave a name open."""
        if self._entities is None:
            self._entities = entities(self.text)
        return self._entities


class Pair:
    """The original and the rewrite of one manipulation."""

    def __init__(
        self, manipulation: Manipulation, original: str | Side, rewritten: str | Side
    ) -> None:
        self.manipulation = manipulation
        self.original = original if isinstance(original, Side) else Side(original)
        self.rewritten = rewritten if isinstance(rewritten, Side) else Side(rewritten)
        self.memo: dict[str, object] = {}
        self.options = Options()

    @cached_property
    def alignment(self) -> Alignment:
        """The two texts word by word; quantities meet quantities whatever their values."""
        return align(self.original.tokens, self.rewritten.tokens)

    def kept(self, start: int, end: int) -> Span | None:
        """Return where the rewrite has a stretch of the original word for word, if it has."""
        tokens = self.original.span_tokens(start, end)
        if not tokens or any(i not in self.alignment.to_after for i in tokens):
            return None
        first, last = self.alignment.to_after[tokens[0]], self.alignment.to_after[tokens[-1]]
        if last - first != tokens[-1] - tokens[0]:
            return None
        return self.rewritten.tokens[first].start, self.rewritten.tokens[last].end
