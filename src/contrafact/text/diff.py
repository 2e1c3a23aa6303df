"""Differences of two texts: by words, in characters, and in surface measures.

RFC-BENCH, section 2.2.2 (length in tokens) and appendix L (figures 14 to 18).
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import groupby
from typing import Any, Literal

from contrafact.errors import require
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "FEW_WORDS",
    "MANY_CHANGES",
    "SHARED_WORDS",
    "DiffKind",
    "DiffPart",
    "Surface",
    "is_scattered",
    "normalised_edit_distance",
    "opcodes",
    "surface",
    "token_count",
    "token_ratio",
    "word_diff",
]

DiffKind = Literal["same", "removed", "added"]

SHARED_WORDS = 0.5
"""If two texts share a smaller part of their words, a marked diff may be scattered."""
MANY_CHANGES = 3
"""With this many changed stretches and few shared words, a marked diff is scattered."""
FEW_WORDS = 0.2
"""If a smaller part of the shorter text is shared, it is only words like "the"."""

# Matching takes at least quadratic time in the differing words, more on repetitive text. A headline
# has some 20 words, a story a few hundred; with more than this, the changed middle is one change.
_MAX_WORDS = 2_000

# A word with its inner apostrophes, points and hyphens, or one other sign; then its spaces.
_UNIT = re.compile(r"(\w+(?:['’.,\-]\w+)*|[^\w\s])(\s*)")
# No token of cl100k contains the end of a word and the space after it.
_GAP = re.compile(r"(?<=[a-z]) (?=[a-z])")
_MAX_PIECE = 500_000  # characters in a piece; the tokenizer refuses a million
_SEARCHED = 1_000
_WORD = re.compile(r"\w+(?:['’.,\-]\w+)*")
# A number is one word however its digits are grouped: 1,200.50.
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class DiffPart:
    kind: DiffKind
    text: str


@dataclass(frozen=True, slots=True)
class Surface:
    """The surface measures of a pair: ratios and differences of the rewrite to the original.

    Attributes:
        length_ratio: In characters.
        token_ratio: In OpenAI's tokens (cl100k), the unit of the length bands.
        jaccard: The number of shared words over that of all words, ignoring case; from 0 to 1.
        edit_distance: Levenshtein distance in characters over the longer length; from 0 to 1.
    """

    length_ratio: float
    token_ratio: float
    jaccard: float
    edit_distance: float
    punctuation_difference: int
    numeric_difference: int


def word_diff(a: str, b: str) -> list[DiffPart]:
    """Return the parts of a word-by-word diff from ``a`` to ``b``.

    The "same" and "removed" parts, joined, are ``a``; the "same" and "added" ones are ``b``.
    Neighbouring parts are of different kinds, and "removed" comes before "added".
    """
    before, after = _units(a), _units(b)
    pieces: list[tuple[DiffKind, str]] = []
    words = [word for word, _ in before], [word for word, _ in after]
    for tag, a_from, a_to, b_from, b_to in opcodes(*words, _MAX_WORDS):
        if tag != "equal":
            pieces.append(("removed", "".join(w + s for w, s in before[a_from:a_to])))
            pieces.append(("added", "".join(w + s for w, s in after[b_from:b_to])))
            continue
        pairs = zip(before[a_from:a_to], after[b_from:b_to], strict=True)
        for (word, a_space), (_, b_space) in pairs:
            if a_space == b_space:
                pieces.append(("same", word + a_space))
            else:
                pieces += [("same", word), ("removed", a_space), ("added", b_space)]
    parts: list[DiffPart] = []
    filled = (piece for piece in pieces if piece[1])
    for _, neighbours in groupby(filled, key=lambda piece: piece[0] == "same"):
        texts: dict[DiffKind, list[str]] = {"same": [], "removed": [], "added": []}
        for kind, text in neighbours:
            texts[kind].append(text)
        parts += [DiffPart(kind, "".join(of_kind)) for kind, of_kind in texts.items() if of_kind]
    return parts


def is_scattered(parts: Sequence[DiffPart]) -> bool:
    """Return whether a marked diff would be scattered: little or hardly anything is shared.

    The share of shared words is twice their number over the words of both texts.
    """
    words = {"same": 0, "removed": 0, "added": 0}
    changes, before = 0, "same"
    for part in parts:
        words[part.kind] += len(part.text.split())
        changes += part.kind != "same" and before == "same"
        before = part.kind
    same, shorter = words["same"], words["same"] + min(words["removed"], words["added"])
    every = 2 * same + words["removed"] + words["added"]
    many = changes >= MANY_CHANGES and 2 * same < SHARED_WORDS * every
    return many or same < FEW_WORDS * shorter


def normalised_edit_distance(a: str, b: str) -> float:
    """Return the Levenshtein distance in characters over the longer length, from 0 (equal) to 1."""
    longer = max(len(a), len(b))
    head = _common_start(a, b)
    tail = _common_start(a[head:][::-1], b[head:][::-1])
    apart = _levenshtein(a[head : len(a) - tail], b[head : len(b) - tail])
    return apart / longer if longer else 0.0


def surface(original: str, rewritten: str) -> Surface:
    """Return the surface measures of a rewritten text against its original.

    A ratio to an empty original is 1 if both are empty, and infinite otherwise. The Jaccard index
    of two texts without words is 1.
    """
    before, after = (set(_WORD.findall(text.casefold())) for text in (original, rewritten))
    marks = [
        sum(unicodedata.category(c).startswith("P") for c in text) for text in (original, rewritten)
    ]
    return Surface(
        length_ratio=_ratio(len(original), len(rewritten)),
        token_ratio=token_ratio(original, rewritten),
        jaccard=len(before & after) / len(before | after) if before | after else 1.0,
        edit_distance=normalised_edit_distance(original, rewritten),
        punctuation_difference=marks[1] - marks[0],
        numeric_difference=len(_NUMBER.findall(rewritten)) - len(_NUMBER.findall(original)),
    )


def token_count(text: str) -> int:
    """Return the number of OpenAI tokens (cl100k) in a text, without network."""
    # The tokenizer takes UTF-8, which has no lone surrogates.
    whole = replace_surrogates(text)
    return sum(len(_encoding().encode_ordinary(piece)) for piece in _pieces(whole))


def token_ratio(original: str, rewritten: str) -> float:
    """Return a rewritten text's tokens over the original's; infinite if the original is empty."""
    return _ratio(token_count(original), token_count(rewritten))


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces short enough for the tokenizer, cut where no token can be split."""
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
    require("bpe_openai", "token counts")
    from bpe_openai import get_encoding

    return get_encoding("cl100k_base")


