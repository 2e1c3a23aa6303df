"""Fetching article pages: politely, within bounds, and telling what is gone from what failed."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from contrafact import __version__
from contrafact.families.rfc.pipeline.answer_file import AnswerFile
from contrafact.families.rfc.pipeline.page_text import decode_page, read_page

__all__ = ["FetchSettings", "Page", "fetch_pages", "usable_address"]

MAX_BYTES = 4_000_000
TRIES = 4
LONGEST_WAIT = 60.0
_GONE = {404, 410, 451}
_AGAIN = {408, 425, 429, 500, 502, 503, 504}


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


@dataclass(frozen=True)
class Page:
    """What came of one address.

    ``found``: titles and summaries; ``gone``: the host says so, or sends everybody elsewhere;
    ``failed``: nothing is known, and a rerun tries again.
    """

    status: Literal["found", "gone", "failed"]
    why: str = ""
    titles: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()


@dataclass
class _Hosts:
    """When each host may be asked again."""

    pause: float
    _next: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    async def turn(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next[host])
        self._next[host] = start + self.pause
        await asyncio.sleep(start - now)


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
    answers: AnswerFile,
    settings: FetchSettings | None = None,
    *,
    each: Callable[[str], None] = lambda _: None,
) -> dict[str, Page]:
    """Return what came of every address, asking only for those that are not known.

    A page that was found or is gone is kept in ``answers``; one that failed is not.

    Args:
        urls: Usable addresses.
        answers: Where pages are kept as they come.
        settings: How to fetch.
        each: Called with an address when it is done with.
    """
    settings = settings or FetchSettings()
    pages: dict[str, Page] = {}
    free = asyncio.Semaphore(settings.at_once)
    hosts = _Hosts(settings.pause)
    async with httpx.AsyncClient(
        follow_redirects=True,
        max_redirects=8,
        timeout=settings.timeout,
        headers={
            "User-Agent": f"contrafact/{__version__} (gives a published dataset its originals)",
            "Accept": "text/html,application/xhtml+xml",
        },
    ) as client:

        async def one(url: str) -> None:
            if url in answers.known:
                pages[url] = _known(answers.known[url])
            else:
                async with free:
                    pages[url] = await _page(client, url, hosts, settings.backoff)
                if pages[url].status != "failed":
                    answers.keep(url, asdict(pages[url]))
            each(url)

        await asyncio.gather(*(one(url) for url in dict.fromkeys(urls)))
    return pages


async def _page(client: httpx.AsyncClient, url: str, hosts: _Hosts, backoff: float) -> Page:
    why = ""
    for attempt in range(TRIES):
        await hosts.turn(urlsplit(url).hostname or "")
        wait = backoff * 2**attempt
        try:
            async with _asked(client, url) as response:
                if response.status_code in _AGAIN:
                    why = f"the host answers {response.status_code}"
                    told = _retry_after(response)
                    wait = wait if told is None else told
                else:
                    return await _read(response, url)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = f"no answer ({type(error).__name__})"
            if isinstance(error, httpx.TooManyRedirects | httpx.InvalidURL):
                break
        if attempt + 1 < TRIES:
            if wait > LONGEST_WAIT:
                return Page("failed", f"{why}, and asks to wait {wait:.0f} s")
            await asyncio.sleep(wait)
    return Page("failed", why)


@asynccontextmanager
async def _asked(client: httpx.AsyncClient, url: str) -> AsyncIterator[httpx.Response]:
    async with client.stream("GET", url) as response:
        yield response


async def _read(response: httpx.Response, url: str) -> Page:
    if response.status_code in _GONE:
        return Page("gone", f"the host answers {response.status_code}")
    if response.status_code >= 400:
        return Page("failed", f"the host answers {response.status_code}")
    landed = response.url
    if (landed.host or "").startswith("consent."):
        return Page("failed", "the host wants consent first")
    if landed.path in ("", "/") and urlsplit(url).path not in ("", "/"):
        return Page("gone", "the host leads to its front page")
    kind = response.headers.get("content-type", "text/html").split(";")[0].strip().casefold()
    if kind not in ("text/html", "application/xhtml+xml"):
        return Page("gone", f"the address holds {kind or 'something'}, no page")
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_BYTES:
            break  # metadata stand at the beginning
    text = read_page(decode_page(bytes(data[:MAX_BYTES]), response.charset_encoding))
    if not text.titles:
        return Page("gone", "the page has no title")
    return Page("found", titles=text.titles, summaries=text.summaries)


def _known(answer: dict[str, Any]) -> Page:
    return Page(
        answer["status"], answer["why"], tuple(answer["titles"]), tuple(answer["summaries"])
    )


def _retry_after(response: httpx.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdigit() else None
