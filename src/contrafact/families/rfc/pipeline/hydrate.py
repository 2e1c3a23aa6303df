"""Hydration: a published dataset gets its originals back (RFC-BENCH, appendix I).

A release has addresses and no articles. Whoever may use the articles fetches them, politely and
within bounds, or brings them; each is compared with what the release says of it, and what is gone,
could not be fetched or no longer matches is reported.
"""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from contrafact import __version__
from contrafact.corpus.ledger import LedgerEvent
from contrafact.errors import InputError
from contrafact.families.rfc.labels import manipulation_named
from contrafact.families.rfc.pipeline.release import original_hash
from contrafact.families.rfc.pipeline.stages import stage_event
from contrafact.files.fields import columns_found, fold, fold_row, names_of, value_of
from contrafact.files.journal import Journal
from contrafact.files.tables import read_rows, source_name
from contrafact.records import MANIPULATIONS, Manipulation, NewsItem, Rewrite, content_id
from contrafact.text.delimit import replace_surrogates
from contrafact.text.diff import normalised_edit_distance

__all__ = [
    "FetchSettings",
    "Found",
    "Hydrated",
    "PageText",
    "Published",
    "decode_page",
    "fetch_pages",
    "held_news",
    "hydrate",
    "load_published",
    "read_page",
    "usable_address",
]

MIN_SIMILARITY = 0.5
"""One minus the edit distance over the longer text, under which a page is another text."""

_OWN = frozenset(("canary", "private", "label", "misinformation_types"))

MAX_BYTES = 4_000_000
"""The most that is read of a page: its metadata stand at the beginning."""
TRIES = 4
LONGEST_WAIT = 60.0
"""Seconds that a host may ask to be left alone; one that asks for more has failed, for now."""

_GONE = {404, 410, 451}
_AGAIN = {408, 425, 429, 500, 502, 503, 504}

_ARTICLES = re.compile(r"(News|Blog|Report|Analysis)?\w*(Article|Posting)$")
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?\s*([\w-]+)""", re.IGNORECASE)
_TITLES = ("og:title", "twitter:title", "title")
_SUMMARIES = ("og:description", "twitter:description", "description")


@dataclass(frozen=True)
class Published:
    """A row of a published dataset."""

    line: int
    id: str
    manipulation: Manipulation
    rewritten: str
    url: str | None
    sha256: str | None
    """The hash of the original, where the dataset gives it."""
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What was found for a row, or at an address: titles and summaries, or why there are none.

    ``found``: texts; ``gone``: the host says so, or sends everybody elsewhere, or nobody holds it;
    ``failed``: nothing is known, and a rerun tries again.
    """

    status: Literal["found", "gone", "failed"]
    why: str = ""
    titles: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()


Find = Callable[[Published], Found | None]


