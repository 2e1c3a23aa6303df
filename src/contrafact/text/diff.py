"""Surface differences between two texts: word by word, and in characters."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

__all__ = ["DiffKind", "DiffPart", "normalised_edit_distance", "word_diff"]

DiffKind = Literal["same", "removed", "added"]

# Matching is quadratic at best in what differs, and worse on repetitive text. A headline has
# some 20 words and a story a few hundred; past this the changed middle is shown whole.
_MAX_WORDS = 2_000

# A word with its inner apostrophes, points and hyphens, or one other sign; then its spaces.
_UNIT = re.compile(r"(\w+(?:['’.,\-]\w+)*|[^\w\s])(\s*)")


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A stretch of text that two texts share, or that only one of them has."""

    kind: DiffKind
    text: str


def word_diff(a: str, b: str) -> list[DiffPart]:
    """Return how to get from ``a`` to ``b``, word by word.

    Words keep the spaces that follow them, so that nothing is lost: the texts of the parts that
    are "same" or "removed", joined, give ``a``; those "same" or "added" give ``b``. Two parts
    next to each other never have the same kind, no part is empty, and where both texts change
    the removed part comes first.

    Args:
        a: The text before.
        b: The text after.
    """
    before, after = _units(a), _units(b)
    parts = _Parts()
    for tag, a_from, a_to, b_from, b_to in _opcodes(before, after):
        if tag != "equal":
            parts.change("".join(w + s for w, s in before[a_from:a_to]), "removed")
            parts.change("".join(w + s for w, s in after[b_from:b_to]), "added")
            continue
        pairs = zip(before[a_from:a_to], after[b_from:b_to], strict=True)
        for (word, a_space), (_, b_space) in pairs:
            if a_space == b_space:
                parts.same(word + a_space)
            else:
                parts.same(word)
                parts.change(a_space, "removed")
                parts.change(b_space, "added")
    return parts.done()


def normalised_edit_distance(a: str, b: str) -> float:
    """Return the Levenshtein distance in characters over the length of the longer text.

    0 says that the texts are equal, 1 that they share nothing in place. Two empty texts are
    equal.
    """
    longer = max(len(a), len(b))
    return _levenshtein(a, b) / longer if longer else 0.0


class _Parts:
    """Collects parts in order, joining neighbours of a kind."""

    def __init__(self) -> None:
        self._parts: list[DiffPart] = []
        self._same: list[str] = []
        self._changes: dict[DiffKind, list[str]] = {"removed": [], "added": []}

    def same(self, text: str) -> None:
        if text:
            self._flush_changes()
            self._same.append(text)

    def change(self, text: str, kind: DiffKind) -> None:
        if text:
            self._flush_same()
            self._changes[kind].append(text)

    def done(self) -> list[DiffPart]:
        self._flush_same()
        self._flush_changes()
        return self._parts

    def _flush_same(self) -> None:
        if self._same:
            self._parts.append(DiffPart("same", "".join(self._same)))
            self._same = []

    def _flush_changes(self) -> None:
        for kind, texts in self._changes.items():
            if texts:
                self._parts.append(DiffPart(kind, "".join(texts)))
                texts.clear()


def _units(text: str) -> list[tuple[str, str]]:
    """Return the words of a text, each with the spaces after it; leading spaces have no word."""
    lead = len(text) - len(text.lstrip())
    units = [(m[1], m[2]) for m in _UNIT.finditer(text, lead)]
    return [("", text[:lead]), *units] if lead else units


def _opcodes(
    before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]
) -> list[tuple[str, int, int, int, int]]:
    """Return difflib's opcodes over words alone, computed on what differs in the middle."""
    a, b = [word for word, _ in before], [word for word, _ in after]
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    room = shorter - head
    tail = next((i for i in range(room) if a[-1 - i] != b[-1 - i]), room)
    a_end, b_end = len(a) - tail, len(b) - tail
    a_middle, b_middle = a[head:a_end], b[head:b_end]
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    if max(len(a_middle), len(b_middle)) > _MAX_WORDS:
        codes.append(("replace", head, a_end, head, b_end))
    else:
        matcher = SequenceMatcher(None, a_middle, b_middle, autojunk=False)
        codes += [
            (tag, i + head, j + head, k + head, m + head)
            for tag, i, j, k, m in matcher.get_opcodes()
        ]
    codes.append(("equal", a_end, len(a), b_end, len(b)))
    return codes


def _levenshtein(a: str, b: str) -> int:
    """Return the edit distance by Myers' bit-vectors (in Hyyrö's form), one big integer a row.

    One column of the table is two integers of ``len(a)`` bits: where the distance rises going
    down, and where it falls. Long texts cost machine words, not Python steps.
    """
    if len(a) > len(b):
        a, b = b, a
    if not a:
        return len(b)
    places: dict[str, int] = defaultdict(int)
    for i, character in enumerate(a):
        places[character] |= 1 << i
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    rises, falls, distance = full, 0, len(a)
    for character in b:
        matches = places.get(character, 0)
        diagonal = (((matches & rises) + rises) ^ rises) | matches | falls
        right_rises = falls | (~(diagonal | rises) & full)
        right_falls = diagonal & rises
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises = ((right_rises << 1) | 1) & full
        right_falls = (right_falls << 1) & full
        rises = right_falls | (~(diagonal | right_rises) & full)
        falls = right_rises & diagonal
    return distance
