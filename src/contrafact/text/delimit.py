"""Makes hostile text safe for prompts, tokenizers, files, web pages and readers.

`delimit` is for text between ``<news>`` and ``</news>`` in a prompt, `printable` for text that
people read, `tokenizable` for text that a model reads unchanged, `replace_surrogates` for text
that is written as UTF-8. `hostile_characters` counts characters that mislead readers or break
programs.
Control characters, zero-width characters and the marks that reorder text from right to left can
hide or rearrange what a page says: `visible_text` and `visible_html` show their code points.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

from markupsafe import Markup, escape

__all__ = [
    "Characters",
    "delimit",
    "hostile_characters",
    "inner_html",
    "printable",
    "replace_surrogates",
    "seen",
    "shorten",
    "tokenizable",
    "visible_html",
    "visible_text",
]

_REPLACEMENT = "‹"
# Characters that a model or a reader may read as an opening angle bracket. The lookahead also stops
# at a replaced bracket, so that delimiting twice changes nothing more.
_OPEN = "<＜﹤"
_STOP = rf"{_OPEN}{_REPLACEMENT}"
_SIGNS = r"/／∕⁄╱⧸⟋\\|｜¦│∣!！?？"

_TAG = re.compile(
    # "</news", "< / news", "<|im_end|>", "<!--", "<?xml": a sign before any letter or digit;
    rf"[{_OPEN}](?=[^\w{_STOP}]*[{_SIGNS}]"
    # "<news": a letter with no space before it;
    rf"|[^\w\s{_STOP}]*[^\W\d_]"
    # "< news >": a letter after spaces, but only where a bracket closes it. "a < b" stays.
    rf"|\s+[^\W\d_][^{_STOP}>＞﹥]*[>＞﹥])"
)
_LINE_SPACES = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
# Code points outside category Cf that are invisible by Unicode: joiners, fillers, variation
# selectors, and ranges reserved for more of them.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)

_HOSTILE = {
    "NUL": re.compile("\0"),
    "bidirectional control": re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"),
    "zero-width or invisible": re.compile(
        "[\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
    ),
    # Tabs, line feeds and carriage returns are ordinary in text.
    "other control character": re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]"),
}


def delimit(text: str) -> str:
    """Return the text without anything that could close a delimiter or act as a chat token.

    Control characters are removed (line ends and tabs become one space), as are zero-width,
    bidirectional and other invisible characters. Lone surrogates become U+FFFD. The angle bracket
    of whatever looks like a tag or a chat template's token becomes ``‹``. Other text is unchanged,
    even ``<5%`` or ``a < b``. Delimiting twice changes nothing more.
    """
    return _TAG.sub(_REPLACEMENT, printable(text))


def printable(text: str) -> str:
    """Return the text as `delimit` does, but with its brackets unchanged."""
    text = _LINE_SPACES.sub(" ", replace_surrogates(text))
    text = _INVISIBLE.sub("", text)
    if not text.isprintable():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))
    return text


def seen(text: str) -> str:
    """Return a form that texts which look alike share: printable, NFKC, single spaces."""
    return " ".join(printable(unicodedata.normalize("NFKC", text)).split())


def replace_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot hold.

    Two surrogates that form a pair become the character that they encode.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tokenizable(text: str) -> str:
    """Return the text without NUL, which ends a string in C libraries, and lone surrogates."""
    return replace_surrogates(text.replace("\x00", ""))


def hostile_characters(text: str) -> Counter[str]:
    """Return how many characters of each hostile kind occur in a text."""
    if text.isascii() and text.isprintable():
        return Counter()
    return +Counter({kind: len(pattern.findall(text)) for kind, pattern in _HOSTILE.items()})


_SHORT = {0x00: "␀", 0x09: "⇥", 0x0A: "↵", 0x0D: "␍"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Invisible characters of other categories.
_BLANK = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")


def _token(character: str) -> str | None:
    """Return the token to show for a hidden character; None for a visible one."""
    if character not in _BLANK and unicodedata.category(character) not in _HIDDEN:
        return None
    code = ord(character)
    return _SHORT.get(code, f"U+{code:04X}")


class Characters(dict[int, str]):
    """A table for `str.translate`, filled by a function when a character first occurs."""

    def __init__(self, become: Callable[[str], str]) -> None:
        self._become = become

    def __missing__(self, code: int) -> str:
        text = self[code] = self._become(chr(code))
        return text


def _shown(character: str) -> str:
    token = _token(character)
    return character if token is None else token if len(token) == 1 else f"‹{token}›"


def _marked(character: str) -> str:
    token = _token(character)
    if token is None:
        return str(escape(character))
    name = unicodedata.name(character, "control character").lower()
    return Markup('<span class="hidden-char" title="U+{} {}">{}</span>').format(
        f"{ord(character):04X}", name, token
    )


_TEXT, _HTML = Characters(_shown), Characters(_marked)


def visible_text(text: object) -> str:
    """Return the text with a token for every hidden character, for plain text and figures."""
    return str(text).translate(_TEXT)


def visible_html(text: object) -> Markup:
    """Return the text escaped, with a marked token for every hidden character.

    A ``<bdi>`` element around it keeps its direction from affecting the surrounding text.
    """
    return Markup("<bdi>{}</bdi>").format(inner_html(text))


def inner_html(text: object) -> Markup:
    """Return `visible_html` without the element around it."""
    return Markup(str(text).translate(_HTML))


def shorten(text: str, limit: int) -> tuple[str, int]:
    """Return the text cut to ``limit`` characters, and how many were left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)
