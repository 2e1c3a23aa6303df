"""The pages of reviewers: their reviews, one item at a time, their decisions, and undoing the last.

Annotators and adjudicators work on the same page; adjudicators also see earlier answers.
"""

import re
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field

from contrafact.errors import InputError
from contrafact.review import workflow
from contrafact.review.answers import Assignment, Decision, asked_questions
from contrafact.review.assignment import in_hand
from contrafact.review.discussion import under_discussion
from contrafact.review.events import NotAllowed
from contrafact.review.state import ReviewState
from contrafact.review.web.access import (
    KEY,
    MemberPage,
    TheAccount,
    TheKey,
    TheMemberPage,
    TheStudio,
)
from contrafact.review.web.item_view import ItemView, ended_items, item_view, training_feedback
from contrafact.review.web.studio import (
    guidelines_html,
    redirect_to,
    render,
    render_part,
    request_key,
)

ANSWER = "answer."
"""The prefix of answers' field names in a form."""
_VERSION = re.compile(r"[a-z0-9-]{1,40}")

router = APIRouter()


class ItemForm(BaseModel):
    """The fields of an item's form that identify it; the form also has the answers."""

    item: str
    stage: str
    round: int = Field(ge=1, lt=10**9)
    request: str = Field(pattern=KEY)
    training: bool = False
    guidelines: str = ""
    step: Literal["", "first"] = ""


async def read_form(
    request: Request, about: Annotated[ItemForm, Form()]
) -> tuple[Assignment, Decision, bool]:
    """Return the item of a form, the decision, and whether the form had only the first step."""
    sent = [pair for pair in (await request.form()).multi_items() if isinstance(pair[1], str)]
    form = {name: str(text).replace("\r\n", "\n") for name, text in sent}
    if len(form) < len(sent):
        raise HTTPException(422, "The form has a field twice. Reload its page.")
    filled = Decision(
        {name.removeprefix(ANSWER): text for name, text in form.items() if name.startswith(ANSWER)},
        flagged=form.get("flag") == "1",
        comment=form.get("comment", ""),
        correction=form.get("correction"),
        guidelines_version=about.guidelines if _VERSION.fullmatch(about.guidelines) else None,
        request=about.request,
    )
    place = Assignment(about.item, about.stage, about.round, about.training)
    return place, filled, about.step == "first"


TheForm = Annotated[tuple[Assignment, Decision, bool], Depends(read_form)]


@router.get("/", name="home")
def home(
    request: Request, account: TheAccount, studio: TheStudio, joined: bool = False
) -> Response:
    """Show a person's reviews.

    A person who has just ``joined`` is redirected to their only review, or to the manager's pages.
    """

    def reader(state: ReviewState) -> tuple[str, tuple[str, ...]] | None:
        person = state.people.get(account.name)
        return (state.project.title, person.roles) if person and person.active else None

    parts = {name: studio.store.read(name, reader) for name in studio.store.reviews()}
    memberships = [(name, *part) for name, part in parts.items() if part is not None]
    if joined and account.manager and not memberships:
        return redirect_to(str(request.app.url_path_for("manage")))
    if joined and len(memberships) == 1:
        return redirect_to(str(request.app.url_path_for("review_page", review=memberships[0][0])))
    return render(request, "home.html", reviews=memberships)


@router.get("/r/{review:review}", name="review_page")
def review_page(page: TheMemberPage) -> HTMLResponse:
    project = page.studio.store.read(page.review, lambda state: state.project)
    stages = [stage for stage in project.stages if set(stage.roles) & set(page.roles)]
    return page.render(
        "review.html",
        title=project.title,
        roles=page.roles,
        discusses=any(stage.kind == "discussion" for stage in stages),
        guidelines=guidelines_html(project.guidelines),
        stages=stages,
    )


@router.get("/r/{review:review}/work", name="work")
def work(page: TheMemberPage, again: bool = False, last: str | None = None) -> Response:
    """Show the next item; with ``again`` (after an undo), fill in the undone decision."""
    view, feedback = _next_view(page, last)
    if not isinstance(view, ItemView):
        return page.render("idle.html", idle=view, feedback=feedback, request_key=request_key())
    filled = _filled_before(page, view.assignment) if again else Decision({})
    return _form_page(page, view, filled, feedback=feedback)


