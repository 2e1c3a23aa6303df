"""A pair under check: what is read in each text, once, and the two texts aligned word by word.

The lowest module of the contracts: a `Side` holds the tokens, sentences, quantities, identifiers,
times and word-list terms of one text, a `Pair` two sides and their `Alignment`. What other modules
read in a side or a pair is decorated with `read_once`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeVar

from contrafact.families.rfc.contracts.vocabulary import AtWords
from contrafact.records import Manipulation
from contrafact.text.parsing import Entity, entities
from contrafact.text.quantities import Identifier, Quantity, identifiers, quantities
from contrafact.text.tokens import (
    Caseless,
    folded,
    normal,
    sentence_spans,
    small_letters,
)
from contrafact.text.words import Match, lexicon

__all__ = [
    "Alignment",
    "Change",
    "Pair",
    "Polarity",
    "Sentence",
    "Side",
    "Span",
    "TimeReference",
    "Token",
    "align",
    "read_once",
    "relative_times",
    "sentences",
    "time_parts",
    "tokenize",
]

Span = tuple[int, int]
"""Where something begins and ends: characters of a text, or tokens where that is stated."""

Polarity = Callable[[Sequence[str]], list[float]]
"""Gives each text its tone, from -1 (negative) to 1 (positive)."""

MAX_ALIGNED_WORDS = 3_000
"""Differing words beyond which the middle counts as one change (ours: matching is quadratic)."""

TITLED_SHARE = 0.7
"""Share of capitals among a sentence's longer words from which it is in title case (ours)."""

# Words, sentences


_WORD = re.compile(r"[^\W_]+(?:['’.&/-][^\W_]+)*")
_WORD_LETTERS = re.compile(r"\b[^\W_]\w*")
_WHOLES = ("#", "@", "@t")  # the keys of tokens that are no word


class Token(NamedTuple):
    """A word, or a whole quantity, identifier or time reference, of a text.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        key: What it is compared by: `normal` of the word, "#" for any quantity, "@" for any
            identifier, "@t" for any time reference.
    """

    start: int
    end: int
    text: str
    key: str

    @property
    def is_word(self) -> bool:
        """Whether it is a word, and no quantity, identifier or time."""
        return self.key not in _WHOLES


_token = tuple.__new__  # what Token(…) calls, which for every word of a text takes time


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's place, and whether it is written in title case, as headlines are."""

    start: int
    end: int
    titled: bool


def tokenize(text: str, wholes: Iterable[tuple[int, int, str]]) -> list[Token]:
    """Return the tokens of a text; each of ``wholes`` (start, end, key) is one token."""

    def words(start: int, end: int) -> list[Token]:
        found = _WORD.finditer(text, start, end)
        return [_token(Token, (m.start(), m.end(), m[0], normal(m[0]))) for m in found]

    tokens: list[Token] = []
    position = 0
    for start, end, key in sorted(wholes):
        if start < position:
            continue
        tokens += words(position, start)
        tokens.append(Token(start, end, text[start:end], key))
        position = end
    return [*tokens, *words(position, len(text))]


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text, in order; a headline's dash ends one."""
    return [
        Sentence(start, end, _is_titled(text[start:end]))
        for start, end in sentence_spans(text, dashes=True)
        if text[start:end].strip()
    ]


def _is_titled(sentence: str) -> bool:
    long = [m[0] for m in _WORD.finditer(sentence) if len(m[0]) > 3 and m[0][0].isalpha()]
    capital = sum(word[0].isupper() for word in long)
    if len(long) == 2:
        return capital == 2
    return len(long) >= 3 and capital >= TITLED_SHARE * len(long)


# Times


