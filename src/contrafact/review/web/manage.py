"""The manager's pages."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from contrafact.review.store.accounts import Account
from contrafact.review.web.access import require_role, the_studio
from contrafact.review.web.pages import render
from contrafact.review.web.studio import Studio

__all__ = ["router"]

router = APIRouter(prefix="/manage")


@router.get("", name="manage")
def manage(
    request: Request,
    account: Annotated[Account, Depends(require_role("manager"))],
    studio: Annotated[Studio, Depends(the_studio)],
) -> HTMLResponse:
    """Show every review."""
    return render(request, "manage.html", reviews=studio.store.reviews())
