"""Which terms of which lists stand where in a text, and what says their opposite.

The words around a term decide its form where several are spelled alike, or that it is something
else: "cut" is a past, a plain form or a noun, "gains" a verb or a noun, "May" a hedge or a month;
the words before, and the one after, mostly show which.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from contrafact.text.words.matcher import Hits, Ints, Matcher
from contrafact.text.words.terms import Term, load_terms, term_forms, words_of

__all__ = ["LISTS", "Guard", "Lexicon", "Match", "Spots", "choose_form", "guards", "lexicon"]

Option = TypeVar("Option")


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

    def refuses(self, text: str, before: Sequence[str], after: str) -> bool:
        """Return whether this spelling, between these words, is something else."""
        if self.spelled is not None and text != self.spelled:
            return False
        if before and before[-1] in self.before:
            return True
        return after in self.after or (self.numbers and after[:1].isdigit())


def guards() -> dict[tuple[str, str], Guard]:
    """Return the rules, by list and term."""
    return {
        (rule["list"], rule["term"]): Guard(
            spelled=rule.get("spelled"),
            before=frozenset(rule["before"]),
            after=frozenset(rule["after"]),
            numbers=rule["numbers"],
        )
        for rule in _data()["guard"]
    }


def choose_form(
    options: Sequence[tuple[Option, str]], before: Sequence[str], after: str
) -> tuple[Option, str]:
    """Return which of several readings of one spelling stands between these words.

    Args:
        options: What is read, each with its inflection, in the order of preference.
        before: The words before, lower case, the nearest last; three are enough.
        after: The word after, lower case; empty at the end.
    """
    if len(options) == 1:
        return options[0]
    form = _forms()
    by_form: dict[str, tuple[Option, str]] = {}
    for option in options:
        by_form.setdefault(option[1], option)
    nearest = before[-1] if before else ""
    base, past = by_form.get("base"), by_form.get("past")
    participle = by_form.get("participle")
    noun = by_form.get("singular") or by_form.get("plural")
    verb = base or by_form.get("third")
    if noun and verb:
        is_noun = nearest in form["before_noun"] or after == "of"
        return noun if is_noun else verb
    if base and (nearest in form["before_base"] or (past and nearest in form["before_noun"])):
        return base
    if participle and _after_auxiliary(before, form):
        return participle
    return past or participle or options[0]


def _after_auxiliary(before: Sequence[str], form: dict[str, frozenset[str]]) -> bool:
    for word in reversed(before[-3:]):
        if word in form["before_participle"]:
            return True
        if word not in form["between"] and not word.endswith("ly"):
            return False
    return False


@cache
def _forms() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in _data()["form"].items()}


@cache
def _data() -> dict[str, Any]:
    source = files("contrafact.text.words") / "context.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "over_amplified", "connector", "catalyst",
    "reaction",
)  # fmt: skip
"""The lists there are."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Match:
    """One term found in a text.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends; ``source[start:end]`` is its text.
        text: The words as they stand there.
        list: The list it is in.
        group: Its group in that list; the list's name where there are no groups.
        term: The term as the list has it, in its plain form.
        polarity: +1 up or good, -1 down or bad, 0 neither.
        inflection: ``base``, ``third``, ``past``, ``participle`` or ``gerund`` of a verb,
            ``singular`` or ``plural`` of a noun, ``positive``, ``comparative`` or ``superlative``
            of an adjective, or ``fixed``. Where a spelling leaves it open (a *cut*, has *cut*,
            *cut* costs), the words around decide.
        weak: Whether it says a direction only with other words next to it (up, above, high).
    """

    start: int
    end: int
    text: str
    list: str
    group: str
    term: str
    polarity: int
    inflection: str
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Spots:
    """Where terms stand in many texts: a row in the columns for each, in order of text and place.

    Attributes:
        text: Which text, by number.
        start: Where the term begins in that text.
        end: Where it ends.
        term: Which term, by its number in ``Lexicon.terms``. Of a noun and a verb spelled alike,
            of one group and polarity, it is always the first of the two.
    """

    text: Ints
    start: Ints
    end: Ints
    term: Ints


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a spelling is in one list: a term in one form, or several that the words around part."""

    options: tuple[tuple[int, str], ...]
    guard: Guard | None


class Lexicon:
    """The word lists, compiled.

    Args:
        terms: The terms of all lists. Where two of one list are spelled alike and the words
            around do not decide, the first is found.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self._by_form: dict[tuple[str, str, str], Term] = {}
        spellings: dict[str, dict[str, list[tuple[int, str]]]] = {}
        for number, term in enumerate(self.terms):
            for form, inflection in term_forms(term.template):
                self._by_form.setdefault((term.list, term.text, inflection), term)
                lists = spellings.setdefault(" ".join(words_of(form)), {})
                lists.setdefault(term.list, []).append((number, inflection))
        self._matcher = Matcher(spellings)
        # The readings of spelling s are those from first[s] to first[s + 1].
        counts = [len(lists) for lists in spellings.values()]
        self._first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        named = [(name, options) for lists in spellings.values() for name, options in lists.items()]
        refusals = guards()
        self._readings = [
            _Reading(
                tuple(options),
                next(
                    (
                        refusals[key]
                        for n, _ in options
                        if (key := (self.terms[n].list, self.terms[n].text)) in refusals
                    ),
                    None,
                ),
            )
            for _, options in named
        ]
        self._list_of = np.array([LISTS.index(name) for name, _ in named])
        self._term_of = np.array([options[0][0] for _, options in named])
        meanings = [
            {(term.text, term.group, term.polarity, term.weak) for term in terms_of}
            for terms_of in ([self.terms[n] for n, _ in options] for _, options in named)
        ]
        self._several = np.array([len(different) > 1 for different in meanings])
        self._guarded = np.array([reading.guard is not None for reading in self._readings])

    def find(self, text: str, lists: Iterable[str] | None = None) -> list[Match]:
        """Return the terms that stand in a text, in order, the longest first where two begin.

        Words match whole and in any case; a term's words may be parted by any spaces, or by one
        hyphen. Within one list matches do not overlap (the leftmost, then the longest, counts);
        matches of different lists may. What the data guard (the month in "in May", the "since"
        of "since 2019") is not found.

        Args:
            text: Any text.
            lists: The lists to look in; all if not given.

        Raises:
            ValueError: There is no such list.
        """
        return self.find_many([text], lists)[0]

    def find_many(
        self, texts: Sequence[str], lists: Iterable[str] | None = None
    ) -> list[list[Match]]:
        """Return what `find` returns for each text, in one pass over all of them."""
        found: list[list[Match]] = [[] for _ in texts]
        hits = self._matcher.scan(texts)
        rows, readings = self._kept(texts, hits, lists)
        starts, ends = hits.start - hits.offsets[hits.text], hits.end - hits.offsets[hits.text]
        for row, reading in zip(rows.tolist(), readings.tolist(), strict=True):
            number, start, end = int(hits.text[row]), int(starts[row]), int(ends[row])
            options = self._readings[reading].options
            chosen, inflection = (
                options[0] if len(options) == 1 else choose_form(options, *_around(hits, row))
            )
            term, text = self.terms[chosen], texts[number][start:end]
            found[number].append(
                Match(
                    start,
                    end,
                    text,
                    term.list,
                    term.group,
                    term.text,
                    term.polarity,
                    inflection,
                    term.weak,
                )
            )
        return found

    def spots(self, texts: Sequence[str], lists: Iterable[str] | None = None) -> Spots:
        """Return what `find_many` finds as columns: several times faster for many texts."""
        hits = self._matcher.scan(texts)
        rows, readings = self._kept(texts, hits, lists)
        terms = self._term_of[readings]
        for i in np.flatnonzero(self._several[readings]).tolist():
            options = self._readings[readings[i]].options
            terms[i] = choose_form(options, *_around(hits, int(rows[i])))[0]
        text = hits.text[rows]
        offset = hits.offsets[text]
        return Spots(text, hits.start[rows] - offset, hits.end[rows] - offset, terms)

    def opposite(self, match: Match) -> str:
        """Return what says the opposite, in the match's inflection and capitalisation.

        Raises:
            ValueError: The term has no opposite: only directional terms have one.
        """
        return self.opposites(match)[0]

    def opposites(self, match: Match) -> list[str]:
        """Return all that the lists give as the opposite, the usual one first.

        Raises:
            ValueError: The term has no opposite: only directional terms have one.
        """
        term = self._by_form.get((match.list, match.term, match.inflection))
        if term is None or not term.opposites:
            raise ValueError(f"{match.term!r} of the list {match.list!r} has no opposite")
        return [_styled(_inflected(o, match.inflection), match.text) for o in term.opposites]

    def _kept(
        self, texts: Sequence[str], hits: Hits, lists: Iterable[str] | None
    ) -> tuple[Ints, Ints]:
        """Return the hits that count, by row, and what each is in a list, by reading.

        A hit has a row for each list that it is in. Those that are guarded, or overlap with an
        earlier one of their list, do not count.
        """
        counts = self._first[hits.spelling + 1] - self._first[hits.spelling]
        rows = np.repeat(np.arange(len(counts)), counts)
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        readings = self._first[hits.spelling[rows]] + nth
        keep = _wanted(lists)[self._list_of[readings]]
        for i in np.flatnonzero(keep & self._guarded[readings]).tolist():
            row, number = int(rows[i]), int(hits.text[rows[i]])
            offset = int(hits.offsets[number])
            text = texts[number][int(hits.start[row]) - offset : int(hits.end[row]) - offset]
            guard = self._readings[readings[i]].guard
            keep[i] = guard is None or not guard.refuses(text, *_around(hits, row))
        found = np.flatnonzero(keep)
        # By list, then by place; a list's places lie past those of the list before.
        span = int(hits.offsets[-1]) + 1
        shift = self._list_of[readings[found]] * span
        start, end = hits.start[rows[found]] + shift, hits.end[rows[found]] + shift
        order = np.argsort(start, kind="stable")
        keep[found[order]] = _apart(start[order], end[order])
        return rows[keep], readings[keep]


