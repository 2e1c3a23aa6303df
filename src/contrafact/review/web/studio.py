"""The studio's parts that every page needs: reviews, accounts, sessions, settings and rendering.

Templates escape everything.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from threading import BoundedSemaphore
from time import time
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contrafact.review.store.accounts import Accounts
from contrafact.review.store.sessions import Sessions
from contrafact.review.store.store import Store

__all__ = ["TrustedProxy", "open_studio"]

T = TypeVar("T")


class TooBusy(Exception):
    """Too many people wait for their passwords to be checked."""


class HashingQueue:
    """Hashes passwords in a few threads of its own; further work waits without a thread.

    A hash takes 64 MiB and a core. If the threads that make pages hashed, a few dozen strangers who
    sign in at once would stop every page. By default, half of the cores hash.
    """

    def __init__(self, threads: int | None = None, waiting: int = 64) -> None:
        threads = threads or max(1, (os.cpu_count() or 2) // 2)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="hashing")
        self._free = BoundedSemaphore(threads + waiting)

    async def run(self, work: Callable[[], T]) -> T:
        """Run work that hashes, in turn; `TooBusy` if too much work waits already."""
        if not self._free.acquire(blocking=False):
            raise TooBusy
        try:
            return await asyncio.wrap_future(self._pool.submit(work))
        finally:
            self._free.release()


@dataclass(frozen=True)
class TrustedProxy:
    """A proxy that signs people in and names them in a header.

    Attributes:
        header: The header, such as ``X-Remote-User``.
        address: The address that the proxy connects from; the header is refused from others.
    """

    header: str
    address: str


@dataclass(frozen=True)
class Studio:
    """A studio: its store, accounts, sessions and settings.

    Attributes:
        id: The part of cookies' names that distinguishes studios on the same host.
        secure: Whether browsers reach it over TLS, so that cookies are sent only over TLS.
        url: The public address, without a slash at its end; empty if not known.
        names: The host names it answers to, besides bare addresses; if empty, any.
        form_limit: The most bytes of an ordinary form.
        upload_limit: The most bytes of a manager's upload.
    """

    store: Store
    accounts: Accounts
    sessions: Sessions
    id: str
    secure: bool = False
    form_limit: int = 512 * 1024
    upload_limit: int = 64 * 1024 * 1024
    url: str = ""
    names: frozenset[str] = frozenset()
    proxy: TrustedProxy | None = None
    hashing: HashingQueue = field(default_factory=HashingQueue)

    def invite_link(
        self, name: str, base: str, *, by: str, manager: bool = False, address: str = ""
    ) -> str:
        """Return a one-time link at the address ``base``; see `Accounts.invite`."""
        secret = self.accounts.invite(name, by=by, manager=manager, address=address)
        return f"{base}/invite/{secret}"


def open_studio(
    database: str | Store, *, clock: Callable[[], float] = time, **settings: Any
) -> Studio:
    """Open a studio on a database.

    Args:
        clock: Returns the time in seconds since 1970, for accounts and sessions.
        settings: Further fields of `Studio`.

    Raises:
        InputError: The database cannot be used.
    """
    store = Store(database) if isinstance(database, str) else database
    accounts = Accounts(store.engine, clock=clock)
    sessions = Sessions(accounts, clock=clock)
    place = store.engine.url.render_as_string(hide_password=True)
    name = hashlib.sha256(place.encode()).hexdigest()[:8]
    return Studio(store, accounts, sessions, name, **settings)


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page made from a template.

    Every template also gets ``account`` (None if nobody is signed in), ``by_proxy`` (whether a
    proxy named the person), ``csrf`` (the token of its forms), ``path_for`` (a route's path by
    name) and ``asset`` (a static file's address).
    """
    state = request.scope["state"]
    page = _environment().get_template(template)
    text = page.render(
        account=state.get("account"),
        by_proxy=state.get("by_proxy", False),
        csrf=state.get("csrf", ""),
        path_for=lambda name, **parts: str(request.app.url_path_for(name, **parts)),
        asset=asset,
        **context,
    )
    return HTMLResponse(text, status_code=status)


def render_part(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(**context)


def redirect_to(path: str) -> RedirectResponse:
    """Return a redirect to another page, after a form was accepted."""
    return RedirectResponse(path, status_code=303)


def request_key() -> str:
    return secrets.token_urlsafe(18)


@lru_cache(maxsize=32)
def asset(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    content = files("contrafact.review.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


@lru_cache(maxsize=32)
def guidelines_html(text: str) -> Markup:
    """Return guidelines in Markdown as HTML; HTML tags in them are escaped."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # Two levels lower, as the page has headings of its own.
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    return Markup(reader.renderer.render(tokens, reader.options, {}))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("contrafact.review.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
