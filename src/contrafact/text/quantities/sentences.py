"""Where a text's sentences end, by punctuation alone."""

import re

__all__ = ["sentence_ends"]

_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9$€£¥])|\n+|\s[|•]\s|;\s")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|[A-Z]\.[A-Z]|Inc|Corp|Co|Ltd|Cos|Mr|Ms|Mrs|Dr|St|No|Nos|vs|v|Rs|Rp|approx|est"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Gov|Sen|Rep|Prof|Gen|Lt|Sgt|Jr|Sr|Bros|al|etc"
    r"|[ap]\.m))\Z"
)
# What runs on for longer is no sentence: it is cut, so that reading it costs linear time.
_LONGEST = 800


def sentence_ends(text: str) -> list[int]:
    """Return where each sentence ends (where the next begins), the text's length last."""
    ends: list[int] = []
    start = 0
    for match in _END.finditer(text):
        before = text[max(0, match.start() - 8) : match.start()]
        if match[0][0] == "." and _ABBREVIATION.search(before):
            continue
        _add(ends, text, start, match.end())
        start = match.end()
    _add(ends, text, start, len(text))
    return ends


def _add(ends: list[int], text: str, start: int, end: int) -> None:
    while end - start > _LONGEST:
        start = text.rfind(" ", start, start + _LONGEST) + 1 or start + _LONGEST
        ends.append(start)
    ends.append(end)
