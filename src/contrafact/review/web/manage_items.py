"""The manager's pages of items: a list to search and filter, an item's history, corrections."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field, ValidationError

from contrafact.errors import InputError
from contrafact.review import corrections
from contrafact.review.corrections import Correction, editable_fields, set_aside_by
from contrafact.review.events import Event, NotAllowed, current_kind
from contrafact.review.project import OUTCOMES, Project
from contrafact.review.setup import needed_fields
from contrafact.review.state import ReviewItem, ReviewState
from contrafact.review.web.access import ManagerPage, Text, TheReviewPage
from contrafact.review.web.item_view import (
    answered,
    compared_sides,
    is_undecided,
    shown_fields,
    summary,
    thread_entries,
    when_shown,
)
from contrafact.review.web.studio import request_key

__all__ = ["router"]

FIELD = "field."
"""What the name of a field of an item begins with in a form; the field's name follows."""
PAGE_ITEMS = 50
"""Items on a page of the list."""

router = APIRouter(prefix="/manage/r/{review:review}/items")


class ItemFilter(BaseModel):
    """What is looked for; what is empty does not count.

    ``text`` are words that stand in the item's id, what it shows, or a comment on it; all of them.
    ``state`` is a stage, an outcome, or ``open``: everything whose way has not ended. ``person`` is
    somebody who has decided on it, or has it in hand.
    """

    text: str = Field(default="", max_length=200)
    state: str = Field(default="", max_length=200)
    person: str = Field(default="", max_length=200)
    verdict: str = Field(default="", max_length=200)
    flagged: bool = False
    commented: bool = False
    page: int = Field(default=1, ge=1, lt=10**9)


TheFilter = Annotated[ItemFilter, Query()]


async def written_fields(request: Request) -> dict[str, str]:
    """Return an item's fields as a form has them, with lines ended as in texts."""
    form = await request.form()
    return {
        name.removeprefix(FIELD): value.replace("\r\n", "\n")
        for name, value in form.items()
        if name.startswith(FIELD) and isinstance(value, str)
    }


TheFields = Annotated[dict[str, str], Depends(written_fields)]


@router.get("", name="manage_items")
def items(page: TheReviewPage, wanted: TheFilter) -> HTMLResponse:
    """Show the items that are looked for."""
    return _list(page, wanted)


_DONE = {"withdraw": "withdrawn", "reopen": "reopened"}


@router.post("", name="correct_items")
def correct(
    page: TheReviewPage,
    item: Annotated[list[str] | None, Form()] = None,
    reason: Text = "",
    stage: Text = "",
    what: Annotated[str, Form(pattern="^(reopen|withdraw)$")] = "reopen",
    one: bool = Form(False),
    listed: Text = "",
) -> Response:
    """Send items back to a stage, or take them out of the review.

    ``listed`` is the query of the list that they were chosen from, which is shown again.
    """
    chosen = list(dict.fromkeys(item or ()))
    done: list[str] = []
    problems: list[str] = [] if chosen else ["no item is chosen"]
    for name in chosen:
        try:
            about = Correction(page.who, name, reason)
            if what == "withdraw":
                page.studio.store.act(page.review, corrections.withdraw, about)
            else:
                page.studio.store.act(page.review, corrections.reopen, about, stage or None)
        except NotAllowed as error:
            problems.append(f"{name}: {error}")
        else:
            done.append(name)
            page.log(f"item {_DONE[what]}", name)
    if one and chosen and not problems:
        return page.go_to("manage_item", id=chosen[0])
    message = f"{len(done):,} of {len(chosen):,} items: done." if done else ""
    status = 409 if problems else 200
    return _list(page, _listed(listed), status=status, message=message, problems=problems)


@router.post("/edit", name="edit_item")
def edit(page: TheReviewPage, fields: TheFields, item: Text, reason: Text = "") -> Response:
    """Change what an item shows; it begins anew."""
    try:
        about = Correction(page.who, item, reason)
        if not page.studio.store.act(page.review, corrections.edit, about, fields):
            raise NotAllowed("nothing is changed", hint="change a field, or leave it as it is")
    except InputError as error:
        written = {"reason": reason, **fields}
        return _item(page, item, status=409, problem=error, written=written)
    page.log("item edited", item)
    return page.go_to("manage_item", id=item)


