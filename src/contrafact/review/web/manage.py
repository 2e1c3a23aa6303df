"""The manager's pages: reviews, who may sign in, audit log; a review's stages, figures, people."""

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
    "decisions": "what stands, as rfc finalize reads it",
    "items": "where every item is, and what became of it; finforce release reads it",
    "labels": "of a run's items, as contrafact report --labels reads them",
    "sheet": "filled in, as study score reads it",
    "history": "every event, in order",
}

router = APIRouter(prefix="/manage")
Roles = Annotated[list[str] | None, Form()]


@router.get("", name="manage")
def manage(page: TheManagerPage) -> HTMLResponse:
    """Show every review, and how a new one is opened."""

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
    """Open a review, of a built-in project or of one in a TOML file."""
    store = page.studio.store
    if name in store.reviews():
        raise NotAllowed(f"there is a review '{name[:40]}' already")
    store.define(name, read_project(project, file), page.who)
    page.log("review opened", name)
    return redirect_to(str(page.request.app.url_path_for("manage_review", review=name)))


@router.get("/people", name="manage_people")
def people(page: TheManagerPage) -> HTMLResponse:
    """Show who may sign in."""
    return _people(page)


@router.post("/people/invite", name="invite_person")
def invite(page: TheManagerPage, name: Text, manager: bool = Form(False)) -> HTMLResponse:
    """Make a one-time link for somebody new, or for who has lost their password."""
    name = name.strip()
    return _people(page, invited=name, link=page.invite_link(name, manager=manager))


@router.post("/people/change", name="change_person")
def change(
    page: TheManagerPage,
    name: Text,
    what: Annotated[str, Form(pattern="^(open|close|manager|no-manager)$")],
) -> Response:
    """Close an account or open it again; let somebody manage or not."""
    accounts, how = page.studio.accounts, {"by": page.who, "address": client_address(page.request)}
    if what in ("open", "close"):
        accounts.set_active(name, what == "open", **how)
    else:
        accounts.set_manager(name, what == "manager", **how)
    return page.go_to("manage_people")


@router.get("/log", name="manage_log")
def log(page: TheManagerPage) -> HTMLResponse:
    """Show the audit log, the latest lines first."""
    lines = [
        (f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M:%S}", one)
        for one in page.studio.accounts.audit_log(_LOG_LINES)
    ]
    return page.render("manage_log.html", lines=lines)


@router.get("/r/{review:review}", name="manage_review")
def manage_review(page: TheReviewPage, all_stages: bool = False) -> HTMLResponse:
    """Show how a review stands: what to do next, its stages, what can be exported."""

    def reader(state: ReviewState) -> dict[str, Any]:
        progress = review_progress(state, datetime.now(UTC))
        taken = [(who, state.items[name]) for who, name in state.in_hand.items()]
        exports = [what for what in available_exports(state.project) if what in _DESCRIPTIONS]
        return {
            "title": state.project.title,
            "seq": state.seq,
            "progress": progress,
            "steps": _next_steps(state),
            # Those that have something to show; the first is where items come in.
            "stages": [
                one
                for number, one in enumerate(progress.stages)
                if all_stages or not number or one.items or one.closed
            ],
            "in_hand": sorted(
                (who, item.id, state.project.stage(item.stage).title if item.stage else "")
                for who, item in taken
            ),
            "exports": [(what, _DESCRIPTIONS[what]) for what in exports],
            # The blind stages, with what ratings of them can be about.
            "rated": [
                (stage.id, stage.title, rated_questions(state, stage.id))
                for stage in state.project.flow
                if stage.kind == "independent"
            ],
        }

    found = page.studio.store.read(page.review, reader)
    return page.render("manage_review.html", formats=TABLE_FORMATS, **found)


@router.get("/r/{review:review}/figures", name="manage_figures")
def manage_figures(page: TheReviewPage) -> HTMLResponse:
    """Show how far a review has come, and how far people agree."""
    progress, ratings = page.studio.store.read(
        page.review, lambda state: (review_progress(state, datetime.now(UTC)), stage_ratings(state))
    )
    # What takes long is computed while others work on.
    tables = [progress_table(progress)]
    tables += map(agreement_table, ratings)
    return page.render("manage_figures.html", tables=tables)


@router.post("/r/{review:review}/stage", name="control_stage")
def control_stage(
    page: TheReviewPage, stage: Text, what: Annotated[str, Form(pattern="^(open|close|settle)$")]
) -> Response:
    """Close a stage or open it again, or let what waits at it go on now."""
    if what == "settle":
        page.studio.store.act(page.review, settle, force=stage)
    else:
        page.studio.store.act(page.review, set_stage_open, page.who, stage, what == "open")
    page.log(f"stage: {what}", stage)
    return page.go_to("manage_review")


@router.get("/r/{review:review}/team", name="manage_team")
def team(page: TheReviewPage) -> HTMLResponse:
    """Show the people of a review and their roles."""
    return _team(page)


@router.post("/r/{review:review}/team/invite", name="change_team")
def change_team(
    page: TheReviewPage,
    names: LongText,
    roles: Roles = None,
    active: bool = Form(True),
    trained: bool = Form(False),
) -> HTMLResponse:
    """Give people roles in place of those they had, and who has no account a link to make theirs.

    Who is new here and has not joined the studio yet gets a link again.
    """
    wanted = list(dict.fromkeys(line.strip() for line in names.splitlines() if line.strip()))
    links, studio = [], page.studio
    there = studio.store.read(page.review, lambda state: set(state.people))
    given = f"{', '.join(roles or []) or 'no role'}{'' if active else ', resting'}"
    kept = {"active": active, "trained": trained}
    try:
        for name in wanted:
            known = studio.accounts.find(name)
            if known is None or (name not in there and known.active and not known.ready):
                links.append((name, page.invite_link(name)))
            studio.store.act(page.review, set_roles, page.who, name, roles or [], **kept)
            page.log("roles given", f"{name}: {given}")
    except NotAllowed as error:
        return _team(page, status=422, problem=str(error), links=links)
    message = f"{len(wanted):,} {'person has' if len(wanted) == 1 else 'people have'} their roles."
    return _team(page, links=links, message=message)


def _needs(name: str) -> str:
    roles, least = people_needed(load_project(name))
    return f"{roles_in_words(roles)}: at least {people_in_words(least)}"


def _people(page: ManagerPage, *, invited: str = "", link: str = "") -> HTMLResponse:
    every = page.studio.accounts.all()
    return page.render("manage_people.html", invited=invited, link=link, accounts=every)


def _next_steps(state: ReviewState) -> list[tuple[str, str]]:
    """Return what a review wants of its manager: what to do, and the page where it is done."""
    steps = []
    if not state.items:
        steps.append(("Import the items", "manage_import"))
    if not state.people:
        steps.append(("Invite the people, with their roles", "manage_team"))
    else:
        problems = staffing_problems(state)
        steps += [(f"{one[:1].upper()}{one[1:]}", "manage_team") for one in problems]
    if state.items and not steps:
        ended = all(item.outcome is not None for item in state.items.values())
        steps = [("All items have ended: take the decisions out, below", "manage_review")] * ended
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
            "notes": [note for one in people for note in role_warnings(state.project, one)],
            "items": len(state.items),
        }

    found = page.studio.store.read(page.review, reader)
    named = {person.name for person in found["people"]}
    accounts = page.studio.accounts.all()
    return page.render(
        "manage_team.html",
        status=status,
        problem=problem,
        message=message,
        links=links or [],
        others=[a.name for a in accounts if a.active and a.name not in named],
        **found,
    )