@dataclass
class Hydrated:
    """What hydration made of a dataset.

    Attributes:
        rows: Pairs with their originals, as `rfc rewrite` writes them.
        dropped: Rows without one, each with ``reason`` and ``problem``: "gone", "no match",
            "failed" or "no address".
        events: One ledger event a row.
        counts: How many of what.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    events: list[LedgerEvent] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def load_published(path: str | Path) -> list[Published]:
    """Return the rows of a published dataset: ours, or a table of the paper's release fields.

    Column names match in any case, and the usual ones will do (``text`` for ``rewritten``,
    ``stock`` for ``ticker``, ``category`` for ``manipulation``); "Directional Flipping" and the
    paper's other long names count as their manipulations.

    Raises:
        InputError: The file cannot be read or holds no rows; a row has no rewritten text or no
            manipulation; two rows are the same. The line is named.
    """
    name = source_name(path)
    rows: dict[str, Published] = {}
    for line, fields in read_rows(path):
        row = _published(fields, name, line)
        if (first := rows.setdefault(row.id, row)) is not row:
            raise InputError(
                f"the row '{row.id}' is there twice (first on line {first.line})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
    if not rows:
        raise InputError("the file holds no rows", file=name, hint="give at least one")
    return [*rows.values()]


def held_news(items: Iterable[NewsItem]) -> Find:
    """Return a finder of originals among news items that the user holds.

    An item is a row's original by its hash, or by its address.
    """
    by_hash: dict[str, NewsItem] = {}
    by_url: dict[str, NewsItem] = {}
    for item in items:
        by_hash.setdefault(original_hash(item.paragraph), item)
        if item.url:
            by_url.setdefault(item.url.strip(), item)

    def find(row: Published) -> Found | None:
        item = by_hash.get(row.sha256 or "") or by_url.get((row.url or "").strip())
        if item is None:
            return Found("gone", "no item of the file has its address or hash")
        return Found("found", "", (item.title,), (item.summary,) if item.summary else ())

    return find


def hydrate(
    rows: Sequence[Published],
    find: Find,
    *,
    min_similarity: float = MIN_SIMILARITY,
    accept_similar: bool = False,
) -> Hydrated:
    """Return the rows with their originals.

    Of the texts found for a row, the paragraph whose hash is the published one is its original
    (``hydrated`` is "verified"). Where the dataset gives no hash, it is the paragraph most like
    the rewrite, if it is like enough ("similar"): a manipulation is small.

    Args:
        rows: The dataset.
        find: Gives what was found for a row; None where there was nowhere to look.
        min_similarity: From 0 to 1.
        accept_similar: Whether a similar text will do even where the dataset gives a hash.
    """
    result = Hydrated()
    for row in rows:
        found = find(row)
        if found is None:
            _drop(result, row, "no address", "has no address that can be fetched")
        elif found.status != "found":
            _drop(result, row, found.status, found.why)
        else:
            _match(result, row, found, min_similarity, accept_similar)
    return result


def _match(
    result: Hydrated, row: Published, found: Found, min_similarity: float, accept_similar: bool
) -> None:
    best: tuple[float, NewsItem] | None = None
    for title in found.titles:
        for summary in found.summaries or ("",):
            item = NewsItem.of(title, summary)
            if row.sha256 is not None and original_hash(item.paragraph) == row.sha256:
                _keep(result, row, item, "verified")
                return
            near = 1.0 - normalised_edit_distance(item.paragraph, row.rewritten)
            if best is None or near > best[0]:
                best = (near, item)
    assert best is not None, "what was found has a title"
    near, item = best
    if row.sha256 is not None and not accept_similar:
        _drop(
            result, row, "no match", f"not the text of the published hash (similarity {near:.2f})"
        )
    elif near < min_similarity:
        _drop(result, row, "no match", f"another text than was rewritten (similarity {near:.2f})")
    elif item.paragraph == row.rewritten:
        _drop(result, row, "no match", "the same text as the rewrite")
    else:
        _keep(result, row, item, "similar")


def _keep(result: Hydrated, row: Published, item: NewsItem, how: str) -> None:
    given = row.fields
    pair = Rewrite.of(
        row.manipulation,
        item.paragraph,
        row.rewritten,
        article_id=str(given.get("article_id") or item.id),
        rewriter=str(given.get("rewriter") or "unknown"),
        url=row.url,
        **{name: _plain(given.get(name)) for name in ("ticker", "date")},
    )
    carried = {k: v for k, v in given.items() if k not in _OWN and k != "original_sha256"}
    result.rows.append(
        {
            **carried,
            **pair.model_dump(exclude={"category", "edits", "attempts"}),
            "title": item.title,
            "summary": item.summary,
            "published_id": row.id,
            "hydrated": how,
        }
    )
    result.counts[how] += 1
    result.events.append(_event(row, "kept", f"{how} original", pair.article_id))


def _drop(result: Hydrated, row: Published, problem: str, why: str) -> None:
    result.dropped.append({**row.fields, "line": row.line, "problem": problem, "reason": why})
    result.counts[problem] += 1
    result.events.append(_event(row, "dropped", f"{problem}: {why}"))


def _event(row: Published, decision: str, why: str, article: str | None = None) -> LedgerEvent:
    more = {"article_id": article or row.fields.get("article_id"), "manipulation": row.manipulation}
    return stage_event("hydrate", row.id, decision, "rule:hydrate", why, **more)


def _published(fields: Mapping[str, Any], file: str, line: int) -> Published:
    columns = fold_row(fields)
    own = {n: _plain(value_of(columns, n)) for n in ("rewritten", "url", "ticker", "date")}
    rewritten, url = own.pop("rewritten"), own.pop("url")
    if rewritten is None:
        raise InputError(
            f"no rewritten text (found: {columns_found(fields)})",
            file=file,
            line=line,
            hint="name the column 'rewritten'",
        )
    # Published files have it under their category.
    named = (columns.get(key) for key in (*names_of("manipulation"), "category"))
    manipulation = next((label for name in named if (label := manipulation_named(name))), None)
    if manipulation is None:
        raise InputError(
            "names none of the four manipulations",
            file=file,
            line=line,
            hint=f"fill in 'manipulation' with one of {', '.join(MANIPULATIONS)}",
        )
    identity = _plain(columns.get("id")) or content_id(
        url or "", manipulation, rewritten, prefix="r"
    )
    carried = {**fields, **{name: value for name, value in own.items() if value is not None}}
    sha256 = _plain(columns.get(fold("original_sha256")))
    return Published(line, identity, manipulation, rewritten, url, sha256, carried)


def _plain(value: object) -> str | None:
    if value is None or value != value:  # a table's NaN
        return None
    text = replace_surrogates(str(value)).strip()
    return text or None


@dataclass(frozen=True)
class FetchSettings:
    """How to fetch.

    Attributes:
        at_once: How many requests may be under way at the same time.
        pause: Seconds between two requests to one host.
        timeout: Seconds to wait for a host.
        backoff: Seconds before the second try of a page; each later wait is twice as long.
    """

    at_once: int = 4
    pause: float = 0.5
    timeout: float = 30.0
    backoff: float = 1.0


def usable_address(url: object) -> bool:
    """Return whether an address can be fetched: http or https, with a host."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


