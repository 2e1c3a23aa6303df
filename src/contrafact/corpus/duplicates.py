"""Exact and near duplicates: the same article again, as other outlets print it."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal
from urllib.parse import urlsplit
from zlib import crc32

from contrafact.corpus.ledger import LedgerEvent
from contrafact.corpus.news_items import news_record
from contrafact.errors import Reason, require
from contrafact.records import NewsItem
from contrafact.text.delimit import Characters
from contrafact.text.numerals import DIGITS, digits_value

__all__ = ["THRESHOLD", "Duplicate", "Text", "find_duplicates", "kept_or_dropped", "signature_of"]

THRESHOLD = 0.8
"""Shared 5-grams of what texts say (`content_of`), as a share of all that either has, from which
two texts are one."""
_GRAM = 5
_PERMUTATIONS = 128
# Every candidate is compared exactly afterwards, so the index errs on the side of finding too many.
_FALSE_FINDS, _MISSES = 0.1, 0.9
# " - Reuters", " | The Hill", " - Yahoo Finance" at the end of a part: whose article it is.
_OUTLET = re.compile(
    r"(?:\s\|(?:\s[A-Z][\w'’.&-]{0,30}){1,4}|\s[-–—]\s(?:[A-Z]\w{1,30}\s){0,3}(?:[\w.]{1,30}\.com|"
    r"News|Times|Post|Journal|Herald|Tribune|Reuters|Bloomberg|Finance|MarketWatch|Gazette|Press|"
    r"Guardian|Forbes|Fortune|Insider|Alpha|Fool|Benzinga|Barron[’']s|Axios|Politico|FXStreet|"
    r"TechCrunch|CNBC|BBC|CNN|WSJ|FT|AP|AFP|NPR|CBS|NBC|ABC|UPI|MSN)){1,9}"
    r"[ \t]{0,20}(?=$|\.\s)",
    re.MULTILINE,
)
# An addition in a headline's last part, which the likeness of two texts leaves out.
_TAIL = re.compile(r"(?<=\w)(?:\s[-–—|](?:\s[A-Z][\w'’.&-]{0,30}){1,4}[?!.]?){1,9}\s{0,20}$")
# Where a part of a text ends, and what stands for it and for a text's breaking off among words.
_ENDS = re.compile(r"\s[-–—|·•:]\s|[|:;\n]|[.!?…](?=\s|$)|<[^<>]{1,20}>")
_END, _BROKEN = "|", "…"
_FIGURE = re.compile(rf"((?<!\w)[-−])?({DIGITS})")


def _sign(one: str) -> str:
    """Return what a sign is among words: what says something stays, a currency as its own word."""
    if one.isalnum() or one in ".%+-−":
        return one
    return f" {one} " if one in _SAYING or unicodedata.category(one) == "Sc" else " "


_SAYING = "<>≤≥‰↑↓↗↘⬆⬇▲▼△▽▴▾📈📉"
# A soft hyphen is no space.
_SHOWN = Characters(lambda one: "" if unicodedata.category(one) == "Cf" else one)
_SIGNS = Characters(_sign)
_NO_NUMBER = re.compile(
    r"(?<!\d)\.|\.(?!\d)|(?<!\d)%|[-−](?!\d)|(?<=\w)[-−]|(?<!\w)\+|\+(?=\w)|[<>](?!\W{0,4}\d)"
)
_RATED = re.compile(r"(?<![\w-])([A-D])(\1{0,2})[-−](?!\w)")
_SCALES = {
    **dict.fromkeys(("bn", "bln", "b"), " billion"),
    **dict.fromkeys(("mn", "mln", "m"), " million"),
    **dict.fromkeys(("tn", "trn"), " trillion"),
    **dict.fromkeys(("percent", "per cent", "pct"), "%"),
    **dict.fromkeys(("basis points", "basis point", "bp"), " bps"),
    "bps": " bps",
    "cr": " crore",
}
_SCALED = re.compile(rf"(?<=\d) ?({'|'.join(_SCALES)})\b")
_NUMBER = re.compile(
    r"(?<![\d.,])(\d{1,3}(?>(?:,\d{3})+)|\d{1,2}(?>(?:,\d{2}(?!\d))+),\d{3}|\d++)(\.\d++)?(?![.,]?\d)"
    r"(?: (?=%))?"
)
_INITIALS = re.compile(r"\b(?:[A-Za-z]\.){2,9}")

_Kind = Literal["exact", "address", "near"]


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
        kind: ``exact``: equal but for case, punctuation, spaces and how figures are written.
            ``address``: the same web address. ``near``: alike by at least the threshold, and
            different in form alone (`same_but_for_form`), with no figure in place of another.
        similarity: Jaccard similarity of the 5-grams of characters of what the texts say
            (`content_of`), 0 to 1.
        other_set: Whether the one before is of the other set.
    """

    position: int
    of: str
    kind: _Kind
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

    Signs go, except where they say something: with a number (a decimal point, a minus, a percent
    sign, a currency's, that it is more or less), that a price rises or falls, and in a rating.
    """
    shown = unicodedata.normalize("NFKC", text.translate(_SHOWN))
    folded = _NUMBER.sub(_plain, _RATED.sub(r"\1\2 minus", _undotted(shown)).casefold())
    form = " ".join(_NO_NUMBER.sub(" ", folded.translate(_SIGNS)).split())
    return _SCALED.sub(lambda found: _SCALES[found[1]], form)


def _undotted(text: str) -> str:
    return _INITIALS.sub(lambda found: found[0].replace(".", ""), text)


def _plain(found: re.Match[str]) -> str:
    """Return a number without commas between its thousands and zeros behind its fraction."""
    return found[1].replace(",", "") + (found[2] or "").rstrip("0").rstrip(".")


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
    before, found = _Before(threshold), []
    for position, text in enumerate(chain(against, texts), start=-len(against)):
        entry = _Entry.of(position, text, figures=figures)
        grams = entry.grams()
        keys = _candidate_keys(text.signature or _signature(grams), threshold)
        other = before.find(entry, grams, keys) if position >= 0 else None
        if other is None:
            before.add(entry, keys)
        else:
            found.append(Duplicate(position, *other))
    return found


def same_but_for_form(first: str, second: str) -> bool:
    """Return whether two texts differ in form alone, word beside word.

    What may differ: function words, the inflection of a word, how a figure is written, and what an
    outlet adds: its name, or a part of its own (a heading, a sentence, what stands behind a dash)
    before the first and after the last that both have. Another content word, or a negation, makes
    another text, however alike the two are, and so do figures in another order, a name in capitals
    ("IT", "A$") and a word that says who did it, whence or whereto ("by", "from", "to 5%"). A text
    that is broken off lacks what follows.
    """
    one, two = _parts(first), _parts(second)
    names = _capitals(first) | _capitals(second)
    figures = _values(one), _values(two)
    if figures[0] != figures[1] and sorted(figures[0]) == sorted(figures[1]):
        return False  # the same figures in another order
    for kind, at, to, by, end in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gone, new = _content(one[at:to], names), _content(two[by:end], names)
        if _NEGATIONS & {*gone, *new}:
            return False
        if at > 0 and to < len(one) and _TURNING & {*one[at:to], *two[by:end]}:
            return False
        if _to_a_figure(one, at, to) != _to_a_figure(two, by, end):
            return False
        if gone and new:
            if list(map(_stem, gone)) != list(map(_stem, new)):
                return False
        elif gone or new:
            more, less = (one[at:to], two[by:end]) if gone else (two[by:end], one[at:to])
            ahead = at == by == 0 and more[-1] == _END
            behind = (to, end) == (len(one), len(two)) and (more[0] == _END or _BROKEN in less)
            if not (ahead or behind):
                return False
    return True


def _parts(text: str) -> list[str]:
    """Return the words of a text, without the names of outlets, each part's end a word."""
    parts = [normal_form(part).split() for part in _ENDS.split(_OUTLET.sub("", _undotted(text)))]
    words = [word for part in parts if part for word in (*part, _END)][:-1]
    return [*words, _BROKEN] if text.rstrip().endswith(("…", "...")) else words


def _values(words: Sequence[str]) -> list[Decimal]:
    return [value for word in words for value in figures_of(word)]


def _content(words: Sequence[str], names: Set[str]) -> list[str]:
    """Return the words that say something: no function words, no outlets, no figures."""
    return [
        word
        for word in words
        if (word in names or word not in _FORM_WORDS)
        and word not in (_END, _BROKEN)
        and not any(character.isdigit() for character in word)
    ]


def _capitals(text: str) -> frozenset[str]:
    """Return the function words that are names by their capitals: IT, WHO, the A of A$."""
    if text.isupper():
        return frozenset()
    return frozenset(map(str.casefold, _CAPITALS.findall(text))) & _FUNCTION_WORDS


def _to_a_figure(words: Sequence[str], start: int, end: int) -> bool:
    """Tell whether "to" is among words and says that what follows is a level: "to 5%"."""
    return any(
        word == "to" and any(map(str.isdigit, "".join(words[at + 1 : at + 3])))
        for at, word in enumerate(words[start:end], start=start)
    )


def content_of(text: str, form: str | None = None) -> str:
    """Return what a text says, for the likeness of two: no function words, endings, last outlet.

    ``form`` is its `normal_form`, where that is known.
    """
    bare = _TAIL.sub("", text)
    words = (normal_form(bare) if form is None or bare != text else form).split()
    return " ".join(_stem(word) for word in words if word not in _FORM_WORDS) or " ".join(words)


# Of headlines, and not in the table.
_PAST = {
    "bought": "buy", "made": "make", "took": "take", "won": "win", "held": "hold", "met": "meet",
    "sought": "seek", "saw": "see", "kept": "keep", "spent": "spend", "paid": "pay",
}  # fmt: skip


@cache
def _past() -> dict[str, str]:
    """Return irregular verbs by their forms."""
    table = files("contrafact.text.words").joinpath("irregular.toml").read_text("utf-8")
    return _PAST | {
        form: verb
        for verb, forms in tomllib.loads(table)["verb"].items()
        for form in re.split("[ /]", forms)
    }


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    word = _past().get(word, word)
    stem = re.sub(r"(?:ies|ied)$", "y", word)
    stem = re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", stem)
    return re.sub(r"(.)\1$", r"\1", stem)


_CAPITALS = re.compile(r"\b[A-Z]{2,4}\b|\b[A-Z](?=\$)")
_NEGATIONS = frozenset(
    ("not", "no", "never", "neither", "nor", "without", "none", "nothing", "t", "cannot")
)
_TURNING = frozenset(("by", "from"))
_FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "the", "of", "in", "on", "at", "to", "for", "and", "as", "by", "from", "with"),
        *("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "will", "would"),
        *("that", "this", "these", "those", "its", "their", "his", "her", "our", "it", "he", "she"),
        *("they", "we", "i", "you", "who", "which", "said", "says", "say", "s", "d", "ll", "re"),
    )
)
# With what outlets put beside an article's words.
_FORM_WORDS = _FUNCTION_WORDS | frozenset(
    (
        *("reuters", "bloomberg", "ap", "afp", "cnbc", "dpa", "wsj", "ft", "update", "exclusive"),
        *("breaking", "live", "video", "photos", "corrected", "nyse", "nasdaq"),
    )
)


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
    decision = "kept" if duplicate is None else "dropped"
    why = Reason(duplicate.kind, duplicate.reason) if duplicate else ""
    return record, LedgerEvent.of("dedupe", item.id, decision, f"rule:dedupe at {near:g}", why)


