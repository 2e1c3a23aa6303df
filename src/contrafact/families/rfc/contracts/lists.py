"""Word lists and patterns of the contracts, which are data: ``words.toml``, ``patterns.toml``."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["groups", "pattern", "patterns", "table", "words"]


@cache
def _read(name: str) -> dict[str, Any]:
    source = files("contrafact.families.rfc.contracts") / name
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of words; a low line stands for a space."""
    return frozenset(word.replace("_", " ") for word in _read("words.toml")[name].split())


@cache
def groups(name: str) -> dict[str, frozenset[str]]:
    """Return a table of word lists: the words of each group."""
    rows: dict[str, str] = _read("words.toml")[name]
    return {key: frozenset(w.replace("_", " ") for w in row.split()) for key, row in rows.items()}


@cache
def table(name: str) -> dict[str, str]:
    """Return which group each word of a table is in."""
    return {word: group for group, members in groups(name).items() for word in members}


@cache
def patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns of whole words, each by itself, in any case."""
    rows: list[str] = _read("patterns.toml")[name]
    return tuple(re.compile(rf"\b(?:{row})(?!\w)", re.IGNORECASE) for row in rows)


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return one pattern that matches whatever one of a list does: whole words, in any case."""
    rows: list[str] = _read("patterns.toml")[name]
    return re.compile(rf"\b(?:{'|'.join(rows)})(?!\w)", re.IGNORECASE)
