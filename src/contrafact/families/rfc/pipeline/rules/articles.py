"""Which indefinite article an English word takes, by how it begins to sound."""

import re

__all__ = ["article_for"]

_SILENT_H = ("hour", "honest", "honour", "honor", "heir")
# Written with a vowel, spoken with "you" or "w".
_CONSONANT_SOUND = re.compile(r"(?:uni(?!n|m)|use|usu|usag|util|eu|one(?!r)|once|ura|ufo)", re.I)
# Letters whose names begin with a vowel: an S&P rise, an IPO.
_VOWEL_NAMES = frozenset("AEFHILMNORSX")
_NUMBER = re.compile(r"[^\w\s]{0,2}(?:US|C|A)?[$€£¥]?\s?(?P<digits>\d[\d,]*)")
_WORD = re.compile(r"[A-Za-z&.]+")


def article_for(text: str) -> str:
    """Return "a" or "an", whichever goes before a text.

    Numbers go by how they are spoken: an 8% rise, an $11 billion deal, a $110 target.
    """
    text = text.lstrip("\"'“‘( ")
    if number := _NUMBER.match(text):
        digits = number["digits"].replace(",", "")
        leading = len(digits) % 3 or 3
        return "an" if digits[0] == "8" or digits[:leading] in ("11", "18") else "a"
    word = _WORD.match(text)
    if word is None:
        return "a"
    letters = word[0]
    if len(letters) <= 5 and letters.replace("&", "").replace(".", "").isupper():
        return "an" if letters[0] in _VOWEL_NAMES else "a"
    plain = letters.casefold()
    if plain.startswith(_SILENT_H):
        return "an"
    if plain[0] not in "aeiou" or _CONSONANT_SOUND.match(plain):
        return "a"
    return "an"
