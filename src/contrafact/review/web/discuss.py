"""The pages on which people talk about items: what is up for discussion, an item's thread, replies.

Those who have the role of a discussion see each other's names here, and what was answered before by
role alone. A manager writes into any item's thread, from the item's page.
"""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.answers import Assignment
from contrafact.review.discussion import NewRemark, can_record, thread, under_discussion, voices
from contrafact.review.events import NotAllowed
from contrafact.review.state import ReviewState
from contrafact.review.web.access import Member, TheMember, TheReviewPage, TheStudio
from contrafact.review.web.item_view import item_view, when_shown
from contrafact.review.web.studio import Studio, own_key, redirect_to, render, request_key

__all__ = ["router"]

router = APIRouter()
LongText = Annotated[str, Form(max_length=20_000)]
Key = Annotated[str, Form(alias="request", pattern="^[A-Za-z0-9_-]{8,64}$")]
_SHORT = 160  # characters of an item's text in the list


@router.get("/r/{review:review}/discuss", name="discussions")
def discussions(request: Request, member: TheMember, studio: TheStudio) -> HTMLResponse:
    """Show what is up for discussion by somebody."""
    who = member.person.name

    def look(state: ReviewState) -> list[tuple[str, str, int, int, bool]]:
        rows = []
        for item in under_discussion(state, member.person):
            shown = " · ".join(str(item.fields.get(name) or "") for name in state.project.show)
            spoken, stage = voices(item), state.project.stage(str(item.stage))
            text = shown if len(shown) <= _SHORT else f"{shown[: _SHORT - 1]}…"
            rows.append((item.id, text, len(spoken), stage.voices, who in spoken))
        return rows

    rows = studio.store.read(member.review, look)
    return render(request, "discussions.html", review=member.review, rows=rows)


@router.get("/r/{review:review}/discuss/one", name="discussion")
def discussion(request: Request, member: TheMember, studio: TheStudio, id: str) -> HTMLResponse:
    """Show an item that is up for discussion, what was answered before, and its thread."""
    return _page(request, studio, member, id)


@router.post("/r/{review:review}/discuss", name="say")
def say(
    request: Request,
    member: TheMember,
    studio: TheStudio,
    key: Key,
    item: Annotated[str, Form(max_length=1000)],
    text: LongText,
    reply_to: Annotated[int | None, Form(ge=1)] = None,
) -> Response:
    """Write into the thread of an item that is up for discussion."""
    who = member.person.name
    try:
        written = text.replace("\r\n", "\n")
        remark = NewRemark(item, written, reply_to, request=own_key(key, who))
        studio.store.say(member.review, who, remark)
    except InputError as error:
        return _page(request, studio, member, item, problem=error, written=text, reply_to=reply_to)
    path = request.app.url_path_for("discussion", review=member.review)
    return redirect_to(f"{path}?{urlencode({'id': item})}#thread")


@router.post("/manage/r/{review:review}/items/say", name="manager_say")
def manager_say(
    page: TheReviewPage,
    key: Key,
    item: Annotated[str, Form(max_length=1000)],
    text: LongText,
    reply_to: Annotated[int | None, Form(ge=1)] = None,
) -> Response:
    """Write into any item's thread."""
    written, own = text.replace("\r\n", "\n"), own_key(key, page.who)
    remark = NewRemark(item, written, reply_to, manages=True, request=own)
    page.studio.store.say(page.review, page.who, remark)
    page.log("wrote into a thread", item)
    return redirect_to(f"{page.path('manage_item', id=item)}#thread")


def _page(
    request: Request,
    studio: Studio,
    member: Member,
    name: str,
    *,
    problem: InputError | None = None,
    written: str = "",
    reply_to: int | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any] | None:
        item = next((i for i in under_discussion(state, member.person) if i.id == name), None)
        if item is None:
            return None
        stage = state.project.stage(str(item.stage))
        place = Assignment(item.id, stage.id, item.round)
        return {
            "view": item_view(state, member.person.name, place),
            "entries": [(entry, when_shown(entry.when)) for entry in thread(item)],
            "spoken": sorted(voices(item)),
            "needed": stage.voices,
            "ready": can_record(stage, item, member.person.name),
        }

    found = studio.store.read(member.review, look)
    if found is None and isinstance(problem, NotAllowed):
        raise problem
    if found is None:
        raise HTTPException(404, "This item is not up for discussion by you, or not any more.")
    return render(
        request,
        "discussion.html",
        status=200 if problem is None else 422,
        review=member.review,
        problem=problem,
        written=written,
        replied=reply_to,
        request_key=request_key,
        **found,
    )
