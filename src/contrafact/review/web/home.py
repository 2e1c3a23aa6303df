"""The first page, and a review's own: what is asked, and the way to the next item."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from contrafact.review.board import Board
from contrafact.review.store.accounts import Account
from contrafact.review.web.access import Member, current_account, member, the_studio
from contrafact.review.web.pages import guidelines_html, render
from contrafact.review.web.studio import Studio

__all__ = ["router"]

router = APIRouter()


@router.get("/", name="home")
def home(
    request: Request,
    account: Annotated[Account, Depends(current_account)],
    studio: Annotated[Studio, Depends(the_studio)],
) -> HTMLResponse:
    """Show the reviews that somebody has a part in."""

    def look(board: Board) -> tuple[str, tuple[str, ...]] | None:
        person = board.people.get(account.name)
        return (board.project.title, person.roles) if person and person.active else None

    found = {name: studio.store.read(name, look) for name in studio.store.reviews()}
    own = [(name, *told) for name, told in found.items() if told is not None]
    return render(request, "home.html", reviews=own)


@router.get("/r/{review:review}", name="review_page")
def review_page(
    request: Request,
    found: Annotated[Member, Depends(member)],
    studio: Annotated[Studio, Depends(the_studio)],
) -> HTMLResponse:
    """Show a review's guidelines and what somebody does in it."""
    project = studio.store.read(found.review, lambda board: board.project)
    return render(
        request,
        "review.html",
        review=found.review,
        title=project.title,
        roles=found.person.roles,
        adjudicates=found.adjudicates,
        guidelines=guidelines_html(project.guidelines),
        stages=[s for s in project.stages if set(s.roles) & set(found.person.roles)],
    )
