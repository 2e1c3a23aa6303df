"""Reading RSS and Atom: every usual dialect, with what cannot be read kept apart."""

import io
from typing import Any

from contrafact.corpus.plain import plain_text
from contrafact.corpus.sources.base import Answer, Page, Refused, Rejected, Request

__all__ = ["read_feed"]

_KNOWN = 64  # characters of an entry's place in a message


def read_feed(answer: Answer, request: Request) -> Page:
    """Return the entries of a feed as rows, and the feed's next page if it names one (RFC 5005).

    A feed that is not well-formed XML is read as far as it goes, and that is noted. A feed that
    declares entities is refused unread: no feed needs them, and attacks do.

    Raises:
        Refused: Not found, or not a feed.
    """
    if answer.status != 200:
        raise Refused(f"the server answered {answer.status}")
    if b"<!ENTITY" in answer.body.replace(b"\0", b"").upper():  # in UTF-16 and UTF-32 as well
        raise Refused("the feed declares XML entities, and is not read")
    import feedparser  # type: ignore[import-untyped]

    # A stream, since a text would be taken for an address or a file's name.
    feed = feedparser.parse(io.BytesIO(answer.body))
    if not feed.get("version") and not feed.get("entries"):
        raise Refused("the answer is neither RSS nor Atom")
    rows: list[dict[str, Any]] = []
    rejected = []
    for number, entry in enumerate(feed.entries, start=1):
        place = f"{request.label}, entry {number}"
        title = plain_text(entry.get("title") or "")
        if not title:
            rejected.append(Rejected(place, "has no title", _plain(entry)))
            continue
        rows.append(
            {
                "title": title,
                "summary": plain_text(entry.get("summary") or ""),
                "date": entry.get("published") or entry.get("updated"),
                "url": entry.get("link"),
                "source": _text(entry.get("source"), "title") or _text(feed.feed, "title"),
                **request.fields,
            }
        )
    notes: tuple[str, ...] = ()
    if feed.bozo and not isinstance(feed.bozo_exception, feedparser.CharacterEncodingOverride):
        notes = (f"{request.label}: is not well-formed ({_said(feed.bozo_exception)})",)
    return Page(tuple(rows), tuple(rejected), _following(feed, answer, request), notes)


def _following(feed: Any, answer: Answer, request: Request) -> Request | None:
    import httpx

    for link in feed.feed.get("links") or ():
        if link.get("rel") == "next" and link.get("href"):
            try:
                url = httpx.URL(answer.url).join(link["href"])
            except httpx.InvalidURL:
                return None
            # The first page's parameters are part of the link, if they still apply.
            return Request(request.label, str(url), {}, request.fields)
    return None


def _plain(entry: Any) -> dict[str, str]:
    return {str(key): str(value)[:500] for key, value in entry.items() if isinstance(value, str)}


def _text(value: Any, key: str) -> str | None:
    found = value.get(key) if hasattr(value, "get") else None
    return plain_text(found) if isinstance(found, str) and found.strip() else None


def _said(error: object) -> str:
    return " ".join(str(error).split())[:_KNOWN] or type(error).__name__
