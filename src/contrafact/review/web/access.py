"""Access control: dependencies that check on the server what a person may do.

A route declares its requirement by the types of its arguments: `TheAccount` for anybody who is
signed in, `TheManagerPage` for managers, `TheReviewPage` for managers with the review in the path,
`TheMemberPage` for members of that review. The app checks the token of every form.

Importing this module registers ``{review:review}`` for the paths of routes.
"""

import hmac
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast
from urllib.parse import quote, urlencode

from fastapi import Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from starlette.convertors import StringConvertor, register_url_convertor

from contrafact.review.events import NotAllowed
from contrafact.review.setup import is_valid_name
from contrafact.review.state import ReviewState
from contrafact.review.store.accounts import Account
from contrafact.review.store.store import UnknownReview
from contrafact.review.web.studio import Studio, redirect_to, render

KEY = "^[A-Za-z0-9_-]{8,64}$"
"""The pattern of a form's key; a form sent again under the same key counts once."""
TheKey = Annotated[str, Form(alias="request", pattern=KEY)]
Text = Annotated[str, Form(max_length=1000)]
LongText = Annotated[str, Form(max_length=20_000)]

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class _ReviewName(StringConvertor):
    """Converts a review's name to a part of a path; the server decodes it."""

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


register_url_convertor("review", _ReviewName())


class NeedsSignIn(Exception):
    """The request needs a session, and there is none or it has ended."""


async def _studio(request: Request) -> Studio:
    return cast(Studio, request.app.state.studio)


TheStudio = Annotated[Studio, Depends(_studio)]


def client_address(request: Request) -> str:
    """Return a request's address, for the audit log and the limit on attempts to sign in."""
    return request.client.host if request.client else ""


async def check_form(request: Request) -> None:
    """Raise an error for a form that was not made for its sender, or a problem with a proxy's name.

    The app depends on this in every route.
    """
    problem = request.scope["state"].get("problem")
    if isinstance(problem, NotAllowed):
        raise HTTPException(403, f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    if problem is not None:
        raise problem
    if request.method in _SAFE_METHODS:
        return
    form = await request.form()
    sent, wanted = form.get("csrf"), str(request.scope["state"]["csrf"])
    if isinstance(sent, str) and hmac.compare_digest(sent.encode(), wanted.encode()):
        return
    if request.scope["state"]["account"] is None and sent is not None:
        raise NeedsSignIn
    raise HTTPException(403, "This form was not made for you or has expired. Reload its page.")


async def _account(request: Request) -> Account:
    account = cast("Account | None", request.scope["state"]["account"])
    if account is None:
        raise NeedsSignIn
    return account


TheAccount = Annotated[Account, Depends(_account)]


@dataclass(frozen=True)
class ReviewPage:
    """A request of a signed-in person; ``review`` is the one in the path, or empty."""

    request: Request
    studio: Studio
    who: str
    review: str = ""

    def render(self, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
        return render(self.request, template, status=status, review=self.review, **context)

    def path(self, name: str, **query: str) -> str:
        parts = {"review": self.review} if self.review else {}
        path = str(self.request.app.url_path_for(name, **parts))
        return f"{path}?{urlencode(query)}" if query else path

    def go_to(self, name: str, **query: str) -> Response:
        """Return the response to a form that was accepted: a redirect to a page."""
        return redirect_to(self.path(name, **query))

    def own_key(self, key: str) -> str:
        """Return a form's key made unique to its sender, so that nobody can use up another's."""
        return f"{key} {self.who}"[:200].strip()


@dataclass(frozen=True)
class MemberPage(ReviewPage):
    """A request of a member of the review in the path, with their roles."""

    roles: tuple[str, ...] = ()


def _member_page(
    request: Request, review: str, account: TheAccount, studio: TheStudio
) -> MemberPage:
    # The message does not tell strangers whether the review exists.
    no_review = HTTPException(404, "There is no such review, or you are not a member of it.")
    if not is_valid_name(review):
        raise no_review

    def reader(state: ReviewState) -> MemberPage | None:
        person = state.people.get(account.name)
        if person is None or not person.active:
            return None
        return MemberPage(request, studio, person.name, review, person.roles)

    try:
        page = studio.store.read(review, reader)
    except UnknownReview:
        raise no_review from None
    if page is None:
        raise no_review
    return page


TheMemberPage = Annotated[MemberPage, Depends(_member_page)]


@dataclass(frozen=True)
class ManagerPage(ReviewPage):
    """A manager's request."""

    def log(self, action: str, detail: str = "") -> None:
        about = f"{self.review}: {detail}" if self.review else detail
        plain = "".join(c if c.isprintable() else "?" for c in about)
        self.studio.accounts.log(action, self.who, plain[:500], client_address(self.request))

    def invite_link(self, name: str, *, manager: bool = False) -> str:
        base = self.studio.url or str(self.request.base_url).rstrip("/")
        address = client_address(self.request)
        return self.studio.invite_link(name, base, by=self.who, manager=manager, address=address)


async def _manager_page(request: Request, account: TheAccount, studio: TheStudio) -> ManagerPage:
    if not account.manager:
        raise HTTPException(403, "Only managers can open this page.")
    return ManagerPage(request, studio, account.name)


TheManagerPage = Annotated[ManagerPage, Depends(_manager_page)]


def _review_page(review: str, page: TheManagerPage) -> ManagerPage:
    try:
        if is_valid_name(review):
            page.studio.store.read(review, lambda state: state.seq)
            return replace(page, review=review)
    except UnknownReview:
        pass
    raise HTTPException(404, "There is no such review.")


TheReviewPage = Annotated[ManagerPage, Depends(_review_page)]