@router.post("/r/{review:review}/work", name="answer")
def answer(page: TheMemberPage, form: TheForm) -> Response:
    """Record a decision and go on to the next item; the same form sent again changes nothing.

    A form that is not accepted is shown again for correction or, if the person no longer has the
    item, as a text to copy.
    """
    place, filled, first_step = form
    if first_step and (view := _view_of(page, place)) is not None:
        step, missing = view.stage.first_step, _missing(view, filled)
        if step is not None and missing and not set(missing) & set(step.asks):
            return _form_page(page, view, filled)  # the whole item
    try:
        decision = replace(filled, request=page.own_key(str(filled.request)))
        page.studio.store.answer(page.review, page.who, place, decision)
    except InputError as error:
        view = _view_of(page, place)
        if view is not None and not isinstance(error, NotAllowed):
            return _form_page(page, view, filled, problem=error)
        project = page.studio.store.read(page.review, lambda state: state.project)
        texts = {question.id: question.text for question in project.questions}
        return page.render(
            "not_taken.html",
            status=409,
            problem=error,
            answers=[(texts.get(name, name), text) for name, text in filled.answers.items()],
            filled=filled,
        )
    # The page's script deletes its draft of the form when it sees that the form was accepted.
    query = {"taken": str(filled.request)} | ({"last": place.item} if place.training else {})
    return page.go_to("work", **query)


@router.post("/r/{review:review}/check", name="check_draft")
def check_draft(page: TheMemberPage, form: TheForm) -> Response:
    """Show the findings of the stage's check on the text being written; nothing is recorded.

    The page's script asks for JSON; without it, the page is shown again with the form filled in.
    """
    place, filled, _ = form
    view = _view_of(page, place)
    if view is None:
        raise HTTPException(409, "This item is no longer assigned to you.")
    found = view.findings(filled.correction or "")
    if found is None:
        raise HTTPException(409, "This stage has no check.")
    if "application/json" in page.request.headers.get("accept", ""):
        part = render_part("findings.html", found=found)
        return JSONResponse({"html": part}, headers={"cache-control": "no-store"})
    return _form_page(page, view, filled, found=found)


@router.post("/r/{review:review}/undo", name="undo")
def undo(page: TheMemberPage, key: TheKey) -> Response:
    page.studio.store.act(page.review, workflow.undo, page.who, request=page.own_key(key))
    return page.go_to("work", again="1")


def _filled_before(page: MemberPage, place: Assignment) -> Decision:
    """Return the decision on an item that a person has undone."""
    here = ("answered", page.who, place.stage, place.round)
    for event in reversed(page.studio.store.item_history(page.review, place.item)):
        if (event.kind, event.who, event.stage, event.round) == here:
            body = event.body
            kept = (body["flagged"], body["comment"], body.get("correction"))
            return Decision(dict(body["answers"]), *kept)
    return Decision({})


def _missing(view: ItemView, filled: Decision) -> list[str]:
    """Return the required questions that are asked and have no answer."""
    return [
        name
        for name in asked_questions(view.project, view.stage, filled.answers)
        if view.project.question(name).required and not filled.answers.get(name, "").strip()
    ]


def _next_view(
    page: MemberPage, last: str | None
) -> tuple[ItemView | dict[str, Any], dict[str, Any] | None]:
    """Assign the person's next item; return its view, or the facts for the idle page."""
    who = page.who

    def reader(
        state: ReviewState, assignment: Assignment | None
    ) -> tuple[ItemView | dict[str, Any], dict[str, Any] | None]:
        feedback = training_feedback(state, who, last) if last else None
        if assignment is not None:
            return item_view(state, who, assignment), feedback
        total = len(state.items)
        idle = {
            "open": total - ended_items(state),
            "total": total,
            "undoable": workflow.undoable(state, who) is not None,
            "discussed": len(under_discussion(state, state.people.get(who))),
        }
        return idle, feedback

    return page.studio.store.work(page.review, who, reader)


def _view_of(page: MemberPage, place: Assignment) -> ItemView | None:
    """Return the view of a form's item; None if the person no longer has it."""

    def reader(state: ReviewState) -> ItemView | None:
        same = in_hand(state, page.who) == place
        return item_view(state, page.who, place) if same else None

    return page.studio.store.read(page.review, reader)


def _form_page(
    page: MemberPage,
    view: ItemView,
    filled: Decision,
    *,
    problem: InputError | None = None,
    **context: Any,
) -> HTMLResponse:
    project, step = view.project, view.stage.first_step
    # The first step must be answered before anything else is shown or asked.
    if step is not None and not all(filled.answers.get(name) for name in step.asks):
        view = replace(view, step=step)
    asked = view.stage.questions if view.step is None else view.step.asks
    return page.render(
        "work.html",
        status=200 if problem is None else 422,
        view=view,
        filled=filled,
        questions=[project.question(name) for name in asked],
        guidelines=guidelines_html(project.guidelines),
        guidelines_version=project.guidelines_version,
        problem=problem,
        missing=_missing(view, filled) if problem else [],
        request_key=filled.request or request_key(),
        **{"feedback": None, "found": None, **context},
    )
