"""The app and its server: routes, error pages, and the timed release of audits.

By default the server listens on this machine only; others can reach it only with TLS.
"""

import ipaddress
import logging
import re
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import uvicorn
from anyio.to_thread import run_sync
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from contrafact.errors import InputError
from contrafact.review.events import NotAllowed
from contrafact.review.store.accounts import SERVED
from contrafact.review.store.sessions import TooManyAttempts
from contrafact.review.store.store import Store
from contrafact.review.web import discuss, manage, manage_files, manage_items, sign_in, work
from contrafact.review.web.access import NeedsSignIn, check_form
from contrafact.review.web.connections import TimedProtocol
from contrafact.review.web.security import HEADERS, PeerMiddleware, SecurityMiddleware
from contrafact.review.web.studio import (
    Studio,
    TooBusy,
    TrustedProxy,
    open_studio,
    redirect_to,
    render,
)
from contrafact.review.workflow import settle

__all__ = ["bind", "create_app", "public_name", "running_address", "serve"]

_LOG = logging.getLogger("contrafact.review.web.settle")
EVERY = 60.0  # seconds between two checks for stages that are due


def create_app(studio: Studio) -> FastAPI:
    app = FastAPI(
        title="contrafact review",
        dependencies=[Depends(check_form)],
        default_response_class=HTMLResponse,
        openapi_url=None,  # its documentation page would load a script from a third party
        lifespan=_lifespan,
    )
    app.state.studio = studio
    app.add_middleware(SecurityMiddleware, studio=studio)
    app.mount("/static", StaticFiles(packages=[("contrafact.review.web", "static")]), "static")
    for module in (sign_in, work, discuss, manage, manage_files, manage_items):
        app.include_router(module.router)
    app.add_exception_handler(NeedsSignIn, _needs_sign_in)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _bad_form)
    app.add_exception_handler(InputError, _input_problem)
    app.add_exception_handler(SQLAlchemyError, _unavailable)
    app.add_exception_handler(TooBusy, _too_busy)
    app.add_exception_handler(Exception, _failure)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    studio: Studio = app.state.studio
    # Every review's history is read now, so that the first page does not wait for it.
    for review in await run_in_threadpool(studio.store.reviews):
        await run_in_threadpool(studio.store.read, review, lambda state: state.seq)
    async with settling(studio.store):
        yield
    studio.store.close()


async def _needs_sign_in(request: Request, _: Exception) -> Response:
    if request.method == "GET":
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return redirect_to(f"/sign-in?next={quote(wanted, safe='')}")
    shown = {"next": _page_of_form(request), "typed": await _typed(request)}
    return render(request, "signed_out.html", status=401, **shown)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "There is no such page." if error.detail == "Not Found" else error.detail
    typed = await _typed(request) if error.status_code in (403, 404, 409, 422) else ()
    return _problem(request, error.status_code, message, typed, error.headers or {})


