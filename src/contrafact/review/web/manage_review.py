"""The manager's pages of one review: its figures, its stages, its people."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.board import Board
from contrafact.review.control import reissue, set_open
from contrafact.review.export import Export, exports_of
from contrafact.review.figures.agreement import votable_questions
from contrafact.review.recorder import Refused
from contrafact.review.rows_out import FORMS
from contrafact.review.web.manage_access import (
    TheManager,
    TheReview,
    TheStudio,
    keeper_of,
    note_change,
)
from contrafact.review.web.manage_forms import read_project
from contrafact.review.web.pages import go_to, render
from contrafact.review.web.studio import Studio

__all__ = ["router"]

# An SVG that is opened by itself is a page of its own, and styles its lines.
_DRAWN = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}

router = APIRouter(prefix="/r/{review:review}")
Text = Annotated[str, Form(max_length=1000)]
_TOLD: dict[Export, str] = {
    "decisions": "what stands, as rfc finalize reads it",
    "items": "where every item is, and what became of it",
    "labels": "of a run's items, as contrafact report --labels reads them",
    "sheet": "filled in, as study score reads it",
    "history": "every event, in order",
}
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


@router.get("", name="manage_review")
def manage_review(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show how a review stands: its figures, its stages, what can be exported."""
    return _page(request, review)


@router.get("/plots/{file}", name="manage_plot")
def plot(
    request: Request,
    account: TheManager,
    review: TheReview,
    file: str,
    seq: int | None = None,
) -> Response:
    """Return the drawing of a figure, as SVG or PNG."""
    key, _, form = file.rpartition(".")
    if form not in _TYPES:
        raise HTTPException(404, "There is no such figure.")
    drawn = keeper_of(request).plot(review, key, "svg" if form == "svg" else "png", seq)
    if drawn is None:
        raise HTTPException(404, "There is no such figure.")
    return Response(drawn, media_type=_TYPES[form], headers=_DRAWN)


@router.post("/stage", name="control_stage")
def control_stage(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    stage: Text,
    what: Annotated[str, Form(pattern="^(open|close|settle)$")],
) -> Response:
    """Close a stage or open it again, or let what waits at it go on now."""
    try:
        if what == "settle":
            studio.store.settle(review, force=stage)
        else:
            _control(studio, review, account.name, stage=stage, open_=what == "open")
    except Refused as error:
        return _page(request, review, status=409, problem=str(error))
    return _done(request, studio, account.name, review, f"stage: {what}", stage)


@router.post("/reissue", name="reissue_items")
def reissue_items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    item: Text = "",
    person: Text = "",
) -> Response:
    """Take an item, or all that somebody has in hand, back for others to be given."""
    try:
        studio.store.change(
            review,
            lambda b, now, _: (
                None,
                reissue(b, account.name, now, item=item or None, person=person or None),
            ),
        )
    except Refused as error:
        return _page(request, review, status=409, problem=str(error))
    return _done(request, studio, account.name, review, "items taken back", item or person)


@router.post("/words", name="change_words")
def change_words(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
) -> Response:
    """Give a review other guidelines, titles and questions' texts: its project's file, changed."""
    try:
        studio.store.define(review, read_project("", file), account.name)
    except InputError as error:
        return _page(request, review, status=422, problem=str(error))
    return _done(request, studio, account.name, review, "words changed", "")


@router.get("/team", name="manage_team")
def team(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show the people of a review and their roles."""
    return _team(request, studio, review)


@router.post("/team", name="change_team")
def change_team(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    name: Text,
    roles: Annotated[list[str] | None, Form()] = None,
    active: bool = Form(False),
    trained: bool = Form(False),
) -> Response:
    """Give somebody roles in place of those they had."""
    name = name.strip()
    try:
        if studio.accounts.find(name) is None:
            raise Refused(f"{name[:40]!a} has no account", hint="invite them first, under People")
        studio.store.enlist(review, name, roles or [], account.name, active=active, trained=trained)
    except Refused as error:
        return _team(request, studio, review, status=422, problem=str(error))
    said = f"{name}: {', '.join(roles or []) or 'no role'}{'' if active else ', resting'}"
    note_change(request, studio, account.name, review, "roles given", said)
    return go_to(str(request.app.url_path_for("manage_team", review=review)))


def _control(studio: Studio, review: str, who: str, *, stage: str, open_: bool) -> None:
    studio.store.change(review, lambda b, now, _: (None, set_open(b, stage, open_, who, now)))


def _done(
    request: Request, studio: Studio, who: str, review: str, action: str, detail: str
) -> Response:
    note_change(request, studio, who, review, action, detail)
    return go_to(str(request.app.url_path_for("manage_review", review=review)))


def _page(request: Request, review: str, *, status: int = 200, problem: str = "") -> HTMLResponse:
    figures = keeper_of(request).figures(review)
    board = figures.board
    return render(
        request,
        "manage_review.html",
        status=status,
        problem=problem,
        review=review,
        title=board.project.title,
        figures=figures,
        in_hand=_in_hand(board),
        exports=[(what, _TOLD[what]) for what in exports_of(board.project) if what in _TOLD],
        forms=FORMS,
        rated=_rated(board),
    )


def _team(
    request: Request, studio: Studio, review: str, *, status: int = 200, problem: str = ""
) -> HTMLResponse:
    roles, people = studio.store.read(
        review, lambda board: (board.project.roles, list(board.people.values()))
    )
    named = {person.name for person in people}
    others = [a.name for a in studio.accounts.all() if a.active and a.name not in named]
    return render(
        request,
        "manage_team.html",
        status=status,
        problem=problem,
        review=review,
        roles=roles,
        people=people,
        others=others,
    )


def _in_hand(board: Board) -> Sequence[tuple[str, str, str]]:
    """Return who has what in hand at which stage, in order of people."""
    found = []
    for who, name in board.held.items():
        item = board.items[name]
        title = board.project.stage(item.stage).title if item.stage else ""
        found.append((who, name, title))
    return sorted(found)


def _rated(board: Board) -> list[tuple[str, str, Sequence[str | None]]]:
    """Return the blind stages by id and title, with what ratings of them can be about."""
    return [
        (stage.id, stage.title, votable_questions(board, stage.id))
        for stage in board.project.flow
        if stage.kind == "independent"
    ]
