"""The pages of those who work: their reviews, one item a screen, the decision, and its undoing.

Annotators and adjudicators work the same way; adjudicators see what others answered before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from contrafact.errors import InputError
from contrafact.review.answers import Assignment, Decision, asked_questions
from contrafact.review.events import NotAllowed
from contrafact.review.project import DELIBERATING, Project, Stage
from contrafact.review.state import ReviewState
from contrafact.review.web.access import (
    MemberPage,
    TheAccount,
    TheAdjudicatorPage,
    TheMemberPage,
    TheStudio,
)
from contrafact.review.web.item_view import (
    DraftReport,
    Idle,
    ItemView,
    TrainingFeedback,
    idle,
    item_view,
    training_feedback,
)
from contrafact.review.web.studio import (
    guidelines_html,
    redirect_to,
    render,
    render_part,
    request_key,
)

__all__ = ["router"]

Screen = Literal["work", "adjudicate"]
"""The page on which an item is decided on."""
ANSWER = "answer."
"""What the name of an answer's field begins with; the question's name follows."""
_TEXT = {"type": "string"}
FORM_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["csrf", "request", "item", "stage", "round"],
                    "properties": {
                        "csrf": _TEXT,
                        "request": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
                        "item": _TEXT,
                        "stage": _TEXT,
                        "round": {"type": "integer", "minimum": 1},
                        "training": {"type": "string", "enum": ["", "1"]},
                        "guidelines": _TEXT,
                        "comment": _TEXT,
                        "flag": {"type": "string", "enum": ["", "1"]},
                        "correction": _TEXT,
                        "evidence": _TEXT,
                        "step": {"type": "string", "enum": ["", "first"]},
                    },
                    "additionalProperties": _TEXT,
                }
            }
        },
    }
}
"""An item's form in the app's OpenAPI description; it also has an answer to each question."""
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_VERSION = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class FilledForm:
    """What somebody has filled in."""

    answers: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    flagged: bool = False
    correction: str | None = None
    evidence: str = ""

    def missing(self, project: Project, stage: Stage) -> list[str]:
        """Return the questions that are asked, have to be answered, and are not."""
        return [
            name
            for name in asked_questions(project, stage, self.answers)
            if project.question(name).required and not self.answers.get(name, "").strip()
        ]


@dataclass(frozen=True)
class SubmittedForm:
    """An item's form: what was filled in, about what, and the key under which it counts once.

    ``first_step`` says that nothing but a stage's first step was asked in it.
    """

    assignment: Assignment
    filled: FilledForm
    guidelines_version: str | None
    request: str
    first_step: bool = False


async def read_form(request: Request) -> SubmittedForm:
    """Read an item's form.

    Raises:
        HTTPException: 422, a field that says what the form is about is missing or no such thing.
    """
    form = await request.form()

    def text(name: str) -> str:
        # Its lines ended as texts' are; nothing for a file or no field.
        value = form.get(name)
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    number, key = text("round"), text("request")
    if not re.fullmatch(r"[0-9]{1,9}", number) or not _KEY.fullmatch(key):
        raise HTTPException(422, "The form is not whole. Open its page again.")
    assignment = Assignment(text("item"), text("stage"), int(number), text("training") == "1")
    answers = {name.removeprefix(ANSWER): text(name) for name in form if name.startswith(ANSWER)}
    correction = text("correction") if "correction" in form else None
    flagged = text("flag") == "1"
    filled = FilledForm(answers, text("comment"), flagged, correction, text("evidence"))
    version = text("guidelines")
    known = version if _VERSION.fullmatch(version) else None
    return SubmittedForm(assignment, filled, known, key, text("step") == "first")


TheForm = Annotated[SubmittedForm, Depends(read_form)]
router = APIRouter()


@router.get("/", name="home")
def home(
    request: Request, account: TheAccount, studio: TheStudio, joined: bool = False
) -> Response:
    """Show the reviews that somebody has a part in.

    Who has just joined is led on: to the one review they have a part in, or to the manager's pages.
    """

    def look(state: ReviewState) -> tuple[str, tuple[str, ...]] | None:
        person = state.people.get(account.name)
        return (state.project.title, person.roles) if person and person.active else None

    found = {name: studio.store.read(name, look) for name in studio.store.reviews()}
    own = [(name, *part) for name, part in found.items() if part is not None]
    if joined and account.manager and not own:
        return redirect_to(str(request.app.url_path_for("manage")))
    if joined and len(own) == 1:
        return redirect_to(str(request.app.url_path_for("review_page", review=own[0][0])))
    return render(request, "home.html", reviews=own)


@router.get("/r/{review:review}", name="review_page")
def review_page(page: TheMemberPage) -> HTMLResponse:
    """Show a review's guidelines and what somebody does in it."""
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
    """Show the next item."""
    return show_item(page, "work", again=again, last=last)


