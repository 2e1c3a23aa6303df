"""The manager's pages of files: items and decisions in, everything that was decided out."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

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
from contrafact.review.external_formats import TOOLS, read_annotations
from contrafact.review.field_mapping import name_pairs, read_gold, read_items
from contrafact.review.import_annotations import ImportSource, import_annotations
from contrafact.review.state import ReviewState
from contrafact.review.web.access import ManagerPage, TheReviewPage
from contrafact.review.web.uploads import shown_name, uploaded

__all__ = ["router"]

_SHOWN_PROBLEMS = 200
_TYPES = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

router = APIRouter(prefix="/manage/r/{review:review}")
LongText = Annotated[str, Form(max_length=20_000)]


@router.get("/import", name="manage_import")
def import_page(page: TheReviewPage) -> HTMLResponse:
    """Show the forms for items, training items, and decisions made elsewhere."""
    return _import_page(page)


@router.post("/import/items", name="import_items")
def import_items(
    page: TheReviewPage, file: UploadFile, names: LongText = "", training: bool = Form(False)
) -> HTMLResponse:
    """Import items, to review or to train on."""
    store, review = page.studio.store, page.review
    try:
        project = store.read(review, lambda state: state.project)
        named = name_pairs(names.splitlines(), "FIELD=NAME")
        with uploaded(file) as path:
            if training:
                gold = read_gold(path, project, named)
                added = store.import_gold(review, gold, page.who)
                message = f"{added:,} of {len(gold):,} training items are new."
            else:
                items = read_items(path, project, named)
                added = store.import_items(review, items, page.who)
                message = f"{added:,} of {len(items):,} items are new."
    except InputError as error:
        return _import_page(page, status=422, problem=str(error))
    page.log("imported", f"{shown_name(file)}: {message}")
    return _import_page(page, message=message)


@router.post("/import/decisions", name="import_decisions")
def import_decisions(
    page: TheReviewPage,
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
        source = ImportSource(
            tool,
            shown_name(file),
            stage=stage or None,
            names=name_pairs(names.splitlines(), "QUESTION=NAME"),
            people=name_pairs(people.splitlines(), "THEIRS=OURS"),
        )
        with uploaded(file) as path:
            annotations = read_annotations(path, tool, annotator=annotator or None)
        found = page.studio.store.change(
            page.review,
            lambda state, now, rng: import_annotations(
                state, annotations, source, page.who, now=now, rng=rng
            ),
        )
    except InputError as error:
        return _import_page(page, status=422, problem=str(error))
    message = (
        f"Decisions imported: {found.imported:,}; already here: {found.duplicates:,}; "
        f"left out: {len(found.problems):,}."
    )
    page.log("decisions imported", f"{shown_name(file)}: {message}")
    return _import_page(page, message=message, left_out=found.problems)


@router.get("/export/{file}", name="manage_export")
def export(page: TheReviewPage, file: str, stage: str = "", question: str = "") -> Response:
    """Return what came out of a review so far, as JSON Lines, CSV or Parquet."""
    what, _, form = file.rpartition(".")
    if what not in EXPORTS or form not in TABLE_FORMATS:
        raise HTTPException(404, "There is no such export.")
    store, review = page.studio.store, page.review
    if what == "history":
        made = history_rows(store.history(review))
    else:
        made = store.read(
            review, lambda state: export_rows(state, cast(Export, what), stage, question)
        )
    page.log("exported", f"{what}.{form}")
    return Response(
        render_rows(made, form),
        media_type=_TYPES[form],
        headers={"content-disposition": f'attachment; filename="{what}.{form}"'},
    )


def _import_page(
    page: ManagerPage,
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

    return page.render(
        "manage_import.html",
        status=status,
        problem=problem,
        message=message,
        left_out=left_out[:_SHOWN_PROBLEMS],
        more=max(0, len(left_out) - _SHOWN_PROBLEMS),
        tools=TOOLS,
        limit=page.studio.upload_limit // (1024 * 1024),
        **page.studio.store.read(page.review, look),
    )
