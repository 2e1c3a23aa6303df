"""The manager's pages: reviews, accounts, the audit log; a review's stages, figures and people."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.review.assignment import (
    people_in_words,
    people_needed,
    role_warnings,
    roles_in_words,
    staffing_problems,
)
from contrafact.review.events import NotAllowed
from contrafact.review.export import TABLE_FORMATS, Export, available_exports
from contrafact.review.figures import (
    agreement_table,
    progress_table,
    rated_questions,
    review_progress,
    stage_ratings,
)
from contrafact.review.project import builtin_projects, load_project
from contrafact.review.setup import set_roles
from contrafact.review.state import ReviewState
from contrafact.review.web.access import (
    LongText,
    ManagerPage,
    Text,
    TheManagerPage,
    TheReviewPage,
    client_address,
)
from contrafact.review.web.studio import redirect_to
from contrafact.review.web.uploads import read_project
from contrafact.review.workflow import set_stage_open, settle

_LOG_LINES = 500
_DESCRIPTIONS: dict[Export, str] = {
    "decisions": "the decisions that count, as rfc finalize reads them",
    "items": "every item with its stage or outcome, as finforce release reads them",
    "labels": "labels of a run's items, as contrafact report --labels reads them",
    "sheet": "the filled sheet, as study score reads it",
    "history": "every event, in order",
}

router = APIRouter(prefix="/manage")
Roles = Annotated[list[str] | None, Form()]


@router.get("", name="manage")
def manage(page: TheManagerPage) -> HTMLResponse:
    def reader(state: ReviewState) -> tuple[str, int, int]:
        ended = sum(item.outcome is not None for item in state.items.values())
        return state.project.title, len(state.items), ended

    store = page.studio.store
    return page.render(
        "manage.html",
        reviews=[(name, *store.read(name, reader)) for name in store.reviews()],
        projects=[(name, load_project(name).title, _needs(name)) for name in builtin_projects()],
    )


@router.post("", name="open_review")
def open_review(
    page: TheManagerPage, name: Text, project: Text = "", file: UploadFile | None = None
) -> Response:
    store = page.studio.store
    if name in store.reviews():
        raise NotAllowed(f"there already is a review '{name[:40]}'", hint="choose another name")
    store.define(name, read_project(project, file), page.who)
    page.log("review opened", name)
    return redirect_to(str(page.request.app.url_path_for("manage_review", review=name)))


@router.get("/people", name="manage_people")
def people(page: TheManagerPage) -> HTMLResponse:
    return _people(page)


@router.post("/people/invite", name="invite_person")
def invite(page: TheManagerPage, name: Text, manager: bool = Form(False)) -> HTMLResponse:
    """Create a one-time link for a new person, or for one who has lost their password."""
    name = name.strip()
    return _people(page, invited=name, link=page.invite_link(name, manager=manager))


@router.post("/people/change", name="change_person")
def change(
    page: TheManagerPage,
    name: Text,
    what: Annotated[str, Form(pattern="^(open|close|manager|no-manager)$")],
) -> Response:
    """Close or open an account, or make its owner a manager or not."""
    accounts, how = page.studio.accounts, {"by": page.who, "address": client_address(page.request)}
    if what in ("open", "close"):
        accounts.set_active(name, what == "open", **how)
    else:
        accounts.set_manager(name, what == "manager", **how)
    return page.go_to("manage_people")


@router.get("/log", name="manage_log")
def log(page: TheManagerPage) -> HTMLResponse:
    lines = [
        (f"{datetime.fromtimestamp(line.at, UTC):%Y-%m-%d %H:%M:%S}", line)
        for line in page.studio.accounts.audit_log(_LOG_LINES)
    ]
    return page.render("manage_log.html", lines=lines)


@router.get("/r/{review:review}", name="manage_review")
def manage_review(page: TheReviewPage, all_stages: bool = False) -> HTMLResponse:
    """Show a review: its next steps, stages and exports."""

    def reader(state: ReviewState) -> dict[str, Any]:
        progress = review_progress(state, datetime.now(UTC))
        taken = [(who, state.items[name]) for who, name in state.in_hand.items()]
        exports = [what for what in available_exports(state.project) if what in _DESCRIPTIONS]
        return {
            "title": state.project.title,
            "seq": state.seq,
            "progress": progress,
            "steps": _next_steps(state),
            # The first stage, where items arrive, and those with something to show.
            "stages": [
                stage
                for number, stage in enumerate(progress.stages)
                if all_stages or not number or stage.items or stage.closed
            ],
            "in_hand": sorted(
                (who, item.id, state.project.stage(item.stage).title if item.stage else "")
                for who, item in taken
            ),
            "exports": [(what, _DESCRIPTIONS[what]) for what in exports],
            # The independent stages, with the questions that their ratings can be about.
            "rated": [
                (stage.id, stage.title, rated_questions(state, stage.id))
                for stage in state.project.flow
                if stage.kind == "independent"
            ],
        }

    context = page.studio.store.read(page.review, reader)
    return page.render("manage_review.html", formats=TABLE_FORMATS, **context)


@router.get("/r/{review:review}/figures", name="manage_figures")
def manage_figures(page: TheReviewPage) -> HTMLResponse:
    progress, ratings = page.studio.store.read(
        page.review, lambda state: (review_progress(state, datetime.now(UTC)), stage_ratings(state))
    )
    # Agreement takes long, so it is computed without holding the review's lock.
    tables = [progress_table(progress)]
    tables += map(agreement_table, ratings)
    return page.render("manage_figures.html", tables=tables)


@router.post("/r/{review:review}/stage", name="control_stage")
def control_stage(
    page: TheReviewPage, stage: Text, what: Annotated[str, Form(pattern="^(open|close|settle)$")]
) -> Response:
    """Close or open a stage, or release the items that wait at it."""
    if what == "settle":
        page.studio.store.act(page.review, settle, force=stage)
    else:
        page.studio.store.act(page.review, set_stage_open, page.who, stage, what == "open")
    page.log(f"stage: {what}", stage)
    return page.go_to("manage_review")


@router.get("/r/{review:review}/team", name="manage_team")
def team(page: TheReviewPage) -> HTMLResponse:
    return _team(page)


@router.post("/r/{review:review}/team/invite", name="change_team")
def change_team(
    page: TheReviewPage,
    names: LongText,
    roles: Roles = None,
    active: bool = Form(True),
    trained: bool = Form(False),
) -> HTMLResponse:
    """Set people's roles, and create links for those who have no account or no password yet."""
    wanted = list(dict.fromkeys(line.strip() for line in names.splitlines() if line.strip()))
    links, studio = [], page.studio
    present = studio.store.read(page.review, lambda state: set(state.people))
    summary = f"{', '.join(roles or []) or 'no role'}{'' if active else ', resting'}"
    options = {"active": active, "trained": trained}
    try:
        for name in wanted:
            known = studio.accounts.find(name)
            if known is None or (name not in present and known.active and not known.ready):
                links.append((name, page.invite_link(name)))
            studio.store.act(page.review, set_roles, page.who, name, roles or [], **options)
            page.log("roles given", f"{name}: {summary}")
    except NotAllowed as error:
        return _team(page, status=422, problem=str(error), links=links)
    number = "1 person" if len(wanted) == 1 else f"{len(wanted):,} people"
    message = f"The roles of {number} are set."
    return _team(page, links=links, message=message)


