"""The word lists read from their data files."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.resources import files
from typing import Any

from contrafact.text.words.terms import Term

__all__ = ["load_terms"]


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
