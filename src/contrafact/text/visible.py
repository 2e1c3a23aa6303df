"""Text of models and news made harmless to read: what would be invisible is shown.

Control characters, zero-width characters and the marks that reorder text from right to left can
hide or rearrange what a page says. They are shown by their code point, as a token.
"""

import unicodedata
from collections.abc import Iterator

from markupsafe import Markup, escape

__all__ = ["inner_html", "shorten", "visible_html", "visible_text"]

_SHORT = {0x00: "␀", 0x09: "⇥", 0x0A: "↵", 0x0D: "␍"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters that have no ink of their own, and so hide like zero-width spaces.
_BLANK = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield runs of plain text, and each hidden character with what stands for it."""
    run: list[str] = []
    for character in text:
        if character not in _BLANK and unicodedata.category(character) not in _HIDDEN:
            run.append(character)
            continue
        if run:
            yield "".join(run), None
            run = []
        code = ord(character)
        yield character, _SHORT.get(code, f"U+{code:04X}")
    if run:
        yield "".join(run), None


def visible_text(text: object) -> str:
    """Return the text with every hidden character as a token, for plain text and figures."""
    return "".join(
        piece if token is None else token if len(token) == 1 else f"‹{token}›"
        for piece, token in _pieces(str(text))
    )


def visible_html(text: object) -> Markup:
    """Return the text escaped, every hidden character a marked token, in a ``<bdi>``.

    The element isolates the text's direction, so that it cannot reorder what stands around it.
    """
    return Markup("<bdi>{}</bdi>").format(inner_html(text))


def inner_html(text: object) -> Markup:
    """Return the text as ``visible_html`` does, without the element around it."""
    parts: list[Markup] = []
    for piece, token in _pieces(str(text)):
        if token is None:
            parts.append(escape(piece))
            continue
        name = unicodedata.name(piece, "control character").lower()
        parts.append(
            Markup('<span class="hidden-char" title="U+{} {}">{}</span>').format(
                f"{ord(piece):04X}", name, token
            )
        )
    return Markup("").join(parts)


def shorten(text: str, limit: int) -> tuple[str, int]:
    """Return the text cut to ``limit`` characters, and how many were left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)
