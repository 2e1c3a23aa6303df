"""Middleware for every route: sessions, size limits, security headers, and the log.

It is plain ASGI middleware, so no route can be without it.
"""

import hashlib
import hmac
import logging
import re
import secrets
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from time import perf_counter
from typing import Any
from unicodedata import normalize

from anyio.to_thread import run_sync
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contrafact.review.events import NotAllowed
from contrafact.review.store.accounts import Account
from contrafact.review.web.studio import Studio

_LOG = logging.getLogger("contrafact.review.web.requests")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Sent with every response."""
_SESSION, _VISIT = "session", "visit"
_SECRET_PATH = re.compile(r"^/invite/[^/]+")
_TOO_LARGE = b"The request is too large."
_OTHER_NAME = b"This studio has another name. Name its public address with --url when serving it."


def cookie_name(studio: Studio, kind: str) -> str:
    """Return a cookie's name; over TLS, one that only this host can set."""
    # Browsers share a host's cookies among its ports, so the studio's id is part of the name.
    return f"{'__Host-' if studio.secure else ''}contrafact-{kind}-{studio.id}"


def _answers_to(studio: Studio, host: str) -> bool:
    """Return whether a request's ``Host`` is a name of the studio, or a bare address.

    Another site could point its own name at the studio's address, and its pages would then count as
    the studio's in a browser. It cannot do so with a bare address.
    """
    if not studio.names:
        return True
    name = re.sub(r":[0-9]*$", "", host.strip().casefold())
    try:
        return name in studio.names or bool(ip_address(name.strip("[]")))
    except ValueError:
        return False


def _csrf_token(secret: str) -> str:
    """Return the token in the forms of a session, or of a visit without one."""
    return hmac.new(secret.encode(), b"form", hashlib.sha256).hexdigest()


def set_session(headers: MutableHeaders, studio: Studio, secret: str | None) -> None:
    """Set or delete the cookie with a session's secret, which no script can read."""
    headers.append("set-cookie", _cookie(studio, _SESSION, secret))


class SecurityMiddleware:
    """Recognises sessions, limits the size of requests, adds headers, and logs without secrets.

    It sets in the request's state: ``account`` (None if nobody is signed in), ``session`` (its
    secret or None), ``csrf``, ``by_proxy`` (whether a proxy named the person) and ``problem`` (an
    error that the app has to answer with).
    """

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self.app = app
        self.studio = studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = perf_counter(), 0
        scope.setdefault("state", {})
        static = scope["path"].startswith("/static/")
        known = _answers_to(self.studio, Headers(scope=scope).get("host", ""))
        visit = await self._recognise(scope) if known and not static else None

        async def guarded_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if static else "no-store")
                if visit is not None:
                    headers.append("set-cookie", _cookie(self.studio, _VISIT, visit))
                if self.studio.secure:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        try:
            if known:
                await self._limited(scope, receive, guarded_send)
            else:
                await _refuse(guarded_send, 400, _OTHER_NAME)
        finally:
            path = _SECRET_PATH.sub("/invite/[secret]", scope["path"])
            spent = 1000 * (perf_counter() - began)
            _LOG.info("%s %a %s %.0f ms", scope["method"], path, status, spent)

    async def _recognise(self, scope: Scope) -> str | None:
        """Fill the request's state; return the secret of a new visit, None for a known one."""
        studio, state = self.studio, scope["state"]
        try:
            sent = SimpleCookie(Headers(scope=scope).get("cookie", ""))
            cookies = {name: morsel.value for name, morsel in sent.items()}
        except CookieError:
            cookies = {}
        secret = cookies.get(cookie_name(studio, _SESSION))
        account, state["by_proxy"], state["problem"] = None, False, None
        try:
            named = _named_by_proxy(studio, scope)
            if named is not None:
                account, state["by_proxy"] = await run_sync(_known, studio, named), True
            elif secret:
                account = await run_sync(studio.sessions.account, secret)
        except (SQLAlchemyError, NotAllowed) as error:
            state["problem"] = error  # the app shows it on a page with the form's contents
        signed_in = account is not None and not state["by_proxy"] and secret is not None
        state["account"], state["session"] = account, secret if signed_in else None
        if signed_in and secret:
            state["csrf"] = _csrf_token(secret)
            return None
        known = cookies.get(cookie_name(studio, _VISIT))
        visit = known or secrets.token_urlsafe(32)
        state["csrf"] = _csrf_token(visit)
        return None if known else visit

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request unless it is too large; only managers may upload files."""
        account = scope["state"].get("account")
        big = account is not None and account.manager
        limit = self.studio.upload_limit if big else self.studio.form_limit
        length = Headers(scope=scope).get("content-length", "0")
        if not re.fullmatch(r"[0-9]{1,18}", length) or int(length) > limit:
            await _refuse(send, 413, _TOO_LARGE)
            return
        taken, started, over = 0, False, False

        async def limited_receive() -> Message:
            nonlocal taken, over
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > limit:
                    over = True
                    raise _TooLarge
            return message

        async def watched_send(message: Message) -> None:
            nonlocal started
            if over and not started:
                # This would be the app's answer to our exception; ours is sent instead.
                return
            started = True
            await send(message)

        with suppress(_TooLarge):
            await self.app(scope, limited_receive, watched_send)
        if over and not started:
            await _refuse(send, 413, _TOO_LARGE)


class PeerMiddleware:
    """Remembers the address of a connection, before a proxy's header replaces it."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["peer"] = (scope.get("client") or ("",))[0]
        await self.app(scope, receive, send)


def _named_by_proxy(studio: Studio, scope: Scope) -> str | None:
    """Return the person named in the trusted proxy's header; None without one.

    Raises:
        NotAllowed: The header comes from another address, or occurs twice.
    """
    proxy = studio.proxy
    values = Headers(scope=scope).getlist(proxy.header) if proxy is not None else []
    if proxy is None or not values:
        return None
    peer = scope["state"].get("peer") or (scope.get("client") or ("",))[0]
    if peer != proxy.address:
        raise NotAllowed(
            f"the header {proxy.header} did not come from the trusted proxy",
            hint="open the studio by the proxy's address",
        )
    if len(values) > 1:  # otherwise a browser could send the header itself
        raise NotAllowed(
            f"the header {proxy.header} occurs twice", hint="let the proxy replace it, not add it"
        )
    # Headers are Latin-1; proxies write names as UTF-8.
    try:
        return values[0].encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return values[0].strip()


def _known(studio: Studio, name: str) -> Account:
    """Return the open account of a person that a proxy names; `NotAllowed` if there is none."""
    # Directories write accented letters as one character or as two.
    spellings = dict.fromkeys((name, normalize("NFC", name), normalize("NFD", name)))
    account = next(filter(None, map(studio.accounts.find, spellings)), None)
    if account is None or not account.active:
        raise NotAllowed(
            f"the proxy names you {name[:40]!a}, who has no open account here",
            hint="ask a manager to invite you under this name",
        )
    return account


class _TooLarge(Exception):
    """A request's body is larger than allowed."""


async def _refuse(send: Send, status: int, why: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why})


def _cookie(studio: Studio, kind: str, value: str | None) -> str:
    gone = "; Max-Age=0" if value is None else ""
    secure = "; Secure" if studio.secure else ""
    name = cookie_name(studio, kind)
    return f"{name}={value or ''}; Path=/; HttpOnly; SameSite=Lax{gone}{secure}"