_SPANS = r"year|quarter|month|week|decade|session|summer|winter|spring|autumn|century"
_RELATIVE = {
    **dict.fromkeys(("prior", "previous", "preceding"), "last"),
    **dict.fromkeys(("coming", "following", "upcoming"), "next"),
    "current": "this",
}
_TIME = Caseless(
    r"\b(?:(?P<which>last|this|next|prior|previous|preceding|coming|current|upcoming)"
    rf"[\s-](?P<span>{_SPANS})s?"
    r"|(?:a|one)[\s-](?P<ago>year|quarter|month|week)[\s-](?:ago|earlier|prior|before)"
    r"|(?P<over>year|quarter|month|week)[\s-](?:over|on)[\s-](?:year|quarter|month|week)"
    r"|(?P<short>yoy|qoq|mom|y/y|q/q|m/m)"
    r"|(?P<adverb>yesterday|today|tomorrow|tonight))\b"
)
_SHORT = {"y": "year", "q": "quarter", "m": "month"}
_DATE = re.compile(r"(?P<year>[0-9]{4})?-{1,2}(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?")
_PERIOD = re.compile(r"(?:(?:FY)?(?P<year>[0-9]{4})-)?(?P<part>[QH][1-4])")


@dataclass(frozen=True, slots=True)
class TimeReference:
    """A time that a text names; two with equal values name the same time.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        value: The time in one spelling.
        relative: Whether it is counted from the day of writing ("last year").
    """

    start: int
    end: int
    text: str
    value: str
    relative: bool = False


def relative_times(text: str) -> list[TimeReference]:
    """Return the relative times of a text ("last year", "year over year"), in order."""
    return [
        TimeReference(m.start(), m.end(), text[slice(*m.span())], _time_value(m), True)
        for m in _TIME.finditer(text, small_letters(text))
    ]


def _time_value(match: re.Match[str]) -> str:
    part = {name: found.casefold() for name, found in match.groupdict().items() if found}
    if "which" in part:
        return f"{_RELATIVE.get(part['which'], part['which'])} {part['span']}"
    if "short" in part:
        return f"last {_SHORT[part['short'][0]]}"
    if "adverb" in part:
        return part["adverb"]
    return f"last {part.get('ago') or part['over']}"


def time_parts(value: str) -> frozenset[str]:
    """Return what a time's value names: {"Q2", "2025"} of "2025-Q2", {"month 05"} of "--05".

    A time that names more than another but agrees with it has all of its parts.
    """
    date, period = _DATE.fullmatch(value), _PERIOD.fullmatch(value)
    if date:
        named = (
            date["year"],
            date["month"] and f"month {date['month']}",
            date["day"] and f"day {date['day']}",
        )
        return frozenset(part for part in named if part)
    if period:
        return frozenset(part for part in (period["year"], period["part"]) if part)
    return frozenset((value.removeprefix("FY"),))


# Alignment


@dataclass(frozen=True, slots=True)
class Change:
    """A run of words of the original that the rewrite replaces; either side may be empty.

    Attributes:
        original: The original's tokens, ``(first, last + 1)``.
        rewritten: The rewrite's tokens.
    """

    original: Span
    rewritten: Span


class Alignment:
    """Which word of the rewrite stands for which of the original, and what changed.

    Attributes:
        changes: The stretches that differ, in order.
        to_rewritten: The rewrite's token for each unchanged one of the original, by index.
        to_original: The other way round.
    """

    def __init__(self, opcodes: Sequence[tuple[str, int, int, int, int]]) -> None:
        self.changes = [Change((a, b), (c, d)) for tag, a, b, c, d in opcodes if tag != "equal"]
        self.to_rewritten = {
            a + k: c + k for tag, a, b, c, _ in opcodes if tag == "equal" for k in range(b - a)
        }
        self.to_original = {after: before for before, after in self.to_rewritten.items()}
        self._in_original = {i: change for change in self.changes for i in range(*change.original)}
        self._in_rewritten = {
            i: change for change in self.changes for i in range(*change.rewritten)
        }

    def change_in_original(self, token: int) -> Change | None:
        """Return the change that a token of the original is part of."""
        return self._in_original.get(token)

    def change_in_rewritten(self, token: int) -> Change | None:
        """Return the change that a token of the rewrite is part of."""
        return self._in_rewritten.get(token)


