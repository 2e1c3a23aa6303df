"""A review's wording, edited in the browser: guidelines, titles and questions' texts.

Each version is an event; decisions keep a hash of the version that their makers saw. All of these
pages are for managers.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import tomli_w
from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import ValidationError

from contrafact.errors import InputError
from contrafact.review.events import Event, current_definition
from contrafact.review.project import Project
from contrafact.review.web.access import ManagerPage, TheReviewPage
from contrafact.review.web.item_view import cached_diff, when_shown
from contrafact.review.web.studio import guidelines_html, render_part

__all__ = ["project_toml", "reworded", "router", "wording_of"]

router = APIRouter(prefix="/manage/r/{review:review}/words")
Wording = dict[str, str]
"""Texts by the names of their fields: ``title``, ``guidelines``, ``question.ID``, ``stage.ID``."""


def wording_of(project: Project) -> Wording:
    """Return the texts of a project that may be changed while it is under way."""
    return {
        "title": project.title,
        "guidelines": project.guidelines,
        **{f"question.{question.id}": question.text for question in project.questions},
        **{f"stage.{stage.id}": stage.title for stage in project.stages},
    }


def reworded(project: Project, wording: Mapping[str, str]) -> Project:
    """Return a project with other texts; those that are not given stay.

    Raises:
        InputError: A text is empty.
    """
    texts = {**wording_of(project), **wording}
    for name, text in texts.items():
        if not text.strip():
            raise InputError(f"the text of '{name}' is empty", hint="write it")
    plain = project.model_dump(mode="json")
    plain |= {"title": texts["title"], "guidelines": texts["guidelines"]}
    for question in plain["questions"]:
        question["text"] = texts[f"question.{question['id']}"]
    for stage in plain["stages"]:
        stage["title"] = texts[f"stage.{stage['id']}"]
    try:
        return Project.model_validate(plain)
    except ValidationError as error:
        raise InputError(error.errors()[0]["msg"]) from error


def project_toml(project: Project) -> str:
    """Return a project as TOML; reading it gives the same project. What is empty is left out."""
    plain = project.model_dump(mode="json", exclude_defaults=True)
    return tomli_w.dumps(plain, multiline_strings=True)


async def read_wording(request: Request) -> Wording:
    """Return the texts that a form has."""
    form = await request.form()
    return {
        name: text.replace("\r\n", "\n")
        for name, text in form.items()
        if isinstance(text, str)
        and (name in ("title", "guidelines") or name.startswith(("question.", "stage.")))
    }


TheWording = Annotated[Wording, Depends(read_wording)]


@router.get("", name="manage_words")
def words(
    page: TheReviewPage,
    version: int | None = None,
) -> HTMLResponse:
    """Show the wording to be edited, and its versions; of an earlier one, what changed in it."""
    return _words(page, version=version)


@router.post("", name="save_words")
def save(
    page: TheReviewPage,
    wording: TheWording,
) -> Response:
    """Give a review another wording, from now on."""
    store = page.studio.store
    project = store.read(page.review, lambda state: state.project)
    try:
        store.define(page.review, reworded(project, wording), page.who)
    except InputError as error:
        return _words(page, written=wording, problem=error)
    page.log("wording changed")
    return page.go_to("manage_words")


@router.post("/preview", name="preview_words")
def preview(
    page: TheReviewPage,
    wording: TheWording,
) -> Response:
    """Show the wording as people will read it; nothing is kept.

    The page's script asks for JSON; without it the page itself comes back, as it was filled in.
    """
    if "application/json" not in page.request.headers.get("accept", ""):
        return _words(page, written=wording)
    project = page.studio.store.read(page.review, lambda state: state.project)
    part = render_part("words_preview.html", **_preview(project, wording))
    return JSONResponse({"html": part}, headers={"cache-control": "no-store"})


@router.get("/project.toml", name="project_file")
def download(page: TheReviewPage) -> Response:
    """Return the project as a file, to keep, to compare or to begin another review with."""
    text = project_toml(page.studio.store.read(page.review, lambda state: state.project))
    return Response(
        text,
        media_type="application/toml; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="project.toml"'},
    )


def _words(
    page: ManagerPage,
    *,
    version: int | None = None,
    written: Mapping[str, str] | None = None,
    problem: InputError | None = None,
) -> HTMLResponse:
    store = page.studio.store
    made = [event for event in store.history(page.review) if event.kind == "project"]
    project = store.read(page.review, lambda state: state.project)
    texts = {**wording_of(project), **(written or {})}
    return page.render(
        "manage_words.html",
        status=200 if problem is None else 422,
        problem=problem,
        texts=texts,
        questions=project.questions,
        stages=project.stages,
        preview=_preview(project, texts),
        versions=[
            (event.seq, when_shown(event.when), event.who, event.guidelines_version)
            for event in reversed(made)
        ],
        shown=None if version is None else _version(made, version),
        version=version,
    )


def _preview(project: Project, wording: Mapping[str, str]) -> dict[str, Any]:
    texts = {**wording_of(project), **wording}
    return {
        "title": texts["title"],
        "guidelines": guidelines_html(texts["guidelines"]),
        "questions": [
            (texts[f"question.{question.id}"], question.options) for question in project.questions
        ],
    }


def _version(made: list[Event], seq: int) -> list[tuple[str, Any]]:
    """Return what a version changed, text by text, against the one before it."""
    place = next((n for n, event in enumerate(made) if event.seq == seq), None)
    if place is None:
        raise HTTPException(404, "There is no such version.")
    now = wording_of(Project.model_validate(current_definition(made[place])))
    before: Wording = {}
    if place:
        before = wording_of(Project.model_validate(current_definition(made[place - 1])))
    return [
        (name, cached_diff(before.get(name, ""), text))
        for name, text in now.items()
        if before.get(name) != text
    ]
