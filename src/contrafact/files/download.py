"""Downloads over HTTPS, checked and written whole or not at all, and the cache folder."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import sleep
from typing import TypeVar

import httpx

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path, os_problem
from contrafact.files.lock import locked_file

__all__ = [
    "RETRY_STATUSES",
    "Progress",
    "TryAgain",
    "cache_dir",
    "fetch",
    "fetch_text",
    "in_attempts",
    "is_safe",
    "retry_after",
    "sha256_of",
]

CACHE_VARIABLE = "CONTRAFACT_CACHE"


def cache_dir() -> Path:
    """Return the user's cache folder for contrafact, and create it if it is missing.

    It is ``$CONTRAFACT_CACHE`` if that is set, else ``$XDG_CACHE_HOME/contrafact``, else
    ``~/.cache/contrafact``. A relative ``XDG_CACHE_HOME`` is ignored, as its specification asks.
    """
    own = os.environ.get(CACHE_VARIABLE)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if own:
            folder = Path(own).expanduser().absolute()
        elif Path(shared).is_absolute():
            folder = Path(shared) / "contrafact"
        else:
            folder = Path.home() / ".cache" / "contrafact"
    except RuntimeError as error:
        raise InputError(
            "there is no home folder for the cache", hint=f"set {CACHE_VARIABLE} to a folder"
        ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise os_problem(error, folder, doing="the cache folder cannot be created") from error
    return folder


Progress = Callable[[int, int | None], None]
"""Called with the bytes received and the total bytes (``None`` if the server does not say)."""

Result = TypeVar("Result")

ATTEMPTS = 8
_CONNECTING = 4  # attempts without any connection: a missing network is reported soon
_LONGEST_WAIT = 60.0  # seconds; if a server asks to wait longer, give up
_MOST_BYTES = 4 * 2**30
_TIMEOUT = httpx.Timeout(30.0, connect=15.0)
RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may succeed."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Compression would change the length, so the file is requested uncompressed.
_HEADERS = {"User-Agent": "contrafact", "Accept-Encoding": "identity"}


class TryAgain(Exception):
    """A failure that may be temporary, with its reason and the seconds the server asks to wait.

    When `in_attempts` gives up, ``attempts`` is their number, 0 if the server asks for too long a
    wait.
    """

    def __init__(self, reason: str, wait: float | None = None) -> None:
        self.reason, self.wait, self.attempts = reason, wait, 0
        super().__init__(reason)


def fetch(url: str, path: str | Path, *, sha256: str, progress: Progress | None = None) -> Path:
    """Download ``url`` to ``path``, unless the file exists, and return the path.

    An existing file is kept if its checksum is ``sha256``. After a dropped connection, a status 429
    or a server error the download starts again, after growing pauses or the pause that the server
    asks for. Two processes that fetch the same file take turns. ``path`` appears when the file is
    complete and its checksum is right; until then the file has a hidden name beside it, which only
    a killed process leaves behind and the next call replaces.

    Args:
        url: The address of the file.
        sha256: The checksum that the file must have, in hex.
    """
    target = Path(path)
    with locked_file(target, wait=True):
        if not target.is_file() or sha256_of(target) != sha256:
            with _client() as client, atomic_path(target) as draft:
                _tried(lambda: _receive(client, url, draft, sha256, progress), url)
    return target


def fetch_text(url: str, accept: str) -> str:
    """Return the text at a URL (``http://`` only on loopback), with the retries of `fetch`."""

    def check_safe(address: httpx.URL) -> None:
        if not is_safe(address):
            raise InputError("is not an https:// address", file=url, hint="use one")

    def ask() -> str:
        with _request(client, url, {"Accept": accept}) as response:
            for hop in (*response.history, response):
                check_safe(hop.url)
            _check_status(response, url)
            return response.read().decode("utf-8", errors="replace")

    check_safe(httpx.URL(url))
    with _client() as client:
        return _tried(ask, url)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint="check the path") from None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error


