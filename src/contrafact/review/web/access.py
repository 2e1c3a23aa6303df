"""Who may do what: dependencies of routes. Every route's role is checked on the server.

A route says what it needs: ``Depends(current_account)`` for anybody who is signed in,
``Depends(require_role("manager"))`` for managers, ``Depends(member)`` for people of the review in
its path, ``Depends(require_role("adjudicator"))`` for those of them who adjudicate. The app checks
the token of every form, so no route has to.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from time import time
from typing import Annotated, Literal, cast

from fastapi import Depends, HTTPException, Request
from starlette.convertors import Convertor, register_url_convertor

from contrafact.review.setup import is_valid_name
from contrafact.review.state import ReviewState, Person
from contrafact.review.store.accounts import Account, Accounts
from contrafact.review.store.sessions import Limits, Sessions
from contrafact.review.store.store import Store, UnknownReview
from contrafact.review.web.figures_cache import FiguresCache

__all__ = [
    "ADJUDICATING",
    "FORM_LIMIT",
    "UPLOAD_LIMIT",
    "Member",
    "NeedsSignIn",
    "ReviewNameConverter",
    "Studio",
    "TheManager",
    "TheReview",
    "TheStudio",
    "check_form",
    "client_address",
    "current_account",
    "figures_cache",
    "managed_review",
    "member",
    "log_change",
    "open_studio",
    "register",
    "require_role",
    "get_studio",
]


ADJUDICATING = ("adjudication", "arbitration")
"""The kinds of stage whose people see others' answers and decide between them."""
_SAFE = ("GET", "HEAD", "OPTIONS")


class NeedsSignIn(Exception):
    """Nobody is signed in (any more)."""


@dataclass(frozen=True)
class Member:
    """Somebody of a review.

    Attributes:
        review: The review's name.
        person: What the review knows of them.
        adjudicates: Whether they have a role in a stage where others' answers are decided on.
    """

    review: str
    person: Person
    adjudicates: bool


async def get_studio(request: Request) -> Studio:
    """Return the studio that serves a request."""
    return cast(Studio, request.app.state.studio)


def client_address(request: Request) -> str:
    """Return the address that a request came from, for the audit log and for slowing attempts."""
    return request.client.host if request.client else ""


async def current_account(request: Request) -> Account:
    """Return who is signed in.

    Raises:
        NeedsSignIn: Nobody is.
    """
    account = cast("Account | None", request.scope["state"]["account"])
    if account is None:
        raise NeedsSignIn
    return account


async def check_form(request: Request) -> None:
    """Refuse a form that was not made for whoever sends it. The app asks this of every route.

    Raises:
        NeedsSignIn: Nobody is signed in any more.
        HTTPException: 403.
    """
    if request.method in _SAFE:
        return
    form = await request.form()
    given, wanted = form.get("csrf"), str(request.scope["state"]["csrf"])
    if isinstance(given, str) and hmac.compare_digest(given.encode(), wanted.encode()):
        return
    if request.scope["state"]["account"] is None and given is not None:
        raise NeedsSignIn
    raise HTTPException(403, "This form was not made for you, or is too old. Open its page again.")


def member(
    review: str,
    account: Annotated[Account, Depends(current_account)],
    studio: Annotated[Studio, Depends(get_studio)],
) -> Member:
    """Return who is signed in as somebody of the review in the path.

    Raises:
        HTTPException: 404, there is no such review or they are not of it: they do not learn which.
    """
    no_review = HTTPException(404, "There is no such review, or you have no part in it.")
    if not is_valid_name(review):
        raise no_review

    def look(state: ReviewState) -> Member | None:
        person = state.people.get(account.name)
        if person is None or not person.active:
            return None
        deciding = (s for s in state.project.flow if s.kind in ADJUDICATING)
        return Member(review, person, any(set(s.roles) & set(person.roles) for s in deciding))

    try:
        found = studio.store.read(review, look)
    except UnknownReview:
        raise no_review from None
    if found is None:
        raise no_review
    return found


def require_role(role: Literal["manager", "adjudicator"]) -> Callable[..., object]:
    """Return the dependency that lets only people of a role pass.

    For ``manager`` it gives the :class:`Account`; for ``adjudicator`` the :class:`Member`.
    """
    return _manager if role == "manager" else _adjudicator


