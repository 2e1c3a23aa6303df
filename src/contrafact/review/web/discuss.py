"""The pages on which people talk about items: what is up for discussion, an item's thread, replies.

Those who have the role of a discussion see each other's names here, and what was answered before by
role alone. A manager writes into any item's thread, from the item's page.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.answers import Assignment
from contrafact.review.discussion import NewRemark, can_record, thread, under_discussion, voices
from contrafact.review.events import NotAllowed
from contrafact.review.state import ReviewState
from contrafact.review.web.access import MemberPage, TheMemberPage, TheReviewPage
from contrafact.review.web.item_view import item_view, when_shown
from contrafact.review.web.studio import redirect_to, request_key

__all__ = ["router"]

router = APIRouter()
LongText = Annotated[str, Form(max_length=20_000)]
Key = Annotated[str, Form(alias="request", pattern="^[A-Za-z0-9_-]{8,64}$")]
_SHORT = 160  # characters of an item's text in the list


@router.get("/r/{review:review}/discuss", name="discussions")
def discussions(page: TheMemberPage) -> HTMLResponse:
    """Show what is up for discussion by somebody."""

    def look(state: ReviewState) -> list[tuple[str, str, int, int, bool]]:
        rows = []
        for item in under_discussion(state, state.people.get(page.who)):
            shown = " · ".join(str(item.fields.get(name) or "") for name in state.project.show)
            spoken, stage = voices(item), state.project.stage(str(item.stage))
            text = shown if len(shown) <= _SHORT else f"{shown[: _SHORT - 1]}…"
            rows.append((item.id, text, len(spoken), stage.voices, page.who in spoken))
        return rows

    rows = page.studio.store.read(page.review, look)
    return page.render("discussions.html", rows=rows)


@router.get("/r/{review:review}/discuss/one", name="discussion")
def discussion(page: TheMemberPage, id: str) -> HTMLResponse:
    """Show an item that is up for discussion, what was answered before, and its thread."""
    return _discussion(page, id)


@router.post("/r/{review:review}/discuss", name="say")
def say(
    page: TheMemberPage,
    key: Key,
    item: Annotated[str, Form(max_length=1000)],
    text: LongText,
    reply_to: Annotated[int | None, Form(ge=1)] = None,
) -> Response:
    """Write into the thread of an item that is up for discussion."""
    written = text.replace("\r\n", "\n")
    remark = NewRemark(item, written, reply_to, request=page.own_key(key))
    try:
        page.studio.store.say(page.review, page.who, remark)
    except InputError as error:
        return _discussion(page, item, problem=error, written=text, reply_to=reply_to)
    return redirect_to(f"{page.path('discussion', id=item)}#thread")


@router.post("/manage/r/{review:review}/items/say", name="manager_say")
def manager_say(
    page: TheReviewPage,
    key: Key,
    item: Annotated[str, Form(max_length=1000)],
    text: LongText,
    reply_to: Annotated[int | None, Form(ge=1)] = None,
) -> Response:
    """Write into any item's thread."""
    written = text.replace("\r\n", "\n")
    remark = NewRemark(item, written, reply_to, manages=True, request=page.own_key(key))
    page.studio.store.say(page.review, page.who, remark)
    page.log("wrote into a thread", item)
    return redirect_to(f"{page.path('manage_item', id=item)}#thread")


def _discussion(
    page: MemberPage,
    name: str,
    *,
    problem: InputError | None = None,
    written: str = "",
    reply_to: int | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any] | None:
        item = next(
            (i for i in under_discussion(state, state.people.get(page.who)) if i.id == name), None
        )
        if item is None:
            return None
        stage = state.project.stage(str(item.stage))
        place = Assignment(item.id, stage.id, item.round)
        return {
            "view": item_view(state, page.who, place),
            "entries": [(entry, when_shown(entry.when)) for entry in thread(item)],
            "spoken": sorted(voices(item)),
            "needed": stage.voices,
            "ready": can_record(stage, item, page.who),
        }

    found = page.studio.store.read(page.review, look)
    if found is None and isinstance(problem, NotAllowed):
        raise problem
    if found is None:
        raise HTTPException(404, "This item is not up for discussion by you, or not any more.")
    return page.render(
        "discussion.html",
        status=200 if problem is None else 422,
        problem=problem,
        written=written,
        replied=reply_to,
        request_key=request_key,
        **found,
    )
