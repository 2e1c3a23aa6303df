"""What every page needs: the reviews, accounts and sessions, settings, rendering.

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
from threading import Lock
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
    """So many wait for their passwords to be looked at that no more are let in."""


class HashingQueue:
    """Lets a few threads hash passwords at a time; the others wait without a thread of their own.

    A hash takes 64 MiB and a core. Were they waited for in the threads that make pages, a few
    dozen strangers who sign in at once would stop every page. Half of the cores hash by default.
    """

    def __init__(self, threads: int | None = None, waiting: int = 64) -> None:
        self._threads = threads or max(1, (os.cpu_count() or 2) // 2)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="hashing")
        self._most = self._threads + waiting
        self._present = 0
        self._guard = Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Do work that hashes, in its turn; `TooBusy` where too many wait already."""
        with self._guard:
            if self._present >= self._most:
                raise TooBusy
            self._present += 1
        try:
            return await asyncio.wrap_future(self._pool.submit(work))
        finally:
            with self._guard:
                self._present -= 1


@dataclass(frozen=True)
class TrustedProxy:
    """A proxy that signs people in and names them in a header.

    Attributes:
        header: The header, such as ``X-Remote-User``.
        address: The address that the proxy connects from; nobody else is believed.
    """

    header: str
    address: str


@dataclass(frozen=True)
class Studio:
    """One studio.

    Attributes:
        id: Tells this studio's cookies from those of another studio on the same host.
        secure: Whether browsers reach it over TLS, so that cookies are sent over nothing else.
        url: The address that people reach it by, without a slash at its end; empty if not known.
        names: The names of hosts that it answers to, besides bare addresses; any if there are none.
        form_limit: Bytes of an ordinary form: the longest text that is rewritten, and more.
        upload_limit: Bytes of what a manager uploads.
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
        """Return a one-time link at the address ``base``; `NotAllowed` as `Accounts.invite`."""
        secret = self.accounts.invite(name, by=by, manager=manager, address=address)
        return f"{base}/invite/{secret}"


def open_studio(
    database: str | Store,
    *,
    clock: Callable[[], float] = time,
    **settings: Any,
) -> Studio:
    """Open a studio on a database.

    Args:
        clock: Tells accounts and sessions the time in seconds since 1970.
        settings: More of `Studio`.

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
    """Return a page.

    Every template also has ``account`` (None where nobody is signed in), ``by_proxy`` (whether a
    proxy says who it is), ``csrf`` (the token of its forms), ``path_for`` (a route's path by name)
    and ``asset`` (a static file's address).
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
    """Return a part of a page, for a script to put in its place."""
    return _environment().get_template(template).render(**context)


def redirect_to(path: str) -> RedirectResponse:
    """Return the response to a form that was taken: go on to another page."""
    return RedirectResponse(path, status_code=303)


def request_key() -> str:
    """Return a key for a form that is about to be shown."""
    return secrets.token_urlsafe(18)


@lru_cache(maxsize=32)
def asset(name: str) -> str:
    """Return the address of a static file; it changes with the file."""
    content = files("contrafact.review.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


@lru_cache(maxsize=32)
def guidelines_html(text: str) -> Markup:
    """Return guidelines, which are Markdown, as HTML; no tag of theirs is taken over as one."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # Below the page's own headings.
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
