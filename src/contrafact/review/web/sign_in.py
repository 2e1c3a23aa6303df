"""The pages to sign in and out, to use a one-time invitation, and to change one's password."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from contrafact.review.events import NotAllowed
from contrafact.review.store.accounts import LONGEST, SHORTEST
from contrafact.review.store.sessions import TooManyAttempts
from contrafact.review.web.access import Text, TheAccount, TheStudio, client_address
from contrafact.review.web.security import set_session
from contrafact.review.web.studio import Studio, redirect_to, render

router = APIRouter()
_LENGTHS = {"shortest": SHORTEST, "longest": LONGEST}


@router.get("/sign-in", name="sign_in_page")
def sign_in_page(request: Request, studio: TheStudio, next: str = "/") -> Response:
    """Show the form; people who are signed in are redirected."""
    if request.scope["state"]["account"] is not None:
        return redirect_to(local_path(next))
    return render(request, "sign_in.html", next=local_path(next), name="", problem=None)


@router.post("/sign-in", name="sign_in")
async def sign_in(
    request: Request, studio: TheStudio, name: Text, password: Text, next: Text = "/"
) -> Response:
    """Sign in, always with a new session."""
    name = name.strip()

    def work() -> Response:
        studio.sessions.prove(name, password, address=client_address(request))
        return begin_session(request, studio, name, next)

    try:
        return await studio.hashing.run(work)
    except NotAllowed as error:
        shown = {"next": local_path(next), "name": name, "problem": str(error)}
        slow = isinstance(error, TooManyAttempts)
        page = render(request, "sign_in.html", status=429 if slow else 401, **shown)
        if isinstance(error, TooManyAttempts):
            page.headers["retry-after"] = str(error.seconds)
        return page


@router.post("/sign-out", name="sign_out")
def sign_out(request: Request, studio: TheStudio) -> Response:
    """End the session on the server, and delete its cookie."""
    _end(request, studio)
    answer = redirect_to("/sign-in")
    set_session(answer.headers, studio, None)
    return answer


@router.get("/invite/{secret}", name="invite_page")
def invite_page(request: Request, secret: str, studio: TheStudio) -> HTMLResponse:
    """Show the form of a one-time link; only sending it uses the link up."""
    name = studio.accounts.invited(secret)
    return _invite(request, secret, name, 200 if name else 404)


@router.post("/invite/{secret}", name="accept_invite")
async def accept_invite(
    request: Request, secret: str, studio: TheStudio, password: Text, again: Text
) -> Response:
    """Use a one-time link: set the password, and sign in."""
    address = client_address(request)

    def work() -> Response:
        name = studio.accounts.invited(secret)
        if name is None:
            return _invite(request, secret, None, 404)
        if password != again:
            return _invite(request, secret, name, 422, "the two passwords are not the same")
        try:
            account = studio.accounts.accept(secret, password, address=address)
        except NotAllowed as error:
            return _invite(request, secret, studio.accounts.invited(secret), 422, str(error))
        return begin_session(request, studio, account.name, "/?joined=1")

    return await studio.hashing.run(work)


@router.get("/account", name="account_page")
def account_page(request: Request, account: TheAccount, done: bool = False) -> HTMLResponse:
    return _account(request, done=done)


@router.post("/account", name="change_password")
async def change_password(
    request: Request, account: TheAccount, studio: TheStudio, password: Text, new: Text, again: Text
) -> Response:
    """Change one's own password; every other session of the account ends."""
    address = client_address(request)

    def work() -> Response:
        if new != again:
            return _account(request, 422, "the two new passwords are not the same")
        try:
            # Attempts are limited here as well, for somebody who finds the browser open.
            studio.sessions.prove(account.name, password, address=address)
            studio.accounts.set_password(account.name, new, address=address)
        except TooManyAttempts as error:
            return _account(request, 429, str(error))
        except NotAllowed as error:
            return _account(request, 422, str(error))
        answer = redirect_to(f"{request.app.url_path_for('account_page')}?done=1")
        secret = studio.sessions.begin(account.name, address=address)
        set_session(answer.headers, studio, secret)
        return answer

    return await studio.hashing.run(work)


def begin_session(request: Request, studio: Studio, name: str, next: str) -> Response:
    """Begin a new session in place of the browser's earlier one, and redirect to a page."""
    _end(request, studio)
    answer = redirect_to(local_path(next))
    secret = studio.sessions.begin(name, address=client_address(request))
    set_session(answer.headers, studio, secret)
    return answer


def _account(
    request: Request, status: int = 200, problem: str | None = None, *, done: bool = False
) -> HTMLResponse:
    return render(request, "account.html", status=status, problem=problem, done=done, **_LENGTHS)


def _invite(
    request: Request, secret: str, name: str | None, status: int, problem: str | None = None
) -> HTMLResponse:
    shown = {"secret": secret, "name": name, "problem": problem}
    return render(request, "invite.html", status=status, **shown, **_LENGTHS)


def _end(request: Request, studio: Studio) -> None:
    secret = request.scope["state"]["session"]
    if secret is not None:
        studio.sessions.sign_out(secret, address=client_address(request))


def local_path(path: str) -> str:
    """Return a path if it leads to this server, else the path of the first page."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain and path.isascii() else "/"
