"""The manager's pages: reviews, who may sign in, the audit log; a review's figures, stages, people.

Also their files: items and decisions in (`contrafact.review.web.uploads`), everything that was
decided out. All of these pages are for managers.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.assignment import (
    people_in_words,
    people_needed,
    role_warnings,
    roles_in_words,
    staffing_problems,
)
from contrafact.review.events import NotAllowed
from contrafact.review.export import (
    EXPORTS,
    TABLE_FORMATS,
    Export,
    available_exports,
    export_rows,
    history_rows,
    render_rows,
)
from contrafact.review.external_formats import TOOLS, read_annotations
from contrafact.review.field_mapping import name_pairs, read_gold, read_items
from contrafact.review.figures.agreement import rated_questions, stage_ratings
from contrafact.review.figures.progress import review_progress
from contrafact.review.figures.tables import agreement_tables, progress_table
from contrafact.review.import_annotations import import_annotations
from contrafact.review.project import builtin_projects, load_project
from contrafact.review.state import ReviewState
from contrafact.review.web.access import TheManager, TheReview, TheStudio, client_address
from contrafact.review.web.studio import Studio, redirect_to, render
from contrafact.review.web.uploads import read_project, shown_name, uploaded
from contrafact.review.workflow import reissue, set_stage_open

__all__ = ["router"]

_LOG_LINES = 500
_DESCRIPTIONS: dict[Export, str] = {
    "decisions": "what stands, as rfc finalize and finforce release read it",
    "items": "where every item is, and what became of it; finforce release reads it",
    "labels": "of a run's items, as contrafact report --labels reads them",
    "sheet": "filled in, as study score reads it",
    "history": "every event, in order",
}

router = APIRouter(prefix="/manage")
Text = Annotated[str, Form(max_length=1000)]
LongText = Annotated[str, Form(max_length=20_000)]


@router.get("", name="manage")
def manage(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show every review, and how a new one is opened."""
    return _reviews(request, studio)


@router.post("", name="open_review")
def open_review(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    project: Text = "",
    file: UploadFile | None = None,
) -> Response:
    """Open a review, of a built-in project or of one in a TOML file."""
    try:
        if name in studio.store.reviews():
            raise NotAllowed(f"there is a review '{name[:40]}' already")
        studio.store.define(name, read_project(project, file), account.name)
    except InputError as error:
        return _reviews(request, studio, status=422, problem=str(error))
    studio.accounts.log("review opened", account.name, name, client_address(request))
    return redirect_to(str(request.app.url_path_for("manage_review", review=name)))