async def fetch_pages(
    urls: Sequence[str],
    pages: Journal,
    settings: FetchSettings | None = None,
    *,
    each: Callable[[str], None] = lambda _: None,
) -> dict[str, Found]:
    """Return what came of every address, asking only for those that are not known.

    A page that was found or is gone is kept; one that failed is not.

    Args:
        urls: Usable addresses.
        pages: Where pages are kept as they come.
        settings: How to fetch.
        each: Called with an address when it is done with.
    """
    settings = settings or FetchSettings()
    free: dict[str, float] = defaultdict(float)  # when each host may be asked again

    async def turn(url: str) -> None:
        host, now = urlsplit(url).hostname or "", asyncio.get_running_loop().time()
        start = max(now, free[host])
        free[host] = start + settings.pause
        await asyncio.sleep(start - now)

    agent = f"contrafact/{__version__} (gives a published dataset its originals)"
    async with httpx.AsyncClient(
        follow_redirects=True,
        max_redirects=8,
        timeout=settings.timeout,
        headers={"User-Agent": agent, "Accept": "text/html,application/xhtml+xml"},
    ) as client:

        async def fetch(url: str) -> dict[str, Any]:
            return asdict(await _page(client, url, turn, settings.backoff))

        failures = await pages.fill(urls, fetch, at_once=settings.at_once, each=each)
    for error in failures.values():
        if not isinstance(error, _Unfetched):
            raise error
    found = {url: Found("failed", str(error)) for url, error in failures.items()}
    for url in urls:
        if (kept := pages.known.get(url)) is not None:
            titles, summaries = tuple(kept["titles"]), tuple(kept["summaries"])
            found[url] = Found(kept["status"], kept["why"], titles, summaries)
    return found


class _Unfetched(Exception):
    """A page that could not be had, for a reason that may pass."""


