"""How far a rewritten paragraph departs from its original on the surface.

RFC-BENCH, section 2.2.2 (length in tokens) and appendix L (figures 14 to 18).
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from contrafact.text.diff import normalised_edit_distance

__all__ = ["Surface", "surface", "token_count", "token_ratio"]

_SURROGATE = re.compile(r"[\ud800-\udfff]")
# A token never holds the end of a word and the space after it.
_GAP = re.compile(r"(?<=[a-z]) (?=[a-z])")
_MAX_PIECE = 500_000  # characters; the tokenizer refuses a million
_SEARCHED = 1_000
_WORD = re.compile(r"\w+(?:['’.,\-]\w+)*")
# One number however it is grouped: 1,200.50 and 3.5 are one token each.
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Surface:
    """The surface measures of a pair.

    Attributes:
        length_ratio: Characters of the rewritten text over those of the original.
        token_ratio: The same in OpenAI's tokens (cl100k), the unit of the length bands.
        jaccard: Words that both have over words that either has, case aside; from 0 to 1.
        edit_distance: Levenshtein distance in characters over the longer length; from 0 to 1.
        punctuation_difference: Punctuation marks of the rewritten text less the original's.
        numeric_difference: Numbers of the rewritten text less the original's.
    """

    length_ratio: float
    token_ratio: float
    jaccard: float
    edit_distance: float
    punctuation_difference: int
    numeric_difference: int


def surface(original: str, rewritten: str) -> Surface:
    """Return the surface measures of a rewritten text beside its original.

    A ratio to an empty original is 1 if both are empty, and infinite otherwise. Two texts without
    words have all their words in common.
    """
    return Surface(
        length_ratio=_ratio(len(original), len(rewritten)),
        token_ratio=token_ratio(original, rewritten),
        jaccard=_jaccard(original, rewritten),
        edit_distance=_edit_distance(original, rewritten),
        punctuation_difference=_punctuation(rewritten) - _punctuation(original),
        numeric_difference=_numbers(rewritten) - _numbers(original),
    )


def token_count(text: str) -> int:
    """Return how many of OpenAI's tokens (cl100k) a text has; needs no network."""
    # The tokenizer takes UTF-8, which cannot hold half a character.
    whole = _SURROGATE.sub("\ufffd", text)
    return sum(len(_encoding().encode_ordinary(piece)) for piece in _pieces(whole))


def token_ratio(original: str, rewritten: str) -> float:
    """Return the tokens of the rewritten text over those of the original.

    1 if both are empty, infinite if only the original is.
    """
    return _ratio(token_count(original), token_count(rewritten))


def _pieces(text: str) -> Iterator[str]:
    """Return a text in pieces that the tokenizer takes: cut between words, where no token is."""
    start = 0
    while len(text) - start > _MAX_PIECE:
        end = start + _MAX_PIECE
        cut = max(
            (match.start() for match in _GAP.finditer(text, end - _SEARCHED, end)), default=end
        )
        yield text[start:cut]
        start = cut
    yield text[start:]


@cache
def _encoding() -> Any:
    from bpe_openai import get_encoding

    return get_encoding("cl100k_base")


def _ratio(original: int, rewritten: int) -> float:
    if original:
        return rewritten / original
    return math.inf if rewritten else 1.0


def _jaccard(a: str, b: str) -> float:
    words_a, words_b = (set(_WORD.findall(text.casefold())) for text in (a, b))
    either = words_a | words_b
    return len(words_a & words_b) / len(either) if either else 1.0


def _edit_distance(a: str, b: str) -> float:
    """Return the normalised distance, worked out on what differs in the middle alone."""
    longer = max(len(a), len(b))
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    a_middle, b_middle = a[head : len(a) - tail], b[head : len(b) - tail]
    middle = max(len(a_middle), len(b_middle))
    return normalised_edit_distance(a_middle, b_middle) * middle / longer if longer else 0.0


def _common(a: str, b: str) -> int:
    """Return how many characters two texts begin with alike."""
    shorter = min(len(a), len(b))
    return next((i for i in range(shorter) if a[i] != b[i]), shorter)


def _punctuation(text: str) -> int:
    return sum(unicodedata.category(c).startswith("P") for c in text)


def _numbers(text: str) -> int:
    return sum(1 for _ in _NUMBER.finditer(text))
