"""A loopback stand-in for news services: NewsAPI's search, and feeds, with the faults they have.

It speaks NewsAPI's protocol (key header, paging of 100, error objects) and serves any feed it is
given. It keeps what it was asked.
"""

import json
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import Loopback

KEY = "key-0123456789abcdef"


class NewsServer(Loopback):
    """Serves until it is closed.

    Attributes:
        articles: NewsAPI's articles by search, in order.
        feeds: Bodies by path (and query, where given).
        faults: Answers given first, once each: (status, headers, body).
        asked: The paths and queries that came, in order.
        headers: The headers that came with them.
        limit: How many articles of a search the account may see.
    """

    def __init__(self):
        self.articles = {}
        self.feeds = {}
        self.faults = []
        self.asked = []
        self.headers = []
        self.limit = None
        super().__init__()

    def answer(self, handler):
        self.asked.append(handler.path)
        self.headers.append(dict(handler.headers))
        if self.faults:
            self.send(handler, *self.faults.pop(0))
            return
        parts = urlsplit(handler.path)
        if parts.path == "/everything":
            self.search(handler, {key: value[0] for key, value in parse_qs(parts.query).items()})
            return
        body = self.feeds.get(handler.path) or self.feeds.get(parts.path)
        if body is None:
            self.send(handler, 404, {}, b"not here")
        else:
            self.send(handler, 200, {"Content-Type": "application/rss+xml"}, body)

    def search(self, handler, query):
        def refuse(status, code, message):
            body = {"status": "error", "code": code, "message": message}
            self.send(handler, status, {}, json.dumps(body).encode())

        if handler.headers.get("X-Api-Key") != KEY:
            given = handler.headers.get("X-Api-Key")
            refuse(401, "apiKeyInvalid", f"Your API key ({given}) is invalid.")
            return
        size, page = int(query["pageSize"]), int(query["page"])
        if self.limit is not None and (page - 1) * size >= self.limit:
            refuse(426, "maximumResultsReached", "You have requested too many results.")
            return
        found = self.articles.get(query["q"], [])
        body = {
            "status": "ok",
            "totalResults": len(found),
            "articles": found[(page - 1) * size : page * size],
        }
        self.send(handler, 200, {"Content-Type": "application/json"}, json.dumps(body).encode())


def article(number, **fields):
    return {
        "source": {"id": None, "name": "The Example Ledger"},
        "author": "A. Writer",
        "title": f"Orders at Veltra rise for month {number}",
        "description": f"The maker of pumps booked {number} orders.",
        "url": f"https://news.example/{number}",
        "publishedAt": "2024-10-02T08:00:00Z",
        "content": "…",
        **fields,
    }


def feed(*items, head=""):
    entries = "".join(
        f"<item><title>{title}</title><description>{summary}</description>"
        f"<link>https://news.example/{number}</link><pubDate>{day}</pubDate></item>"
        for number, (title, summary, day) in enumerate(items)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>'
        f"<title>Example feed</title>{head}{entries}</channel></rss>"
    ).encode()
