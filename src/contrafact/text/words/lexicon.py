"""The word lists of financial news, and where their terms are in a text.

RFC-BENCH, appendices O, Q.1, R.4, S.1 and S.3. The lists are data: ``lists.toml``, with the word
forms that spelling rules get wrong in ``irregular.toml``. A guard tells by the words around a term
whether it has another meaning: "May" is a hedge or a month, "since" a reason or a time.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["LISTS", "Spot", "spots"]

LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "connector", "catalyst", "reaction",
)  # fmt: skip

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_WORD = re.compile(r"\w+")
_HYPHENS = frozenset("-‐‑–")
# Letters that Python's regular expressions take for ASCII ones when they ignore case.
_ODD_LETTERS = str.maketrans({"ſ": "s", "\u212a": "k", "İ": "i", "ı": "i"})
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# Verbs and adjectives of one syllable that double their last consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")
_REACH = 60
"""The characters before a term in which the word before it is looked for (ours)."""


class Spot(NamedTuple):
    """Where a term of a list, given in its plain form, is in a text: ``text[start:end]``."""

    list: str
    term: str
    start: int
    end: int


def spots(text: str) -> Iterator[Spot]:
    """Yield where terms are in a text, list by list.

    Whole words match in any case, with spaces or one hyphen between them. Terms of one list do not
    overlap: the leftmost counts, then the longest. Terms that a guard refuses (the month in "in
    May", the "since" of "since 2019") are left out.
    """
    small, guards, by_beginning = text.translate(_ODD_LETTERS).lower(), _guards(), _by_beginning()
    words = [(match[0], *match.span()) for match in _WORD.finditer(small)]
    by_list: dict[str, list[Spot]] = {name: [] for name in LISTS}
    ends = dict.fromkeys(LISTS, 0)  # of the last term of each list
    for i, (word, start, _) in enumerate(words):
        after = words[i + 1][0] if i + 1 < len(words) else ""
        candidates = (*by_beginning.get((word, after), ()), *by_beginning.get((word, ""), ()))
        for name, others, term in candidates:
            matched = words[i : i + len(others) + 1]
            if start < ends[name] or (others and not _go_on(small, matched, others)):
                continue
            end = ends[name] = matched[-1][2]
            guard = guards.get((name, term))
            if guard is None or not _refuses(guard, text[start:end], small, start, end):
                by_list[name].append(Spot(name, term, start, end))
    return itertools.chain.from_iterable(by_list.values())


def _go_on(small: str, words: Sequence[tuple[str, int, int]], others: Sequence[str]) -> bool:
    """Return whether the words of a text after the first are the other words of a term."""
    if [word for word, _, _ in words[1:]] != others:
        return False
    gaps = (small[one[2] : other[1]] for one, other in itertools.pairwise(words))
    return all(gap.isspace() or gap in _HYPHENS for gap in gaps)


@cache
def _by_beginning() -> dict[tuple[str, str], list[tuple[str, list[str], str]]]:
    """Return the terms by their first two words, the second "" for a term of one word.

    A term is its list, its words after the first, and its plain form; the longest come first.
    """
    by_beginning: dict[tuple[str, str], list[tuple[str, list[str], str]]] = {}
    for name in LISTS:
        terms: dict[str, str] = {}
        for template in _data("lists")[name]:
            plain = " ".join(word.rpartition("/")[0] or word for word in template.split())
            for form in term_forms(template):
                # If two forms are spelled alike, the first counts.
                terms.setdefault(" ".join(_WORD.findall(form.lower())), plain)
        for term, plain in terms.items():
            first, *others = term.split(" ")
            beginning = first, others[0] if others else ""
            by_beginning.setdefault(beginning, []).append((name, others, plain))
    for candidates in by_beginning.values():
        candidates.sort(key=lambda candidate: -len(candidate[1]))
    return by_beginning


@cache
def _guards() -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(rule["list"], rule["term"]): rule for rule in _data("lists")["guard"]}


def _refuses(guard: Mapping[str, Any], spelled: str, small: str, start: int, end: int) -> bool:
    before = _WORD.findall(small, max(0, start - _REACH), start)
    after = _WORD.search(small, end)
    return guard.get("spelled", spelled) == spelled and (
        (bool(before) and before[-1] in guard["before"])
        or (after is not None and after[0] in guard["after"])
        or (after is not None and guard["numbers"] and after[0][0].isdigit())
    )


def term_forms(template: str) -> Iterator[str]:
    """Yield every form of a template, the plain one first."""
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
    # A word with a hyphen (sell-off, wind-down) is inflected at its end.
    front, hyphen, last = stem.rpartition("-")
    irregular = _data("irregular")[_SECTIONS[tag]].get(last)
    if irregular is not None:
        forms = irregular.replace("/", " ").split()
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
