"""One pass over many texts that finds every spelling of every term, in NumPy throughout.

The texts are joined and mapped to one byte a character: letters in lower case, a space, a hyphen,
or all else. A word is then at most three integers of eight bytes, looked up in a hash table;
terms of several words are walked through a trie, all texts at once. A loop over regular
expressions takes a step per term and text; this takes some thirty array operations for all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["HYPHENS", "Hits", "Ints", "Matcher"]

HYPHENS = "-‐‑–"
"""What may part the words of a term, one at a time, where spaces may."""

Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
_Eights = npt.NDArray[np.uint64]

# What stands in no word is below what may: digits, underscore, letters.
_SPACE, _HYPHEN, _OTHER, _IN_WORDS, _LETTER = 0x20, 0x2D, 0x2E, 0x30, 0xFE
# Letters that Python's regular expressions take for an ASCII one where case does not count.
_ODD_LETTERS = {"ſ": "s", "K": "k", "İ": "i", "ı": "i"}
_NOT_IN_WORD = re.compile(r"\W")
_ANY_SPACE = re.compile(r"\s")

_LOADS = 3  # of eight bytes each
_MAX_WORD = 8 * _LOADS
# Of a load, the bytes that belong to a word of which so many are left.
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
# Slots of the table of words: enough that a few factors tried give each word one of its own.
_SLOT_BITS = 19
_FACTORS_TRIED = 10_000


def _class_of(character: str) -> int:
    """Return the byte that stands for a character."""
    if character in _ODD_LETTERS:
        return ord(_ODD_LETTERS[character])
    if not _NOT_IN_WORD.match(character):
        return ord(character.lower()) if character.isascii() else _LETTER
    if _ANY_SPACE.match(character):
        return _SPACE
    return _HYPHEN if character in HYPHENS else _OTHER


_CLASSES = bytes(_class_of(chr(code)) for code in range(256))


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found: for each spelling a row in the columns, in order of text and place.

    Attributes:
        text: Which text, by number.
        start: Where it begins, in characters of all texts joined by one.
        end: Where it ends.
        spelling: Which spelling, by its number.
        first: Which word of all it begins with.
        length: How many words it has.
        offsets: Where each text begins among the joined characters, and the end.
        words: Where each word begins and ends among them.
        data: The joined characters, a byte each.
    """

    text: Ints
    start: Ints
    end: Ints
    spelling: Ints
    first: Ints
    length: Ints
    offsets: Ints
    words: tuple[Ints, Ints]
    data: bytes

    def words_at(self, first: int, last: int, begin: int, end: int) -> list[str]:
        """Return the words from ``first`` to before ``last`` that lie from ``begin`` to ``end``.

        They are in lower case, and all letters past ASCII are one.
        """
        starts, ends = self.words[0][first:last].tolist(), self.words[1][first:last].tolist()
        return [
            self.data[a:b].decode("latin-1")
            for a, b in zip(starts, ends, strict=True)
            if begin <= a < end
        ]


