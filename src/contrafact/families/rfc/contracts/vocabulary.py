"""The lists of the contracts: ``words.toml``, and places and companies in ``known_names.txt``."""

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from contrafact.text.english import is_english

# Lists and patterns


@cache
def _lists() -> dict[str, Any]:
    source = files("contrafact.families.rfc.contracts") / "words.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _word_set(text: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in text.split())


@cache
def words(name: str) -> frozenset[str]:
    return _word_set(_lists()[name])


@cache
def groups(name: str) -> dict[str, frozenset[str]]:
    """Return a table of word lists: the words of each group."""
    rows: dict[str, str] = _lists()[name]
    return {key: _word_set(row) for key, row in rows.items()}


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a single pattern for a list of patterns: it matches whole words, ignoring case."""
    every = "|".join(_lists()["patterns"][name])
    return re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.IGNORECASE)


def expression(module: str, name: str) -> re.Pattern[str]:
    """Return the regular expression of a module's name in the lists, ignoring case."""
    lines: str = _lists()["expressions"][module][name]
    return re.compile("".join(lines.splitlines()), re.IGNORECASE)


# Common English


def is_content(word: str) -> bool:
    """Return whether a lower-case word has content: it is not an article, a preposition, …"""
    return len(word) > 1 and word not in words("grammar")


def is_known_name(word: str) -> bool:
    """Return whether a word, in lower case, is a well-known place's or company's name."""
    return word in _known_names()


_PREFIXES = ("out", "over", "under", "un", "re", "mis", "up", "down", "pre", "non")


@lru_cache(maxsize=20_000)
def is_common(word: str) -> bool:
    """Return whether a word, in lower case, is a common English one, inflections included."""
    if word in words("grammar") or word in words("recent") or len(word) == 1:
        return True
    return is_english(word) or any(
        word.startswith(prefix) and len(word) > len(prefix) + 2 and is_english(word[len(prefix) :])
        for prefix in _PREFIXES
    )


@cache
def _known_names() -> frozenset[str]:
    source = files("contrafact.families.rfc.contracts") / "known_names.txt"
    return frozenset(source.read_text(encoding="utf-8").split())
