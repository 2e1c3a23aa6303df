"""What a news page says of its own title and summary: the candidates, best first."""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

__all__ = ["PageText", "decode_page", "read_page"]

_ARTICLES = re.compile(r"(News|Blog|Report|Analysis)?\w*(Article|Posting)$")
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?\s*([\w-]+)""", re.IGNORECASE)
_TITLES = ("og:title", "twitter:title", "title")
_SUMMARIES = ("og:description", "twitter:description", "description")


@dataclass(frozen=True)
class PageText:
    """Titles and summaries that a page gives, each once; none where it gives none."""

    titles: tuple[str, ...]
    summaries: tuple[str, ...]


def decode_page(data: bytes, charset: str | None) -> str:
    """Return a page's text, by the charset of its header, its own declaration, or UTF-8."""
    declared = _CHARSET.search(data[:4096])
    for name in (charset, declared.group(1).decode("ascii") if declared else None, "utf-8"):
        if name:
            try:
                return data.decode(name)
            except (LookupError, UnicodeDecodeError):
                continue
    return data.decode("utf-8", "replace")


def read_page(html: str) -> PageText:
    """Return what a page's metadata, or failing that its headings and paragraphs, say.

    In this order: JSON-LD of a news article, Open Graph, Twitter's cards, the plain title and
    description, the first heading and the first paragraph.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    titles = [*reader.linked["headline"], *_of(reader.meta, _TITLES), *reader.first["title"]]
    summaries = [*reader.linked["description"], *_of(reader.meta, _SUMMARIES)]
    return PageText(_once([*titles, *reader.first["h1"]]), _once([*summaries, *reader.first["p"]]))


@dataclass
class _Reader(HTMLParser):
    """Collects metadata and the first title, heading and paragraph."""

    meta: dict[str, str] = field(default_factory=dict)
    linked: dict[str, list[str]] = field(
        default_factory=lambda: {"headline": [], "description": []}
    )
    first: dict[str, list[str]] = field(default_factory=lambda: {"title": [], "h1": [], "p": []})

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._inside: str | None = None
        self._texts: list[str] = []
        self._json = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note metadata, and where a text begins that is wanted."""
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            name = (given.get("property") or given.get("name") or "").strip().casefold()
            if name and given.get("content"):
                self.meta.setdefault(name, given["content"])
        elif tag == "script":
            self._json = given.get("type", "").strip().casefold() == "application/ld+json"
            self._inside, self._texts = ("script", []) if self._json else (None, [])
        elif tag in self.first and not self.first[tag]:
            self._inside, self._texts = tag, []

    def handle_data(self, data: str) -> None:
        """Take in the text of what is being read."""
        if self._inside:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Take the text that has ended."""
        if tag != self._inside:
            return
        text = "".join(self._texts)
        self._inside = None
        if tag == "script":
            self._take_linked(text)
        elif text.strip():
            self.first[tag].append(text)

    def _take_linked(self, text: str) -> None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return  # a page's broken JSON-LD leaves its other metadata
        for node in _nodes(value):
            kinds = node.get("@type")
            names = kinds if isinstance(kinds, list) else [kinds]
            if any(isinstance(name, str) and _ARTICLES.match(name) for name in names):
                for key, found in self.linked.items():
                    if isinstance(node.get(key), str):
                        found.append(node[key])


def _nodes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [node for inner in value for node in _nodes(inner)]
    if isinstance(value, dict):
        return [value, *_nodes(value.get("@graph", []))]
    return []


def _of(meta: dict[str, str], names: tuple[str, ...]) -> list[str]:
    return [meta[name] for name in names if name in meta]


def _once(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for t in texts if (text := " ".join(t.split()))))
