"""The annotator's page: one item a screen, the decision, and its undoing."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from contrafact.errors import InputError
from contrafact.review.answers import asked_questions
from contrafact.review.assignment import Assignment
from contrafact.review.project import Project, Stage
from contrafact.review.state import ReviewState, NotAllowed
from contrafact.review.store.accounts import Account
from contrafact.review.web import screen
from contrafact.review.web.access import (
    ADJUDICATING,
    Member,
    Studio,
    current_account,
    member,
    require_role,
    get_studio,
)
from contrafact.review.web.item_view import Idle, TrainingFeedback, ItemView, idle, training_feedback, sheet
from contrafact.review.web.pages import redirect_to, guidelines_html, render

__all__ = [
    "ANSWER",
    "FORM_SCHEMA",
    "Page",
    "SubmittedForm",
    "FilledForm",
    "answer",
    "new_request_key",
    "router",
    "sent",
    "show",
    "take_back",
    "filled_from",
]


router = APIRouter(prefix="/r/{review:review}")
TheMember = Annotated[Member, Depends(member)]
TheStudio = Annotated[Studio, Depends(get_studio)]


@router.get("/work", name="work")
def work(
    request: Request,
    found: TheMember,
    studio: TheStudio,
    again: bool = False,
    last: str | None = None,
) -> Response:
    """Show the next item."""
    return screen.show(request, studio, found, "work", again=again, last=last)


@router.post("/work", name="answer", openapi_extra=FORM_SCHEMA)
def answer(
    request: Request, found: TheMember, studio: TheStudio, form: Annotated[SubmittedForm, Depends(sent)]
) -> Response:
    """Take a decision."""
    return screen.answer(request, studio, found, "work", form)


@router.post("/undo", name="undo")
def undo(
    request: Request,
    found: TheMember,
    studio: TheStudio,
    key: Annotated[str, Form(alias="request", pattern="^[A-Za-z0-9_-]{8,64}$")],
) -> Response:
    """Take the last decision back."""
    return screen.take_back(request, studio, found, key)


router = APIRouter(prefix="/r/{review:review}")
TheAdjudicator = Annotated[Member, Depends(require_role("adjudicator"))]
TheStudio = Annotated[Studio, Depends(get_studio)]


@router.get("/adjudicate", name="adjudicate")
def adjudicate(
    request: Request, found: TheAdjudicator, studio: TheStudio, again: bool = False
) -> Response:
    """Show the next disputed item."""
    return screen.show(request, studio, found, "adjudicate", again=again)


@router.post("/adjudicate", name="rule", openapi_extra=FORM_SCHEMA)
def rule(
    request: Request,
    found: TheAdjudicator,
    studio: TheStudio,
    form: Annotated[SubmittedForm, Depends(sent)],
) -> Response:
    """Take a decision between others."""
    return screen.answer(request, studio, found, "adjudicate", form)


router = APIRouter()


@router.get("/", name="home")
def home(
    request: Request,
    account: Annotated[Account, Depends(current_account)],
    studio: Annotated[Studio, Depends(get_studio)],
) -> HTMLResponse:
    """Show the reviews that somebody has a part in."""

    def look(state: ReviewState) -> tuple[str, tuple[str, ...]] | None:
        person = state.people.get(account.name)
        return (state.project.title, person.roles) if person and person.active else None

    found = {name: studio.store.read(name, look) for name in studio.store.reviews()}
    own = [(name, *told) for name, told in found.items() if told is not None]
    return render(request, "home.html", reviews=own)


@router.get("/r/{review:review}", name="review_page")
def review_page(
    request: Request,
    found: Annotated[Member, Depends(member)],
    studio: Annotated[Studio, Depends(get_studio)],
) -> HTMLResponse:
    """Show a review's guidelines and what somebody does in it."""
    project = studio.store.read(found.review, lambda state: state.project)
    return render(
        request,
        "review.html",
        review=found.review,
        title=project.title,
        roles=found.person.roles,
        adjudicates=found.adjudicates,
        guidelines=guidelines_html(project.guidelines),
        stages=[s for s in project.stages if set(s.roles) & set(found.person.roles)],
    )


