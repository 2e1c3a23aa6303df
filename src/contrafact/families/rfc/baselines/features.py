"""Surface features: of a pair, as the paper's baseline uses them, and of one text alone.

RFC-BENCH, section 3.4, figure 4 and appendix L.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contrafact.text.diff import surface

__all__ = ["PAIR_FEATURES", "TEXT_FEATURES", "pair_features", "text_features"]

PAIR_FEATURES: tuple[str, ...] = (
    *("length_ratio", "punctuation_difference", "numeric_difference", "jaccard"),
)
"""What figure 4's baseline is made from: length, punctuation, numeric tokens, lexical overlap."""

TEXT_FEATURES: tuple[str, ...] = (
    *("characters", "words", "characters_per_word", "distinct_words", "punctuation", "numbers"),
    *("digits", "percent_signs", "capitals"),
)
"""The same kind of thing where there is one text; counts, but for two ratios."""

_WORD = re.compile(r"\w+(?:['’.,\-]\w+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def pair_features(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return :data:`PAIR_FEATURES` of (original, rewritten) pairs, shape (pairs, features)."""
    found = [surface(original, rewritten) for original, rewritten in pairs]
    rows = [[float(getattr(one, name)) for name in PAIR_FEATURES] for one in found]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(PAIR_FEATURES))


def text_features(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return :data:`TEXT_FEATURES` of texts, shape (texts, features)."""
    rows = []
    for text in texts:
        words = _WORD.findall(text)
        count = max(1, len(words))
        rows.append(
            (
                len(text),
                len(words),
                sum(map(len, words)) / count,
                len({word.casefold() for word in words}) / count,
                sum(unicodedata.category(c).startswith("P") for c in text),
                len(_NUMBER.findall(text)),
                sum(c.isdigit() for c in text),
                text.count("%"),
                sum(c.isupper() for c in text),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(texts), len(TEXT_FEATURES))
