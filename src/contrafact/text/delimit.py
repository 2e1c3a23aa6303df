"""Make hostile text safe to stand between ``<news>`` and ``</news>`` in a prompt."""

import re
import unicodedata

__all__ = ["delimit", "printable"]

_REPLACEMENT = "‹"
# What a model or a reader may take for an opening angle bracket. A bracket that was replaced
# still ends the look ahead from another, so that fencing twice changes nothing more.
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
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LINE_SPACES = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
# Code points that Unicode asks to show as nothing, beyond category Cf: joiners and fillers,
# variation selectors, and what is reserved for more of them.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)


def delimit(text: str) -> str:
    """Return the text with nothing in it that could close a delimiter or pass for a chat token.

    Control characters go (those that end lines or set tabs become one space), and with them
    zero-width, bidirectional and other invisible characters; lone surrogates become U+FFFD; and
    the angle bracket of whatever looks like a tag or a chat template's token becomes ``‹``.
    Other text, comparisons such as ``<5%`` or ``a < b`` included, is returned as it is. Fencing
    twice changes nothing more.
    """
    return _TAG.sub(_REPLACEMENT, printable(text))


def printable(text: str) -> str:
    """Return the text without what does not print, as `delimit` takes it away; brackets stay."""
    text = _SURROGATE.sub("\ufffd", text)
    text = _LINE_SPACES.sub(" ", text)
    text = _INVISIBLE.sub("", text)
    if not text.isprintable():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))
    return text