Page = Literal["work", "adjudicate"]


def show(
    request: Request,
    studio: Studio,
    found: Member,
    page: Page,
    *,
    again: bool = False,
    last: str | None = None,
) -> Response:
    """Give somebody their next item and show it, on the page that its stage belongs to.

    Args:
        request: The request.
        studio: The studio.
        found: Who asks.
        page: The page they are on.
        again: Whether they have just taken a decision back, which is filled in again.
        last: The training item that they have just answered.
    """
    given, news = _given(studio, found, last)
    if isinstance(given, Idle):
        return render(
            request,
            "idle.html",
            review=found.review,
            idle=given,
            learned=news,
            page=page,
            request_key=new_request_key(),
        )
    wanted = _page_of(given)
    if wanted != page:
        query = f"?{request.url.query}" if request.url.query else ""
        return redirect_to(request.app.url_path_for(wanted, review=found.review) + query)
    typed = FilledForm()
    if again:
        said = studio.store.last_answer(found.review, found.person.name, given.assignment)
        typed = filled_from(said)
    return _form(request, studio, found, given, typed, news=news)


def answer(request: Request, studio: Studio, found: Member, page: Page, sent: SubmittedForm) -> Response:
    """Take a decision and go on; the same form sent again changes nothing.

    What cannot be taken is shown again: in its form where it can be repairs, and as it was typed
    where the item is not theirs any more.
    """
    review, who, given = found.review, found.person.name, sent.assignment
    try:
        studio.store.answer(
            review,
            who,
            given,
            sent.typed.answers,
            flagged=sent.typed.flagged,
            comment=sent.typed.comment,
            correction=_correction(studio, review, sent),
            guidelines_version=sent.guidelines_version,
            # Keys are the sender's own: nobody can use up another's.
            request=f"{sent.request} {who}"[:200].strip(),
        )
    except InputError as error:
        current, _ = _given(studio, found, None)
        mendable = isinstance(current, ItemView) and current.assignment == given
        if isinstance(current, ItemView) and mendable and not isinstance(error, NotAllowed):
            return _form(
                request, studio, found, current, sent.typed, problem=error, key=sent.request
            )
        return _kept(request, studio, found, page, sent, error)
    path = request.app.url_path_for(page, review=review)
    return redirect_to(path + (f"?{urlencode({'last': given.item})}" if given.training else ""))


def take_back(request: Request, studio: Studio, found: Member, key: str) -> Response:
    """Take somebody's last decision back, and show the item with it filled in.

    Raises:
        NotAllowed: There is none, or others have gone on from it.
    """
    own = f"{key} {found.person.name}"[:200].strip()
    studio.store.undo(found.review, found.person.name, request=own)
    return redirect_to(request.app.url_path_for("work", review=found.review) + "?again=1")


def _given(studio: Studio, found: Member, last: str | None) -> tuple[ItemView | Idle, TrainingFeedback | None]:
    who = found.person.name

    def look(state: ReviewState, given: Assignment | None) -> tuple[ItemView | Idle, TrainingFeedback | None]:
        news = training_feedback(state, who, last) if last else None
        return (idle(state, who) if given is None else sheet(state, who, given)), news

    return studio.store.work(found.review, who, look)


def _page_of(given: ItemView) -> Page:
    return "adjudicate" if given.stage.kind in ADJUDICATING else "work"