@router.post("/retract", name="retract_decision")
def retract(
    page: TheReviewPage, item: Text, decision: Annotated[int, Form(ge=1)], reason: Text = ""
) -> Response:
    """Take one decision back, and what was built on it."""
    try:
        about = Correction(page.who, item, reason)
        page.studio.store.act(page.review, corrections.retract, about, decision)
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
    def reader(state: ReviewState) -> dict[str, Any] | None:
        found = state.items.get(name)
        return None if found is None else _details(state, found)

    details = page.studio.store.read(page.review, reader)
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
    shown = shown_fields(project, item.fields)
    return {
        "fields": shown + [("check", "undecided")] * is_undecided(item.fields),
        "sides": compared_sides(project, item.fields),
        "editable": _editable(project, item.fields),
        "where": _place(item, project),
        "why": item.why,
        "votes": [
            (
                vote,
                project.stage(vote.stage).title,
                answered(project, vote.ballot.answers),
                when_shown(vote.when),
            )
            for vote in item.votes
        ],
        "entries": thread_entries(item),
        "in_hand": [slot.person for slot in item.slots if slot.person and not slot.filled],
        "stages": _judged(state),
    }


def _list(
    page: ManagerPage,
    wanted: ItemFilter,
    *,
    status: int = 200,
    message: str = "",
    problems: list[str] | None = None,
) -> HTMLResponse:
    def reader(state: ReviewState) -> dict[str, Any]:
        found = [item for item in state.items.values() if _fits(item, state.project, wanted)]
        pages = max(1, -(-len(found) // PAGE_ITEMS))
        shown = min(wanted.page, pages)
        some = found[(shown - 1) * PAGE_ITEMS : shown * PAGE_ITEMS]
        every = state.items.values()
        return {
            "found": len(found),
            "total": len(state.items),
            "page": shown,
            "pages": pages,
            "rows": [_row(state, item) for item in some],
            "states": _places(state),
            "people": sorted({who for item in every for who in _people_of(item)}),
            "verdicts": sorted({v.ballot.verdict for item in every for v in item.votes}),
            "stages": _judged(state),
        }

    made = page.studio.store.read(page.review, reader)
    asked = {n: str(value) for n, value in wanted if value and n != "page"}

    def page_path(number: int) -> str:
        return page.path("manage_items", **{**asked, "page": str(number)})

    return page.render(
        "manage_items.html",
        listed=urlencode({**asked, "page": made["page"]}),
        status=status,
        wanted=wanted,
        message=message,
        problems=problems or [],
        page_path=page_path,
        item_path=lambda name: page.path("manage_item", id=name),
        **made,
    )


def _fits(item: ReviewItem, project: Project, wanted: ItemFilter) -> bool:
    votes = item.votes
    texts = (item.id, *(str(item.fields.get(name) or "") for name in project.show))
    whole = "\n".join((*texts, *(vote.ballot.comment for vote in votes))).casefold()
    return (
        _is_at(item, wanted.state)
        and (not wanted.person or wanted.person in _people_of(item))
        and (not wanted.verdict or any(v.ballot.verdict == wanted.verdict for v in votes))
        and (not wanted.flagged or any(v.ballot.flagged for v in votes))
        and (not wanted.commented or any(v.ballot.comment for v in votes))
        and all(word in whole for word in wanted.text.casefold().split())
    )


def _is_at(item: ReviewItem, where: str) -> bool:
    if where == "withdrawn":
        return item.withdrawn
    if where == "open":
        return item.outcome is None
    return where in ("", item.stage) or (where == item.outcome and not item.withdrawn)


def _people_of(item: ReviewItem) -> set[str]:
    return {v.who for v in item.votes} | {s.person for s in item.slots if s.person is not None}


def _place(item: ReviewItem, project: Project) -> str:
    """Return where an item is, in words: its stage's title, or its outcome."""
    if item.withdrawn:
        return "withdrawn"
    return project.stage(item.stage).title if item.stage is not None else item.outcome or ""


def _places(state: ReviewState) -> list[tuple[str, str, int]]:
    """Return everywhere that some item is: its name, what it is called, how many are there."""
    named = [("open", "not ended")]
    named += [(stage.id, stage.title) for stage in state.project.flow]
    named += [(name, name) for name in (*OUTCOMES, "withdrawn")]
    counted = [
        (name, title, sum(_is_at(item, name) for item in state.items.values()))
        for name, title in named
    ]
    return [one for one in counted if one[2]]


def _row(state: ReviewState, item: ReviewItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": summary(state.project, item),
        "where": _place(item, state.project),
        "votes": [(vote.who, vote.ballot.verdict, vote.ballot.flagged) for vote in item.votes],
        "comments": sum(bool(vote.ballot.comment) for vote in item.votes),
    }


def _listed(query: str) -> ItemFilter:
    """Return the filter of a list, of its query; the whole list for a query of nobody's making."""
    try:
        return ItemFilter.model_validate(dict(parse_qsl(query)))
    except ValidationError:
        return ItemFilter()


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
    parts = [str(body[name]) for name in ("verdict", "comment", "text", "why") if body.get(name)]
    changed = [f"{name} is “{text}”" for name, text in body.get("fields", {}).items()]
    corrected = current_kind(event) == "corrected"
    return ": ".join(parts + changed * corrected)
