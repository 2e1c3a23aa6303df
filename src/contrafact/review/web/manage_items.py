"""The manager's pages of items: a list to search and filter, an item's history, corrections.

All of these pages are for managers.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.corrections import Correction, editable_fields, set_aside_by
from contrafact.review.discussion import thread
from contrafact.review.events import Event, NotAllowed, current_kind
from contrafact.review.item_list import (
    ItemFilter,
    find_items,
    item_state,
    people_of,
    states_of,
    verdicts_of,
)
from contrafact.review.project import Project
from contrafact.review.setup import needed_fields
from contrafact.review.state import ReviewItem, ReviewState
from contrafact.review.web.access import TheManager, TheReview, TheStudio, client_address
from contrafact.review.web.item_view import cached_diff, when_shown
from contrafact.review.web.studio import Studio, redirect_to, render, request_key

__all__ = ["FIELD", "PAGE_ITEMS", "router", "written_fields"]

FIELD = "field."
"""What the name of a field of an item begins with in a form; the field's name follows."""

PAGE_ITEMS = 50
"""Items on a page of the list."""

router = APIRouter(prefix="/manage/r/{review:review}/items")
Text = Annotated[str, Form(max_length=1000)]


async def written_fields(request: Request) -> dict[str, str]:
    """Return an item's fields as a form has them, with lines ended as in texts."""
    form = await request.form()
    return {
        name.removeprefix(FIELD): value.replace("\r\n", "\n")
        for name, value in form.items()
        if name.startswith(FIELD) and isinstance(value, str)
    }


TheFields = Annotated[dict[str, str], Depends(written_fields)]
_SHORT = 160  # characters of an item's text in the list


@router.get("", name="manage_items")
def items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    text: str = "",
    state: str = "",
    person: str = "",
    verdict: str = "",
    flagged: bool = False,
    commented: bool = False,
    page: int = 1,
) -> HTMLResponse:
    """Show the items that are looked for."""
    wanted = ItemFilter(text[:200], state, person, verdict, flagged, commented)
    return _list(request, studio, review, wanted, page=page)


_DONE = {"withdraw": "withdrawn", "reserve": "reserved", "reopen": "reopened"}


@router.post("", name="correct_items")
def correct(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    item: Annotated[list[str] | None, Form()] = None,
    reason: Text = "",
    stage: Text = "",
    what: Annotated[str, Form(pattern="^(reopen|withdraw|reserve)$")] = "reopen",
    person: Text = "",
    one: bool = Form(False),
    listed: Text = "",
) -> Response:
    """Send items back to a stage, take them out of the review, or set them aside for somebody.

    ``listed`` is the query of the list that they were chosen from, which is shown again.
    """
    chosen = list(dict.fromkeys(item or ()))
    done: list[str] = []
    problems: list[str] = [] if chosen else ["no item is chosen"]
    for name in chosen:
        try:
            about = Correction(account.name, name, reason)
            if what == "withdraw":
                studio.store.withdraw(review, about)
            elif what == "reserve":
                studio.store.reserve(review, name, account.name, person or None)
            else:
                studio.store.reopen(review, about, stage or None)
        except NotAllowed as error:
            problems.append(f"{name}: {error}")
        else:
            done.append(name)
            how = f"item {_DONE[what]}"
            address = client_address(request)
            studio.log_change(account.name, review, how, name, address=address)
    if one and chosen and not problems:
        return redirect_to(_item_path(request, review, chosen[0]))
    message = f"{len(done):,} of {len(chosen):,} items: done." if done else ""
    status = 409 if problems else 200
    wanted, page = _listed(listed)
    return _list(
        *(request, studio, review, wanted),
        page=page,
        status=status,
        message=message,
        problems=problems,
    )


@router.post("/add", name="add_item")
def add(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    fields: TheFields,
    id: Text,
    reason: Text = "",
) -> Response:
    """Add one item."""
    name = id.strip()
    try:
        if not studio.store.add_item(review, Correction(account.name, name, reason), fields):
            raise NotAllowed(f"there is the same item '{name[:40]}' already")
    except InputError as error:
        written = {"id": name, "reason": reason, **fields}
        return _list(
            *(request, studio, review, ItemFilter()),
            status=409,
            problems=[str(error)],
            written=written,
        )
    return _corrected(request, studio, account.name, review, "item added", name)


@router.post("/edit", name="edit_item")
def edit(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    fields: TheFields,
    item: Text,
    reason: Text = "",
) -> Response:
    """Change what an item shows; it begins anew."""
    try:
        if not studio.store.edit(review, Correction(account.name, item, reason), fields):
            raise NotAllowed("nothing is changed", hint="change a field, or leave it as it is")
    except InputError as error:
        written = {"reason": reason, **fields}
        return _item(request, studio, review, item, status=409, problem=error, written=written)
    return _corrected(request, studio, account.name, review, "item edited", item)


@router.post("/retract", name="retract_decision")
def retract(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    item: Text,
    decision: Annotated[int, Form(ge=1)],
    reason: Text = "",
) -> Response:
    """Take one decision back, and what was built on it."""
    try:
        studio.store.retract(review, Correction(account.name, item, reason), decision)
    except InputError as error:
        return _item(request, studio, review, item, status=409, problem=error)
    detail = f"{item}: event {decision}"
    address = client_address(request)
    studio.log_change(account.name, review, "decision taken back", detail, address=address)
    return redirect_to(_item_path(request, review, item))


@router.get("/one", name="manage_item")
def one_item(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio, id: str
) -> HTMLResponse:
    """Show an item: what it is, where it is, who said what, and everything that happened to it."""
    return _item(request, studio, review, id)


