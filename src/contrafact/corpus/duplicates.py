"""Exact and near duplicates of articles, for example as other outlets print them."""

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
"""The similarity from which two texts are near duplicates: the share of the 5-grams of their
contents (`content_of`) that both have."""
_GRAM = 5
_PERMUTATIONS = 128
# Every candidate is compared exactly afterwards, so the index errs on the side of finding too many.
_FALSE_FINDS, _MISSES = 0.1, 0.9
# The outlet at the end of a part: " - Reuters", " | The Hill", " - Yahoo Finance".
_OUTLET = re.compile(
    r"(?:\s\|(?:\s[A-Z][\w'’.&-]{0,30}){1,4}|\s[-–—]\s(?:[A-Z]\w{1,30}\s){0,3}(?:[\w.]{1,30}\.com|"
    r"News|Times|Post|Journal|Herald|Tribune|Reuters|Bloomberg|Finance|MarketWatch|Gazette|Press|"
    r"Guardian|Forbes|Fortune|Insider|Alpha|Fool|Benzinga|Barron[’']s|Axios|Politico|FXStreet|"
    r"TechCrunch|CNBC|BBC|CNN|WSJ|FT|AP|AFP|NPR|CBS|NBC|ABC|UPI|MSN)){1,9}"
    r"[ \t]{0,20}(?=$|\.\s)",
    re.MULTILINE,
)
# An addition in a headline's last part, which the similarity of two texts ignores.
_TAIL = re.compile(r"(?<=\w)(?:\s[-–—|](?:\s[A-Z][\w'’.&-]{0,30}){1,4}[?!.]?){1,9}\s{0,20}$")
# Where a part of a text ends; among words, marks for that end and for a text that breaks off.
_ENDS = re.compile(r"\s[-–—|·•:]\s|[|:;\n]|[.!?…](?=\s|$)|<[^<>]{1,20}>")
_END, _BROKEN = "|", "…"
_FIGURE = re.compile(rf"((?<!\w)[-−])?({DIGITS})")


def _sign(one: str) -> str:
    """Return a character if it has meaning (a currency sign as its own word), else a space."""
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
    """The text's `signature_of`, if it was computed before."""


@dataclass(frozen=True)
class Duplicate:
    """A duplicate text, by its position, and the earlier text that it repeats, by id.

    Attributes:
        kind: ``exact``: equal except for case, punctuation, spaces and how figures are written.
            ``address``: the same web address. ``near``: similar by at least the threshold, and
            different in form alone (`same_but_for_form`), with no figure in place of another.
        similarity: Jaccard similarity of the character 5-grams of the texts' contents
            (`content_of`), 0 to 1.
        other_set: Whether the earlier text belongs to the other set.
    """

    position: int
    of: str
    kind: _Kind
    similarity: float
    other_set: bool

    @property
    def reason(self) -> Reason:
        """The reason why the text is a duplicate; its code is the kind."""
        named = {"exact": "the same text as", "address": "the same address as"}
        words = named.get(self.kind, f"{self.similarity:.0%} the same as")
        return Reason(self.kind, f"{words} {self.of}{' of the other set' * self.other_set}")


def normal_form(text: str) -> str:
    """Return the text in lower case, in Unicode's NFKC form, its words joined by single spaces.

    Signs are removed unless they have meaning: with a number (a decimal point, a minus, a percent
    or currency sign, a sign of more or less), as arrows of rising or falling prices, in a rating.
    """
    shown = unicodedata.normalize("NFKC", text.translate(_SHOWN))
    folded = _NUMBER.sub(_plain, _RATED.sub(r"\1\2 minus", _undotted(shown)).casefold())
    form = " ".join(_NO_NUMBER.sub(" ", folded.translate(_SIGNS)).split())
    return _SCALED.sub(lambda found: _SCALES[found[1]], form)


def _undotted(text: str) -> str:
    return _INITIALS.sub(lambda found: found[0].replace(".", ""), text)


def _plain(found: re.Match[str]) -> str:
    """Return a number without commas between its thousands and zeros at the end of its fraction."""
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
    """Return the duplicates: texts that repeat an earlier text, or a text of another set.

    A text is compared with earlier texts that are not duplicates themselves; so in a chain of
    texts, each similar to the last, the first is kept, and so is the next that is unlike it.
    Candidates come from a MinHash index (Broder, 1997) and are compared exactly; rarely, a pair
    just above the threshold is missed.

    Args:
        against: Another set, whose texts all count as earlier; its own duplicates are ignored.
        threshold: Jaccard similarity from which two texts are near duplicates, above 0; 1 finds
            only texts with the same 5-grams.
        figures: Whether texts with different figures are different, however similar they are:
            "up 45%" is not a copy of "up 4.5%". A text that only lacks figures, or has more, may
            still be a copy.
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
    """Return whether two texts, compared word by word, differ in form alone.

    The texts may differ in function words, in the inflection of a word, in how a figure is written,
    and in an outlet's additions: its name, or a part (a heading, a sentence, text after a dash)
    before or after everything that both have. A different content word or a negation makes them
    different, however similar they are; so do figures in another order, a name in capitals ("IT",
    "A$") and a word for agent, origin or goal ("by", "from", "to 5%"). A text that breaks off may
    lack the rest.
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
    """Return a text's words without names of outlets; the end of each part is a word too."""
    parts = [normal_form(part).split() for part in _ENDS.split(_OUTLET.sub("", _undotted(text)))]
    words = [word for part in parts if part for word in (*part, _END)][:-1]
    return [*words, _BROKEN] if text.rstrip().endswith(("…", "...")) else words


