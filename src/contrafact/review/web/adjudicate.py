"""The adjudicator's page: what others answered and said, and the decision between them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from contrafact.review.web import screen
from contrafact.review.web.access import Member, require_role, the_studio
from contrafact.review.web.forms import DESCRIBED, Sent, sent
from contrafact.review.web.studio import Studio

__all__ = ["router"]

router = APIRouter(prefix="/r/{review:review}")
TheAdjudicator = Annotated[Member, Depends(require_role("adjudicator"))]
TheStudio = Annotated[Studio, Depends(the_studio)]


@router.get("/adjudicate", name="adjudicate")
def adjudicate(
    request: Request, found: TheAdjudicator, studio: TheStudio, again: bool = False
) -> Response:
    """Show the next disputed item."""
    return screen.show(request, studio, found, "adjudicate", again=again)


@router.post("/adjudicate", name="rule", openapi_extra=DESCRIBED)
def rule(
    request: Request,
    found: TheAdjudicator,
    studio: TheStudio,
    form: Annotated[Sent, Depends(sent)],
) -> Response:
    """Take a decision between others."""
    return screen.answer(request, studio, found, "adjudicate", form)
