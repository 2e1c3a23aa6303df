"""News by RSS and Atom: any feed by its address, and Yahoo Finance's headlines by ticker.

RFC-BENCH, section 2.2.1 and appendix B: Yahoo's feed has only a stock's newest articles (title,
summary, day and address), so a window of days is filled by fetching repeatedly during these days.
Feeds of all usual dialects are read; entries that cannot be read are rejected.
"""

import io
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from contrafact.corpus.sources.base import (
    Get,
    NewsPage,
    Request,
    RequestFailed,
    Response,
    Source,
    base_url,
    rejected,
)
from contrafact.errors import InputError, Reason, require

NO_TITLE = Reason("no-title", "has no title")

_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|<!|&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]\w*);")
_WINDOWS = {  # Windows-1252's characters for control characters of ISO-8859-1, except for five
    byte: bytes([byte]).decode("cp1252")
    for byte in range(0x80, 0xA0)
    if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_UNSEEN = frozenset({"script", "style", "template", "noscript"})
_LONGEST_PROBLEM = 64  # characters of what a parser says
_INLINE = frozenset({"a", "abbr", "b", "bdi", "em", "i", "mark", "small", "span", "strong", "u"})


class _TextParser(HTMLParser):
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


def html_to_text(text: str) -> str:
    """Return the text without tags, its character references resolved and its spaces single.

    Text that only resembles markup (``P&G``, ``a < b``) is left unchanged. Pages that declare
    ISO-8859-1 are read as Windows-1252, as the web's Encoding Standard requires.
    """
    text = text.translate(_WINDOWS)
    if _MARKUP.search(text):
        reader = _TextParser()
        reader.feed(text)
        reader.close()
        text = "".join(reader.pieces)
    return " ".join(text.split())


def read_feed(response: Response, request: Request) -> NewsPage:
    """Return the entries of a feed as rows.

    A feed that is not well-formed XML is read as far as possible, with a note. A feed that declares
    entities is refused unread: no feed needs them, but attacks do.
    """
    if response.status != 200:
        raise RequestFailed(f"the server answered {response.status}")
    if b"<!ENTITY" in response.body.replace(b"\0", b"").upper():  # in UTF-16 and UTF-32 as well
        raise RequestFailed("the feed declares XML entities, and is not read")
    import feedparser  # type: ignore[import-untyped]

    # A stream, since feedparser takes a text for an address or a file's name.
    feed = feedparser.parse(io.BytesIO(response.body))
    if not feed.get("version") and not feed.get("entries"):
        raise RequestFailed("the answer is neither RSS nor Atom")
    rows: list[dict[str, Any]] = []
    gone = []
    for number, entry in enumerate(feed.entries, start=1):
        place = f"{request.label}, entry {number}"
        title = html_to_text(entry.get("title") or "")
        if not title:
            texts = {
                str(key): str(value)[:500] for key, value in entry.items() if isinstance(value, str)
            }
            gone.append(rejected(place, NO_TITLE, texts))
            continue
        rows.append(
            {
                "title": title,
                "summary": html_to_text(entry.get("summary") or ""),
                "date": entry.get("published") or entry.get("updated"),
                "url": entry.get("link"),
                "source": _text(entry.get("source"), "title") or _text(feed.feed, "title"),
                **request.fields,
            }
        )
    notes: tuple[str, ...] = ()
    if feed.bozo and not isinstance(feed.bozo_exception, feedparser.CharacterEncodingOverride):
        error = feed.bozo_exception
        problem = " ".join(str(error).split())[:_LONGEST_PROBLEM] or type(error).__name__
        notes = (f"{request.label}: is not well-formed ({problem})",)
    return NewsPage(rows, gone, notes=notes)


def _text(value: Any, key: str) -> str | None:
    text = value.get(key) if hasattr(value, "get") else None
    return html_to_text(text) if isinstance(text, str) and text.strip() else None


def _read(request: Request, get: Get) -> NewsPage:
    return read_feed(get(request), request)


def rss(addresses: Sequence[str]) -> Source:
    """Return a source of feeds, one request each."""
    if not addresses:
        raise InputError("no feed is named", hint="give its address: news fetch rss https://…")
    require("feedparser", "news feeds")
    hidden: dict[str, str] = {}
    shown = [base_url("", address, hidden) for address in addresses]
    first = [
        Request(address_shown, address_shown, {}, {"found_by": address_shown})
        for address_shown in shown
    ]
    return Source("rss", first, _read, hidden=hidden)


_TICKER = re.compile(r"[A-Z0-9^][A-Z0-9.=^-]{0,14}")


def yahoo(tickers: Sequence[str]) -> Source:
    """Return a source of Yahoo's feeds, one per ticker."""
    require("feedparser", "news feeds")
    symbols = list(dict.fromkeys(ticker.strip().upper() for ticker in tickers))
    for ticker in symbols:
        if not _TICKER.fullmatch(ticker):
            raise InputError(f"'{ticker}' is not a ticker", hint="give symbols such as AAPL")
    hidden: dict[str, str] = {}
    url = base_url("YAHOO_BASE_URL", "https://feeds.finance.yahoo.com", hidden)
    url = url.rstrip("/") + "/rss/2.0/headline"
    first = [
        Request(
            ticker,
            url,
            {"s": ticker, "region": "US", "lang": "en-US"},
            {"ticker": ticker, "found_by": ticker},
        )
        for ticker in symbols
    ]
    return Source("yahoo", first, _read, hidden=hidden, one_host=True)
