"""Fetching news: each page of a source is kept as it arrives; then one file has each item once.

RFC-BENCH, section 2.2.1 (unique articles, each a title and a summary); FIN-FORCE, section 3.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self

from contrafact.corpus.ledger import LedgerEvent
from contrafact.corpus.news_items import day_of, item_of, news_record
from contrafact.corpus.sources.base import (
    Defaults,
    Get,
    NewsPage,
    Request,
    RequestFailed,
    Source,
    Unreachable,
    rejected,
)
from contrafact.corpus.sources.feeds import rss, yahoo
from contrafact.corpus.sources.newsapi import newsapi
from contrafact.errors import InputError, Reason
from contrafact.files.journal import Journal
from contrafact.files.tables import RowNotes, read_rows
from contrafact.records import content_id

__all__ = ["Fetched", "Pages", "Window", "assemble", "fetch_pages", "open_source"]

SourceName = Literal["file", "rss", "newsapi", "yahoo"]

_STAGE = "fetch"


@dataclass(frozen=True)
class Window:
    """The wanted dates, as YYYY-MM-DD; None means that the window is open at that end."""

    since: str | None = None
    until: str | None = None

    @classmethod
    def of(cls, since: str | None, until: str | None, usual: Defaults | None = None) -> Self:
        """Return the window between two days as users write them, or a source's usual days."""
        days: list[str | None] = []
        for text in (since, until):
            try:
                day = datetime.strptime(text, "%Y-%m-%d") if text is not None else None
            except ValueError:
                raise InputError(f"'{text}' is not a day", hint="write it as 2025-04-18") from None
            days.append(day.date().isoformat() if day else None)
        since, until = days
        if usual is not None:
            since, until = since or usual.since, until or usual.until
        if since and until and since > until:
            raise InputError("the window ends before it begins", hint="fix --from and --to")
        return cls(since, until)

    def reason_against(self, date: str | None) -> Reason | None:
        """Return why an item of a date is not wanted; None if it is wanted."""
        if self.since is None and self.until is None:
            return None
        day = None if date is None else day_of(date)
        if day is None:
            what = "no date" if date is None else "a date that cannot be read"
            return Reason("no-day", f"has {what}, and a window of days is asked for")
        if (self.since and day < self.since) or (self.until and day > self.until):
            return Reason("outside-window", f"is dated {day}, outside the window")
        return None


@dataclass
class Pages:
    """The contents of all pages of a source."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    """``place``, ``why`` and ``raw`` of each item that cannot be used."""
    notes: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Why a request failed, by its label."""


@dataclass
class Fetched:
    """The items of a fetch, the dropped rows, and the events of both."""

    items: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    """The rows left out, with the reason under ``dropped_because``."""
    events: list[LedgerEvent] = field(default_factory=list)
    repeated: int = 0
    outside: int = 0  # of the window


def open_source(
    name: SourceName, what: Sequence[str], window: Window, *, days: int | None = None
) -> Source:
    """Return the source of news of a name, asked for keywords, tickers, addresses or files."""
    if name == "file":
        return _files(what)
    if name == "rss":
        return rss(what)
    if name == "yahoo":
        return yahoo(what)
    return newsapi(what, window.since or "", window.until or "", days=days)


def _files(paths: Sequence[str]) -> Source:
    """Return a source that reads files of news, in any layout that `news_rows` reads."""
    if not paths:
        raise InputError("no file is named", hint="give its path: news fetch file FILE")
    for path in paths:
        if not Path(path).is_file():
            raise InputError("no such file", file=path, hint="check the path")
    first = [Request(path, path, {}, {"found_by": Path(path).name}) for path in paths]
    return Source("file", first, _read_file)


def _read_file(request: Request, get: Get) -> NewsPage:
    """Return a file's rows as a page; rows whose title is missing or not text are rejected."""
    rows: list[dict[str, Any]] = []
    gone = []
    for line, row in read_rows(request.url):
        try:
            item_of(row)
        except InputError as error:
            gone.append(rejected(f"{request.label}:{line}", Reason("no-title", error.problem), row))
        else:
            # A file of an earlier fetch says which request found each item.
            found_by = row.get("found_by") or request.fields["found_by"]
            rows.append({**row, **request.fields, "found_by": found_by})
    if not rows and not gone:
        raise InputError("the file holds no rows", file=request.url, hint="give at least one")
    return NewsPage(rows, gone)


def fetch_pages(
    source: Source,
    journal: Journal,
    get: Get,
    *,
    max_pages: int,
    progress: Callable[[str], None] = lambda _: None,
) -> Pages:
    """Return all pages of a source; pages of an earlier, interrupted run come from the journal.

    A request that fails is left out of the journal, so that a later run tries it again, and the
    other requests go on.
    """
    pages = Pages()
    for first in source.first:
        try:
            _chain(source, first, journal, get, max_pages, pages)
        except Unreachable as error:
            if source.one_host:
                raise InputError(
                    f"{source.name} does not answer: {error}",
                    hint="run the command again later: it goes on where it stopped",
                ) from error
            pages.failed[first.label] = str(error)
        except RequestFailed as error:
            pages.failed[first.label] = str(error)
        progress(first.label)
    return pages


def _chain(
    source: Source, first: Request, journal: Journal, get: Get, max_pages: int, pages: Pages
) -> None:
    request, number = first, 0
    while True:
        number += 1
        key = f"{first.label} #{number}"
        if key not in journal.known:
            page = source.read(request, get)
            journal.keep(key, asdict(page))
        entry = journal.known[key]
        pages.rows += entry["rows"]
        pages.rejected += entry["rejected"]
        pages.notes += entry["notes"]
        if not entry["following"]:
            return
        if number == max_pages:
            pages.notes.append(f"{first.label}: stopped after {max_pages} pages, there are more")
            return
        request = Request(**entry["following"])


def assemble(
    pages: Pages, window: Window, *, source: str, notes: RowNotes | None = None
) -> Fetched:
    """Return the items of all pages, each once, in the order of the pages.

    Items with the same title and summary are the same. ``found_by`` lists all requests that found
    an item.
    """
    fetched, by = Fetched(), f"rule:{source}"
    by_id: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(pages.rows, start=1):
        found_by = row.get("found_by")
        found_by = [found_by] if isinstance(found_by, str) else list(found_by or ())
        item = item_of({key: value for key, value in row.items() if key != "id"}, notes, number)
        against = window.reason_against(item.date)
        if item.id in by_id:
            fetched.repeated += 1
            finders = by_id[item.id]["found_by"]
            finders += [one for one in found_by if one not in finders]
        elif against is not None:
            fetched.outside += 1
            fetched.dropped.append({**news_record(item, row), "dropped_because": str(against)})
            fetched.events.append(LedgerEvent.of(_STAGE, item.id, "dropped", by, against))
        else:
            record = news_record(item, row)
            record["found_by"] = found_by
            by_id[item.id] = record
            fetched.items.append(record)
            why = f"found by {', '.join(map(str, found_by))}"
            fetched.events.append(LedgerEvent.of(_STAGE, item.id, "kept", by, why))
    fetched.dropped += [{**gone, "dropped_because": gone["why"]} for gone in pages.rejected]
    for gone in pages.rejected:
        identity = content_id(gone["place"], str(gone["raw"]), prefix="x")
        reason = Reason(gone["why_code"], f"{gone['place']}: {gone['why']}")
        fetched.events.append(LedgerEvent.of(_STAGE, identity, "dropped", by, reason))
    return fetched
