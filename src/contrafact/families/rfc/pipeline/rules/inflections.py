"""Forms of the few words that the rules write themselves."""

import re

__all__ = ["cased", "inflected", "plural"]

_IRREGULAR = {
    "rise": ("rose", "risen"),
    "fall": ("fell", "fallen"),
    "shrink": ("shrank", "shrunk"),
    "grow": ("grew", "grown"),
    "lose": ("lost", "lost"),
    "beat": ("beat", "beaten"),
    "cut": ("cut", "cut"),
    "slide": ("slid", "slid"),
}
_DOUBLED = frozenset({"drop", "cut", "slip", "trim"})


def inflected(verb: str, inflection: str) -> str:
    """Return a verb as ``base``, ``third``, ``past``, ``participle`` or ``gerund``."""
    if inflection == "third":
        return plural(verb)
    if inflection in ("past", "participle"):
        if verb in _IRREGULAR:
            return _IRREGULAR[verb][inflection == "participle"]
        return verb + "d" if verb.endswith("e") else _stem(verb) + "ed"
    if inflection == "gerund":
        return (verb[:-1] if verb.endswith("e") else _stem(verb)) + "ing"
    return verb


def _stem(verb: str) -> str:
    return verb + verb[-1] if verb in _DOUBLED else verb


def plural(word: str) -> str:
    """Return a noun's plural, which is spelled as a verb's third person is."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


def cased(model: str, text: str) -> str:
    """Return the text with the capitals of the model."""
    if len(model) > 1 and model.isupper():
        return text.upper()
    return text[0].upper() + text[1:] if model[0].isupper() else text