def signature_of(text: Text) -> bytes:
    """Return a text's MinHash, by which `find_duplicates` looks for candidates."""
    return _signature(_grams(content_of(text.text)))


def _signature(grams: frozenset[str]) -> bytes:
    sketch = _empty().copy()
    sketch.update_batch([gram.encode("utf-8", "surrogatepass") for gram in grams])
    return bytes(sketch.hashvalues.tobytes())


@cache
def _empty() -> Any:
    require("datasketch", "near-duplicates")
    from datasketch import MinHash  # type: ignore[import-untyped]

    return MinHash(num_perm=_PERMUTATIONS, seed=1, hashfunc=crc32)


@cache
def _bands(threshold: float) -> tuple[int, int]:
    """Return in how many bands a signature is looked up, and how many of its values each has."""
    from datasketch import MinHashLSH

    index = MinHashLSH(
        # The index wants less than 1; what it finds is compared exactly.
        threshold=min(threshold, 0.99),
        num_perm=_PERMUTATIONS,
        weights=(_FALSE_FINDS, _MISSES),
    )
    return index.b, index.r


def _grams(form: str) -> frozenset[str]:
    return frozenset(form[at : at + _GRAM] for at in range(max(1, len(form) - _GRAM + 1)))


@dataclass(frozen=True, slots=True)
class _Entry:
    """What of a text is compared; its place is below 0 in the other set."""

    place: int
    id: str
    form: str
    text: str
    figures: frozenset[Decimal]
    address: str | None

    @classmethod
    def of(cls, place: int, text: Text, *, figures: bool) -> "_Entry":
        numbers = figures_of(text.text) if figures else frozenset[Decimal]()
        form = normal_form(text.text)
        return cls(place, text.id, form, text.text, numbers, _address(text.url))

    def grams(self) -> frozenset[str]:
        return _grams(content_of(self.text, self.form))


