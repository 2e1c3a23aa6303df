"""Exact and near duplicates: the same article again, as other outlets print it."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np

from contrafact.corpus.ledger import LedgerEvent
from contrafact.corpus.news_items import news_record
from contrafact.errors import require
from contrafact.records import NewsItem
from contrafact.text.numerals import DIGITS, digits_value

__all__ = [
    "THRESHOLD",
    "Duplicate",
    "Reading",
    "Text",
    "differ_in_figures",
    "figures_of",
    "find_duplicates",
    "kept_or_dropped",
    "normal_form",
    "signature_of",
    "similarity",
]

THRESHOLD = 0.8
"""Shared 5-grams, as a share of all that either text has, from which two texts are one."""
_GRAM = 5
_PERMUTATIONS = 128
# Every candidate is compared exactly afterwards, so the index errs on the side of finding too many.
_FALSE_FINDS, _MISSES = 0.1, 0.9
_FIGURE = re.compile(rf"((?<!\w)[-−])?({DIGITS})")


@dataclass(frozen=True)
class Text:
    """A text that may have a duplicate."""

    id: str
    text: str
    url: str | None = None
    signature: bytes | None = None
    """What `signature_of` gives, where it was made before."""


@dataclass(frozen=True)
class Duplicate:
    """A text, by its place, and the one that came before, by its id.

    Attributes:
        kind: ``exact``: equal but for case, punctuation and spaces. ``address``: the same web
            address. ``near``: alike by at least the threshold, and no figure in place of another.
        similarity: Jaccard similarity of the texts' 5-grams of characters, 0 to 1.
        other_set: Whether the one before is of the other set.
    """

    position: int
    of: str
    kind: Literal["exact", "address", "near"]
    similarity: float
    other_set: bool

    @property
    def reason(self) -> str:
        """Say it in a few words."""
        where = " of the other set" if self.other_set else ""
        if self.kind == "exact":
            return f"the same text as {self.of}{where}"
        if self.kind == "address":
            return f"the same address as {self.of}{where}"
        return f"{self.similarity:.0%} the same as {self.of}{where}"


def normal_form(text: str) -> str:
    """Return the text in lower case, in Unicode's NFKC form, its words joined by single spaces.

    Signs go, except where they make another number of the one next to them (a decimal point, a
    minus, a percent sign).
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = []
    for place, character in enumerate(folded):
        before, after = folded[place - 1 : place], folded[place + 1 : place + 2]
        numeric = (
            (character == "." and before.isdigit() and after.isdigit())
            or (character == "%" and before.isdigit())
            or (character in "-−" and after.isdigit() and not before.isalnum())
        )
        kept.append(character if character.isalnum() or numeric else " ")
    return " ".join("".join(kept).split())


def figures_of(text: str) -> frozenset[Decimal]:
    """Return the values of the numbers in digits, with their signs, whatever their units."""
    folded = unicodedata.normalize("NFKC", text)
    return frozenset(
        -digits_value(found[2]) if found[1] else digits_value(found[2])
        for found in _FIGURE.finditer(folded)
    )