async def _manager(account: Annotated[Account, Depends(current_account)]) -> Account:
    if not account.manager:
        raise HTTPException(403, "This page is for managers.")
    return account


async def _adjudicator(found: Annotated[Member, Depends(member)]) -> Member:
    if not found.adjudicates:
        raise HTTPException(403, "This page is for those who adjudicate.")
    return found


FORM_LIMIT = 512 * 1024
"""Bytes of an ordinary form: the longest text that is written anew, and more."""
UPLOAD_LIMIT = 64 * 1024 * 1024
"""Bytes of what a manager uploads."""


@dataclass(frozen=True)
class Studio:
    """One studio.

    Attributes:
        store: The reviews.
        accounts: Who may sign in.
        sessions: Who is signed in.
        secure: Whether browsers reach it over TLS, so that cookies are sent over nothing else.
        form_limit: Bytes of a form.
        upload_limit: Bytes of a manager's upload.
    """

    store: Store
    accounts: Accounts
    sessions: Sessions
    secure: bool = False
    form_limit: int = FORM_LIMIT
    upload_limit: int = UPLOAD_LIMIT


def open_studio(
    database: str | Store,
    *,
    secure: bool = False,
    clock: Callable[[], float] = time,
    limits: Limits | None = None,
    form_limit: int = FORM_LIMIT,
    upload_limit: int = UPLOAD_LIMIT,
) -> Studio:
    """Open a studio on a database.

    Args:
        database: A file for SQLite, a URL, or an open store.
        secure: Whether browsers reach it over TLS.
        clock: Tells accounts and sessions the time in seconds since 1970.
        limits: How long sessions last, and how attempts to sign in are slowed.
        form_limit: Bytes of a form.
        upload_limit: Bytes of a manager's upload.

    Raises:
        InputError: The database cannot be used.
    """
    store = Store(database) if isinstance(database, str) else database
    accounts = Accounts(store.engine, clock=clock)
    sessions = Sessions(accounts, clock=clock, limits=limits)
    return Studio(store, accounts, sessions, secure, form_limit, upload_limit)


TheManager = Annotated[Account, Depends(require_role("manager"))]
TheStudio = Annotated[Studio, Depends(get_studio)]


def managed_review(review: str, account: TheManager, studio: TheStudio) -> str:
    """Return the review in the path, for a manager.

    Raises:
        HTTPException: 404, there is none of that name.
    """
    try:
        if is_valid_name(review):
            studio.store.read(review, lambda state: state.seq)
            return review
    except UnknownReview:
        pass
    raise HTTPException(404, "There is no such review.")


TheReview = Annotated[str, Depends(managed_review)]


def figures_cache(request: Request) -> FiguresCache:
    """Return who keeps the figures of the studio's reviews."""
    return cast(FiguresCache, request.app.state.figures)


def log_change(
    request: Request, studio: Studio, who: str, review: str, action: str, detail: str
) -> None:
    """Write what a manager did to a review into the audit log, and let figures be computed anew."""
    figures_cache(request).forget(review)
    plain = "".join(c if c.isprintable() else "?" for c in detail)
    studio.accounts.log(action, who, f"{review}: {plain}"[:500], client_address(request))


_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class ReviewNameConverter(Convertor[str]):
    """Turns a review's name into a part of a path, and back.

    Names of letters, digits, ``.``, ``_`` and ``-`` stand for themselves; others are ``~`` and
    base64, since a server takes ``%2F`` for the end of a part.
    """

    regex = "[A-Za-z0-9._~=-]+"

    def convert(self, value: str) -> str:
        """Return the name of a handle; of what is no handle, itself: no review has that name."""
        if not value.startswith("~"):
            return value
        try:
            return urlsafe_b64decode(value[1:].encode()).decode()
        except ValueError:
            return value

    def to_string(self, value: str) -> str:
        """Return the handle of a name."""
        if _PLAIN.fullmatch(value):
            return value
        return "~" + urlsafe_b64encode(value.encode()).decode()


def register() -> None:
    """Make ``{review:review}`` known in paths of routes."""
    register_url_convertor("review", ReviewNameConverter())
