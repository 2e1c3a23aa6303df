"""The annotator's page: one item a screen, the decision, and its undoing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import Response

from contrafact.review.web import screen
from contrafact.review.web.access import Member, member, the_studio
from contrafact.review.web.forms import DESCRIBED, Sent, sent
from contrafact.review.web.studio import Studio

__all__ = ["router"]

router = APIRouter(prefix="/r/{review:review}")
TheMember = Annotated[Member, Depends(member)]
TheStudio = Annotated[Studio, Depends(the_studio)]


@router.get("/work", name="work")
def work(
    request: Request,
    found: TheMember,
    studio: TheStudio,
    again: bool = False,
    last: str | None = None,
) -> Response:
    """Show the next item."""
    return screen.show(request, studio, found, "work", again=again, last=last)


@router.post("/work", name="answer", openapi_extra=DESCRIBED)
def answer(
    request: Request, found: TheMember, studio: TheStudio, form: Annotated[Sent, Depends(sent)]
) -> Response:
    """Take a decision."""
    return screen.answer(request, studio, found, "work", form)


@router.post("/undo", name="undo")
def undo(
    request: Request,
    found: TheMember,
    studio: TheStudio,
    key: Annotated[str, Form(alias="request", pattern="^[A-Za-z0-9_-]{8,64}$")],
) -> Response:
    """Take the last decision back."""
    return screen.take_back(request, studio, found, key)
