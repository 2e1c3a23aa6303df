"""The manager's pages for items: a list with search and filter, an item's history, corrections."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review import corrections
from contrafact.review.corrections import editable_fields, set_aside_by
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
)

FIELD = "field."
"""The prefix of an item's field names in a form."""
PAGE_ITEMS = 50
"""The number of items on a page of the list."""

router = APIRouter(prefix="/manage/r/{review:review}/items")


async def written_fields(request: Request) -> dict[str, str]:
    """Return an item's fields from a form, with line ends as in files."""
    form = await request.form()
    return {
        name.removeprefix(FIELD): value.replace("\r\n", "\n")
        for name, value in form.items()
        if name.startswith(FIELD) and isinstance(value, str)
    }


TheFields = Annotated[dict[str, str], Depends(written_fields)]


@router.get("", name="manage_items")
def items(
    page: TheReviewPage,
    text: Annotated[str, Query(max_length=200)] = "",
    at: Annotated[str, Query(alias="state", max_length=200)] = "",
    number: Annotated[int, Query(alias="page", ge=1, lt=10**9)] = 1,
    changed: Annotated[int, Query(ge=0, lt=10**9)] = 0,
) -> HTMLResponse:
    """Show the items that match a search.

    Args:
        text: Words that must all occur in an item's id, its texts, or its votes (the voter's name,
            the verdict, the comment, or ``flag``).
        at: A stage, an outcome, or ``open`` for all items that have not ended.
        changed: The number of items that were just changed.
    """

    def reader(state: ReviewState) -> dict[str, Any]:
        every = [item for item in state.items.values() if _is_at(item, at)]
        words = text.casefold().split()
        matching = [item for item in every if _has_words(item, state.project, words)]
        pages = max(1, -(-len(matching) // PAGE_ITEMS))
        shown = min(number, pages)
        some = matching[(shown - 1) * PAGE_ITEMS : shown * PAGE_ITEMS]
        return {
            "found": len(matching),
            "total": len(state.items),
            "page": shown,
            "pages": pages,
            "rows": [_row(state, item) for item in some],
            "states": _places(state),
            "stages": _judged(state.project),
        }

    return page.render(
        "manage_items.html",
        text=text,
        at=at,
        changed=changed,
        page_path=lambda other: page.path("manage_items", text=text, state=at, page=str(other)),
        item_path=lambda name: page.path("manage_item", id=name),
        **page.studio.store.read(page.review, reader),
    )


@router.post("", name="correct_items")
def correct(
    page: TheReviewPage,
    item: Annotated[list[str] | None, Form()] = None,
    reason: Text = "",
    stage: Text = "",
    what: Annotated[str, Form(pattern="^(reopen|withdraw)$")] = "reopen",
) -> Response:
    """Reopen or withdraw items, and show the same list again."""
    act, done = page.studio.store.act, 0
    chosen, problems = list(dict.fromkeys(item or ())), []
    if not chosen:
        raise NotAllowed("no item is chosen", hint="tick at least one")
    for name in chosen:
        try:
            if what == "withdraw":
                act(page.review, corrections.withdraw, page.who, name, reason)
            else:
                act(page.review, corrections.reopen, page.who, name, reason, stage or None)
        except NotAllowed as error:
            problems.append(f"{name}: {error}")
        else:
            done += 1
            page.log(f"item {'withdrawn' if what == 'withdraw' else 'reopened'}", name)
    if problems:
        raise NotAllowed(f"{done:,} of {len(chosen):,} items were changed; {'. '.join(problems)}")
    if done == 1:
        return page.go_to("manage_item", id=chosen[0])
    shown = page.request.query_params
    kept = {name: shown[name] for name in ("text", "state", "page") if name in shown}
    return page.go_to("manage_items", **kept, changed=str(done))


@router.post("/edit", name="edit_item")
def edit(page: TheReviewPage, fields: TheFields, item: Text, reason: Text = "") -> Response:
    """Change an item's fields, and send it back to the first stage."""
    try:
        if not page.studio.store.act(page.review, corrections.edit, page.who, item, reason, fields):
            raise NotAllowed("no field was changed", hint="change one, or close the form")
    except InputError as error:
        written = {"reason": reason, **fields}
        return _item(page, item, status=409, problem=error, written=written)
    page.log("item edited", item)
    return page.go_to("manage_item", id=item)


@router.post("/retract", name="retract_decision")
def retract(
    page: TheReviewPage, item: Text, decision: Annotated[int, Form(ge=1)], reason: Text = ""
) -> Response:
    page.studio.store.act(page.review, corrections.retract, page.who, item, reason, decision)
    page.log("decision taken back", f"{item}: event {decision}")
    return page.go_to("manage_item", id=item)


@router.get("/one", name="manage_item")
def one_item(page: TheReviewPage, id: str) -> HTMLResponse:
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
        item = state.items.get(name)
        return None if item is None else _details(state, item)

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
        history=[(event, event.seq in aside, _event_line(event)) for event in history],
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
            (vote, project.stage(vote.stage).title, answered(project, vote.ballot.answers))
            for vote in item.votes
        ],
        "in_hand": [slot.person for slot in item.slots if slot.person and not slot.filled],
        "stages": _judged(project),
    }


def _has_words(item: ReviewItem, project: Project, words: list[str]) -> bool:
    parts = [item.id, *(str(item.fields.get(name) or "") for name in project.show)]
    for vote in item.votes:
        parts += [vote.who, vote.ballot.verdict, "flag" * vote.ballot.flagged, vote.ballot.comment]
    whole = "\n".join(parts).casefold()
    return all(word in whole for word in words)


def _is_at(item: ReviewItem, where: str) -> bool:
    if where == "withdrawn":
        return item.withdrawn
    if where == "open":
        return item.outcome is None
    return where in ("", item.stage) or (where == item.outcome and not item.withdrawn)


def _place(item: ReviewItem, project: Project) -> str:
    if item.withdrawn:
        return "withdrawn"
    return project.stage(item.stage).title if item.stage is not None else item.outcome or ""


def _places(state: ReviewState) -> list[tuple[str, str, int]]:
    """Return the stages and outcomes that have items: name, title and number of items."""
    named = [("open", "not ended")]
    named += [(stage.id, stage.title) for stage in state.project.flow]
    named += [(name, name) for name in (*OUTCOMES, "withdrawn")]
    counted = [
        (name, title, sum(_is_at(item, name) for item in state.items.values()))
        for name, title in named
    ]
    return [place for place in counted if place[2]]


def _row(state: ReviewState, item: ReviewItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": summary(state.project, item),
        "where": _place(item, state.project),
        "votes": [(vote.who, vote.ballot.verdict, vote.ballot.flagged) for vote in item.votes],
        "comments": sum(bool(vote.ballot.comment) for vote in item.votes),
    }


def _editable(project: Project, fields: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
    needed = needed_fields(project)
    return [
        (name, name.replace("_", " "), str(fields.get(name) or ""), name in needed)
        for name in editable_fields(project)
    ]


def _judged(project: Project) -> list[tuple[str, str]]:
    return [(stage.id, stage.title) for stage in project.flow if not stage.barrier]


def _event_line(event: Event) -> str:
    body = event.body
    parts = [str(body[name]) for name in ("verdict", "comment", "text", "why") if body.get(name)]
    changed = body.get("fields", {}) if current_kind(event) == "corrected" else {}
    return ": ".join([*parts, *(f"{name} is “{text}”" for name, text in changed.items())])