def align(original: Sequence[Token], rewritten: Sequence[Token]) -> Alignment:
    """Return the alignment of two token lists, by their keys."""
    a, b = [token.key for token in original], [token.key for token in rewritten]
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    room = shorter - head
    tail = next((i for i in range(room) if a[-1 - i] != b[-1 - i]), room)
    a_end, b_end = len(a) - tail, len(b) - tail
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    if max(a_end, b_end) - head > MAX_ALIGNED_WORDS:
        codes.append(("replace", head, a_end, head, b_end))
    else:
        matcher = SequenceMatcher(None, a[head:a_end], b[head:b_end], autojunk=False)
        codes += [
            (tag, i + head, j + head, k + head, m + head)
            for tag, i, j, k, m in matcher.get_opcodes()
        ]
    codes.append(("equal", a_end, len(a), b_end, len(b)))
    return Alignment(codes)


# Sides and pairs

_TIME_KINDS = ("year", "quarter", "half", "date", "time")

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
    """One text of a pair and what is read in it, each on first use.

    Args:
        text: The text.
        matches: Its terms of the word lists, where they are known already.
    """

    def __init__(self, text: str, matches: list[Match] | None = None) -> None:
        self.text = text
        self.readings: dict[object, object] = {}
        if matches is not None:
            self.matches = matches

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
    def words(self) -> list[tuple[int, str]]:
        """Where each word begins, parts of compounds among them, and the word in small letters."""
        if self.small is not None:
            return [(m.start(), m[0]) for m in _WORD_LETTERS.finditer(self.small)]
        return [(m.start(), folded(m[0])) for m in _WORD_LETTERS.finditer(self.text)]

    def at_words(self, expressions: AtWords) -> Iterator[re.Match[str]]:
        """Yield what expressions match at the beginning of words, in order and without overlap."""
        last = 0
        for start, word in self.words:
            pattern = expressions.pattern(word)
            if pattern is not None and start >= last:
                match = pattern.match(self.text, start)
                if match is not None and match.end() > start:
                    yield match
                    last = match.end()

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities, in order."""
        return quantities(self.text)

    @cached_property
    def identifiers(self) -> list[Identifier]:
        """What only looks like a quantity and is no time: versions, ranks, index names."""
        return [found for found in self._names if found.kind not in _TIME_KINDS]

    @cached_property
    def times(self) -> list[TimeReference]:
        """Every reference to a time, in order: dates, years, quarters, weekdays, "last year"."""
        found = [
            TimeReference(name.start, name.end, name.text, name.value)
            for name in self._names
            if name.kind in _TIME_KINDS
        ]
        taken = [(name.start, name.end) for name in self._names]
        taken += [(q.start, q.end) for q in self.quantities]
        found += [
            time
            for time in relative_times(self.text)
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
        return tokenize(self.text, wholes)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The sentences, in order."""
        return sentences(self.text)

    @cached_property
    def matches(self) -> list[Match]:
        """Terms of the word lists, in order; they may overlap."""
        return lexicon().find(self.text)

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

    def terms(self, *lists: str) -> list[Match]:
        """Return the terms of some word lists, in order."""
        return [match for match in self.matches if match.list in lists]

    def terms_at(self, start: int, end: int) -> list[Match]:
        """Return the terms of any word list that touch a stretch of characters."""
        return [match for match in self.matches if match.start < end and start < match.end]

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

    def kept(self, start: int, end: int) -> Span | None:
        """Return where the rewrite has a stretch of the original word for word, if it has."""
        tokens, to = self.original.span_tokens(start, end), self.alignment.to_rewritten
        if not tokens or any(i not in to for i in tokens):
            return None
        first, last = to[tokens[0]], to[tokens[-1]]
        if last - first != tokens[-1] - tokens[0]:
            return None
        return self.rewritten.tokens[first].start, self.rewritten.tokens[last].end