@router.post("/r/{review:review}/work", name="answer", openapi_extra=FORM_SCHEMA)
def answer(page: TheMemberPage, form: TheForm) -> Response:
    """Take a decision."""
    return submit_answer(page, "work", form)


@router.post("/r/{review:review}/check", name="check_draft", openapi_extra=FORM_SCHEMA)
def check_draft(page: TheMemberPage, form: TheForm) -> Response:
    """Show what the project's check finds in the text as it is written; nothing is taken.

    The page's script asks for JSON; without it the page itself comes back, as it was filled in.
    """
    view, _ = _next_view(page, None)
    if not isinstance(view, ItemView) or view.assignment != form.assignment:
        raise HTTPException(409, "This item is not with you any more.")
    found = view.findings(form.filled.correction or "")
    if found is None:
        raise HTTPException(409, "Nothing is checked at this stage.")
    if "application/json" in page.request.headers.get("accept", ""):
        part = render_part("findings.html", found=found)
        return JSONResponse({"html": part}, headers={"cache-control": "no-store"})
    return _form_page(page, view, form.filled, key=form.request, found=found)


@router.post("/r/{review:review}/undo", name="undo")
def undo(
    page: TheMemberPage,
    key: Annotated[str, Form(alias="request", pattern="^[A-Za-z0-9_-]{8,64}$")],
) -> Response:
    """Take the last decision back, and show the item with it filled in."""
    page.studio.store.undo(page.review, page.who, request=page.own_key(key))
    return page.go_to("work", again="1")


@router.get("/r/{review:review}/adjudicate", name="adjudicate")
def adjudicate(page: TheAdjudicatorPage, again: bool = False) -> Response:
    """Show the next disputed item."""
    return show_item(page, "adjudicate", again=again)


@router.post("/r/{review:review}/adjudicate", name="rule", openapi_extra=FORM_SCHEMA)
def rule(page: TheAdjudicatorPage, form: TheForm) -> Response:
    """Take a decision between others."""
    return submit_answer(page, "adjudicate", form)


def show_item(
    page: MemberPage, screen: Screen, *, again: bool = False, last: str | None = None
) -> Response:
    """Give somebody their next item and show it, on the page that its stage belongs to.

    Args:
        again: Whether they have just taken a decision back, which is filled in again.
    """
    view, feedback = _next_view(page, last)
    if isinstance(view, Idle):
        key = request_key()
        return page.render("idle.html", idle=view, feedback=feedback, page=screen, request_key=key)
    wanted = _screen_of(view)
    if wanted != screen:
        query = f"?{page.request.url.query}" if page.request.url.query else ""
        return redirect_to(page.path(wanted) + query)
    filled = filled_before(page, view.assignment) if again else FilledForm()
    return _form_page(page, view, filled, feedback=feedback)


