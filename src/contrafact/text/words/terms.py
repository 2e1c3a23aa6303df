"""Terms of the word lists: how they are written in the data, and the forms they take.

A term is written as words, those that are inflected tagged: ``rise/v`` (a verb), ``user/n`` (a
noun), ``strong/a`` (an adjective with -er and -est), ``fall/v short of``, ``share/n rise/v``.
Irregular forms are in ``irregular.toml``; the others follow English spelling.
"""

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["INFLECTIONS", "Term", "base_forms", "load_terms", "term_forms", "words_of"]

INFLECTIONS: Mapping[str, tuple[str, ...]] = {
    "v": ("base", "third", "past", "participle", "gerund"),
    "n": ("singular", "plural"),
    "a": ("positive", "comparative", "superlative"),
}
"""The inflections of verbs, nouns and adjectives; a term without a tag is ``fixed``."""

_SECTIONS = {"v": "verb", "n": "noun", "a": "adjective"}
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
# One syllable that ends in one vowel and one consonant: slip, trim, hit, big.
_DOUBLES = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of one list.

    Attributes:
        list: The list it stands in.
        group: Its group in that list; the list's name where there are no groups.
        text: The term as the data writes it, without tags: ``fall short of``.
        template: With its tags: ``fall/v short of``.
        polarity: +1 up or good, -1 down or bad, 0 neither.
        opposites: Templates of the terms that say the opposite, the usual one first.
        source: The appendix of RFC-BENCH that lists it, or ``added``.
        weak: Whether it says a direction only with other words next to it (up, above, high).
    """

    list: str
    group: str
    text: str
    template: str
    polarity: int
    opposites: tuple[str, ...]
    source: str
    weak: bool

    @property
    def head(self) -> str:
        """What is inflected: ``v``, ``n``, ``a``, or nothing."""
        return head_of(self.template)


def head_of(template: str) -> str:
    """Return the tag that rules a template's inflection: its verb's, or else its first."""
    tags = [word.rpartition("/")[2] for word in template.split() if "/" in word]
    return "v" if "v" in tags else tags[0] if tags else ""


def words_of(text: str) -> tuple[str, ...]:
    """Return a text's words as the matcher compares them: lower case, parted at all else."""
    return tuple(re.findall(r"\w+", text.lower()))


def term_forms(template: str) -> Iterator[tuple[str, str]]:
    """Return every form of a template with its inflection, the written variant first.

    Of a term with two inflected words (``share/n rise/v``) the inflection named is the verb's.
    """
    head = head_of(template)
    choices: list[list[tuple[str, str]]] = []
    for word in template.split():
        stem, _, tag = word.rpartition("/")
        if not stem:
            choices.append([(word, "")])
        else:
            forms = _forms(stem, tag)
            choices.append([(f, i if tag == head else "") for i, fs in forms.items() for f in fs])
    for chosen in itertools.product(*choices):
        inflection = next((i for _, i in chosen if i), "fixed")
        yield " ".join(form for form, _ in chosen), inflection


@cache
def base_forms() -> Mapping[str, str]:
    """Return the plain form of every irregular form that is known: ``fell`` is of ``fall``."""
    return {
        form: base
        for table in _irregular().values()
        for base, forms in table.items()
        for variants in forms.split()
        for form in variants.split("/")
    }


@cache
def _irregular() -> dict[str, dict[str, str]]:
    source = files("contrafact.text.words") / "irregular.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _forms(stem: str, tag: str) -> dict[str, list[str]]:
    """Return the forms of one word, by inflection."""
    # Of a hyphened word (sell-off, wind-down) the end is inflected.
    front, hyphen, last = stem.rpartition("-")
    given = _irregular()[_SECTIONS[tag]].get(last)
    if given is not None:
        rest = [slot.split("/") for slot in given.split()]
    elif tag == "v":
        past, gerund = _with_vowel(last, "ed"), _with_vowel(last, "ing")
        rest = [[_with_s(last)], [past], [past], [gerund]]
    elif tag == "n":
        rest = [[_with_s(last)]]
    else:
        rest = [[_with_vowel(last, "er")], [_with_vowel(last, "est")]]
    slots = [[last], *rest]
    names = INFLECTIONS[tag]
    return {
        name: [front + hyphen + form for form in slot]
        for name, slot in zip(names, slots, strict=True)
    }


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


def load_terms() -> list[Term]:
    """Return the terms of all lists, each once, in the order of the data.

    A term that stands in several pairs is one term with the opposites of all; its group, polarity
    and source are the first's.
    """
    # Of a word that is a strong term and a weak one (soft results, a soft landing), the strong
    # comes first, and is what the matcher finds.
    return sorted([*_merged(_directional()), *_merged(_listed())], key=lambda term: term.weak)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("contrafact.text.words") / name).read_text(encoding="utf-8"))


def _directional() -> Iterator[Term]:
    for entry in _read("directional.toml")["set"]:
        for up, *downs in entry["pairs"]:
            yield _term("directional", entry, up, 1, tuple(downs))
            for down in downs:
                yield _term("directional", entry, down, -1, (up,))


def _listed() -> Iterator[Term]:
    for name, entries in _read("lists.toml").items():
        for entry in entries:
            for template in entry["terms"]:
                yield _term(name, entry, template, entry.get("polarity", 0), ())


def _term(
    name: str, entry: dict[str, Any], template: str, polarity: int, opposites: tuple[str, ...]
) -> Term:
    return Term(
        list=name,
        group=entry.get("group", name),
        text=" ".join(word.rpartition("/")[0] or word for word in template.split()),
        template=template,
        polarity=polarity,
        opposites=opposites,
        source=entry["source"],
        weak=entry.get("weak", False),
    )


def _merged(terms: Iterable[Term]) -> list[Term]:
    found: dict[tuple[str, str], Term] = {}
    for term in terms:
        key = (term.list, term.template)
        first = found.get(key)
        if first is None:
            found[key] = term
        elif term.opposites:
            opposites = dict.fromkeys((*first.opposites, *term.opposites))
            found[key] = replace(first, opposites=tuple(opposites))
    return list(found.values())
