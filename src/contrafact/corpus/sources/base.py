"""News sources in general: their requests, the papers' queries, and the client that sends them.

A source states its requests, and reads the answers into rows. The client is polite: one request at
a time, with pauses, and no more after the server refuses.
"""

import os
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from contrafact.errors import InputError, Reason
from contrafact.files.download import RETRY_STATUSES, TryAgain, in_attempts, is_safe, retry_after
from contrafact.redaction import hide_in_address, without_secrets

__all__ = ["defaults", "open_client"]


@dataclass(frozen=True)
class Request:
    """A request for one page. It holds no secret, so that it may be kept and shown."""

    label: str
    """Its name for users: a keyword, a ticker, the address of a feed, a path."""
    url: str
    """The address, or the path of a file."""
    params: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    """Fields that all its items have in common, e.g. the ticker."""


@dataclass(frozen=True)
class Response:
    """A server's answer of any status, with placeholders for the secrets of addresses."""

    status: int
    body: bytes


@dataclass(frozen=True)
class NewsPage:
    """One page's items as rows, and where the next page is."""

    rows: Sequence[dict[str, Any]] = ()
    rejected: Sequence[dict[str, Any]] = ()
    """The items that cannot be used, as `rejected` returns them."""
    following: Request | None = None
    notes: Sequence[str] = ()


def rejected(place: str, why: Reason, raw: Any) -> dict[str, Any]:
    """Return the record of an item that cannot be used: its place, the reason, and its contents."""
    return {"place": place, "why": why.text, "why_code": why.code, "raw": raw}


class RequestFailed(Exception):
    """A request failed for a reason that does not concern other requests."""


class Unreachable(RequestFailed):
    """The host does not answer, or asks for a long wait."""


Get = Callable[[Request], Response]


@dataclass(frozen=True)
class Source:
    """A news source.

    Attributes:
        first: The requests for the first page of each query.
        read: Asks for one page and reads it. It raises `RequestFailed` if other requests may still
            succeed, `InputError` if all would fail, e.g. without a key.
        headers: Sent with every request; keys are only here and in ``hidden``.
        hidden: The secrets of addresses, by their placeholders in requests.
        one_host: Whether all requests go to one host, so that none can succeed if it cannot be
            reached.
    """

    name: str
    first: Sequence[Request]
    read: Callable[[Request, Get], NewsPage]
    headers: Mapping[str, str] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    one_host: bool = False


def base_url(variable: str, usual: str, hidden: dict[str, str]) -> str:
    """Return a service's address, from the environment or the usual one, without its secrets.

    The secrets are added to ``hidden``, as by `contrafact.redaction.hide_in_address`.
    """
    address = os.environ.get(variable) or usual
    try:
        parsed = httpx.URL(address)
        urlsplit(address)  # which is stricter
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL()
    if not (parsed.host and is_safe(parsed)):
        raise InputError(
            "is not an https:// address", file=without_secrets(address), hint="use one"
        )
    return hide_in_address(address, hidden)


_CONNECTING = 3  # attempts while there is no connection: without a network, give up early
_ATTEMPTS = 6
_LONGEST_WAIT = 120.0  # seconds
_MOST_BYTES = 32 * 2**20
_MOST_HOPS = 5
_SHORTEST = 8  # characters of a secret that is looked for in texts


class Client:
    """Sends a source's requests."""

    def __init__(self, client: httpx.Client, source: Source, *, pause: float) -> None:
        self._client, self._source, self._pause = client, source, pause
        self._asked = False

    def __call__(self, request: Request) -> Response:
        """Return the answer to one request, which is retried after a 429 or a server error."""
        if self._asked:
            time.sleep(self._pause)
        self._asked = True
        try:
            return in_attempts(lambda: self._send(request), _ATTEMPTS, _CONNECTING, _LONGEST_WAIT)
        except TryAgain as error:
            made = error.attempts
            times = f", after {made} attempt{'s' * (made != 1)}" if made else ""
            raise Unreachable(f"{error.reason}{times}") from error

    def _send(self, request: Request) -> Response:
        """Send one request, following redirects; the source's headers go to its own host only."""
        address = request.url
        for name, secret in self._source.hidden.items():
            address = address.replace(name, secret)
        try:
            url = httpx.URL(address)
            url = url.copy_merge_params(dict(request.params)) if request.params else url
        except httpx.InvalidURL as error:
            raise RequestFailed(f"is not an address: {error}") from error
        host = url.host
        for _ in range(_MOST_HOPS):
            headers = dict(self._source.headers) if url.host == host else {}
            with self._client.stream("GET", url, headers=headers) as response:
                if not response.is_redirect:
                    status, body = response.status_code, _body(response)
                    if status in RETRY_STATUSES:
                        raise TryAgain(f"the server answered {status}", retry_after(response))
                    return Response(status, self._without_secrets(body))
                url = url.join(response.headers["location"])
            if not is_safe(url):
                raise RequestFailed(f"the server leads to {url.scheme}://{url.host}, not https")
        raise RequestFailed("the server redirects in circles")

    def _without_secrets(self, body: bytes) -> bytes:
        """Return an answer with placeholders for secrets: a feed may repeat its own address."""
        for name, secret in self._source.hidden.items():
            forms = {secret, quote(secret, safe=""), unquote(secret), secret.partition(":")[2]}
            for form in sorted(forms, key=len, reverse=True):
                if len(form) >= _SHORTEST:
                    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
                        body = body.replace(form.encode(encoding), name.encode(encoding))
        return body


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
    """A source's queries (keywords or tickers) and days in the paper that used it."""

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