def _values(words: Sequence[str]) -> list[Decimal]:
    return [value for word in words for value in figures_of(word)]


def _content(words: Sequence[str], names: Set[str]) -> list[str]:
    """Return the content words: no function words, no outlets, no figures."""
    return [
        word
        for word in words
        if (word in names or word not in _FORM_WORDS)
        and word not in (_END, _BROKEN)
        and not any(character.isdigit() for character in word)
    ]


def _capitals(text: str) -> frozenset[str]:
    """Return the function words that are names because of capitals: IT, WHO, the A of A$."""
    if text.isupper():
        return frozenset()
    return frozenset(map(str.casefold, _CAPITALS.findall(text))) & _FUNCTION_WORDS


def _to_a_figure(words: Sequence[str], start: int, end: int) -> bool:
    """Return whether the words from start to end have a "to" before a figure, as in "to 5%"."""
    return any(
        word == "to" and any(map(str.isdigit, "".join(words[at + 1 : at + 3])))
        for at, word in enumerate(words[start:end], start=start)
    )


def content_of(text: str, form: str | None = None) -> str:
    """Return a text's content, for comparing texts: no function words, endings or last outlet.

    ``form`` is the text's `normal_form`, if it is known.
    """
    bare = _TAIL.sub("", text)
    words = (normal_form(bare) if form is None or bare != text else form).split()
    return " ".join(_stem(word) for word in words if word not in _FORM_WORDS) or " ".join(words)


# Irregular verbs of headlines that are not in the table.
_PAST = {
    "bought": "buy", "made": "make", "took": "take", "won": "win", "held": "hold", "met": "meet",
    "sought": "seek", "saw": "see", "kept": "keep", "spent": "spend", "paid": "pay",
}  # fmt: skip


@cache
def _past() -> dict[str, str]:
    """Return irregular verbs by each of their forms."""
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
# Function words, and words that outlets add to an article.
_FORM_WORDS = _FUNCTION_WORDS | frozenset(
    (
        *("reuters", "bloomberg", "ap", "afp", "cnbc", "dpa", "wsj", "ft", "update", "exclusive"),
        *("breaking", "live", "video", "photos", "corrected", "nyse", "nasdaq"),
    )
)


def kept_or_dropped(
    item: NewsItem, fields: dict[str, Any], duplicate: Duplicate | None, near: float
) -> tuple[dict[str, Any], LedgerEvent]:
    """Return the row of a news item, kept or dropped, and the ledger's event."""
    record = news_record(item, fields)
    if duplicate is not None:
        record |= {
            "dropped_because": str(duplicate.reason),
            "duplicate_of": duplicate.of,
            "similarity": round(duplicate.similarity, 4),
        }
    decision = "kept" if duplicate is None else "dropped"
    why = duplicate.reason if duplicate else ""
    return record, LedgerEvent.of("dedupe", item.id, decision, f"rule:dedupe at {near:g}", why)


def signature_of(text: Text) -> bytes:
    """Return a text's MinHash, with which `find_duplicates` finds candidates."""
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
    """Return the number of bands into which a signature is split, and the values in each."""
    from datasketch import MinHashLSH

    index = MinHashLSH(
        # The index needs less than 1; the candidates it finds are compared exactly.
        threshold=min(threshold, 0.99),
        num_perm=_PERMUTATIONS,
        weights=(_FALSE_FINDS, _MISSES),
    )
    return index.b, index.r


def _grams(form: str) -> frozenset[str]:
    return frozenset(form[at : at + _GRAM] for at in range(max(1, len(form) - _GRAM + 1)))


@dataclass(frozen=True, slots=True)
class _Entry:
    """The parts of a text that are compared; ``place`` is below 0 in the other set."""

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
    """Return hashes of the bands of a signature: texts that share a hash are candidates."""
    bands, rows = _bands(threshold)
    size = len(signature) // _PERMUTATIONS * rows
    return [hash((at, signature[at * size : (at + 1) * size])) for at in range(bands)]


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


class _Before:
    """The earlier texts that were kept, by normal form, by address and by signature."""

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
        """Return the text that an entry repeats: id, kind, similarity, whether in the other set."""
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
            # If each has a figure that the other lacks, they are different texts.
            if not (entry.figures - one.figures and one.figures - entry.figures)
            and (alike := _similarity(grams, one.grams())) >= self._threshold
        ]
        for alike, behind in sorted(near, reverse=True):  # of equally similar texts, the earlier
            one = candidates[-behind]
            if same_but_for_form(one.text, entry.text):
                return one.id, "near", alike, one.place < 0
        return None


def _address(url: str | None) -> str | None:
    """Return the key of an article's address: host, path, and query without tracking parameters.

    None is returned for a text that is not an article's address, such as a host alone.
    """
    try:
        parts = urlsplit((url or "").strip())
    except ValueError:
        return None
    tracking = ("utm_", ".tsrc", "fbclid", "gclid")
    marks = sorted(mark for mark in parts.query.split("&") if not mark.startswith(tracking))
    tail = parts.path.rstrip("/") + "?".join(["", *filter(None, marks)])
    return parts.netloc.casefold().removeprefix("www.") + tail if tail else None
