"""Who may do what: dependencies of routes. Every route's role is checked on the server.

A route says what it needs: ``Depends(current_account)`` for anybody who is signed in,
``Depends(require_role("manager"))`` for managers, ``Depends(member)`` for people of the review in
its path, ``Depends(require_role("adjudicator"))`` for those of them who adjudicate. The app checks
the token of every form, so no route has to.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from fastapi import Depends, HTTPException, Request

from contrafact.review.board import Board, Person
from contrafact.review.intake import is_plain
from contrafact.review.store.accounts import Account
from contrafact.review.store.store import UnknownReview
from contrafact.review.web.studio import Studio

__all__ = [
    "ADJUDICATING",
    "Member",
    "NeedsSignIn",
    "check_form",
    "client_address",
    "current_account",
    "member",
    "require_role",
    "the_studio",
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


async def the_studio(request: Request) -> Studio:
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
    studio: Annotated[Studio, Depends(the_studio)],
) -> Member:
    """Return who is signed in as somebody of the review in the path.

    Raises:
        HTTPException: 404, there is no such review or they are not of it: they do not learn which.
    """
    no_review = HTTPException(404, "There is no such review, or you have no part in it.")
    if not is_plain(review):
        raise no_review

    def look(board: Board) -> Member | None:
        person = board.people.get(account.name)
        if person is None or not person.active:
            return None
        deciding = (s for s in board.project.flow if s.kind in ADJUDICATING)
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
