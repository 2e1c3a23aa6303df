"""The manager's pages of items: a list to search and filter, an item's history, corrections.

All of these pages are for managers.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request
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
from contrafact.review.web.access import ManagerPage, TheReviewPage
from contrafact.review.web.item_view import cached_diff, is_undecided, when_shown
from contrafact.review.web.studio import request_key

__all__ = ["router"]

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
    page: TheReviewPage,
    text: str = "",
    state: str = "",
    person: str = "",
    verdict: str = "",
    flagged: bool = False,
    commented: bool = False,
    at: Annotated[int, Query(alias="page")] = 1,
) -> HTMLResponse:
    """Show the items that are looked for."""
    wanted = ItemFilter(text[:200], state, person, verdict, flagged, commented)
    return _list(page, wanted, at=at)


_DONE = {"withdraw": "withdrawn", "reserve": "reserved", "reopen": "reopened"}


@router.post("", name="correct_items")
def correct(
    page: TheReviewPage,
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
            about = Correction(page.who, name, reason)
            if what == "withdraw":
                page.studio.store.withdraw(page.review, about)
            elif what == "reserve":
                page.studio.store.reserve(page.review, name, page.who, person or None)
            else:
                page.studio.store.reopen(page.review, about, stage or None)
        except NotAllowed as error:
            problems.append(f"{name}: {error}")
        else:
            done.append(name)
            page.log(f"item {_DONE[what]}", name)
    if one and chosen and not problems:
        return page.go_to("manage_item", id=chosen[0])
    message = f"{len(done):,} of {len(chosen):,} items: done." if done else ""
    status = 409 if problems else 200
    wanted, at = _listed(listed)
    return _list(page, wanted, at=at, status=status, message=message, problems=problems)


@router.post("/add", name="add_item")
def add(
    page: TheReviewPage,
    fields: TheFields,
    id: Text,
    reason: Text = "",
) -> Response:
    """Add one item."""
    name = id.strip()
    try:
        if not page.studio.store.add_item(page.review, Correction(page.who, name, reason), fields):
            raise NotAllowed(f"there is the same item '{name[:40]}' already")
    except InputError as error:
        written = {"id": name, "reason": reason, **fields}
        return _list(page, ItemFilter(), status=409, problems=[str(error)], written=written)
    page.log("item added", name)
    return page.go_to("manage_item", id=name)


@router.post("/edit", name="edit_item")
def edit(
    page: TheReviewPage,
    fields: TheFields,
    item: Text,
    reason: Text = "",
) -> Response:
    """Change what an item shows; it begins anew."""
    try:
        if not page.studio.store.edit(page.review, Correction(page.who, item, reason), fields):
            raise NotAllowed("nothing is changed", hint="change a field, or leave it as it is")
    except InputError as error:
        written = {"reason": reason, **fields}
        return _item(page, item, status=409, problem=error, written=written)
    page.log("item edited", item)
    return page.go_to("manage_item", id=item)


@router.post("/retract", name="retract_decision")
def retract(
    page: TheReviewPage,
    item: Text,
    decision: Annotated[int, Form(ge=1)],
    reason: Text = "",
) -> Response:
    """Take one decision back, and what was built on it."""
    try:
        page.studio.store.retract(page.review, Correction(page.who, item, reason), decision)
    except InputError as error:
        return _item(page, item, status=409, problem=error)
    page.log("decision taken back", f"{item}: event {decision}")
    return page.go_to("manage_item", id=item)


@router.get("/one", name="manage_item")
def one_item(page: TheReviewPage, id: str) -> HTMLResponse:
    """Show an item: what it is, where it is, who said what, and everything that happened to it."""
    return _item(page, id)


def _item(
    page: ManagerPage,
    name: str,
    *,
    status: int = 200,
    problem: InputError | None = None,
    written: Mapping[str, str] | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any] | None:
        found = state.items.get(name)
        return None if found is None else _details(state, found)

    details = page.studio.store.read(page.review, look)
    if details is None:
        raise HTTPException(404, "There is no such item.")
    history = page.studio.store.item_history(page.review, name)
    aside = {seq for event in history for seq in set_aside_by(event)}
    return page.render(
        "manage_item.html",
        status=status,
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
        ]
        + [("check", "undecided")] * is_undecided(item.fields),
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
    page: ManagerPage,
    wanted: ItemFilter,
    *,
    at: int = 1,
    status: int = 200,
    message: str = "",
    problems: list[str] | None = None,
    written: Mapping[str, str] | None = None,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any]:
        found = find_items(state, wanted)
        pages = max(1, -(-len(found) // PAGE_ITEMS))
        shown = min(max(1, at), pages)
        some = found[(shown - 1) * PAGE_ITEMS : shown * PAGE_ITEMS]
        return {
            "found": len(found),
            "total": len(state.items),
            "page": shown,
            "pages": pages,
            "rows": [_row(state, item) for item in some],
            "states": states_of(state),
            "people": sorted({who for item in state.items.values() for who in people_of(item)}),
            "verdicts": verdicts_of(state),
            "stages": _judged(state),
            "team": sorted(one.name for one in state.people.values() if one.active and one.roles),
            "editable": _editable(state.project, {}),
        }

    made = page.studio.store.read(page.review, look)
    asked = {name: str(value) for name, value in vars(wanted).items() if value}

    def page_path(number: int) -> str:
        return page.path("manage_items", **{**asked, "page": str(number)})

    return page.render(
        "manage_items.html",
        listed=urlencode({**asked, "page": made["page"]}),
        status=status,
        wanted=wanted,
        message=message,
        problems=problems or [],
        written=written or {},
        page_path=page_path,
        item_path=lambda name: page.path("manage_item", id=name),
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


def _event_line(event: Event) -> str:
    """Return what an event brings, in a few words."""
    body = event.body
    parts = [
        str(body[name]) for name in ("verdict", "comment", "text", "why", "for") if body.get(name)
    ]
    changed = [f"{name} is “{text}”" for name, text in body.get("fields", {}).items()]
    corrected = current_kind(event) == "corrected"
    return ": ".join(parts + changed * corrected)
