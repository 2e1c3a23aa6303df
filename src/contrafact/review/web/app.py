"""The app: routers put together, errors shown as pages, and what is due released in time."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import anyio
from anyio.to_thread import run_sync
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from contrafact.errors import InputError
from contrafact.review.state import NotAllowed
from contrafact.review.store.sessions import TooManyAttempts
from contrafact.review.store.store import Store
from contrafact.review.web import manage, manage_files, sign_in, work
from contrafact.review.web.access import NeedsSignIn, check_form
from contrafact.review.web.pages import redirect_to, render
from contrafact.review.web.security import HEADERS, SecurityMiddleware
from contrafact.review.web.studio import Studio, open_studio

__all__ = ["EVERY", "create_app", "settle_all", "settling"]

_LOG = logging.getLogger("contrafact.review.web.settle")
EVERY = 60.0
"""Seconds between two rounds of settling."""


def create_app(studio: Studio | Store | str) -> FastAPI:
    """Return the studio's app.

    Args:
        studio: The studio, or an open store or a database's URL to open one on.

    Raises:
        InputError: The database cannot be used.
    """
    opened = studio if isinstance(studio, Studio) else open_studio(studio)
    app = FastAPI(
        title="contrafact review",
        dependencies=[Depends(check_form)],
        default_response_class=HTMLResponse,
        openapi_url=None,  # their page of documentation would ask a third party for its script
        lifespan=_lifespan,
    )
    app.state.studio = opened
    app.add_middleware(SecurityMiddleware, studio=opened)
    app.mount("/static", StaticFiles(packages=[("contrafact.review.web", "static")]), "static")
    for router in (sign_in.router, work.router, manage.router, manage_files.router):
        app.include_router(router)
    app.add_exception_handler(NeedsSignIn, _needs_sign_in)
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _bad_form)
    app.add_exception_handler(InputError, _input_problem)
    app.add_exception_handler(Exception, _failure)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    studio: Studio = app.state.studio
    # Read every review's history now, so that nobody waits for it at their first page.
    for review in await run_in_threadpool(studio.store.reviews):
        await run_in_threadpool(studio.store.read, review, lambda state: state.seq)
    async with settling(studio.store):
        yield
    studio.store.close()


async def _needs_sign_in(request: Request, _: Exception) -> Response:
    if request.method == "GET":
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return redirect_to(f"/sign-in?next={quote(wanted, safe='')}")
    message = "You are signed out. What you sent was not taken; your browser's Back shows it again."
    return _problem(request, 401, message)


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = "There is no such page." if error.detail == "Not Found" else error.detail
    response = _problem(request, error.status_code, message)
    response.headers.update(error.headers or {})
    return response


async def _bad_form(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return _problem(request, 422, f"The form is not whole: {place}: {first['msg']}.")


async def _input_problem(request: Request, error: Exception) -> Response:
    if isinstance(error, TooManyAttempts):
        response = _problem(request, 429, str(error))
        response.headers["retry-after"] = str(error.seconds)
        return response
    return _problem(request, 409 if isinstance(error, NotAllowed) else 422, str(error))


async def _failure(request: Request, _: Exception) -> Response:
    # This answer is made outside the middleware, which would have added the headers.
    message = "Something failed here, and was logged. What was acknowledged before is kept."
    return PlainTextResponse(message, status_code=500, headers=HEADERS)


def _problem(request: Request, status: int, message: str) -> Response:
    message = message[:1].upper() + message[1:]
    return render(request, "problem.html", status=status, problem=message, code=status)


def settle_all(store: Store) -> None:
    """Release what is due in every review; one that fails is logged, and the others go on."""
    try:
        names = store.reviews()
    except SQLAlchemyError:
        _LOG.exception("the database does not answer; tried again next time")
        return
    for review in names:
        try:
            store.settle(review)
        except (InputError, SQLAlchemyError, ValueError):
            _LOG.exception("review %a could not be settled; tried again next time", review)


@asynccontextmanager
async def settling(store: Store, *, every: float = EVERY) -> AsyncIterator[None]:
    """Settle every review again and again while the server runs.

    Audits are drawn and disagreement sets released when their windows run out. Leases that ran out
    need nothing done: whoever asks next is given the item.

    Args:
        store: The reviews.
        every: Seconds between two rounds.
    """

    async def go_on() -> None:
        while True:
            await anyio.sleep(every)
            await run_sync(settle_all, store)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go_on)
        yield
        tasks.cancel_scope.cancel()
