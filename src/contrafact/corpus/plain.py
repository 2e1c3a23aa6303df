"""Plain text from what feeds and news services give as HTML."""

import re
from html.parser import HTMLParser

__all__ = ["plain_text"]

_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<!|&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]\w*);")
_UNSEEN = frozenset({"script", "style", "template", "noscript"})
_INLINE = frozenset({"a", "abbr", "b", "bdi", "em", "i", "mark", "small", "span", "strong", "u"})


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._hidden += 1
        if tag not in _INLINE:
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN and self._hidden:
            self._hidden -= 1
        if tag not in _INLINE:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def plain_text(text: str) -> str:
    """Return the text without tags, its character references resolved and its spaces single.

    What only looks a little like markup (``P&G``, ``a < b``) is left as it is.
    """
    if _MARKUP.search(text):
        reader = _Words()
        reader.feed(text)
        reader.close()
        text = "".join(reader.pieces)
    return " ".join(text.split())