def _units(text: str) -> list[tuple[str, str]]:
    lead = len(text) - len(text.lstrip())
    units = [(m[1], m[2]) for m in _UNIT.finditer(text, lead)]
    return [("", text[:lead]), *units] if lead else units


def opcodes(a: Sequence[str], b: Sequence[str], most: int) -> list[tuple[str, int, int, int, int]]:
    """Return difflib's opcodes; a middle of more than ``most`` words is one replacement."""
    head = _common_start(a, b)
    tail = _common_start(a[head:][::-1], b[head:][::-1])
    a_end, b_end = len(a) - tail, len(b) - tail
    a_middle, b_middle = a[head:a_end], b[head:b_end]
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    if max(len(a_middle), len(b_middle)) > most:
        codes.append(("replace", head, a_end, head, b_end))
    else:
        matcher = SequenceMatcher(None, a_middle, b_middle, autojunk=False)
        codes += [
            (tag, i + head, j + head, k + head, m + head)
            for tag, i, j, k, m in matcher.get_opcodes()
        ]
    codes.append(("equal", a_end, len(a), b_end, len(b)))
    return codes


def _common_start(a: Sequence[str], b: Sequence[str]) -> int:
    shorter = min(len(a), len(b))
    return next((i for i in range(shorter) if a[i] != b[i]), shorter)


def _levenshtein(a: str, b: str) -> int:
    """Return the edit distance by Myers' bit-vectors (in Hyyrö's form).

    A column of the table of distances is held as its differences: bit i of ``rises`` is set if the
    distance grows by one from row i to row i + 1, bit i of ``falls`` if it shrinks by one. The
    distance in the last row is followed from column to column.
    """
    if len(a) > len(b):
        a, b = b, a
    if not a:
        return len(b)
    positions: dict[str, int] = defaultdict(int)  # the positions of each character of a, as bits
    for i, character in enumerate(a):
        positions[character] |= 1 << i
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    rises, falls, distance = full, 0, len(a)
    for character in b:
        matches = positions.get(character, 0)
        # Set where the diagonal step into this cell costs nothing.
        diagonal = (((matches & rises) + rises) ^ rises) | matches | falls
        right_rises = falls | (~(diagonal | rises) & full)
        right_falls = diagonal & rises
        # Horizontal differences in the last row give the change of the distance.
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises = ((right_rises << 1) | 1) & full
        right_falls = (right_falls << 1) & full
        rises = right_falls | (~(diagonal | right_rises) & full)
        falls = right_rises & diagonal
    return distance


def _ratio(original: int, rewritten: int) -> float:
    if original:
        return rewritten / original
    return math.inf if rewritten else 1.0
