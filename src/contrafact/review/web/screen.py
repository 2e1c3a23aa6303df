"""One item a screen: shown, taken, taken back. Annotators and adjudicators work the same way."""

from typing import Literal
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.board import Board
from contrafact.review.desk import Assignment
from contrafact.review.recorder import Refused
from contrafact.review.web.access import ADJUDICATING, Member
from contrafact.review.web.forms import Sent, Typed, new_request, typed_from
from contrafact.review.web.pages import go_to, guidelines_html, render
from contrafact.review.web.sheet import Idle, Learned, Sheet, idle, learned, sheet
from contrafact.review.web.studio import Studio

__all__ = ["Page", "answer", "show", "take_back"]

Page = Literal["work", "adjudicate"]


def show(
    request: Request,
    studio: Studio,
    found: Member,
    page: Page,
    *,
    again: bool = False,
    last: str | None = None,
) -> Response:
    """Give somebody their next item and show it, on the page that its stage belongs to.

    Args:
        request: The request.
        studio: The studio.
        found: Who asks.
        page: The page they are on.
        again: Whether they have just taken a decision back, which is filled in again.
        last: The training item that they have just answered.
    """
    given, news = _given(studio, found, last)
    if isinstance(given, Idle):
        return render(
            request,
            "idle.html",
            review=found.review,
            idle=given,
            learned=news,
            page=page,
            request_key=new_request(),
        )
    wanted = _page_of(given)
    if wanted != page:
        query = f"?{request.url.query}" if request.url.query else ""
        return go_to(request.app.url_path_for(wanted, review=found.review) + query)
    typed = Typed()
    if again:
        said = studio.store.last_said(found.review, found.person.name, given.assignment)
        typed = typed_from(said)
    return _form(request, studio, found, given, typed, news=news)


def answer(request: Request, studio: Studio, found: Member, page: Page, sent: Sent) -> Response:
    """Take a decision and go on; the same form sent again changes nothing.

    What cannot be taken is shown again: in its form where it can be repairs, and as it was typed
    where the item is not theirs any more.
    """
    review, who, given = found.review, found.person.name, sent.assignment
    try:
        studio.store.answer(
            review,
            who,
            given,
            sent.typed.answers,
            flagged=sent.typed.flagged,
            comment=sent.typed.comment,
            correction=_correction(studio, review, sent),
            guidelines_version=sent.guidelines_version,
            # Keys are the sender's own: nobody can use up another's.
            request=f"{sent.request} {who}"[:200].strip(),
        )
    except InputError as error:
        current, _ = _given(studio, found, None)
        mendable = isinstance(current, Sheet) and current.assignment == given
        if isinstance(current, Sheet) and mendable and not isinstance(error, Refused):
            return _form(
                request, studio, found, current, sent.typed, problem=error, key=sent.request
            )
        return _kept(request, studio, found, page, sent, error)
    path = request.app.url_path_for(page, review=review)
    return go_to(path + (f"?{urlencode({'last': given.item})}" if given.training else ""))


def take_back(request: Request, studio: Studio, found: Member, key: str) -> Response:
    """Take somebody's last decision back, and show the item with it filled in.

    Raises:
        Refused: There is none, or others have gone on from it.
    """
    own = f"{key} {found.person.name}"[:200].strip()
    studio.store.undo(found.review, found.person.name, request=own)
    return go_to(request.app.url_path_for("work", review=found.review) + "?again=1")


def _given(studio: Studio, found: Member, last: str | None) -> tuple[Sheet | Idle, Learned | None]:
    who = found.person.name

    def look(board: Board, given: Assignment | None) -> tuple[Sheet | Idle, Learned | None]:
        news = learned(board, who, last) if last else None
        return (idle(board, who) if given is None else sheet(board, who, given)), news

    return studio.store.work(found.review, who, look)


def _page_of(given: Sheet) -> Page:
    return "adjudicate" if given.stage.kind in ADJUDICATING else "work"


def _form(
    request: Request,
    studio: Studio,
    found: Member,
    given: Sheet,
    typed: Typed,
    *,
    news: Learned | None = None,
    problem: InputError | None = None,
    key: str | None = None,
) -> HTMLResponse:
    project = given.project
    return render(
        request,
        f"{_page_of(given)}.html",
        status=200 if problem is None else 422,
        review=found.review,
        page=_page_of(given),
        sheet=given,
        typed=typed,
        questions=[project.question(name) for name in given.stage.questions],
        guidelines=guidelines_html(project.guidelines),
        guidelines_version=project.guidelines_version,
        learned=news,
        problem=problem,
        missing=typed.missing(project, given.stage) if problem else [],
        request_key=key or new_request(),
    )


def _kept(
    request: Request, studio: Studio, found: Member, page: Page, sent: Sent, error: InputError
) -> HTMLResponse:
    """Show what was typed and could not be taken, so that nothing of it is lost."""
    project = studio.store.read(found.review, lambda board: board.project)
    texts = {question.id: question.text for question in project.questions}
    return render(
        request,
        "kept.html",
        status=409,
        review=found.review,
        page=page,
        problem=error,
        answers=[(texts.get(name, name), said) for name, said in sent.typed.answers.items()],
        typed=sent.typed,
    )


def _correction(studio: Studio, review: str, sent: Sent) -> str | None:
    """Return the text as it is to be; None where it was left as it is."""
    written, given = sent.typed.correction, sent.assignment
    if written is None:
        return None

    def look(board: Board) -> str | None:
        item = board.items.get(given.item)
        stage = next((s for s in board.project.flow if s.id == given.stage), None)
        if item is None or stage is None or stage.corrects is None:
            return None
        return str(item.fields.get(stage.corrects.field) or "")

    present = studio.store.read(review, look)
    unchanged = present is not None and _plain(written) == _plain(present)
    return None if unchanged else written


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()
