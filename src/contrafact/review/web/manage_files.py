"""The manager's pages for files: imports of items and wording, and exports."""

from typing import Any, cast

import tomli_w
from fastapi import APIRouter, Form, HTTPException, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review.export import (
    EXPORTS,
    TABLE_FORMATS,
    Export,
    export_rows,
    history_rows,
    render_rows,
)
from contrafact.review.field_mapping import name_pairs, read_gold, read_items
from contrafact.review.project import Project
from contrafact.review.setup import import_gold, import_items
from contrafact.review.state import ReviewState
from contrafact.review.web.access import LongText, ManagerPage, TheReviewPage
from contrafact.review.web.uploads import read_project, shown_name, uploaded

_TYPES = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

router = APIRouter(prefix="/manage/r/{review:review}")


@router.get("/import", name="manage_import")
def import_page(page: TheReviewPage) -> HTMLResponse:
    return _import_page(page)


@router.post("/import/items", name="import_items")
def take_items(
    page: TheReviewPage, file: UploadFile, names: LongText = "", training: bool = Form(False)
) -> HTMLResponse:
    store, review = page.studio.store, page.review
    try:
        project = store.read(review, lambda state: state.project)
        named = name_pairs(names.splitlines(), "FIELD=NAME")
        with uploaded(file) as path:
            if training:
                gold = read_gold(path, project, named)
                added = store.act(review, import_gold, page.who, gold)
                message = f"{added:,} of {len(gold):,} training items are new."
            else:
                items = read_items(path, project, named)
                added = store.act(review, import_items, page.who, items)
                message = f"{added:,} of {len(items):,} items are new."
    except InputError as error:
        return _import_page(page, status=422, problem=str(error))
    page.log("imported", f"{shown_name(file)}: {message}")
    return _import_page(page, message=message)


@router.get("/project.toml", name="project_file")
def project_file(page: TheReviewPage) -> Response:
    """Return the project as a TOML file, to change its wording or to open another review."""
    text = project_toml(page.studio.store.read(page.review, lambda state: state.project))
    return Response(
        text,
        media_type="application/toml; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="project.toml"'},
    )


@router.post("/wording", name="change_wording")
def change_wording(page: TheReviewPage, file: UploadFile) -> HTMLResponse:
    """Change a review's guidelines, titles and questions' texts, from a changed project file."""
    try:
        page.studio.store.define(page.review, read_project("", file), page.who)
    except InputError as error:
        return _import_page(page, status=422, problem=str(error))
    page.log("wording changed")
    return _import_page(page, message="The new wording is in use.")


def project_toml(project: Project) -> str:
    """Return a project as TOML, without empty settings; reading it gives the same project."""
    plain = project.model_dump(mode="json", exclude_defaults=True)
    return tomli_w.dumps(plain, multiline_strings=True)


@router.get("/export/{file}", name="manage_export")
def export(page: TheReviewPage, file: str, stage: str = "", question: str = "") -> Response:
    what, _, form = file.rpartition(".")
    if what not in EXPORTS or form not in TABLE_FORMATS:
        raise HTTPException(404, "There is no such export.")
    store, review = page.studio.store, page.review
    if what == "history":
        rows = history_rows(store.history(review))
    else:
        stages = [stage] if stage else ()
        rows = store.read(
            review, lambda state: export_rows(state, cast(Export, what), stages, question)
        )
    page.log("exported", f"{what}.{form}")
    return Response(
        render_rows(rows, form),
        media_type=_TYPES[form],
        headers={"content-disposition": f'attachment; filename="{what}.{form}"'},
    )


def _import_page(
    page: ManagerPage, *, status: int = 200, problem: str = "", message: str = ""
) -> HTMLResponse:
    def reader(state: ReviewState) -> dict[str, Any]:
        project = state.project
        return {
            "show": project.show,
            "trains": any(stage.kind == "training" for stage in project.stages),
            "people": bool(state.people),
        }

    return page.render(
        "manage_import.html",
        status=status,
        problem=problem,
        message=message,
        limit=page.studio.upload_limit // (1024 * 1024),
        **page.studio.store.read(page.review, reader),
    )