async def _bad_form(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    problem = f"A field of the form is missing or invalid: {place}: {first['msg']}."
    return _problem(request, 422, problem, await _typed(request))


async def _input_problem(request: Request, error: Exception) -> Response:
    if isinstance(error, TooManyAttempts):
        return _problem(request, 429, str(error), headers={"retry-after": str(error.seconds)})
    return _problem(request, 409 if isinstance(error, NotAllowed) else 422, str(error))


async def _unavailable(request: Request, error: Exception) -> Response:
    """Show that the database does not answer, with the form to send again."""
    _LOG.error("the database does not answer: %s", type(error).__name__)
    sent: list[tuple[str, str]] = []
    whole = request.method in ("GET", "HEAD")
    if not whole:
        with suppress(HTTPException):
            form = await request.form()
            sent = [(name, text) for name, text in form.multi_items() if isinstance(text, str)]
            whole = len(sent) == len(form.multi_items())  # files have to be chosen again
    response = render(
        request,
        "unavailable.html",
        status=503,
        sent=sent,
        whole=whole,
        method=request.method,
        path=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
    )
    response.headers["retry-after"] = "5"
    return response


async def _typed(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form that was not accepted, so that its sender can copy them.

    They are not offered for sending again, as another site may have made the form.
    """
    if request.method != "POST" or not request.url.path.startswith("/r/"):
        return []
    with suppress(HTTPException):
        form = await request.form()
        return [
            (name, text)
            for name, text in form.multi_items()
            if isinstance(text, str) and text.strip() and name not in ("csrf", "key", "item")
        ]
    return []


def _page_of_form(request: Request) -> str:
    """Return the page to go back to after a form could not be accepted."""
    match = re.match(r"(/r/[^/]+/)(work|undo)$", request.url.path)
    if match is not None:
        return f"{match[1]}work"
    return "/manage" if request.url.path.startswith("/manage") else "/"


async def _too_busy(request: Request, _: Exception) -> Response:
    message = "Too many people are signing in just now. Try again in a moment."
    return _problem(request, 503, message, headers={"retry-after": "5"})


async def _failure(request: Request, _: Exception) -> Response:
    # This response is made outside the middleware, which would have added the headers.
    message = "The server failed, and logged the error. Everything acknowledged before is kept."
    return PlainTextResponse(message, status_code=500, headers=HEADERS)


def _problem(
    request: Request,
    status: int,
    message: str,
    typed: Sequence[tuple[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    message = message[:1].upper() + message[1:]
    shown = {"problem": message, "code": status, "typed": typed}
    response = render(request, "problem.html", status=status, **shown)
    response.headers.update(headers or {})
    return response


def settle_all(store: Store) -> None:
    """Release the stages that are due in every review; failures are logged."""
    try:
        names = store.reviews()
    except SQLAlchemyError:
        _LOG.exception("the database does not answer; the next attempt follows in a minute")
        return
    for review in names:
        try:
            store.act(review, settle)
        except Exception:  # noqa: BLE001 - one review's failure must not stop the others
            _LOG.exception("review %a failed to release what is due; it is tried again", review)


@asynccontextmanager
async def settling(store: Store, *, every: float = EVERY) -> AsyncIterator[None]:
    """Release stages whose windows run out, while the block runs."""

    async def settle_repeatedly() -> None:
        while True:
            await anyio.sleep(every)
            await run_sync(settle_all, store)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(settle_repeatedly)
        yield
        tasks.cancel_scope.cancel()


FIRST_MANAGER = "manager"  # the account created if there is no manager yet
_PATIENCE = 10  # seconds to finish running requests when the server is stopped
_HEADER_BYTES = 32 * 1024  # the most bytes of a request's first line and headers
_CONNECTIONS = 1000  # the most at a time; further ones are answered with 503
_KEEP_ALIVE = 75  # seconds that a connection stays open without a request


def serve(
    database: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    tls: tuple[Path, Path | None] | None = None,
    allow_remote: bool = False,
    behind_proxy: bool = False,
    url: str | None = None,
    proxy: TrustedProxy | None = None,
) -> None:
    """Serve a studio until it is stopped; running requests are finished first.

    Args:
        port: The port; 0 for any free one.
        tls: A certificate with its chain, and its key if that is in another file (PEM).
        allow_remote: Whether others may reach it without TLS.
        behind_proxy: Whether a proxy on this machine ends TLS and names the clients' addresses.
        url: The public address, used in links; requests for other names are refused. If not
            given, names of this machine and bare addresses are accepted.

    Raises:
        InputError: The address, certificate or database cannot be used, or others could reach the
            studio without TLS.
    """
    names = {host.casefold(), "localhost", socket.gethostname().casefold()}
    if url is not None:
        names.add(public_name(url))
    if tls is not None:
        _check_certificate(*tls)
    listening = bind(host, port, tls=tls is not None, allow_remote=allow_remote)
    with listening:
        studio = open_studio(
            database,
            secure=tls is not None or behind_proxy,
            url=(url or "").rstrip("/"),
            names=frozenset(names),
            proxy=proxy,
        )
        scheme = "http" if tls is None else "https"
        name = f"[{host}]" if ":" in host else host
        base = studio.url or f"{scheme}://{name}:{listening.getsockname()[1]}"
        studio.accounts.log(SERVED, "command line", base)
        print(f"The studio runs at {base} (stop it with Ctrl+C)", flush=True)
        if not studio.accounts.has_manager():
            link = studio.invite_link(FIRST_MANAGER, base, by="command line", manager=True)
            note = "There is no manager yet. This one-time link makes you the manager:"
            print(f"{note} {link}", flush=True)
        # uvicorn shuts down cleanly and then raises the signal again, which is ignored here.
        signal.signal(signal.SIGTERM, lambda *_: None)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(_config(studio, tls, behind_proxy)).run(sockets=[listening])
        print("The studio has stopped; every acknowledged decision is kept", flush=True)


def public_name(url: str) -> str:
    """Return the host name in a studio's public address; an `InputError` if it is invalid."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise InputError(
            f"'{url[:80]}' is not a studio's address", hint="write it as https://review.example.org"
        )
    return parts.hostname.casefold()


def bind(host: str, port: int, *, tls: bool, allow_remote: bool) -> socket.socket:
    """Return a listening socket.

    Raises:
        InputError: The address cannot be used, or others could reach it without encryption.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"'{host}' is not an address of this machine", hint="try 127.0.0.1"
        ) from error
    if not (tls or allow_remote or ipaddress.ip_address(address[0]).is_loopback):
        raise InputError(
            f"passwords would be sent to {host} unencrypted",
            hint="give --tls-cert and --tls-key, or --allow-remote if something else encrypts",
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(128)  # requests during startup wait and are not refused
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot listen on {host}:{port}: {reason}", hint="try --port 0"
        ) from error
    listening.set_inheritable(True)
    return listening


def _config(
    studio: Studio, tls: tuple[Path, Path | None] | None, behind_proxy: bool
) -> uvicorn.Config:
    certificate, key = tls or (None, None)
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("contrafact.review").setLevel(logging.INFO)
    app: Any = create_app(studio)
    if behind_proxy:
        # Other clients could name any address, and so avoid the limit on attempts.
        app = ProxyHeadersMiddleware(app, trusted_hosts="127.0.0.1,::1")
    return uvicorn.Config(
        PeerMiddleware(app),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        # The app logs requests itself, without the secrets in some addresses.
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE,
        # Longer than people look at an item: if the server closes a connection just as a browser
        # uses it again, the answer is lost.
        timeout_keep_alive=_KEEP_ALIVE,
        http=TimedProtocol,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        limit_concurrency=_CONNECTIONS,
    )


def _check_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except FileNotFoundError as error:
        missing = certificate if not certificate.exists() else key
        raise InputError("no such file", file=missing, hint="check the path") from error
    except (ssl.SSLError, OSError) as error:
        raise InputError(
            "the file is not a certificate with its key",
            file=certificate,
            hint="give matching PEM files",
        ) from error


def running_address(studio: Studio) -> str:
    """Return where a studio serves this database.

    Raises:
        InputError: None ever has, or none answers where the last one did on this machine.
    """
    address, hint = studio.accounts.last_address(), "start it, or name its address with --url"
    if address is None:
        raise InputError("no studio has served this database", hint=hint)
    parts = urlsplit(address)
    if parts.hostname in ("127.0.0.1", "::1", "localhost"):
        try:
            socket.create_connection((parts.hostname, parts.port or 80), timeout=5).close()
        except OSError as error:
            raise InputError(f"no studio answers at {address} any more", hint=hint) from error
    return address
