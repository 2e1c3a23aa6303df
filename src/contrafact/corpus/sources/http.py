"""Asking politely: one request at a time, with pauses, and no more after the server says no."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from contrafact.corpus.sources.base import Answer, Refused, Request, Source

__all__ = ["Asker", "Unreachable", "asking"]

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_CONNECTING = 3  # attempts while no connection comes about: without a network, say so soon
_MOST_BYTES = 32 * 2**20
_MOST_HOPS = 5


class Unreachable(Refused):
    """The host gives no answer, or says to come back much later."""


class Asker:
    """Sends a source's requests.

    Args:
        client: The connection; it follows no redirects of its own.
        source: The source whose headers are sent.
        pause: Seconds between two requests.
        attempts: How often to try one request in all.
        longest_wait: Seconds; a server that asks for a longer wait is not waited for.
        sleep: Waits the given seconds.
    """

    def __init__(
        self,
        client: httpx.Client,
        source: Source,
        *,
        pause: float = 1.0,
        attempts: int = 6,
        longest_wait: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._source = source
        self._pause = pause
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._sleep = sleep
        self._asked = False

    def __call__(self, request: Request) -> Answer:
        """Return the answer to one request; a 429 and a server error are tried again.

        Raises:
            Unreachable: No connection, no end of such answers, or a wait that is too long.
            Refused: An answer that is no answer: too large, or redirected where it must not go.
        """
        said = ""
        for attempt in range(1, self._attempts + 1):
            if self._asked and attempt == 1:
                self._sleep(self._pause)
            self._asked = True
            wait: float | None = None
            try:
                response, body = self._send(request)
                if response.status_code not in AGAIN:
                    return Answer(response.status_code, body, str(response.url))
                said, wait = f"the server answered {response.status_code}", _wait(response)
            except httpx.ConnectError as error:
                said = f"no connection ({error})"
                if attempt >= _CONNECTING:
                    break
            except httpx.TransportError as error:
                said = str(error) or type(error).__name__
            if wait is not None and wait > self._longest_wait:
                raise Unreachable(f"the server asks to wait {wait:.0f} seconds ({said})")
            if attempt < self._attempts:
                self._sleep(min(0.5 * 2 ** (attempt - 1), 30.0) if wait is None else wait)
        raise Unreachable(f"{said}, after {attempt} attempts")

    def _send(self, request: Request) -> tuple[httpx.Response, bytes]:
        """Send one request, following redirects; headers of the source stay with its host."""
        try:
            url = httpx.URL(request.url)
            url = url.copy_merge_params(dict(request.params)) if request.params else url
        except httpx.InvalidURL as error:
            raise Refused(f"is not an address: {error}") from error
        own = url.host
        for _ in range(_MOST_HOPS):
            headers = dict(self._source.headers) if url.host == own else {}
            with self._client.stream("GET", url, headers=headers) as response:
                if not response.is_redirect:
                    return response, _body(response)
                url = url.join(response.headers["location"])
            loopback = url.host in ("127.0.0.1", "::1", "localhost")
            if url.scheme != "https" and not (url.scheme == "http" and loopback):
                raise Refused(f"the server leads to {url.scheme}://{url.host}, not https")
        raise Refused("the server redirects in circles")


@contextmanager
def asking(source: Source, *, pause: float) -> Iterator[Asker]:
    """Yield an :class:`Asker` for a source, with a connection of its own."""
    timeout = httpx.Timeout(30.0, connect=15.0)
    agent = {"User-Agent": "contrafact (research; one request at a time)"}
    with httpx.Client(timeout=timeout, headers=agent, follow_redirects=False) as client:
        yield Asker(client, source, pause=pause)


def _body(response: httpx.Response) -> bytes:
    pieces, size = [], 0
    try:
        for piece in response.iter_bytes():
            size += len(piece)
            if size > _MOST_BYTES:
                raise Refused(f"the answer is over {_MOST_BYTES // 2**20} MiB")
            pieces.append(piece)
    except httpx.DecodingError as error:
        raise Refused(f"the answer cannot be decoded: {error}") from error
    return b"".join(pieces)


def _wait(response: httpx.Response) -> float | None:
    """Return the seconds that a server asks to wait, whether it says seconds or a date."""
    said = response.headers.get("retry-after", "").strip()
    if said.isdecimal():
        return float(said)
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds()) if until.tzinfo else None