class Matcher:
    """Finds the spellings of terms in texts.

    Args:
        spellings: The spellings, each as its words in lower case ASCII, parted by single spaces.

    Raises:
        ValueError: A word is longer than 24 letters.
    """

    def __init__(self, spellings: Iterable[str]) -> None:
        numbers: dict[bytes, int] = {}
        children: dict[tuple[int, int], int] = {}
        ends: dict[int, int] = {}
        for number, spelling in enumerate(spellings):
            node = 0
            for word in spelling.encode("ascii").split():
                code = numbers.setdefault(word, len(numbers) + 1)
                node = children.setdefault((node, code), len(children) + 1)
            ends[node] = number
        self._set_words(numbers)
        self._set_trie(children, ends, len(numbers) + 1)

    def scan(self, texts: Sequence[str]) -> Hits:
        """Return every spelling found, those that begin together with the longest first."""
        # What parts the texts is no space, so that no term reaches from one into the next; the
        # end is padded, so that the last word can be loaded in eights.
        mapped = _mapped("\0".join(texts) + "\0" * (_MAX_WORD + 1))
        data = mapped.tobytes()
        starts, ends = _word_bounds(mapped)
        codes = self._codes(data, starts, ends)
        places, lengths, found = self._walk(codes, _joins(data, mapped, starts, ends))
        order = np.lexsort((-lengths, places))
        places, lengths, found = places[order], lengths[order], found[order]
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes + 1)))
        begin = starts[places]
        return Hits(
            text=np.searchsorted(offsets, begin, side="right") - 1,
            start=begin,
            end=ends[places + lengths - 1],
            spelling=found,
            first=places,
            length=lengths,
            offsets=offsets,
            words=(starts, ends),
            data=data,
        )

    def _set_words(self, numbers: dict[bytes, int]) -> None:
        """Lay out the table of words: each has a slot that no other one has."""
        longest = max(numbers, key=len)
        if len(longest) > _MAX_WORD:
            raise ValueError(f"the word {longest.decode()!r} has more than {_MAX_WORD} letters")
        padded = b"".join(word.ljust(_MAX_WORD, b"\0") for word in numbers)
        loads = np.frombuffer(padded, dtype="<u8").reshape(-1, _LOADS).T
        rng = np.random.default_rng(0)
        for _ in range(_FACTORS_TRIED):
            self._factors = rng.integers(1 << 63, dtype=np.uint64, size=_LOADS + 1) * 2 + 1
            slots = self._slots(list(loads))
            if len(np.unique(slots)) == len(slots):
                break
        else:
            raise ValueError(f"{len(numbers)} words are too many for the table")
        # Number 0 is no word: its loads are none that a word could have.
        self._slot_codes = np.zeros(1 << _SLOT_BITS, dtype=np.int16)
        self._slot_codes[slots] = np.arange(1, len(numbers) + 1)
        self._loads = np.concatenate((np.zeros((_LOADS, 1), dtype=np.uint64), loads), axis=1)

    def _slots(self, loads: Sequence[_Eights]) -> _Eights:
        """Return a word's place in the table, from its three integers."""
        key: _Eights = loads[0] * self._factors[0]
        for load, factor in zip(loads[1:], self._factors[1:-1], strict=True):
            key = key ^ (load * factor)
        key = (key ^ (key >> np.uint64(32))) * self._factors[-1]
        return key >> np.uint64(64 - _SLOT_BITS)

    def _set_trie(
        self, children: dict[tuple[int, int], int], ends: dict[int, int], width: int
    ) -> None:
        """Lay out the trie: a row for each node that goes on, a column for each word."""
        inner = {node: row for row, node in enumerate(sorted({node for node, _ in children}))}
        self._next = np.zeros((len(inner), width), dtype=np.int32)
        for (node, code), child in children.items():
            self._next[inner[node], code] = child
        self._row = np.full(len(children) + 1, -1)
        self._row[list(inner)] = list(inner.values())
        self._ends = np.full(len(children) + 1, -1)
        self._ends[list(ends)] = list(ends.values())

    def _codes(self, data: bytes, starts: Ints, ends: Ints) -> Ints:
        """Return the number of each word; 0 for those that are in no spelling."""
        # Eight bytes from every byte on: loads may overlap.
        eights: _Eights = np.ndarray(len(data) - 7, dtype="<u8", buffer=data, strides=(1,))
        sizes = ends - starts
        loads = [eights[starts] & _MASKS[np.minimum(sizes, 8)]]
        for i in range(1, _LOADS):
            reaches = np.flatnonzero(sizes > 8 * i)  # few words do
            left = np.minimum(sizes[reaches] - 8 * i, 8)
            load = np.zeros(len(starts), dtype=np.uint64)
            load[reaches] = eights[starts[reaches] + 8 * i] & _MASKS[left]
            loads.append(load)
        codes = self._slot_codes[self._slots(loads)]
        same = sizes <= _MAX_WORD
        for known, load in zip(self._loads, loads, strict=True):
            same &= known[codes] == load
        return np.where(same, codes, 0)

    def _walk(self, codes: Ints, joined: _Bools) -> tuple[Ints, Ints, Ints]:
        """Return where spellings begin, how many words they have, and which they are."""
        nodes = self._next[0][codes]
        places = np.flatnonzero(nodes)
        nodes = nodes[places]
        found: list[tuple[Ints, Ints, Ints]] = []
        length = 1
        while len(places):
            spelled = self._ends[nodes]
            here = spelled >= 0
            found.append((places[here], np.full(np.count_nonzero(here), length), spelled[here]))
            row = self._row[nodes]
            goes_on = (row >= 0) & joined[places + length - 1]
            places = places[goes_on]
            nodes = self._next[row[goes_on], codes[places + length]]
            places, nodes = places[nodes > 0], nodes[nodes > 0]
            length += 1
        if not found:
            none = np.zeros(0, dtype=np.int64)
            return none, none, none
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        return columns[0], columns[1], columns[2]


def _mapped(text: str) -> _Bytes:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    mapped = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_CLASSES)), dtype=np.uint8
    )
    far = np.flatnonzero(codes > 255)
    if len(far):
        kinds, which = np.unique(codes[far], return_inverse=True)
        classes = np.array([_class_of(chr(code)) for code in kinds.tolist()], dtype=np.uint8)
        mapped[far] = classes[which]
    return mapped


def _word_bounds(mapped: _Bytes) -> tuple[Ints, Ints]:
    inside = np.zeros(len(mapped) + 1, dtype=np.bool_)
    np.greater_equal(mapped, _IN_WORDS, out=inside[1:])  # the end is padded: no word reaches it
    bounds = np.flatnonzero(inside[1:] != inside[:-1])
    return bounds[::2], bounds[1::2]


def _joins(data: bytes, mapped: _Bytes, starts: Ints, ends: Ints) -> _Bools:
    """Return of each word whether it and the next may be words of one term."""
    joined = np.zeros(len(starts), dtype=np.bool_)
    if len(starts) < 2:
        return joined
    first = mapped[ends[:-1]]
    gaps = starts[1:] - ends[:-1]
    joined[:-1] = (gaps == 1) & ((first == _SPACE) | (first == _HYPHEN))
    wide = (gaps > 1) & (first == _SPACE) & (mapped[ends[:-1] + 1] == _SPACE)
    for i in np.flatnonzero(wide).tolist():
        joined[i] = data[ends[i] : starts[i + 1]].isspace()
    return joined
