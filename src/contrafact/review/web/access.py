"""Who may do what: dependencies of routes. Every route's role is checked on the server.

A route says what it needs by the types of its arguments: `TheAccount` for anybody who is
signed in, `TheManager` for managers, `TheReview` for the review in its path as managers
see it, `TheMember` for people of that review, `TheAdjudicator` for those of them who
adjudicate. The app checks the token of every form, so no route has to.

Importing this module makes ``{review:review}`` known in the paths of routes.
"""

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request
from starlette.convertors import Convertor, register_url_convertor

from contrafact.review.events import NotAllowed
from contrafact.review.project import DELIBERATING
from contrafact.review.setup import is_valid_name
from contrafact.review.state import Person, ReviewState
from contrafact.review.store.accounts import Account
from contrafact.review.store.store import UnknownReview
from contrafact.review.web.studio import Studio

__all__ = [
    "Member",
    "NeedsSignIn",
    "ReviewNameConverter",
    "TheAccount",
    "TheAdjudicator",
    "TheManager",
    "TheMember",
    "TheReview",
    "TheStudio",
    "check_form",
    "client_address",
    "current_account",
    "current_adjudicator",
    "current_manager",
    "current_member",
    "get_studio",
    "managed_review",
]

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class ReviewNameConverter(Convertor[str]):
    """Turns a review's name into a part of a path, and back.

    Names of letters, digits, ``.``, ``_`` and ``-`` stand for themselves; others are ``~`` and
    base64, since a server takes ``%2F`` for the end of a part.
    """

    regex = "[A-Za-z0-9._~=-]+"

    def convert(self, value: str) -> str:
        """Return the name that a part stands for; one that stands for none is no review's name."""
        if not value.startswith("~"):
            return value
        try:
            return urlsafe_b64decode(value[1:].encode()).decode()
        except ValueError:
            return value

    def to_string(self, value: str) -> str:
        """Return the part that stands for a name."""
        if _PLAIN.fullmatch(value):
            return value
        return "~" + urlsafe_b64encode(value.encode()).decode()


register_url_convertor("review", ReviewNameConverter())


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


TheStudio = Annotated[Studio, Depends(get_studio)]


def client_address(request: Request) -> str:
    """Return the address that a request came from, for the audit log and for slowing attempts."""
    return request.client.host if request.client else ""


async def check_form(request: Request) -> None:
    """Refuse a form that was not made for whoever sends it. The app asks this of every route.

    Raises:
        NeedsSignIn: Nobody is signed in any more.
        HTTPException: 403; also where whom a proxy names is not believed, or not known here.
        SQLAlchemyError: The database did not say who is signed in.
    """
    problem = request.scope["state"].get("problem")
    if isinstance(problem, NotAllowed):
        raise HTTPException(403, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    if problem is not None:
        raise problem
    if request.method in _SAFE_METHODS:
        return
    form = await request.form()
    given, wanted = form.get("csrf"), str(request.scope["state"]["csrf"])
    if isinstance(given, str) and hmac.compare_digest(given.encode(), wanted.encode()):
        return
    if request.scope["state"]["account"] is None and given is not None:
        raise NeedsSignIn
    raise HTTPException(403, "This form was not made for you, or is too old. Open its page again.")


async def current_account(request: Request) -> Account:
    """Return who is signed in.

    Raises:
        NeedsSignIn: Nobody is.
    """
    account = cast("Account | None", request.scope["state"]["account"])
    if account is None:
        raise NeedsSignIn
    return account


TheAccount = Annotated[Account, Depends(current_account)]


def current_member(review: str, account: TheAccount, studio: TheStudio) -> Member:
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
        deciding = (s for s in state.project.flow if s.kind in DELIBERATING)
        return Member(review, person, any(set(s.roles) & set(person.roles) for s in deciding))

    try:
        found = studio.store.read(review, look)
    except UnknownReview:
        raise no_review from None
    if found is None:
        raise no_review
    return found


TheMember = Annotated[Member, Depends(current_member)]


async def current_adjudicator(member: TheMember) -> Member:
    """Return who is signed in as an adjudicator of the review in the path.

    Raises:
        HTTPException: 403, they are none.
    """
    if not member.adjudicates:
        raise HTTPException(403, "This page is for those who adjudicate.")
    return member


TheAdjudicator = Annotated[Member, Depends(current_adjudicator)]


async def current_manager(account: TheAccount) -> Account:
    """Return who is signed in as a manager.

    Raises:
        HTTPException: 403, they are none.
    """
    if not account.manager:
        raise HTTPException(403, "This page is for managers.")
    return account


TheManager = Annotated[Account, Depends(current_manager)]


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
