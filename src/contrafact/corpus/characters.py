"""Characters that mislead a reader or break a program, told apart and counted."""

import re
from collections import Counter

__all__ = ["hostile_characters"]

_KINDS = (
    ("NUL", "\0"),
    ("bidirectional control", "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"),
    (
        "zero-width or invisible",
        "\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff\U000e0000-\U000e007f",
    ),
    # Tabs, line feeds and carriage returns are ordinary in text.
    ("other control character", "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"),
)
_PATTERNS = tuple((name, re.compile(f"[{characters}]")) for name, characters in _KINDS)


def hostile_characters(text: str) -> Counter[str]:
    """Return how many characters of each hostile kind a text has; kinds it lacks are left out.

    The kinds are ``NUL``, ``bidirectional control`` (which reorders what is shown),
    ``zero-width or invisible`` (which hides text in text) and ``other control character``.
    """
    if text.isascii() and text.isprintable():
        return Counter()
    found = {name: len(pattern.findall(text)) for name, pattern in _PATTERNS}
    return Counter({name: number for name, number in found.items() if number})
