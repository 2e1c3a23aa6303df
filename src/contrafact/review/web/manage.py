"""The manager's pages: every review, who may sign in, and the audit log.

A review's own pages are in ``manage_review`` and ``manage_files``. All of them are for managers.
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.board import Board
from contrafact.review.loading import builtin_projects, load_project
from contrafact.review.recorder import Refused
from contrafact.review.web import manage_files, manage_review
from contrafact.review.web.access import client_address
from contrafact.review.web.manage_access import TheManager, TheStudio
from contrafact.review.web.manage_forms import read_project
from contrafact.review.web.pages import go_to, render
from contrafact.review.web.studio import Studio

__all__ = ["router"]

_LOG_LINES = 500

router = APIRouter(prefix="/manage")
Text = Annotated[str, Form(max_length=1000)]


@router.get("", name="manage")
def manage(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show every review, and how a new one is opened."""
    return _reviews(request, studio)


@router.post("", name="open_review")
def open_review(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    project: Text = "",
    file: UploadFile | None = None,
) -> Response:
    """Open a review, of a built-in project or of one in a TOML file."""
    try:
        if name in studio.store.reviews():
            raise Refused(f"there is a review '{name[:40]}' already")
        studio.store.define(name, read_project(project, file), account.name)
    except InputError as error:
        return _reviews(request, studio, status=422, problem=str(error))
    studio.accounts.log("review opened", account.name, name, client_address(request))
    return go_to(str(request.app.url_path_for("manage_review", review=name)))


@router.get("/people", name="manage_people")
def people(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show who may sign in."""
    return _people(request, studio)


@router.post("/people/invite", name="invite_person")
def invite(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    manager: bool = Form(False),
) -> HTMLResponse:
    """Make a one-time link for somebody new, or for who has lost their password."""
    name = name.strip()
    try:
        secret = studio.accounts.invite(
            name, by=account.name, manager=manager, address=client_address(request)
        )
    except Refused as error:
        return _people(request, studio, status=422, problem=str(error))
    link = str(request.url_for("invite_page", secret=secret))
    return _people(request, studio, invited=name, link=link)


@router.post("/people/change", name="change_person")
def change(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    what: Annotated[str, Form(pattern="^(open|close|manager|no-manager)$")],
) -> Response:
    """Close an account or open it again; let somebody manage, or not any more."""
    how = {"by": account.name, "address": client_address(request)}
    try:
        if what in ("open", "close"):
            studio.accounts.set_active(name, what == "open", **how)
        else:
            studio.accounts.set_manager(name, what == "manager", **how)
    except Refused as error:
        return _people(request, studio, status=409, problem=str(error))
    return go_to(str(request.app.url_path_for("manage_people")))


@router.get("/log", name="manage_log")
def log(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show the audit log, the latest lines first."""
    lines = [
        (f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M:%S}", one)
        for one in studio.accounts.audit_log(_LOG_LINES)
    ]
    return render(request, "manage_log.html", lines=lines)


router.include_router(manage_review.router)
router.include_router(manage_files.router)


def _reviews(
    request: Request, studio: Studio, *, status: int = 200, problem: str = ""
) -> HTMLResponse:
    def look(board: Board) -> tuple[str, int, int]:
        ended = sum(item.outcome is not None for item in board.items.values())
        return board.project.title, len(board.items), ended

    return render(
        request,
        "manage.html",
        status=status,
        problem=problem,
        reviews=[(name, *studio.store.read(name, look)) for name in studio.store.reviews()],
        projects=[(name, load_project(name).title) for name in builtin_projects()],
    )


def _people(
    request: Request,
    studio: Studio,
    *,
    status: int = 200,
    problem: str = "",
    invited: str = "",
    link: str = "",
) -> HTMLResponse:
    return render(
        request,
        "manage_people.html",
        status=status,
        problem=problem,
        invited=invited,
        link=link,
        accounts=studio.accounts.all(),
    )