@router.get("/people", name="manage_people")
def people(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show who may sign in."""
    return _people(request, studio)


@router.post("/people/invite", name="invite_person")
def invite(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    manager: bool = Form(False),
) -> HTMLResponse:
    """Make a one-time link for somebody new, or for who has lost their password."""
    name = name.strip()
    try:
        secret = studio.accounts.invite(
            name, by=account.name, manager=manager, address=client_address(request)
        )
    except NotAllowed as error:
        return _people(request, studio, status=422, problem=str(error))
    base = studio.url or str(request.base_url).rstrip("/")
    link = base + str(request.app.url_path_for("invite_page", secret=secret))
    return _people(request, studio, invited=name, link=link)


@router.post("/people/change", name="change_person")
def change(
    request: Request,
    account: TheManager,
    studio: TheStudio,
    name: Text,
    what: Annotated[str, Form(pattern="^(open|close|manager|no-manager)$")],
) -> Response:
    """Close an account or open it again; let somebody manage or not."""
    how = {"by": account.name, "address": client_address(request)}
    try:
        if what in ("open", "close"):
            studio.accounts.set_active(name, what == "open", **how)
        else:
            studio.accounts.set_manager(name, what == "manager", **how)
    except NotAllowed as error:
        return _people(request, studio, status=409, problem=str(error))
    return redirect_to(str(request.app.url_path_for("manage_people")))


@router.get("/log", name="manage_log")
def log(request: Request, account: TheManager, studio: TheStudio) -> HTMLResponse:
    """Show the audit log, the latest lines first."""
    lines = [
        (f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M:%S}", one)
        for one in studio.accounts.audit_log(_LOG_LINES)
    ]
    return render(request, "manage_log.html", lines=lines)


@router.get("/r/{review:review}", name="manage_review")
def manage_review(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    all_stages: bool = False,
) -> HTMLResponse:
    """Show how a review stands: what to do next, its stages, what can be exported."""
    return _review_page(request, studio, review, all_stages=all_stages)


@router.get("/r/{review:review}/figures", name="manage_figures")
def manage_figures(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show how far a review has come, and how far people agree."""
    progress, ratings = studio.store.read(
        review, lambda state: (review_progress(state, datetime.now(UTC)), stage_ratings(state))
    )
    # What takes long is computed while others work on.
    tables = [progress_table(progress)]
    tables += [table for one in ratings for table in agreement_tables(one)]
    return render(request, "manage_figures.html", review=review, tables=tables)


@router.post("/r/{review:review}/stage", name="control_stage")
def control_stage(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    stage: Text,
    what: Annotated[str, Form(pattern="^(open|close|settle)$")],
) -> Response:
    """Close a stage or open it again, or let what waits at it go on now."""
    try:
        if what == "settle":
            studio.store.settle(review, force=stage)
        else:
            who, open_ = account.name, what == "open"
            studio.store.do(review, lambda s, now, _: set_stage_open(s, stage, open_, who, now))
    except NotAllowed as error:
        return _review_page(request, studio, review, status=409, problem=str(error))
    return _changed(request, studio, account.name, review, f"stage: {what}", stage)


@router.post("/r/{review:review}/reissue", name="reissue_items")
def reissue_items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    item: Text = "",
    person: Text = "",
) -> Response:
    """Take an item, or all that somebody has in hand, back for others to be given."""
    try:
        whose = {"item": item or None, "person": person or None}
        studio.store.do(review, lambda s, now, _: reissue(s, account.name, now, **whose))
    except NotAllowed as error:
        return _review_page(request, studio, review, status=409, problem=str(error))
    return _changed(request, studio, account.name, review, "items taken back", item or person)


@router.post("/r/{review:review}/words/file", name="change_words")
def change_words(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
) -> Response:
    """Give a review other guidelines, titles and questions' texts: its project's file, changed."""
    try:
        studio.store.define(review, read_project("", file), account.name)
    except InputError as error:
        return _review_page(request, studio, review, status=422, problem=str(error))
    return _changed(request, studio, account.name, review, "words changed", "")