@cache
def lexicon() -> Lexicon:
    """Return the word lists of the package, compiled once per process."""
    return Lexicon(load_terms())


def _wanted(lists: Iterable[str] | None) -> npt.NDArray[np.bool_]:
    wanted = set(LISTS if lists is None else lists)
    unknown = sorted(wanted.difference(LISTS))
    if unknown:
        raise ValueError(
            f"there is no word list {', '.join(unknown)}; there are {', '.join(LISTS)}"
        )
    return np.array([name in wanted for name in LISTS])


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


def _around(hits: Hits, row: int) -> tuple[list[str], str]:
    """Return up to three words before a hit, and the one after it or nothing."""
    first, number = int(hits.first[row]), int(hits.text[row])
    begin, end = hits.offsets[number : number + 2].tolist()
    after = first + int(hits.length[row])
    before = hits.words_at(max(0, first - 3), first, begin, end)
    following = hits.words_at(after, after + 1, begin, end)
    return before, following[0] if following else ""


def _inflected(template: str, inflection: str) -> str:
    forms: dict[str, str] = {}
    for form, name in term_forms(template):
        forms.setdefault(name, form)
    return forms.get(inflection) or next(iter(forms.values()))


def _styled(text: str, model: str) -> str:
    """Return the text capitalised, and hyphenated, as the model is."""
    if "-" in model and "-" not in text:
        text = text.replace(" ", "-")
    letters = [c for c in model if c.isalpha()]
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return text.upper()
    capitals = [word[0].isupper() for word in _WORD.findall(model)]
    if len(capitals) > 1 and all(capitals):
        return _WORD.sub(lambda m: m[0][0].upper() + m[0][1:], text)
    return text[0].upper() + text[1:] if capitals and capitals[0] else text
