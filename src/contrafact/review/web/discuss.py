"""The pages for discussions: the items under discussion, and an item's thread.

People see the names of others in the thread, but only the roles of earlier voters.
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
    return _discussion(page, id)


@router.post("/r/{review:review}/discuss", name="say")
def member_say(page: TheMemberPage, key: TheKey, item: Text, text: LongText) -> Response:
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
        item = next((item for item in discussed if item.id == name), None)
        if item is None:
            return None
        stage = state.project.stage(str(item.stage))
        return {
            "view": item_view(state, page.who, Assignment(item.id, stage.id, item.round)),
            "spoken": sorted(voices(item)),
            "needed": stage.voices,
            "ready": can_record(stage, item, page.who),
        }

    context = page.studio.store.read(page.review, reader)
    if context is None:
        raise problem or HTTPException(404, "You cannot discuss this item, or no longer.")
    return page.render(
        "discussion.html",
        status=200 if problem is None else 422,
        problem=problem,
        written=written,
        request_key=request_key(),
        **context,
    )
