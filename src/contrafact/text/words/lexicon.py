"""The word lists of financial news, and which of their terms stand where in a text.

RFC-BENCH, appendices O, Q.1, R.4, S.1 and S.3. The lists are data: ``lists.toml``, with the word
forms that spelling rules get wrong in ``irregular.toml``. The words around a term may say that it
is something else: "May" is a hedge or a month, "since" a reason or a time.
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
"""The lists there are."""

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_WORD = re.compile(r"\w+")
_HYPHENS = frozenset("-‐‑–")
# Letters that Python's regular expressions take for an ASCII one where case does not count.
_ODD_LETTERS = str.maketrans({"ſ": "s", "\u212a": "k", "İ": "i", "ı": "i"})
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# One syllable that ends in one vowel and one consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")
_REACH = 60
"""Characters before a term in which the word before it is looked for (ours)."""


class Spot(NamedTuple):
    """Where a term of a list, in its plain form, stands in a text: ``text[start:end]``."""

    list: str
    term: str
    start: int
    end: int


def spots(text: str) -> Iterator[Spot]:
    """Yield where terms stand in a text, list by list.

    Words match whole and in any case, parted by any spaces or one hyphen. Within one list terms do
    not overlap (the leftmost, then the longest, counts). What a guard refuses (the month in "in
    May", the "since" of "since 2019") is not found.
    """
    small, guards, begun = text.translate(_ODD_LETTERS).lower(), _guards(), _begun()
    words = [(match[0], *match.span()) for match in _WORD.finditer(small)]
    found: dict[str, list[Spot]] = {name: [] for name in LISTS}
    free = dict.fromkeys(LISTS, 0)  # where the last term of a list ended
    for at, (word, start, _) in enumerate(words):
        after = words[at + 1][0] if at + 1 < len(words) else ""
        for name, others, term in (*begun.get((word, after), ()), *begun.get((word, ""), ())):
            own = words[at : at + len(others) + 1]
            if start < free[name] or (others and not _go_on(small, own, others)):
                continue
            end = free[name] = own[-1][2]
            guard = guards.get((name, term))
            if guard is None or not _refuses(guard, text[start:end], small, start, end):
                found[name].append(Spot(name, term, start, end))
    return itertools.chain.from_iterable(found.values())


def _go_on(small: str, words: Sequence[tuple[str, int, int]], others: Sequence[str]) -> bool:
    """Return whether behind the first of some words of a text stand the others of a term."""
    if [word for word, _, _ in words[1:]] != others:
        return False
    gaps = (small[one[2] : other[1]] for one, other in itertools.pairwise(words))
    return all(gap.isspace() or gap in _HYPHENS for gap in gaps)


@cache
def _begun() -> dict[tuple[str, str], list[tuple[str, list[str], str]]]:
    """Return what terms two words begin, the second empty of a term that is one word.

    A term is its list, the words behind the first, and its plain form; the longest come first.
    """
    found: dict[tuple[str, str], list[tuple[str, list[str], str]]] = {}
    for name in LISTS:
        terms: dict[str, str] = {}
        for template in _data("lists")[name]:
            plain = " ".join(word.rpartition("/")[0] or word for word in template.split())
            for form in term_forms(template):
                # Of two spelled alike the first counts.
                terms.setdefault(" ".join(_WORD.findall(form.lower())), plain)
        for term, plain in terms.items():
            first, *others = term.split(" ")
            begin = first, others[0] if others else ""
            found.setdefault(begin, []).append((name, others, plain))
    for choices in found.values():
        choices.sort(key=lambda one: -len(one[1]))
    return found


@cache
def _guards() -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return by which words around it, and in which spelling, a term is something else."""
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
