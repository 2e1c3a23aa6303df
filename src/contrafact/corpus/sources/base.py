"""What a news source is: it says what to ask, and reads what comes back into rows."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from contrafact.errors import InputError

__all__ = ["Answer", "Get", "Page", "Refused", "Rejected", "Request", "Source", "base_url"]


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
class Answer:
    """What came back, whatever the status."""

    status: int
    body: bytes
    url: str


@dataclass(frozen=True)
class Rejected:
    """An item that cannot be used: where it stood, why not, and what came."""

    place: str
    why: str
    raw: Any


@dataclass(frozen=True)
class Page:
    """One page's items as rows, and where the next page is."""

    rows: tuple[dict[str, Any], ...] = ()
    rejected: tuple[Rejected, ...] = ()
    following: Request | None = None
    notes: tuple[str, ...] = ()


class Refused(Exception):
    """One request came to nothing, for a reason that does not concern the others."""


Get = Callable[[Request], Answer]


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

    def read(self, request: Request, get: Get) -> Page:
        """Ask for one page and read it.

        Raises:
            Refused: This request failed; others may not.
            InputError: All will fail, e.g. for want of a key.
        """
        ...


def base_url(given: str | None, variable: str, usual: str) -> str:
    """Return a service's address: the one given, else the environment's, else the usual one.

    Raises:
        InputError: It is neither ``https://`` nor on the loopback interface.
    """
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


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        Refused: It holds something else.
    """
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(f"the answer is not a JSON object (status {answer.status})")
    return value