def _candidate_keys(signature: bytes, threshold: float) -> list[int]:
    """Return hashes of the parts of a signature: texts that share one are candidates."""
    bands, rows = _bands(threshold)
    size = len(signature) // _PERMUTATIONS * rows
    return [hash((at, signature[at * size : (at + 1) * size])) for at in range(bands)]


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


class _Before:
    """The texts that came before and were kept, by normal form, by address and by signature."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._same: dict[tuple[_Kind, str], _Entry] = {}
        self._near: dict[int, list[_Entry]] = {}

    def add(self, entry: _Entry, keys: Sequence[int]) -> None:
        self._same.setdefault(("exact", entry.form), entry)
        if entry.address is not None:
            self._same.setdefault(("address", entry.address), entry)
        for key in keys:
            self._near.setdefault(key, []).append(entry)

    def find(
        self, entry: _Entry, grams: frozenset[str], keys: Sequence[int]
    ) -> tuple[str, _Kind, float, bool] | None:
        """Return what a text repeats: its id, how, how alike they are, and if of the other set."""
        if same := self._same.get(("exact", entry.form)):
            return same.id, "exact", 1.0, same.place < 0
        if entry.address is not None and (same := self._same.get(("address", entry.address))):
            return (
                same.id,
                "address",
                _similarity(grams, _grams(content_of(same.text, same.form))),
                same.place < 0,
            )
        candidates = {one.place: one for key in keys for one in self._near.get(key, ())}
        near = [
            (alike, -one.place)
            for one in candidates.values()
            # Where each has a figure that the other lacks, they are two texts.
            if not (entry.figures - one.figures and one.figures - entry.figures)
            and (alike := _similarity(grams, one.grams())) >= self._threshold
        ]
        for alike, behind in sorted(near, reverse=True):  # of equals the first
            one = candidates[-behind]
            if same_but_for_form(one.text, entry.text):
                return one.id, "near", alike, one.place < 0
        return None


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
