"""NewsAPI (newsapi.org), searched by keyword over a window of days.

FIN-FORCE, section 3.1 and appendix A.1.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
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
from contrafact.corpus.sources.feeds import NO_TITLE, html_to_text
from contrafact.errors import InputError, Reason

KEY_VARIABLE = "NEWSAPI_API_KEY"
_PAGE_SIZE = 100  # the most that NewsAPI gives at once
_KEY_TROUBLE = frozenset({"apiKeyDisabled", "apiKeyExhausted", "apiKeyInvalid", "apiKeyMissing"})
_WITHDRAWN = "[Removed]"


def newsapi(keywords: Sequence[str], since: str, until: str, *, days: int | None = None) -> Source:
    """Return NewsAPI's search over all articles as a source.

    Args:
        days: The number of days in one search; None searches the whole window at once. NewsAPI
            gives only the first articles of a search (how many depends on the account), so short
            searches find more.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise InputError("there is no key for NewsAPI", hint=f"set {KEY_VARIABLE} to yours")
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{KEY_VARIABLE} is not a key", hint="copy it again from your account")
    hidden: dict[str, str] = {}
    base = base_url("NEWSAPI_BASE_URL", "https://newsapi.org/v2", hidden)
    url = base.rstrip("/") + "/everything"
    windows = list(_windows(date.fromisoformat(since), date.fromisoformat(until), days))
    first = [
        Request(
            keyword if len(windows) == 1 else f"{keyword} ({begun} to {ended})",
            url,
            {
                "q": keyword,
                "from": f"{begun}T00:00:00",
                "to": f"{ended}T23:59:59",
                "language": "en",
                "sortBy": "publishedAt",
                "pageSize": str(_PAGE_SIZE),
                "page": "1",
            },
            {"found_by": keyword},
        )
        for keyword in keywords
        for begun, ended in windows
    ]
    keys = {"X-Api-Key": key}
    return Source("newsapi", first, partial(_read, key), keys, hidden, one_host=True)


def _read(key: str, request: Request, get: Get) -> NewsPage:
    """Ask for one page of a search and read its articles."""
    answer = get(request)
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestFailed(f"the answer is not a JSON object (status {answer.status})")
    if body.get("status") != "ok":
        return _failure(key, request, answer, body)
    articles = body.get("articles")
    if not isinstance(articles, list):
        raise RequestFailed("the answer has no list of articles")
    rows: list[dict[str, Any]] = []
    gone = []
    page = int(request.params["page"])
    for number, article in enumerate(articles, start=1):
        why = _fault(article)
        if why is None:
            rows.append(_row(article, request))
        else:
            place = f"{request.label}, page {page}, article {number}"
            gone.append(rejected(place, why, article))
    total = body.get("totalResults")
    more = isinstance(total, int) and page * _PAGE_SIZE < total and bool(articles)
    following = replace(request, params={**request.params, "page": str(page + 1)})
    return NewsPage(rows, gone, following if more else None)


def _failure(key: str, request: Request, answer: Response, body: dict[str, Any]) -> NewsPage:
    code = str(body.get("code"))
    message = str(body.get("message") or code).replace(key, "…")[:300]
    if code == "maximumResultsReached":
        note = f"{request.label}: the account gives no more than {request.params['page']} pages"
        return NewsPage(notes=(f"{note}; shorter searches (--days) find more",))
    if code in _KEY_TROUBLE or answer.status in (401, 403):
        raise InputError(
            f"NewsAPI refuses the key ({code}): {message}", hint=f"check {KEY_VARIABLE}"
        )
    raise RequestFailed(f"NewsAPI says: {message} ({code})")


def _fault(article: object) -> Reason | None:
    if not isinstance(article, dict):
        return Reason("no-object", "is not an object")
    title = article.get("title")
    if not isinstance(title, str) or not title.strip():
        return NO_TITLE
    if title.strip() == _WITHDRAWN:
        return Reason("withdrawn", "was withdrawn by its publisher")
    if not isinstance(article.get("description"), str | None):
        return Reason("description-no-text", "has a description that is not text")
    return None


def _row(article: dict[str, Any], request: Request) -> dict[str, Any]:
    return {
        "title": html_to_text(article["title"]),
        "summary": html_to_text(article.get("description") or ""),
        "date": article.get("publishedAt"),
        "url": article.get("url"),
        "source": article.get("source"),
        **request.fields,
    }


def _windows(since: date, until: date, days: int | None) -> list[tuple[str, str]]:
    windows = []
    step = timedelta(days=days or (until - since).days + 1)
    while since <= until:
        last = min(since + step - timedelta(days=1), until)
        windows.append((since.isoformat(), last.isoformat()))
        since = last + timedelta(days=1)
    return windows