def _client() -> httpx.Client:
    return httpx.Client(timeout=_TIMEOUT, follow_redirects=True, headers=_HEADERS)


def is_safe(address: httpx.URL) -> bool:
    """Return whether an address is safe from changes on the way: HTTPS, or loopback."""
    return address.scheme == "https" or (address.scheme == "http" and address.host in _LOOPBACK)


def _tried(attempt: Callable[[], Result], url: str) -> Result:
    try:
        return in_attempts(attempt, ATTEMPTS, _CONNECTING, _LONGEST_WAIT)
    except TryAgain as error:
        times, reason = error.attempts, error.reason
        if not times:
            raise InputError(reason, file=url, hint="run the command again later") from error
        raise InputError(
            f"could not be downloaded in {times} attempt{'s' * (times != 1)}, the last: {reason}",
            file=url,
            hint="check the connection and run the command again",
        ) from error


def in_attempts(
    attempt: Callable[[], Result], most: int, connecting: int, longest: float
) -> Result:
    """Return the result of a function, retried with growing pauses or those a server asks for.

    Args:
        most: The most attempts.
        connecting: The most attempts without any connection.
        longest: The longest pause, in seconds, that a server may ask for.

    Raises:
        TryAgain: The last attempt failed, or the server asks for a longer pause.
    """
    for number in range(1, most + 1):
        last = number == most
        try:
            return attempt()
        except TryAgain as error:
            failed = error
        except httpx.ConnectError as error:
            failed = TryAgain(f"no connection ({error})")
            last = number >= connecting or "CERTIFICATE_VERIFY_FAILED" in failed.reason
        except httpx.TransportError as error:
            failed = TryAgain(str(error) or type(error).__name__)
        wait = failed.wait
        if wait is not None and wait > longest:
            raise TryAgain(f"the server asks to wait {wait:.0f} seconds ({failed.reason})")
        if last:
            failed.attempts = number
            raise failed
        sleep(min(0.5 * 2 ** (number - 1), 30.0) if wait is None else wait)
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def _request(client: httpx.Client, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
    try:
        with client.stream("GET", url, headers=headers) as response:
            yield response
    except (httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.DecodingError) as error:
        raise InputError(f"the server's answer is invalid: {error}", file=url) from error


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status == 200:
        return
    if status in RETRY_STATUSES:
        raise TryAgain(f"the server answered {status}", retry_after(response))
    if status in (404, 410):
        problem, hint = f"not found ({status})", "check the address, or get the file by hand"
    elif status in (401, 403):
        problem, hint = f"access is refused ({status})", "get the file by hand, as its page says"
    else:
        problem, hint = f"the server answered {status}", "get the file by hand"
    raise InputError(problem, file=url, hint=hint)


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that a server asks to wait, from a number of seconds or a date."""
    after = response.headers.get("retry-after", "").strip()
    if after.isdecimal():
        return float(after)
    try:
        until = parsedate_to_datetime(after)
    except ValueError:
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds()) if until.tzinfo else None


def _receive(
    client: httpx.Client, url: str, part: Path, sha256: str, progress: Progress | None
) -> None:
    """Download the file into ``part``, and check its length and checksum."""
    with _request(client, url, {}) as response, part.open("wb") as sink:
        _check_status(response, url)
        length = response.headers.get("content-length", "")
        coded = response.headers.get("content-encoding", "identity") != "identity"
        total, size = int(length) if length.isdecimal() and not coded else None, 0
        for piece in response.iter_bytes():
            sink.write(piece)
            size += len(piece)
            if size > _MOST_BYTES:
                raise InputError(f"is over {_MOST_BYTES} bytes", file=url)
            if progress is not None:
                progress(size, total)
    if (found := sha256_of(part)) != sha256:
        raise InputError(
            f"the SHA-256 of the download is {found}, not {sha256}",
            file=url,
            hint="the source has changed or was tampered with: nothing was kept",
        )
