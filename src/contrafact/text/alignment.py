"""Tokens and sentences of texts, and the alignment of two texts' tokens.

A unit given by the caller (a quantity, a name with digits, a time) is one token.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from contrafact.text.diff import opcodes
from contrafact.text.tokens import normal, sentence_spans

__all__ = ["Alignment", "Change", "Sentence", "Span", "Token", "align", "sentences", "tokenize"]

Span = tuple[int, int]
"""A start and an end, in characters of a text or, where stated, in tokens."""

MAX_ALIGNED_WORDS = 3_000
"""With more differing words, the middle counts as one change (ours: matching is quadratic)."""

TITLED_SHARE = 0.7
"""The least share of capitalised longer words in a sentence in title case (ours)."""

# Words and sentences

_WORD = re.compile(r"[^\W_]+(?:['’.&/-][^\W_]+)*")
_WHOLES = ("#", "@", "@t")  # the keys of tokens that are not words


class Token(NamedTuple):
    """A word of a text, or a whole quantity, identifier or time reference.

    Tokens are compared by their keys: `normal` of a word, "#" for any quantity, "@" for any
    identifier, "@t" for any time reference.
    """

    start: int
    end: int
    text: str
    key: str

    @property
    def is_word(self) -> bool:
        return self.key not in _WHOLES


_token = tuple.__new__  # Token(…) calls this; called directly, since there are many words


@dataclass(frozen=True, slots=True)
class Sentence:
    """The span of a sentence, and whether it is in title case, as headlines are."""

    start: int
    end: int
    titled: bool


def tokenize(text: str, wholes: Iterable[tuple[int, int, str]]) -> list[Token]:
    """Return the tokens of a text; each of ``wholes`` (start, end, key) is one token."""

    def words(start: int, end: int) -> list[Token]:
        matches = _WORD.finditer(text, start, end)
        return [_token(Token, (m.start(), m.end(), m[0], normal(m[0]))) for m in matches]

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
    """Return the sentences of a text, in order; in a headline a dash ends a sentence."""
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


# Alignment


@dataclass(frozen=True, slots=True)
class Change:
    """A run of tokens, ``(first, last + 1)``, and the run that replaces it; either may be empty."""

    original: Span
    rewritten: Span


class Alignment:
    """The unchanged tokens of two texts, mapped onto each other by index, and the changes."""

    def __init__(self, opcodes: Sequence[tuple[str, int, int, int, int]]) -> None:
        self.changes = [Change((a, b), (c, d)) for tag, a, b, c, d in opcodes if tag != "equal"]
        self.to_rewritten = {
            a + k: c + k for tag, a, b, c, _ in opcodes if tag == "equal" for k in range(b - a)
        }
        self._in_original = {i: change for change in self.changes for i in range(*change.original)}
        self._in_rewritten = {
            i: change for change in self.changes for i in range(*change.rewritten)
        }

    def change_in_original(self, token: int) -> Change | None:
        return self._in_original.get(token)

    def change_in_rewritten(self, token: int) -> Change | None:
        return self._in_rewritten.get(token)


def align(original: Sequence[Token], rewritten: Sequence[Token]) -> Alignment:
    keys = [token.key for token in original], [token.key for token in rewritten]
    return Alignment(opcodes(*keys, MAX_ALIGNED_WORDS))
