"""Which terms of which lists stand where in many texts.

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

import numpy as np
import numpy.typing as npt

from contrafact.text.words.matcher import Hits, Ints, Matcher

__all__ = [
    "LISTS",
    "Guard",
    "Lexicon",
    "Spots",
    "Term",
    "guards",
    "lexicon",
    "term_forms",
    "words_of",
]

LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "connector", "catalyst", "reaction",
)  # fmt: skip
"""The lists there are."""

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# One syllable that ends in one vowel and one consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")


class Term(NamedTuple):
    """One term of one list."""

    list: str
    template: str
    """As the data writes it, the words that are inflected tagged: ``fall/v short of``."""

    @property
    def text(self) -> str:
        """The term in its plain form: ``fall short of``."""
        return " ".join(word.rpartition("/")[0] or word for word in self.template.split())


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule by which a spelling is something else between certain words.

    Attributes:
        spelled: The spelling that the rule is about, case and all; any if none.
        before: Words before it that make it something else.
        after: Words after it that do.
        numbers: Whether a number after it does.
    """

    spelled: str | None
    before: frozenset[str]
    after: frozenset[str]
    numbers: bool

    def refuses(self, text: str, before: str, after: str) -> bool:
        """Return whether this spelling, between these words, is something else."""
        if self.spelled is not None and text != self.spelled:
            return False
        return (
            before in self.before or after in self.after or (self.numbers and after[:1].isdigit())
        )


def guards() -> dict[tuple[str, str], Guard]:
    """Return the rules, by list and term."""
    return {
        (rule["list"], rule["term"]): Guard(
            spelled=rule.get("spelled"),
            before=frozenset(rule["before"]),
            after=frozenset(rule["after"]),
            numbers=rule["numbers"],
        )
        for rule in _data("lists")["guard"]
    }


@dataclass(frozen=True, slots=True)
class Spots:
    """Where terms stand in many texts: a row in the columns for each, in order of text and place.

    Attributes:
        text: Which text, by number.
        start: Where the term begins in that text.
        end: Where it ends.
        term: Which term, by its number in ``Lexicon.terms``.
    """

    text: Ints
    start: Ints
    end: Ints
    term: Ints


class Lexicon:
    """The word lists, compiled. Where two terms of one list are spelled alike, the first counts.

    Attributes:
        terms: The terms of all lists.
    """

    def __init__(self) -> None:
        data = _data("lists")
        self.terms = tuple(Term(name, template) for name in LISTS for template in data[name])
        spellings: dict[str, dict[str, int]] = {}
        for number, term in enumerate(self.terms):
            for form in term_forms(term.template):
                lists = spellings.setdefault(" ".join(words_of(form)), {})
                lists.setdefault(term.list, number)
        self._matcher = Matcher(spellings)
        # The terms of spelling s, one a list, are those from first[s] to first[s + 1].
        counts = [len(lists) for lists in spellings.values()]
        self._first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        self._term = np.array([n for lists in spellings.values() for n in lists.values()])
        self._list = np.array([LISTS.index(self.terms[n].list) for n in self._term])
        rules = guards()
        self._guards = {
            number: rules[term.list, term.text]
            for number, term in enumerate(self.terms)
            if (term.list, term.text) in rules
        }

    def spots(self, texts: Sequence[str]) -> Spots:
        """Return where terms stand in the texts, in one pass over all of them.

        Words match whole and in any case; a term's words may be parted by any spaces, or by one
        hyphen. Within one list terms do not overlap (the leftmost, then the longest, counts);
        those of different lists may. What a guard refuses (the month in "in May", the "since" of
        "since 2019") is not found.
        """
        hits = self._matcher.scan(texts)
        counts = self._first[hits.spelling + 1] - self._first[hits.spelling]
        rows = np.repeat(np.arange(len(counts)), counts)
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = self._first[hits.spelling[rows]] + nth
        terms, lists = self._term[places], self._list[places]
        start, end = hits.start[rows], hits.end[rows]
        text = hits.text[rows]
        offset = hits.offsets[text]
        keep = np.ones(len(rows), dtype=np.bool_)
        for i in np.flatnonzero(np.isin(terms, list(self._guards))).tolist():
            begin = int(offset[i])
            spelled = texts[int(text[i])][int(start[i]) - begin : int(end[i]) - begin]
            keep[i] = not self._guards[int(terms[i])].refuses(spelled, *_around(hits, int(rows[i])))
        found = np.flatnonzero(keep)
        # By list, then by place; a list's places lie past those of the list before.
        shift = lists[found] * (int(hits.offsets[-1]) + 1)
        order = np.argsort(start[found] + shift, kind="stable")
        keep[found[order]] = _apart((start[found] + shift)[order], (end[found] + shift)[order])
        return Spots(text[keep], (start - offset)[keep], (end - offset)[keep], terms[keep])


@cache
def lexicon() -> Lexicon:
    """Return the word lists of the package, compiled once per process."""
    return Lexicon()


def _apart(start: Ints, end: Ints) -> npt.NDArray[np.bool_]:
    """Return which spans count, taken in order of their starts: those that begin past the last."""
    keep = np.ones(len(start), dtype=np.bool_)
    # Only where a span begins before an earlier one's end is there anything to decide.
    reach = np.maximum.accumulate(end) if len(end) else end
    close = (np.flatnonzero(start[1:] < reach[:-1]) + 1).tolist()
    starts, ends = start.tolist(), end.tolist()
    last, run = 0, -1
    for i in close:
        if i != run + 1:
            last = ends[i - 1]
        run = i
        if starts[i] < last:
            keep[i] = False
        else:
            last = ends[i]
    return keep


def _around(hits: Hits, row: int) -> tuple[str, str]:
    """Return the words before and after a hit, lower case; nothing at a text's ends."""
    first, number = int(hits.first[row]), int(hits.text[row])
    begin, end = hits.offsets[number : number + 2].tolist()
    behind = first + int(hits.length[row])
    before = hits.words_at(max(0, first - 1), first, begin, end)
    after = hits.words_at(behind, behind + 1, begin, end)
    return "".join(before), "".join(after)


def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words as the matcher compares them: lower case, parted at all else."""
    return tuple(re.findall(r"\w+", text.lower()))


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
    """Return the forms of one word, the plain one first."""
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
    """Return the word with -ed, -ing, -er or -est."""
    if word.endswith("ie") and ending == "ing":
        return word[:-2] + "ying"
    if word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        return word[:-1] + ending
    if ending != "ing" and _CONSONANT_Y.search(word):
        return word[:-1] + "i" + ending
    return word + word[-1] + ending if _DOUBLES.search(word) else word + ending