def _corrected(
    request: Request, studio: Studio, who: str, review: str, action: str, item: str
) -> Response:
    studio.log_change(who, review, action, item, address=client_address(request))
    return redirect_to(_item_path(request, review, item))


def _item(
    request: Request,
    studio: Studio,
    review: str,
    name: str,
    *,
    status: int = 200,
    problem: InputError | None = None,
    written: Mapping[str, str] | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any] | None:
        found = state.items.get(name)
        return None if found is None else _details(state, found)

    details = studio.store.read(review, look)
    if details is None:
        raise HTTPException(404, "There is no such item.")
    history = studio.store.item_history(review, name)
    aside = {seq for event in history for seq in set_aside_by(event)}
    return render(
        request,
        "manage_item.html",
        status=status,
        review=review,
        id=name,
        problem=problem,
        written=written or {},
        request_key=request_key,
        history=[
            (when_shown(event.when), event, event.seq in aside, _event_line(event))
            for event in history
        ],
        **details,
    )


def _details(state: ReviewState, item: ReviewItem) -> dict[str, Any]:
    project = state.project
    compared = project.compare or ()
    parts = (
        cached_diff(*(str(item.fields.get(name) or "") for name in compared)) if compared else ()
    )
    sides = zip(compared, ("added", "removed"), strict=False)
    return {
        "fields": [
            (name.replace("_", " "), str(item.fields.get(name)))
            for name in project.show
            if name not in compared and item.fields.get(name) not in (None, "")
        ],
        "sides": [
            (name.replace("_", " "), tuple(part for part in parts if part.kind != other))
            for name, other in sides
        ],
        "editable": _editable(project, item.fields),
        "where": item_state(item, project),
        "why": item.why,
        "votes": [
            (
                vote,
                project.stage(vote.stage).title,
                [(project.question(name).text, text) for name, text in vote.ballot.answers.items()],
                when_shown(vote.when),
            )
            for vote in item.votes
        ],
        "entries": [(entry, when_shown(entry.when)) for entry in thread(item)],
        "in_hand": [slot.person for slot in item.slots if slot.person and not slot.filled],
        "stages": _judged(state),
    }


def _list(
    request: Request,
    studio: Studio,
    review: str,
    wanted: ItemFilter,
    *,
    page: int = 1,
    status: int = 200,
    message: str = "",
    problems: list[str] | None = None,
    written: Mapping[str, str] | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any]:
        found = find_items(state, wanted)
        pages = max(1, -(-len(found) // PAGE_ITEMS))
        at = min(max(1, page), pages)
        some = found[(at - 1) * PAGE_ITEMS : at * PAGE_ITEMS]
        return {
            "found": len(found),
            "total": len(state.items),
            "page": at,
            "pages": pages,
            "rows": [_row(state, item) for item in some],
            "states": states_of(state),
            "people": sorted({who for item in state.items.values() for who in people_of(item)}),
            "verdicts": verdicts_of(state),
            "stages": _judged(state),
            "team": sorted(one.name for one in state.people.values() if one.active and one.roles),
            "editable": _editable(state.project, {}),
        }

    made = studio.store.read(review, look)
    asked = {name: value for name, value in vars(wanted).items() if value}

    def page_path(number: int) -> str:
        query = urlencode({**asked, "page": number})
        return f"{request.app.url_path_for('manage_items', review=review)}?{query}"

    return render(
        request,
        "manage_items.html",
        listed=urlencode({**asked, "page": made["page"]}),
        status=status,
        review=review,
        wanted=wanted,
        message=message,
        problems=problems or [],
        written=written or {},
        page_path=page_path,
        item_path=lambda name: _item_path(request, review, name),
        **made,
    )


def _row(state: ReviewState, item: ReviewItem) -> dict[str, Any]:
    project = state.project
    shown = [str(item.fields.get(name) or "") for name in project.show]
    text = " · ".join(part for part in shown if part)
    return {
        "id": item.id,
        "text": text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…",
        "where": item_state(item, project),
        "reserved": state.reserved.get(item.id),
        "votes": [(vote.who, vote.ballot.verdict, vote.ballot.flagged) for vote in item.votes],
        "comments": sum(bool(vote.ballot.comment) for vote in item.votes),
    }


def _listed(query: str) -> tuple[ItemFilter, int]:
    """Return the filter and the page of a list, of its query."""
    given = dict(parse_qsl(query))
    names = ("text", "state", "person", "verdict")
    text, state, person, verdict = (given.get(name, "")[:200] for name in names)
    flagged, commented = (given.get(name) == "True" for name in ("flagged", "commented"))
    number = given.get("page", "")
    page = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 1
    return ItemFilter(text, state, person, verdict, flagged, commented), page


def _editable(project: Project, fields: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return the fields that may be written: name, label, what is in them, and if it is needed."""
    needed = needed_fields(project)
    return [
        (name, name.replace("_", " "), str(fields.get(name) or ""), name in needed)
        for name in editable_fields(project)
    ]


def _judged(state: ReviewState) -> list[tuple[str, str]]:
    return [(one.id, one.title) for one in state.project.flow if not one.barrier]


def _item_path(request: Request, review: str, item: str) -> str:
    return f"{request.app.url_path_for('manage_item', review=review)}?{urlencode({'id': item})}"


def _event_line(event: Event) -> str:
    """Return what an event brings, in a few words."""
    body = event.body
    parts = [
        str(body[name]) for name in ("verdict", "comment", "text", "why", "for") if body.get(name)
    ]
    changed = [f"{name} is “{text}”" for name, text in body.get("fields", {}).items()]
    corrected = current_kind(event) == "corrected"
    return ": ".join(parts + changed * corrected)
