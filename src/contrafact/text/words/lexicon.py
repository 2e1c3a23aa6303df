"""The word lists of financial news, and the search for their terms in a text.

RFC-BENCH, appendices O, Q.1, R.4, S.1 and S.3. The lists are in ``lists.toml``, irregular word
forms in ``irregular.toml``. A guard excludes a term with another meaning, by the words around it:
"May" is a hedge or a month, "since" a reason or a time.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from contrafact.text.tokens import alternation

__all__ = ["LISTS", "Spot", "spots"]

LISTS = (
    "directional", "kpi", "hedge", "mild", "extreme", "connector", "catalyst", "reaction",
)  # fmt: skip

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_WORD = re.compile(r"\w+")
# Hyphens, and letters that Python's regular expressions treat as ASCII when they ignore case.
_ALIKE = str.maketrans("ſ\u212aİı‐‑–", "skii---")
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# Verbs and adjectives of one syllable that double their last consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")
_REACH = 60
"""The number of characters before a term in which its preceding word is searched (ours)."""


class Spot(NamedTuple):
    """A place in a text, ``text[start:end]``, with a term of a list, given in its plain form."""

    list: str
    term: str
    start: int
    end: int


def spots(text: str) -> Iterator[Spot]:
    """Yield the places of terms in a text, list by list.

    Whole words match in any case, with spaces or one hyphen between them. Terms of one list do not
    overlap: the leftmost counts, then the longest. Terms that a guard refuses (the month in "in
    May", the "since" of "since 2019") are left out.
    """
    small, guards = text.translate(_ALIKE).lower(), _guards()
    for name, (pattern, plain) in _terms().items():
        for match in pattern.finditer(small):
            start, end = match.span()
            term = plain[" ".join(_WORD.findall(match[0]))]
            guard = guards.get((name, term))
            if guard is None or not _refuses(guard, text[start:end], small, start, end):
                yield Spot(name, term, start, end)


@cache
def _terms() -> dict[str, tuple[re.Pattern[str], dict[str, str]]]:
    """Return the pattern of each list, which prefers longer terms, and its terms' plain forms."""
    terms: dict[str, tuple[re.Pattern[str], dict[str, str]]] = {}
    for name in LISTS:
        plain: dict[str, str] = {}
        for template in _data("lists")[name]:
            first = " ".join(word.rpartition("/")[0] or word for word in template.split())
            for form in term_forms(template):
                # If two forms have the same spelling, the first counts.
                plain.setdefault(" ".join(_WORD.findall(form.lower())), first)
        any_of = alternation(plain).replace(r"[\s-]", r"(?:\s+|-)")
        terms[name] = re.compile(rf"(?<!\w)(?:{any_of})(?!\w)"), plain
    return terms


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
