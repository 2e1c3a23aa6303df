"""Which terms of which lists stand where in a text.

The words around a term may say that it is something else: "May" is a hedge or a month, "since" a
reason or a time.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["LISTS", "Lexicon", "Spot", "Term", "lexicon"]

LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "connector", "catalyst", "reaction",
)  # fmt: skip
"""The lists there are."""

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_WORD = re.compile(r"\w+")
# What may part the words of a term, one at a time, where spaces may.
_HYPHENS = tuple("-‐‑–")
# Letters that Python's regular expressions take for an ASCII one where case does not count.
_ODD_LETTERS = str.maketrans({"ſ": "s", "\u212a": "k", "İ": "i", "ı": "i"})
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# One syllable that ends in one vowel and one consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")


class Term(NamedTuple):
    """One term of one list."""

    list: str
    template: str
    """As the data writes it, the words that are inflected tagged: ``fall/v short of``."""
    text: str
    """Its plain form: ``fall short of``."""

    @classmethod
    def of(cls, name: str, template: str) -> "Term":
        """Return a term as the data writes it."""
        text = " ".join(word.rpartition("/")[0] or word for word in template.split())
        return cls(name, template, text)


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule by which a spelling, case and all (any if none), is something else after or before
    certain words, or before a number.
    """

    spelled: str | None
    before: frozenset[str]
    after: frozenset[str]
    numbers: bool

    def refuses(self, text: str, before: str, after: str) -> bool:
        if self.spelled is not None and text != self.spelled:
            return False
        return (
            before in self.before or after in self.after or (self.numbers and after[:1].isdigit())
        )


def guards() -> dict[tuple[str, str], Guard]:
    return {
        (rule["list"], rule["term"]): Guard(
            spelled=rule.get("spelled"),
            before=frozenset(rule["before"]),
            after=frozenset(rule["after"]),
            numbers=rule["numbers"],
        )
        for rule in _data("lists")["guard"]
    }


class Spot(NamedTuple):
    """Where a term stands in a text: ``text[start:end]``."""

    term: Term
    start: int
    end: int


_Word = tuple[str, int, int]  # in small letters, and where it begins and ends


class Lexicon:
    """The word lists, compiled. Where two terms of one list are spelled alike, the first counts."""

    def __init__(self) -> None:
        data = _data("lists")
        self.terms = tuple(Term.of(name, template) for name in LISTS for template in data[name])
        # A tree of words; what a word in it ends is under the empty word, a term for each list.
        self._tree: dict[str, Any] = {}
        for term in self.terms:
            for form in term_forms(term.template):
                node = self._tree
                for word in words_of(form):
                    node = node.setdefault(word, {})
                node.setdefault("", {}).setdefault(term.list, term)
        self._guards = guards()

    def spots(self, text: str) -> list[Spot]:
        """Return where terms stand in a text, by place, then the longest first.

        Words match whole and in any case, parted by any spaces or one hyphen. Within one list terms
        do not overlap (the leftmost, then the longest, counts). What a guard refuses (the month in
        "in May", the "since" of "since 2019") is not found.
        """
        small = text.translate(_ODD_LETTERS).lower()
        words = [(match[0], *match.span()) for match in _WORD.finditer(small)]
        ends = dict.fromkeys(LISTS, 0)
        found: list[Spot] = []
        for first, (word, start, _) in enumerate(words):
            if word not in self._tree:
                continue
            for last, terms in self._spelled(small, words, first):
                end = words[last][2]
                for name, term in terms.items():
                    guard = self._guards.get((name, term.text))
                    if ends[name] > start or (
                        guard and guard.refuses(text[start:end], *_around(words, first, last))
                    ):
                        continue
                    ends[name] = end
                    found.append(Spot(term, start, end))
        return found

    def _spelled(
        self, small: str, words: Sequence[_Word], first: int
    ) -> list[tuple[int, dict[str, Term]]]:
        """Return what begins with a word, the longest first: its last word and its terms."""
        found, last, node = [], first, self._tree.get(words[first][0])
        while node is not None:
            if "" in node:
                found.append((last, node[""]))
            last += 1
            node = node.get(words[last][0]) if last < len(words) else None
            if node is not None and not _joined(small[words[last - 1][2] : words[last][1]]):
                break
        return found[::-1]


@cache
def lexicon() -> Lexicon:
    """Return the word lists of the package, compiled once per process."""
    return Lexicon()


def _joined(gap: str) -> bool:
    return gap == " " or gap in _HYPHENS or gap.isspace()


def _around(words: Sequence[_Word], first: int, last: int) -> tuple[str, str]:
    """Return the words before and after some, lower case; nothing at a text's ends."""
    after = words[last + 1][0] if last + 1 < len(words) else ""
    return words[first - 1][0] if first else "", after


def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words as the matcher compares them: lower case, parted at all else."""
    return tuple(_WORD.findall(text.lower()))


def term_forms(template: str) -> Iterator[str]:
    """Return every form of a template, the plain one first."""
    choices = []
    for word in template.split():
        stem, _, tag = word.rpartition("/")
        choices.append(_forms(stem, tag) if stem else [word])
    return map(" ".join, itertools.product(*choices))


@cache
def _data(name: str) -> Mapping[str, Any]:
    source = files("contrafact.text.words") / f"{name}.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _forms(stem: str, tag: str) -> list[str]:
    # Of a hyphened word (sell-off, wind-down) the end is inflected.
    front, hyphen, last = stem.rpartition("-")
    given = _data("irregular")[_SECTIONS[tag]].get(last)
    if given is not None:
        forms = given.replace("/", " ").split()
    elif tag == "v":
        forms = [_with_s(last), _with_vowel(last, "ed"), _with_vowel(last, "ing")]
    elif tag == "n":
        forms = [_with_s(last)]
    else:
        forms = [_with_vowel(last, "er"), _with_vowel(last, "est")]
    return [front + hyphen + form for form in (last, *forms)]


def _with_s(word: str) -> str:
    if _HISSING.search(word) or word.endswith("o"):
        return word + "es"
    return word[:-1] + "ies" if _CONSONANT_Y.search(word) else word + "s"


def _with_vowel(word: str, ending: str) -> str:
    if word.endswith("ie") and ending == "ing":
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        return word[:-1] + ending
    if ending != "ing" and _CONSONANT_Y.search(word):
        return word[:-1] + "i" + ending
    return word + word[-1] + ending if _DOUBLES.search(word) else word + ending
