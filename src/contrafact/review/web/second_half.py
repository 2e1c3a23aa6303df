"""The second half of signing in: a code of an authenticator app, and the way back from a provider.

Also the parts of one's own page where both are turned on and off.
"""

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from contrafact.errors import InputError
from contrafact.review.state import NotAllowed
from contrafact.review.store.sessions import TooManyAttempts
from contrafact.review.web.access import TheAccount, TheStudio, client_address
from contrafact.review.web.openid import OpenIDProvider, ProviderProblem
from contrafact.review.web.security import set_half_done, set_session
from contrafact.review.web.sign_in import begin_session, local_path, proven
from contrafact.review.web.studio import Studio, redirect_to, render

__all__ = ["router"]

router = APIRouter()
Text = Annotated[str, Form(max_length=1000)]


@router.get("/sign-in/code", name="code_page")
def code_page(request: Request, studio: TheStudio) -> Response:
    """Show the form for the code."""
    if studio.identities.kept("code", request.scope["state"]["half_code"]) is None:
        return redirect_to("/sign-in")
    return render(request, "sign_in_code.html", problem=None)


@router.post("/sign-in/code", name="give_code")
def give_code(request: Request, studio: TheStudio, code: Text) -> Response:
    """Take the code: then, and not before, a session begins."""
    state = request.scope["state"]
    secret, device = state["half_code"], state["device"]
    kept = studio.identities.kept("code", secret)
    if kept is None:
        return redirect_to("/sign-in")
    name, address = str(kept["account"]), client_address(request)
    try:
        studio.sessions.prove_code(
            name,
            lambda: studio.second_factors.take(name, code, address=address),
            address=address,
            device=device,
        )
    except NotAllowed as error:
        slow = isinstance(error, TooManyAttempts)
        page = render(request, "sign_in_code.html", status=429 if slow else 401, problem=str(error))
        if isinstance(error, TooManyAttempts):
            page.headers["retry-after"] = str(error.seconds)
        return page
    if not studio.identities.done("code", secret):  # another tab has used it
        return redirect_to("/sign-in")
    answer = begin_session(request, studio, name, str(kept["next"]))
    set_half_done(answer.headers, studio, "code", None)
    return answer


@router.get("/sign-in/provider", name="provider_start")
def provider_start(request: Request, studio: TheStudio, next: str = "/") -> Response:
    """Send a browser to the provider, to sign in."""
    return _to_provider(request, studio, {"purpose": "sign in", "next": local_path(next)})


@router.post("/account/provider", name="provider_link")
def provider_link(request: Request, account: TheAccount, studio: TheStudio) -> Response:
    """Send a browser to the provider, to sign in to one's account through it from now on."""
    return _to_provider(request, studio, {"purpose": "link", "account": account.name})


@router.post("/invite/{secret}/provider", name="provider_invite")
def provider_invite(request: Request, secret: str, studio: TheStudio) -> Response:
    """Send a browser to the provider, to use an invitation without choosing a password."""
    if studio.accounts.invited(secret) is None:
        raise HTTPException(404, "This link is not good any more. Ask a manager for a new one.")
    return _to_provider(request, studio, {"purpose": "invite", "invite": secret})


@router.get("/sign-in/provider/back", name="provider_back")
def provider_back(request: Request, studio: TheStudio) -> Response:
    """Take who came back from the provider."""
    state, provider = request.scope["state"], _provider(studio)
    secret, address = state["half_provider"], client_address(request)
    kept = studio.identities.kept("provider", secret)
    try:
        if kept is None or not studio.identities.done("provider", secret):
            raise ProviderProblem("this sign-in was not begun in this browser, or is too old")
        subject = provider.finish(dict(request.query_params), kept)
        answer = _arrived(request, studio, provider, kept, subject, address)
    except (ProviderProblem, NotAllowed) as error:
        who = str(kept.get("account", "")) if kept else ""
        studio.accounts.log("provider sign-in failed", who, str(error)[:200], address)
        answer = _failed(request, provider, error)
    set_half_done(answer.headers, studio, "provider", None)
    return answer


@router.get("/account/code", name="factor_page")
def factor_page(request: Request, account: TheAccount, studio: TheStudio) -> Response:
    """Show how a second factor is turned on, or off."""
    return _factor(request, studio, account.name)