@router.get("/r/{review:review}/team", name="manage_team")
def team(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show the people of a review and their roles."""
    return _team(request, studio, review)


@router.post("/r/{review:review}/team", name="change_team")
def change_team(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    name: Text,
    roles: Annotated[list[str] | None, Form()] = None,
    active: bool = Form(False),
    trained: bool = Form(False),
) -> Response:
    """Give somebody roles in place of those they had."""
    name = name.strip()
    try:
        if studio.accounts.find(name) is None:
            raise NotAllowed(
                f"{name[:40]!a} has no account", hint="invite them first, under People"
            )
        studio.store.set_roles(
            review, name, roles or [], account.name, active=active, trained=trained
        )
    except NotAllowed as error:
        return _team(request, studio, review, status=422, problem=str(error))
    detail = f"{name}: {', '.join(roles or []) or 'no role'}{'' if active else ', resting'}"
    address = client_address(request)
    studio.log_change(account.name, review, "roles given", detail, address=address)
    return redirect_to(str(request.app.url_path_for("manage_team", review=review)))


@router.post("/r/{review:review}/team/invite", name="invite_team")
def invite_team(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    names: LongText,
    roles: Annotated[list[str] | None, Form()] = None,
    trained: bool = Form(False),
) -> HTMLResponse:
    """Give people roles in a review, and those without an account a link to make theirs."""
    wanted = list(dict.fromkeys(line.strip() for line in names.splitlines() if line.strip()))
    address, links = client_address(request), []
    try:
        for name in wanted:
            known = studio.accounts.find(name)
            if known is None or (known.active and not known.ready):
                base = studio.url or str(request.base_url).rstrip("/")
                link = studio.invite_link(name, base, by=account.name, address=address)
                links.append((name, link))
            studio.store.set_roles(review, name, roles or [], account.name, trained=trained)
            detail = f"{name}: {', '.join(roles or []) or 'no role'}"
            studio.log_change(account.name, review, "roles given", detail, address=address)
    except NotAllowed as error:
        return _team(request, studio, review, status=422, problem=str(error), links=links)
    message = f"{len(wanted):,} {'person has' if len(wanted) == 1 else 'people have'} their roles."
    return _team(request, studio, review, links=links, message=message)


def _reviews(
    request: Request, studio: Studio, *, status: int = 200, problem: str = ""
) -> HTMLResponse:
    def look(state: ReviewState) -> tuple[str, int, int]:
        ended = sum(item.outcome is not None for item in state.items.values())
        return state.project.title, len(state.items), ended

    return render(
        request,
        "manage.html",
        status=status,
        problem=problem,
        reviews=[(name, *studio.store.read(name, look)) for name in studio.store.reviews()],
        projects=[(name, load_project(name).title, _needs(name)) for name in builtin_projects()],
    )


def _needs(name: str) -> str:
    roles, least = people_needed(load_project(name))
    return f"{roles_in_words(roles)}: at least {people_in_words(least)}"


def _people(
    request: Request,
    studio: Studio,
    *,
    status: int = 200,
    problem: str = "",
    invited: str = "",
    link: str = "",
) -> HTMLResponse:
    return render(
        request,
        "manage_people.html",
        status=status,
        problem=problem,
        invited=invited,
        link=link,
        accounts=studio.accounts.all(),
    )


def _changed(
    request: Request, studio: Studio, who: str, review: str, action: str, detail: str
) -> Response:
    studio.log_change(who, review, action, detail, address=client_address(request))
    return redirect_to(str(request.app.url_path_for("manage_review", review=review)))


def _review_page(
    request: Request,
    studio: Studio,
    review: str,
    *,
    status: int = 200,
    problem: str = "",
    all_stages: bool = False,
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any]:
        progress = review_progress(state, datetime.now(UTC))
        held = [(who, state.items[name]) for who, name in state.held.items()]
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
                for who, item in held
            ),
            "exports": [
                (what, _DESCRIPTIONS[what])
                for what in available_exports(state.project)
                if what in _DESCRIPTIONS
            ],
            # The blind stages, with what ratings of them can be about.
            "rated": [
                (stage.id, stage.title, rated_questions(state, stage.id))
                for stage in state.project.flow
                if stage.kind == "independent"
            ],
        }

    return render(
        request,
        "manage_review.html",
        status=status,
        problem=problem,
        review=review,
        formats=TABLE_FORMATS,
        **studio.store.read(review, look),
    )


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
    request: Request,
    studio: Studio,
    review: str,
    *,
    status: int = 200,
    problem: str = "",
    message: str = "",
    links: Sequence[tuple[str, str]] = (),
) -> HTMLResponse:
    roles, people, problems, notes, items = studio.store.read(
        review,
        lambda state: (
            state.project.roles,
            list(state.people.values()),
            staffing_problems(state),
            [note for one in state.people.values() for note in role_warnings(state.project, one)],
            len(state.items),
        ),
    )
    named = {person.name for person in people}
    others = [a.name for a in studio.accounts.all() if a.active and a.name not in named]
    return render(
        request,
        "manage_team.html",
        status=status,
        problem=problem,
        message=message,
        links=links,
        review=review,
        roles=roles,
        people=people,
        others=others,
        problems=problems,
        notes=notes,
        items=items,
    )


_SHOWN_PROBLEMS = 200
_TYPES = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


@router.get("/r/{review:review}/import", name="manage_import")
def import_page(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show the forms for items, training items, and decisions made elsewhere."""
    return _import_page(request, studio, review)


@router.post("/r/{review:review}/import/items", name="import_items")
def import_items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
    names: LongText = "",
    training: bool = Form(False),
) -> HTMLResponse:
    """Import items, to review or to train on."""
    try:
        project = studio.store.read(review, lambda state: state.project)
        named = name_pairs(names.splitlines(), "FIELD=NAME")
        with uploaded(file) as path:
            if training:
                gold = read_gold(path, project, named)
                added = studio.store.import_gold(review, gold, account.name)
                message = f"{added:,} of {len(gold):,} training items are new."
            else:
                items = read_items(path, project, named)
                added = studio.store.import_items(review, items, account.name)
                message = f"{added:,} of {len(items):,} items are new."
    except InputError as error:
        return _import_page(request, studio, review, status=422, problem=str(error))
    detail, address = f"{shown_name(file)}: {message}", client_address(request)
    studio.log_change(account.name, review, "imported", detail, address=address)
    return _import_page(request, studio, review, message=message)


