"""What a news source is, what the papers asked theirs, and how a source is asked.

A source says what to ask, and reads what comes back into rows. It is asked politely: one request at
a time, with pauses, and no more after the server says no.
"""

import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Protocol

import httpx

from contrafact.errors import InputError
from contrafact.files.download import RETRY_STATUSES, retry_after

__all__ = [
    "Client",
    "Defaults",
    "Get",
    "NewsPage",
    "RejectedItem",
    "Request",
    "RequestFailed",
    "Response",
    "Source",
    "Unreachable",
    "base_url",
    "defaults",
    "open_client",
]


@dataclass(frozen=True)
class Request:
    """One page to ask for. It holds no secret, so that it may be kept and shown."""

    label: str
    """What the user calls it: a keyword, a ticker, the address of a feed, a path."""
    url: str
    """The address, or the path of a file."""
    params: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    """What all its items have in common, e.g. the ticker."""


@dataclass(frozen=True)
class Response:
    """What came back, whatever the status."""

    status: int
    body: bytes
    url: str


@dataclass(frozen=True)
class RejectedItem:
    """An item that cannot be used: where it stood, why not, and what came."""

    place: str
    why: str
    raw: Any


@dataclass(frozen=True)
class NewsPage:
    """One page's items as rows, and where the next page is."""

    rows: tuple[dict[str, Any], ...] = ()
    rejected: tuple[RejectedItem, ...] = ()
    following: Request | None = None
    notes: tuple[str, ...] = ()


class RequestFailed(Exception):
    """One request came to nothing, for a reason that does not concern the others."""


Get = Callable[[Request], Response]


class Source(Protocol):
    """A news source."""

    name: str
    headers: Mapping[str, str]
    """Sent with every request; here are the keys, and nowhere else."""
    one_host: bool
    """Whether all requests go to one host, so that none can succeed when it is not reached."""

    def first(self) -> list[Request]:
        """Return the first page of everything there is to ask."""
        ...

    def read(self, request: Request, get: Get) -> NewsPage:
        """Ask for one page and read it.

        Raises:
            RequestFailed: This request failed; others may not.
            InputError: All will fail, e.g. for want of a key.
        """
        ...


def base_url(given: str | None, variable: str, usual: str) -> str:
    """Return a service's address: the one given, else the environment's, else the usual one."""
    import httpx

    address = (given or os.environ.get(variable) or usual).rstrip("/")
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    loopback = parsed.host in ("127.0.0.1", "::1", "localhost")
    if not (parsed.scheme == "https" and parsed.host) and not (
        parsed.scheme == "http" and loopback
    ):
        raise InputError("is not an https:// address", file=address, hint="use one")
    return address


def json_object(answer: Response) -> dict[str, Any]:
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RequestFailed(f"the answer is not a JSON object (status {answer.status})")
    return value


_CONNECTING = 3  # attempts while no connection comes about: without a network, say so soon
_ATTEMPTS = 6
_LONGEST_WAIT = 120.0  # seconds
_MOST_BYTES = 32 * 2**20
_MOST_HOPS = 5


class Unreachable(RequestFailed):
    """The host gives no answer, or says to come back much later."""


class Client:
    """Sends a source's requests."""

    def __init__(self, client: httpx.Client, source: Source, *, pause: float) -> None:
        self._client, self._source, self._pause = client, source, pause
        self._asked = False

    def __call__(self, request: Request) -> Response:
        """Return the answer to one request; a 429 and a server error are tried again."""
        problem = ""
        for attempt in range(1, _ATTEMPTS + 1):
            if self._asked and attempt == 1:
                time.sleep(self._pause)
            self._asked = True
            wait: float | None = None
            try:
                response, body = self._send(request)
                if response.status_code not in RETRY_STATUSES:
                    return Response(response.status_code, body, str(response.url))
                problem = f"the server answered {response.status_code}"
                wait = retry_after(response)
            except httpx.ConnectError as error:
                problem = f"no connection ({error})"
                if attempt >= _CONNECTING:
                    break
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
            if wait is not None and wait > _LONGEST_WAIT:
                raise Unreachable(f"the server asks to wait {wait:.0f} seconds ({problem})")
            if attempt < _ATTEMPTS:
                time.sleep(min(0.5 * 2 ** (attempt - 1), 30.0) if wait is None else wait)
        raise Unreachable(f"{problem}, after {attempt} attempts")

    def _send(self, request: Request) -> tuple[httpx.Response, bytes]:
        """Send one request, following redirects; headers of the source stay with its host."""
        try:
            url = httpx.URL(request.url)
            url = url.copy_merge_params(dict(request.params)) if request.params else url
        except httpx.InvalidURL as error:
            raise RequestFailed(f"is not an address: {error}") from error
        own = url.host
        for _ in range(_MOST_HOPS):
            headers = dict(self._source.headers) if url.host == own else {}
            with self._client.stream("GET", url, headers=headers) as response:
                if not response.is_redirect:
                    return response, _body(response)
                url = url.join(response.headers["location"])
            loopback = url.host in ("127.0.0.1", "::1", "localhost")
            if url.scheme != "https" and not (url.scheme == "http" and loopback):
                raise RequestFailed(f"the server leads to {url.scheme}://{url.host}, not https")
        raise RequestFailed("the server redirects in circles")


@contextmanager
def open_client(source: Source, *, pause: float) -> Iterator[Client]:
    """Yield a `Client` for a source, with a connection of its own."""
    timeout = httpx.Timeout(30.0, connect=15.0)
    agent = {"User-Agent": "contrafact (research; one request at a time)"}
    with httpx.Client(timeout=timeout, headers=agent, follow_redirects=False) as client:
        yield Client(client, source, pause=pause)


def _body(response: httpx.Response) -> bytes:
    pieces, size = [], 0
    try:
        for piece in response.iter_bytes():
            size += len(piece)
            if size > _MOST_BYTES:
                raise RequestFailed(f"the answer is over {_MOST_BYTES // 2**20} MiB")
            pieces.append(piece)
    except httpx.DecodingError as error:
        raise RequestFailed(f"the answer cannot be decoded: {error}") from error
    return b"".join(pieces)


@dataclass(frozen=True)
class Defaults:
    """One source's questions (keywords or tickers) and days in the paper that used it."""

    asked: tuple[str, ...]
    since: str
    until: str


@cache
def defaults() -> dict[str, Defaults]:
    """Return FIN-FORCE's keywords (``newsapi``) and RFC-BENCH's tickers (``yahoo``)."""
    file = resources.files("contrafact.corpus.sources").joinpath("defaults.toml")
    found = tomllib.loads(file.read_text("utf-8"))
    return {
        name: Defaults(tuple(entry.get("keywords") or entry["tickers"]), entry["from"], entry["to"])
        for name, entry in found.items()
    }