async def _page(
    client: httpx.AsyncClient, url: str, turn: Callable[[str], Awaitable[None]], backoff: float
) -> Found:
    """Return a page's texts, or that it is gone.

    Raises:
        _Unfetched: Neither is known.
    """
    for attempt in range(1, TRIES + 1):
        await turn(url)
        wait = backoff * 2 ** (attempt - 1)
        try:
            async with client.stream("GET", url) as response:
                if response.status_code not in _AGAIN:
                    return await _read_response(response, url)
                why = f"the host answers {response.status_code}"
                asked = response.headers.get("retry-after", "")
                wait = float(asked) if asked.isdigit() else wait
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = f"no answer ({type(error).__name__})"
            if isinstance(error, httpx.TooManyRedirects | httpx.InvalidURL):
                raise _Unfetched(why) from error
        if attempt == TRIES:
            raise _Unfetched(why)
        if wait > LONGEST_WAIT:
            raise _Unfetched(f"{why}, and asks to wait {wait:.0f} s")
        await asyncio.sleep(wait)
    raise AssertionError("the last try ends above")


async def _read_response(response: httpx.Response, url: str) -> Found:
    status, landed = response.status_code, response.url
    if status >= 400:
        if status in _GONE:
            return Found("gone", f"the host answers {status}")
        raise _Unfetched(f"the host answers {status}")
    if (landed.host or "").startswith("consent."):
        raise _Unfetched("the host wants consent first")
    if landed.path in ("", "/") and urlsplit(url).path not in ("", "/"):
        return Found("gone", "the host leads to its front page")
    kind = response.headers.get("content-type", "text/html").split(";")[0].strip().casefold()
    if kind not in ("text/html", "application/xhtml+xml"):
        return Found("gone", f"the address holds {kind or 'something'}, no page")
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_BYTES:
            break
    text = read_page(decode_page(bytes(data[:MAX_BYTES]), response.charset_encoding))
    if not text.titles:
        return Found("gone", "the page has no title")
    return Found("found", "", text.titles, text.summaries)


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
    texts, meta = reader.texts, reader.meta
    titles = [*texts["headline"], *(meta[n] for n in _TITLES if n in meta), *texts["title"][:1]]
    summaries = [*texts["description"], *(meta[n] for n in _SUMMARIES if n in meta)]
    return PageText(_once([*titles, *texts["h1"][:1]]), _once([*summaries, *texts["p"][:1]]))


class _Reader(HTMLParser):
    """Collects metadata, titles, headings, paragraphs, and what JSON-LD says of an article."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.meta: dict[str, str] = {}
        self.texts: dict[str, list[str]] = defaultdict(list)
        self._inside: str | None = None
        self._parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note metadata, and where a text begins that is wanted."""
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            name = (given.get("property") or given.get("name") or "").strip().casefold()
            if name and given.get("content"):
                self.meta.setdefault(name, given["content"])
        elif tag == "script":
            linked = given.get("type", "").strip().casefold() == "application/ld+json"
            self._inside, self._parts = ("script" if linked else None), []
        elif tag in ("title", "h1", "p") and not self.texts[tag]:
            self._inside, self._parts = tag, []

    def handle_data(self, data: str) -> None:
        """Take in the text of what is being read."""
        if self._inside:
            self._parts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Take the text that has ended."""
        if tag != self._inside:
            return
        text = "".join(self._parts)
        self._inside = None
        if tag != "script":
            self.texts[tag] += [text] if text.strip() else []
            return
        try:
            nodes = _nodes(json.loads(text))
        except (ValueError, RecursionError):
            return  # a page's broken JSON-LD leaves its other metadata
        for node in nodes:
            kinds = node.get("@type")
            names = kinds if isinstance(kinds, list) else [kinds]
            if any(isinstance(name, str) and _ARTICLES.match(name) for name in names):
                for key in ("headline", "description"):
                    if isinstance(node.get(key), str):
                        self.texts[key].append(node[key])


def _nodes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [node for inner in value for node in _nodes(inner)]
    if isinstance(value, dict):
        return [value, *_nodes(value.get("@graph", []))]
    return []


def _once(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for t in texts if (text := " ".join(t.split()))))