@router.post("/r/{review:review}/import/decisions", name="import_decisions")
def import_decisions(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
    tool: LongText,
    stage: LongText = "",
    annotator: LongText = "",
    names: LongText = "",
    people: LongText = "",
) -> HTMLResponse:
    """Import decisions that were made with another tool, as far as they fit."""
    try:
        if tool not in TOOLS:
            raise InputError(f"'{tool[:40]}' is no tool whose exports are read")
        named = name_pairs(names.splitlines(), "QUESTION=NAME")
        known = name_pairs(people.splitlines(), "THEIRS=OURS")
        with uploaded(file) as path:
            annotations = read_annotations(path, tool, annotator=annotator or None)
        found = studio.store.change(
            review,
            lambda state, now, rng: import_annotations(
                state,
                annotations,
                account.name,
                tool=tool,
                file=shown_name(file),
                stage=stage or None,
                names=named,
                people=known,
                now=now,
                rng=rng,
            ),
        )
    except InputError as error:
        return _import_page(request, studio, review, status=422, problem=str(error))
    message = (
        f"Decisions imported: {found.imported:,}; already here: {found.duplicates:,}; "
        f"left out: {len(found.problems):,}."
    )
    detail, address = f"{shown_name(file)}: {message}", client_address(request)
    studio.log_change(account.name, review, "decisions imported", detail, address=address)
    return _import_page(request, studio, review, message=message, left_out=found.problems)


@router.get("/r/{review:review}/export/{file}", name="manage_export")
def export(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: str,
    stage: str = "",
    question: str = "",
) -> Response:
    """Return what came out of a review so far, as JSON Lines, CSV or Parquet."""
    what, _, form = file.rpartition(".")
    if what not in EXPORTS or form not in TABLE_FORMATS:
        raise HTTPException(404, "There is no such export.")
    if what == "history":
        made = history_rows(studio.store.history(review))
    else:
        made = studio.store.read(
            review, lambda state: export_rows(state, cast(Export, what), stage, question)
        )
    studio.accounts.log(
        "exported", account.name, f"{review}: {what}.{form}", client_address(request)
    )
    return Response(
        render_rows(made, form),
        media_type=_TYPES[form],
        headers={"content-disposition": f'attachment; filename="{what}.{form}"'},
    )


def _import_page(
    request: Request,
    studio: Studio,
    review: str,
    *,
    status: int = 200,
    problem: str = "",
    message: str = "",
    left_out: Sequence[str] = (),
) -> HTMLResponse:
    def look(state: ReviewState) -> dict[str, Any]:
        project = state.project
        return {
            "show": project.show,
            "trains": any(stage.kind == "training" for stage in project.stages),
            "stages": [(s.id, s.title) for s in project.flow if s.roles],
            "people": bool(state.people),
        }

    return render(
        request,
        "manage_import.html",
        status=status,
        problem=problem,
        message=message,
        left_out=left_out[:_SHOWN_PROBLEMS],
        more=max(0, len(left_out) - _SHOWN_PROBLEMS),
        review=review,
        **studio.store.read(review, look),
        tools=TOOLS,
        limit=studio.upload_limit // (1024 * 1024),
    )