def _form(
    request: Request,
    studio: Studio,
    found: Member,
    given: ItemView,
    typed: FilledForm,
    *,
    news: TrainingFeedback | None = None,
    problem: InputError | None = None,
    key: str | None = None,
) -> HTMLResponse:
    project = given.project
    return render(
        request,
        f"{_page_of(given)}.html",
        status=200 if problem is None else 422,
        review=found.review,
        page=_page_of(given),
        sheet=given,
        typed=typed,
        questions=[project.question(name) for name in given.stage.questions],
        guidelines=guidelines_html(project.guidelines),
        guidelines_version=project.guidelines_version,
        learned=news,
        problem=problem,
        missing=typed.missing(project, given.stage) if problem else [],
        request_key=key or new_request_key(),
    )


def _kept(
    request: Request, studio: Studio, found: Member, page: Page, sent: SubmittedForm, error: InputError
) -> HTMLResponse:
    """Show what was typed and could not be taken, so that nothing of it is lost."""
    project = studio.store.read(found.review, lambda state: state.project)
    texts = {question.id: question.text for question in project.questions}
    return render(
        request,
        "kept.html",
        status=409,
        review=found.review,
        page=page,
        problem=error,
        answers=[(texts.get(name, name), said) for name, said in sent.typed.answers.items()],
        typed=sent.typed,
    )


def _correction(studio: Studio, review: str, sent: SubmittedForm) -> str | None:
    """Return the text as it is to be; None where it was left as it is."""
    written, given = sent.typed.correction, sent.assignment
    if written is None:
        return None

    def look(state: ReviewState) -> str | None:
        item = state.items.get(given.item)
        stage = next((s for s in state.project.flow if s.id == given.stage), None)
        if item is None or stage is None or stage.corrects is None:
            return None
        return str(item.fields.get(stage.corrects.field) or "")

    present = studio.store.read(review, look)
    unchanged = present is not None and _plain(written) == _plain(present)
    return None if unchanged else written


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


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
                    },
                    "additionalProperties": _TEXT,
                }
            }
        },
    }
}
"""A form of work, as the app's description tells it; besides, an answer to each question."""
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_VERSION = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class FilledForm:
    """What somebody has filled in."""

    answers: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    flagged: bool = False
    correction: str | None = None

    def missing(self, project: Project, stage: Stage) -> list[str]:
        """Return the questions that are asked, have to be answered, and are not."""
        return [
            name
            for name in asked_questions(project, stage, self.answers)
            if project.question(name).required and not self.answers.get(name, "").strip()
        ]


@dataclass(frozen=True)
class SubmittedForm:
    """A form of work: what was filled in, about what, and the key under which it counts once."""

    assignment: Assignment
    typed: FilledForm
    guidelines_version: str | None
    request: str


def new_request_key() -> str:
    """Return a key for a form that is about to be shown."""
    return secrets.token_urlsafe(18)


async def sent(request: Request) -> SubmittedForm:
    """Read a form of work.

    Raises:
        HTTPException: 422, a field that says what the form is about is missing or no such thing.
    """
    form = await request.form()
    number, key = _text(form, "round"), _text(form, "request")
    if not re.fullmatch(r"[0-9]{1,9}", number) or not _KEY.fullmatch(key):
        raise HTTPException(422, "The form is not whole. Open its page again.")
    assignment = Assignment(
        _text(form, "item"), _text(form, "stage"), int(number), _text(form, "training") == "1"
    )
    answers = {
        name.removeprefix(ANSWER): _text(form, name) for name in form if name.startswith(ANSWER)
    }
    correction = _text(form, "correction") if "correction" in form else None
    typed = FilledForm(answers, _text(form, "comment"), _text(form, "flag") == "1", correction)
    version = _text(form, "guidelines")
    return SubmittedForm(assignment, typed, version if _VERSION.fullmatch(version) else None, key)


def filled_from(body: Mapping[str, Any] | None) -> FilledForm:
    """Return what an earlier answer had filled in."""
    if body is None:
        return FilledForm()
    return FilledForm(dict(body["answers"]), body["comment"], body["flagged"], body.get("correction"))


def _text(form: FormData, name: str) -> str:
    """Return a field's text, its lines ended as texts' are; nothing for a file or no field."""
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""
