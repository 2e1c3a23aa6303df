"""The pages on which people talk about items: what is up for discussion, an item's thread, replies.

Those who have the role of a discussion see each other's names here, and what was answered before by
role alone. A manager writes into any item's thread, from the item's page.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from contrafact.errors import InputError
from contrafact.review.answers import Assignment
from contrafact.review.discussion import can_record, say, under_discussion, voices
from contrafact.review.events import NotAllowed
from contrafact.review.state import ReviewState
from contrafact.review.web.access import KEY, MemberPage, ReviewPage, TheMemberPage, TheReviewPage
from contrafact.review.web.item_view import item_view, summary, thread_entries
from contrafact.review.web.studio import redirect_to, request_key

__all__ = ["router"]

router = APIRouter()


class RemarkForm(BaseModel):
    """What is written into an item's thread."""

    request: str = Field(pattern=KEY)
    item: str = Field(max_length=1000)
    text: str = Field(max_length=20_000)
    reply_to: int | None = Field(default=None, ge=1)


TheRemark = Annotated[RemarkForm, Form()]


@router.get("/r/{review:review}/discuss", name="discussions")
def discussions(page: TheMemberPage) -> HTMLResponse:
    """Show what is up for discussion by somebody."""

    def reader(state: ReviewState) -> list[tuple[str, str, int, int, bool]]:
        rows = []
        for item in under_discussion(state, state.people.get(page.who)):
            spoken, needed = voices(item), state.project.stage(str(item.stage)).voices
            text = summary(state.project, item)
            rows.append((item.id, text, len(spoken), needed, page.who in spoken))
        return rows

    return page.render("discussions.html", rows=page.studio.store.read(page.review, reader))


@router.get("/r/{review:review}/discuss/one", name="discussion")
def discussion(page: TheMemberPage, id: str) -> HTMLResponse:
    """Show an item that is up for discussion, what was answered before, and its thread."""
    return _discussion(page, id)


@router.post("/r/{review:review}/discuss", name="say")
def member_say(page: TheMemberPage, form: TheRemark) -> Response:
    """Write into the thread of an item that is up for discussion."""
    try:
        _say(page, form)
    except InputError as error:
        return _discussion(page, form.item, problem=error, sent=form)
    return redirect_to(f"{page.path('discussion', id=form.item)}#thread")


@router.post("/manage/r/{review:review}/items/say", name="manager_say")
def manager_say(page: TheReviewPage, form: TheRemark) -> Response:
    """Write into any item's thread."""
    _say(page, form, manages=True)
    page.log("wrote into a thread", form.item)
    return redirect_to(f"{page.path('manage_item', id=form.item)}#thread")


def _say(page: ReviewPage, form: RemarkForm, *, manages: bool = False) -> None:
    text = form.text.replace("\r\n", "\n")
    page.studio.store.act(
        page.review,
        say,
        page.who,
        form.item,
        text,
        reply_to=form.reply_to,
        manages=manages,
        request=page.own_key(form.request),
    )


def _discussion(
    page: MemberPage,
    name: str,
    *,
    problem: InputError | None = None,
    sent: RemarkForm | None = None,
) -> HTMLResponse:
    def reader(state: ReviewState) -> dict[str, Any] | None:
        discussed = under_discussion(state, state.people.get(page.who))
        item = next((one for one in discussed if one.id == name), None)
        if item is None:
            return None
        stage = state.project.stage(str(item.stage))
        return {
            "view": item_view(state, page.who, Assignment(item.id, stage.id, item.round)),
            "entries": thread_entries(item),
            "spoken": sorted(voices(item)),
            "needed": stage.voices,
            "ready": can_record(stage, item, page.who),
        }

    found = page.studio.store.read(page.review, reader)
    if found is None and isinstance(problem, NotAllowed):
        raise problem
    if found is None:
        raise HTTPException(404, "This item is not up for discussion by you, or not any more.")
    return page.render(
        "discussion.html",
        status=200 if problem is None else 422,
        problem=problem,
        written="" if sent is None else sent.text,
        replied=None if sent is None else sent.reply_to,
        request_key=request_key,
        **found,
    )
