"""What the manager's routes need: a manager, the studio, and a review that is there."""

from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request

from contrafact.review.intake import is_plain
from contrafact.review.store.accounts import Account
from contrafact.review.store.store import UnknownReview
from contrafact.review.web.access import client_address, require_role, the_studio
from contrafact.review.web.manage_figures import FiguresKeeper
from contrafact.review.web.studio import Studio

__all__ = ["TheManager", "TheReview", "TheStudio", "keeper_of", "managed", "note_change"]

TheManager = Annotated[Account, Depends(require_role("manager"))]
TheStudio = Annotated[Studio, Depends(the_studio)]


def managed(review: str, account: TheManager, studio: TheStudio) -> str:
    """Return the review in the path, for a manager.

    Raises:
        HTTPException: 404, there is none of that name.
    """
    try:
        if is_plain(review):
            studio.store.read(review, lambda board: board.seq)
            return review
    except UnknownReview:
        pass
    raise HTTPException(404, "There is no such review.")


TheReview = Annotated[str, Depends(managed)]


def keeper_of(request: Request) -> FiguresKeeper:
    """Return who keeps the figures of the studio's reviews."""
    return cast(FiguresKeeper, request.app.state.figures)


def note_change(
    request: Request, studio: Studio, who: str, review: str, action: str, detail: str
) -> None:
    """Write what a manager did to a review into the audit log, and let figures be computed anew."""
    keeper_of(request).forget(review)
    plain = "".join(c if c.isprintable() else "?" for c in detail)
    studio.accounts.log(action, who, f"{review}: {plain}"[:500], client_address(request))