def _needs(name: str) -> str:
    roles, least = people_needed(load_project(name))
    return f"{roles_in_words(roles)}: at least {people_in_words(least)}"


def _people(page: ManagerPage, *, invited: str = "", link: str = "") -> HTMLResponse:
    every = page.studio.accounts.all()
    return page.render("manage_people.html", invited=invited, link=link, accounts=every)


def _next_steps(state: ReviewState) -> list[tuple[str, str]]:
    """Return the manager's next steps: what to do, and the page to do it on."""
    steps = []
    if not state.items:
        steps.append(("Import the items", "manage_import"))
    if not state.people:
        steps.append(("Invite the people, with their roles", "manage_team"))
    else:
        problems = staffing_problems(state)
        steps += [(f"{text[:1].upper()}{text[1:]}", "manage_team") for text in problems]
    if state.items and not steps:
        ended = all(item.outcome is not None for item in state.items.values())
        steps = [("All items have ended: export the decisions below", "manage_review")] * ended
    return steps


def _team(
    page: ManagerPage,
    *,
    status: int = 200,
    problem: str = "",
    message: str = "",
    links: list[tuple[str, str]] | None = None,
) -> HTMLResponse:
    def reader(state: ReviewState) -> dict[str, Any]:
        people = list(state.people.values())
        return {
            "roles": state.project.roles,
            "people": people,
            "problems": staffing_problems(state),
            "notes": [note for person in people for note in role_warnings(state.project, person)],
            "items": len(state.items),
        }

    context = page.studio.store.read(page.review, reader)
    named = {person.name for person in context["people"]}
    accounts = page.studio.accounts.all()
    return page.render(
        "manage_team.html",
        status=status,
        problem=problem,
        message=message,
        links=links or [],
        others=[a.name for a in accounts if a.active and a.name not in named],
        **context,
    )