def submit_answer(page: MemberPage, screen: Screen, form: SubmittedForm) -> Response:
    """Take a decision and go on; the same form sent again changes nothing.

    What cannot be taken is shown again: in its form where it can be corrected there, and as it was
    filled in where the item is not theirs any more.
    """
    given = form.assignment
    if form.first_step and (whole := _whole_item(page, form)) is not None:
        return whole
    try:
        decision = Decision(
            form.filled.answers,
            flagged=form.filled.flagged,
            comment=form.filled.comment,
            correction=_correction(page, form),
            evidence=form.filled.evidence.splitlines(),
            guidelines_version=form.guidelines_version,
            request=page.own_key(form.request),
        )
        page.studio.store.answer(page.review, page.who, given, decision)
    except InputError as error:
        view, _ = _next_view(page, None)
        same = isinstance(view, ItemView) and view.assignment == given
        if isinstance(view, ItemView) and same and not isinstance(error, NotAllowed):
            return _form_page(page, view, form.filled, problem=error, key=form.request)
        project = page.studio.store.read(page.review, lambda state: state.project)
        texts = {question.id: question.text for question in project.questions}
        return page.render(
            "not_taken.html",
            status=409,
            page=screen,
            problem=error,
            answers=[(texts.get(name, name), text) for name, text in form.filled.answers.items()],
            filled=form.filled,
        )
    # The page's script forgets what it kept of the form when it sees that it was taken.
    query = {"taken": form.request} | ({"last": given.item} if given.training else {})
    return page.go_to(screen, **query)


def _whole_item(page: MemberPage, form: SubmittedForm) -> HTMLResponse | None:
    """Return the page of the whole item after its first step; None where nothing more is asked."""
    view, _ = _next_view(page, None)
    if not isinstance(view, ItemView) or view.assignment != form.assignment:
        return None
    step = view.stage.first_step
    missing = form.filled.missing(view.project, view.stage)
    if step is None or not missing or set(missing) & set(step.asks):
        return None
    return _form_page(page, view, form.filled, key=form.request)


def filled_before(page: MemberPage, assignment: Assignment) -> FilledForm:
    """Return what somebody filled in of an item before they took it back."""
    body = page.studio.store.last_answer(page.review, page.who, assignment)
    if body is None:
        return FilledForm()
    return FilledForm(
        dict(body["answers"]),
        body["comment"],
        body["flagged"],
        body.get("correction"),
        "\n".join(" ".join(one["text"].split()) for one in body.get("evidence", ())),
    )


def _next_view(
    page: MemberPage, last: str | None
) -> tuple[ItemView | Idle, TrainingFeedback | None]:
    who = page.who

    def look(
        state: ReviewState, given: Assignment | None
    ) -> tuple[ItemView | Idle, TrainingFeedback | None]:
        feedback = training_feedback(state, who, last) if last else None
        return (idle(state, who) if given is None else item_view(state, who, given)), feedback

    return page.studio.store.work(page.review, who, look)


def _screen_of(view: ItemView) -> Screen:
    return "adjudicate" if view.stage.kind in DELIBERATING else "work"


def _form_page(
    page: MemberPage,
    view: ItemView,
    filled: FilledForm,
    *,
    feedback: TrainingFeedback | None = None,
    problem: InputError | None = None,
    key: str | None = None,
    found: DraftReport | None = None,
) -> HTMLResponse:
    project, step = view.project, view.stage.first_step
    # What the first step asks is answered before anything else is shown or asked.
    if step is not None and not all(filled.answers.get(name) for name in step.asks):
        view = replace(view, step=step)
    asked = view.stage.questions if view.step is None else view.step.asks
    return page.render(
        f"{_screen_of(view)}.html",
        status=200 if problem is None else 422,
        page=_screen_of(view),
        view=view,
        filled=filled,
        questions=[project.question(name) for name in asked],
        guidelines=guidelines_html(project.guidelines),
        guidelines_version=project.guidelines_version,
        feedback=feedback,
        problem=problem,
        missing=filled.missing(project, view.stage) if problem else [],
        request_key=key or request_key(),
        found=found,
    )


def _correction(page: MemberPage, form: SubmittedForm) -> str | None:
    """Return the new text; None where it was left as it is."""
    written, given = form.filled.correction, form.assignment
    if written is None:
        return None

    def look(state: ReviewState) -> str | None:
        item = state.items.get(given.item)
        stage = next((s for s in state.project.flow if s.id == given.stage), None)
        if item is None or stage is None or stage.corrects is None:
            return None
        return str(item.fields.get(stage.corrects.field) or "")

    present = page.studio.store.read(page.review, look)
    if present is None:
        return written
    unchanged = written.strip() == present.replace("\r\n", "\n").strip()
    return None if unchanged else written