def find_duplicates(
    texts: Iterable[Text],
    against: Sequence[Text] = (),
    *,
    threshold: float = THRESHOLD,
    figures: bool = True,
    seed: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> list[Duplicate]:
    """Return those texts that are duplicates of an earlier one, or of one in another set.

    A text is compared with those before it that are not duplicates themselves, so of a chain of
    texts, each like the last, the first stays, and so does the first that is unlike it. Candidates
    come from a MinHash index (Broder, 1997) and are compared exactly; a pair that is just above the
    threshold is missed once in a long while.

    Args:
        against: Another set, all of which counts as earlier. Its own duplicates are no concern.
        threshold: Jaccard similarity from which two texts are near duplicates, above 0; 1 finds
            texts with the same 5-grams only.
        figures: Whether a text that has another figure in place of one is another text, however
            alike the two are: "up 45%" is no copy of "up 4.5%". One that only lacks figures, or
            has more, may be a copy.
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError("the threshold is above 0 and at most 1")
    index = _Index(threshold)
    for text in against:
        entry = _Entry.of(text, figures, other_set=True)
        index.add(entry, _sketch_of(text, entry, seed))
        progress()
    found = []
    for position, text in enumerate(texts):
        entry = _Entry.of(text, figures, other_set=False)
        sketch = _sketch_of(text, entry, seed)
        before = index.find(entry, sketch)
        if before is None:
            index.add(entry, sketch)
        else:
            other, kind, alike = before
            found.append(Duplicate(position, other.id, kind, alike, other_set=other.other_set))
        progress()
    return found


def kept_or_dropped(
    item: NewsItem, fields: dict[str, Any], duplicate: Duplicate | None, near: float
) -> tuple[dict[str, Any], LedgerEvent]:
    """Return a news item as it is kept or dropped, and the ledger's event."""
    record = news_record(item, fields)
    if duplicate is not None:
        record |= {
            "dropped_because": duplicate.reason,
            "duplicate_of": duplicate.of,
            "similarity": round(duplicate.similarity, 4),
        }
    event = LedgerEvent(
        item_id=item.id,
        article_id=item.id,
        stage="dedupe",
        decision="kept" if duplicate is None else "dropped",
        by=f"rule:dedupe at {near:g}",
        why="" if duplicate is None else duplicate.reason,
    )
    return record, event


@dataclass(frozen=True, slots=True)
class Reading:
    """What of a text is compared.

    Attributes:
        figures: The values of its numbers; empty where they are not looked at.
        address: Its address, as `Text` has it without what differs between outlets; None if none.
    """

    form: str
    figures: frozenset[Decimal]
    address: str | None

    @classmethod
    def of(cls, text: Text, *, figures: bool = True) -> "Reading":
        """Return what of a text is compared."""
        found = figures_of(text.text) if figures else frozenset()
        return cls(normal_form(text.text), found, _address(text.url))

    def grams(self) -> frozenset[str]:
        """Return the 5-grams of its characters."""
        form = self.form
        return frozenset(form[at : at + _GRAM] for at in range(max(1, len(form) - _GRAM + 1)))


def signature_of(text: Text, seed: int) -> bytes:
    """Return a text's MinHash, by which `find_duplicates` with this seed looks for candidates."""
    return bytes(_sketch(Reading.of(text, figures=False).grams(), seed).hashvalues.tobytes())


def differ_in_figures(one: frozenset[Decimal], other: frozenset[Decimal]) -> bool:
    """Return whether each of two texts has a figure that the other lacks."""
    return bool(one - other and other - one)


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of 5-grams, 0 to 1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _sketch(grams: frozenset[str], seed: int) -> Any:
    from datasketch import MinHash  # type: ignore[import-untyped]

    sketch = MinHash(num_perm=_PERMUTATIONS, seed=seed)
    sketch.update_batch([gram.encode("utf-8", "surrogatepass") for gram in sorted(grams)])
    return sketch


def _sketch_of(text: Text, entry: "_Entry", seed: int) -> Any:
    if text.signature is None:
        return _sketch(entry.grams, seed)
    from datasketch import MinHash

    sketch = MinHash(num_perm=_PERMUTATIONS, seed=seed)
    sketch.hashvalues = np.frombuffer(text.signature, dtype=sketch.hashvalues.dtype)
    return sketch


def _index(threshold: float) -> Any:
    require("datasketch", "near-duplicates")
    from datasketch import MinHashLSH

    return MinHashLSH(
        # The index wants less than 1; what it finds is compared exactly.
        threshold=min(threshold, 0.99),
        num_perm=_PERMUTATIONS,
        weights=(_FALSE_FINDS, _MISSES),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    id: str
    reading: Reading
    grams: frozenset[str]
    other_set: bool

    @classmethod
    def of(cls, text: Text, figures: bool, *, other_set: bool) -> "_Entry":
        reading = Reading.of(text, figures=figures)
        return cls(text.id, reading, reading.grams(), other_set)


_Found = tuple[_Entry, Literal["exact", "address", "near"], float]


class _Index:
    """The texts that came before, by normal form, by address and by MinHash."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._entries: list[_Entry] = []
        self._by_form: dict[str, _Entry] = {}
        self._by_address: dict[str, _Entry] = {}
        self._lsh = _index(threshold)

    def add(self, entry: _Entry, sketch: Any) -> None:
        self._by_form.setdefault(entry.reading.form, entry)
        if entry.reading.address is not None:
            self._by_address.setdefault(entry.reading.address, entry)
        self._lsh.insert(len(self._entries), sketch)
        self._entries.append(entry)

    def find(self, entry: _Entry, sketch: Any) -> _Found | None:
        own = entry.reading
        if own.form in self._by_form:
            return self._by_form[own.form], "exact", 1.0
        if own.address is not None and own.address in self._by_address:
            same = self._by_address[own.address]
            return same, "address", similarity(entry.grams, same.grams)
        best: tuple[float, int] | None = None
        for number in self._lsh.query(sketch):
            other = self._entries[number]
            if differ_in_figures(own.figures, other.reading.figures):
                continue
            alike = similarity(entry.grams, other.grams)
            if alike >= self._threshold and (best is None or (alike, -number) > best):
                best = (alike, -number)
        return None if best is None else (self._entries[-best[1]], "near", best[0])


def _address(url: str | None) -> str | None:
    """Return what addresses of one article share: host and path, and a query but its tracking.

    None is returned for what is no article's address: nothing, or a host alone.
    """
    try:
        parts = urlsplit((url or "").strip())
    except ValueError:
        return None
    tracking = ("utm_", ".tsrc", "fbclid", "gclid")
    marks = sorted(mark for mark in parts.query.split("&") if not mark.startswith(tracking))
    tail = parts.path.rstrip("/") + "?".join(["", *filter(None, marks)])
    return parts.netloc.casefold().removeprefix("www.") + tail if tail else None
