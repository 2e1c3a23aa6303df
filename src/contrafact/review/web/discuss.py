"""The pages on which a group talks about items: what is up for discussion, and an item's thread.

Those who have the role of a discussion see each other's names here, and what was answered before by
role alone.
"""

from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.answers import Assignment
from contrafact.review.discussion import can_record, say, under_discussion, voices
from contrafact.review.state import ReviewState
from contrafact.review.web.access import LongText, MemberPage, Text, TheKey, TheMemberPage
from contrafact.review.web.item_view import item_view, summary
from contrafact.review.web.studio import redirect_to, request_key

router = APIRouter()


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
def member_say(page: TheMemberPage, key: TheKey, item: Text, text: LongText) -> Response:
    """Write into the thread of an item that is up for discussion."""
    written, own_key = text.replace("\r\n", "\n"), page.own_key(key)
    try:
        page.studio.store.act(page.review, say, page.who, item, written, request=own_key)
    except InputError as error:
        return _discussion(page, item, problem=error, written=text)
    return redirect_to(f"{page.path('discussion', id=item)}#thread")


def _discussion(
    page: MemberPage, name: str, *, problem: InputError | None = None, written: str = ""
) -> HTMLResponse:
    def reader(state: ReviewState) -> dict[str, Any] | None:
        discussed = under_discussion(state, state.people.get(page.who))
        item = next((one for one in discussed if one.id == name), None)
        if item is None:
            return None
        stage = state.project.stage(str(item.stage))
        return {
            "view": item_view(state, page.who, Assignment(item.id, stage.id, item.round)),
            "spoken": sorted(voices(item)),
            "needed": stage.voices,
            "ready": can_record(stage, item, page.who),
        }

    found = page.studio.store.read(page.review, reader)
    if found is None:
        gone = "This item is not up for discussion by you, or not any more."
        raise problem or HTTPException(404, gone)
    return page.render(
        "discussion.html",
        status=200 if problem is None else 422,
        problem=problem,
        written=written,
        request_key=request_key(),
        **found,
    )
