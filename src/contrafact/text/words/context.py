"""Which form a word spelled alike in several forms is, by the words around it.

"Cut" is a past, a plain form or a noun, "gains" a verb or a noun; the words before, and the one
after, mostly tell.
"""

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["choose_form"]

Option = TypeVar("Option")

_TO_BASE = frozenset(
    "to will would can could may might must shall should not n't t do does did don didn doesn won "
    "wouldn couldn help helps let make makes".split()
)
_TO_PARTICIPLE = frozenset(
    "have has had having ve been be is are was were being am get gets got getting haven hasn hadn "
    "isn aren wasn weren s".split()
)
_TO_NOUN = frozenset(
    "a an the this that these those its their his her our your any some no each every another "
    "of in for after with by from on despite amid more further big bigger biggest large larger "
    "largest small smaller smallest huge sharp steep strong solid modest slight weekly daily "
    "monthly quarterly annual yearly early late net recent previous earlier last first second "
    "third fourth posted posts post reported reports saw sees see extend extends extended pare "
    "pares pared erase erases erased trim trims trimmed reverse reverses reversed recorded "
    "booked and or broad steady paper capital market price stock equity percent".split()
)
_SKIPPED = frozenset("also already never now just still not only even since then again".split())


def choose_form(
    options: Sequence[tuple[Option, str]], before: Sequence[str], after: str
) -> tuple[Option, str]:
    """Return which of several readings of one spelling stands between these words.

    Args:
        options: What is read, each with its inflection, in the order of preference.
        before: The words before, lower case, the nearest last; three are enough.
        after: The word after, lower case; empty at the end.
    """
    if len(options) == 1:
        return options[0]
    by_form: dict[str, tuple[Option, str]] = {}
    for option in options:
        by_form.setdefault(option[1], option)
    nearest = before[-1] if before else ""
    noun = by_form.get("singular") or by_form.get("plural")
    verb = by_form.get("base") or by_form.get("third")
    if noun and verb:
        is_noun = nearest in _TO_NOUN or after == "of" or (not after and not before)
        return noun if is_noun and nearest not in _TO_BASE else verb
    if noun and not by_form.keys() & {"past", "participle", "gerund"}:
        return noun
    base, past = by_form.get("base"), by_form.get("past")
    participle = by_form.get("participle")
    if base and (nearest in _TO_BASE or (past and nearest in _TO_NOUN)):
        return base
    if participle and _after_auxiliary(before):
        return participle
    return past or participle or options[0]


def _after_auxiliary(before: Sequence[str]) -> bool:
    for word in reversed(before[-3:]):
        if word in _TO_PARTICIPLE:
            return True
        if word not in _SKIPPED and not word.endswith("ly"):
            return False
    return False
