"""Which terms of which lists stand where in a text, and what says their opposite."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from contrafact.text.words.context import choose_form
from contrafact.text.words.loading import load_terms
from contrafact.text.words.terms import Term, term_forms, words_of

__all__ = ["LISTS", "Lexicon", "Match", "lexicon"]

LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "over_amplified", "connector", "catalyst",
    "reaction",
)  # fmt: skip
"""The lists there are."""

_WORD = re.compile(r"\w+")
# Letters that Python's regular expressions take for an ASCII one where case does not count.
_ODD_LETTERS = str.maketrans({"ſ": "s", "K": "k", "İ": "i", "ı": "i"})
# What may part the words of a term: spaces, or one hyphen or en dash.
_JOIN = re.compile(r"\s+|[-‐‑–]")


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
    """

    start: int
    end: int
    text: str
    list: str
    group: str
    term: str
    polarity: int
    inflection: str


class Lexicon:
    """The word lists, compiled.

    Args:
        terms: The terms of all lists. Where two of one list are spelled alike and the words
            around do not decide, the first is found.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self._by_form: dict[tuple[str, str, str], Term] = {}
        spellings: dict[str, dict[str, list[tuple[Term, str]]]] = {}
        for term in self.terms:
            for form, inflection in term_forms(term.template):
                self._by_form.setdefault((term.list, term.text, inflection), term)
                lists = spellings.setdefault(" ".join(words_of(form)), {})
                lists.setdefault(term.list, []).append((term, inflection))
        self._spellings = spellings
        self._longest: dict[str, int] = {}
        for spelling in spellings:
            words = spelling.split()
            self._longest[words[0]] = max(self._longest.get(words[0], 0), len(words))

    def find(self, text: str, lists: Iterable[str] | None = None) -> list[Match]:
        """Return the terms that stand in a text, in order, the longest first where two begin.

        Words match whole and in any case; a term's words may be parted by any spaces, or by a
        hyphen. Within one list matches do not overlap (the leftmost, then the longest, counts);
        matches of different lists may.

        Args:
            text: Any text.
            lists: The lists to look in; all if not given.

        Raises:
            ValueError: There is no such list.
        """
        wanted = _wanted(lists)
        spans = [match.span() for match in _WORD.finditer(text)]
        words = [text[s:e].translate(_ODD_LETTERS).lower() for s, e in spans]
        found: list[Match] = []
        ends = dict.fromkeys(wanted, 0)
        for i, word in enumerate(words):
            longest = self._longest.get(word, 0)
            for n in range(self._reach(text, spans, i, longest), 0, -1):
                lists_here = self._spellings.get(" ".join(words[i : i + n]))
                if lists_here is None:
                    continue
                start, end = spans[i][0], spans[i + n - 1][1]
                for name, options in lists_here.items():
                    if name in wanted and ends[name] <= start:
                        ends[name] = end
                        after = words[i + n] if i + n < len(words) else ""
                        term, inflection = choose_form(options, words[max(0, i - 3) : i], after)
                        found.append(_match(text, start, end, term, inflection))
        return found

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
        key = (match.list, match.term, match.inflection)
        term = self._by_form.get(key)
        if term is None or not term.opposites:
            raise ValueError(f"{match.term!r} of the list {match.list!r} has no opposite")
        return [_styled(_inflected(o, match.inflection), match.text) for o in term.opposites]

    @staticmethod
    def _reach(text: str, spans: Sequence[tuple[int, int]], i: int, longest: int) -> int:
        """Return how many words from word ``i`` on, at most ``longest``, one term could hold."""
        n = min(longest, 1)
        while n < longest and i + n < len(spans):
            if not _JOIN.fullmatch(text, spans[i + n - 1][1], spans[i + n][0]):
                break
            n += 1
        return n


@cache
def lexicon() -> Lexicon:
    """Return the word lists of the package, compiled once per process."""
    return Lexicon(load_terms())


def _wanted(lists: Iterable[str] | None) -> frozenset[str]:
    wanted = frozenset(LISTS if lists is None else lists)
    unknown = sorted(wanted.difference(LISTS))
    if unknown:
        raise ValueError(
            f"there is no word list {', '.join(unknown)}; there are {', '.join(LISTS)}"
        )
    return wanted


def _match(text: str, start: int, end: int, term: Term, inflection: str) -> Match:
    return Match(
        start, end, text[start:end], term.list, term.group, term.text, term.polarity, inflection
    )


def _inflected(template: str, inflection: str) -> str:
    forms: dict[str, str] = {}
    for form, name in term_forms(template):
        forms.setdefault(name, form)
    return forms.get(inflection) or next(iter(forms.values()))


def _styled(text: str, model: str) -> str:
    """Return the text capitalised, and hyphened, as the model is."""
    if "-" in model and "-" not in text:
        text = text.replace(" ", "-")
    letters = [c for c in model if c.isalpha()]
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return text.upper()
    capitals = [word[0].isupper() for word in _WORD.findall(model)]
    if len(capitals) > 1 and all(capitals):
        return _WORD.sub(lambda m: m[0][0].upper() + m[0][1:], text)
    return text[0].upper() + text[1:] if capitals and capitals[0] else text