@router.post("/account/code", name="factor_on")
def factor_on(request: Request, account: TheAccount, studio: TheStudio, code: Text) -> Response:
    """Ask for a code from now on, and show the recovery codes, once."""
    address = client_address(request)
    try:
        codes = studio.second_factors.enable(account.name, "".join(code.split()), address=address)
    except NotAllowed as error:
        return _factor(request, studio, account.name, status=422, problem=str(error))
    answer = render(request, "recovery_codes.html", codes=codes)
    # Every session has ended; this browser has just shown that it has the app.
    set_session(answer.headers, studio, studio.sessions.begin(account.name, address=address))
    return answer


@router.post("/account/code/off", name="factor_off")
async def factor_off(
    request: Request, account: TheAccount, studio: TheStudio, password: Text
) -> Response:
    """Ask for no code any more; whoever found the browser open does not know the password."""
    address, device = client_address(request), request.scope["state"]["device"]

    def work() -> Response:
        try:
            studio.sessions.prove(account.name, password, address=address, device=device)
        except NotAllowed as error:
            slow = isinstance(error, TooManyAttempts)
            status = 429 if slow else 422
            return _factor(request, studio, account.name, status=status, problem=str(error))
        studio.second_factors.remove(account.name, by=account.name, address=address)
        return redirect_to(str(request.app.url_path_for("account_page")))

    return await studio.hashing.run(work)


def _factor(
    request: Request, studio: Studio, name: str, *, status: int = 200, problem: str = ""
) -> HTMLResponse:
    on = studio.second_factors.enabled(name)
    secret, address = ("", "") if on else studio.second_factors.prepare(name)
    return render(
        request,
        "second_factor.html",
        status=status,
        problem=problem,
        on=on,
        left=studio.second_factors.left(name) if on else 0,
        secret=" ".join(secret[n : n + 4] for n in range(0, len(secret), 4)),
        address=address,
        picture=_qr_code(address) if address else "",
    )


def _qr_code(address: str) -> Markup:
    """Return an address as a QR code: an SVG to stand in a page, dark on light in any scheme."""
    import segno

    code = segno.make(address, micro=False)
    title = "The account as a QR code"
    svg = code.svg_inline(scale=4, light="#fff", title=title, svgclass="qr", omitsize=False)
    return Markup(svg)


def _provider(studio: Studio) -> OpenIDProvider:
    if studio.provider is None:
        raise HTTPException(404, "Nobody signs in through a provider here.")
    return studio.provider


def _to_provider(request: Request, studio: Studio, purpose: dict[str, str]) -> Response:
    provider = _provider(studio)
    base = studio.url or str(request.base_url).rstrip("/")
    try:
        place, kept = provider.start(base + str(request.app.url_path_for("provider_back")))
    except ProviderProblem as error:
        return _failed(request, provider, error)
    answer = redirect_to(place)
    secret = studio.identities.keep("provider", {**kept, **purpose})
    set_half_done(answer.headers, studio, "provider", secret)
    return answer


def _arrived(
    request: Request,
    studio: Studio,
    provider: OpenIDProvider,
    kept: dict[str, str],
    subject: str,
    address: str,
) -> Response:
    """Sign in whom the provider names, or link their identity, as was asked for."""
    issuer = provider.settings.issuer
    if kept["purpose"] == "invite":
        name = studio.accounts.invited(kept["invite"])
        other = studio.identities.account(issuer, subject)
        if other is not None and other != name:
            raise NotAllowed("you sign in to another account with this identity already")
        name = studio.accounts.accept_without_password(kept["invite"], address=address).name
        studio.identities.link(name, issuer, subject, address=address)
        return proven(request, studio, name, "/")
    if kept["purpose"] == "link":
        account = request.scope["state"]["account"]
        if account is None or account.name != kept["account"]:
            raise NotAllowed("you are not signed in as whom you were", hint="sign in, begin again")
        studio.identities.link(account.name, issuer, subject, address=address)
        return redirect_to(str(request.app.url_path_for("account_page")))
    known = studio.identities.account(issuer, subject)
    if known is None:
        raise NotAllowed(
            "no account here is linked with whom the provider names",
            hint="open your invitation, or sign in with your password and link it on your page",
        )
    return proven(request, studio, known, kept["next"])


def _failed(request: Request, provider: OpenIDProvider, error: InputError) -> HTMLResponse:
    return render(
        request,
        "sign_in.html",
        status=502 if isinstance(error, ProviderProblem) else 403,
        next="/",
        name="",
        problem=str(error),
        provider=provider.settings.title,
    )
