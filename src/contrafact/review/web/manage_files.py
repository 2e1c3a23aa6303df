"""The manager's files: items and decisions in, everything that was decided out."""

from collections.abc import Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review import export as rows
from contrafact.review.adopt import Adopted, adopt
from contrafact.review.board import Board
from contrafact.review.elsewhere import TOOLS, read_foreign
from contrafact.review.importing import read_gold, read_items
from contrafact.review.rows_out import FORMS, render_rows
from contrafact.review.web.access import client_address
from contrafact.review.web.manage_access import (
    TheManager,
    TheReview,
    TheStudio,
    note_change,
)
from contrafact.review.web.manage_forms import pairs, shown_name, uploaded
from contrafact.review.web.pages import render
from contrafact.review.web.studio import Studio

__all__ = ["router"]

router = APIRouter(prefix="/r/{review:review}")
Text = Annotated[str, Form(max_length=20_000)]

_SHOWN_PROBLEMS = 200
_TYPES = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


@router.get("/import", name="manage_import")
def import_page(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show the forms for items, training items, and decisions made elsewhere."""
    return _page(request, studio, review)


@router.post("/import/items", name="import_items")
def import_items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
    names: Text = "",
    training: bool = Form(False),
) -> HTMLResponse:
    """Bring items in, to review or to train on."""
    try:
        project = studio.store.read(review, lambda board: board.project)
        named = pairs(names, "FIELD=NAME")
        with uploaded(file) as path:
            if training:
                gold = read_gold(path, project, named)
                added = studio.store.import_gold(review, gold, account.name)
                said = f"{added:,} of {len(gold):,} training items are new."
            else:
                items = read_items(path, project, named)
                added = studio.store.import_items(review, items, account.name)
                said = f"{added:,} of {len(items):,} items are new."
    except InputError as error:
        return _page(request, studio, review, status=422, problem=str(error))
    note_change(request, studio, account.name, review, "imported", f"{shown_name(file)}: {said}")
    return _page(request, studio, review, said=said)


@router.post("/import/decisions", name="import_decisions")
def import_decisions(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
    tool: Text,
    stage: Text = "",
    annotator: Text = "",
    names: Text = "",
    people: Text = "",
) -> HTMLResponse:
    """Take decisions in that were made with another tool, as far as they fit."""
    try:
        if tool not in TOOLS:
            raise InputError(f"'{tool[:40]}' is no tool whose exports are read")
        named, known = pairs(names, "QUESTION=NAME"), pairs(people, "THEIRS=OURS")
        with uploaded(file) as path:
            decisions = read_foreign(path, tool, annotator=annotator or None)
        found = studio.store.change(
            review,
            lambda board, now, rng: adopt(
                board,
                decisions,
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
        return _page(request, studio, review, status=422, problem=str(error))
    said = told(found)
    note_change(
        request, studio, account.name, review, "decisions imported", f"{shown_name(file)}: {said}"
    )
    return _page(request, studio, review, said=said, left_out=found.problems)


@router.get("/export/{file}", name="manage_export")
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
    if what not in rows.EXPORTS or form not in FORMS:
        raise HTTPException(404, "There is no such export.")
    if what == "history":
        made = rows.history_rows(studio.store.history(review))
    else:
        made = studio.store.read(
            review, lambda board: rows.rows_of(board, cast(rows.Export, what), stage, question)
        )
    studio.accounts.log(
        "exported", account.name, f"{review}: {what}.{form}", client_address(request)
    )
    return Response(
        render_rows(made, form),
        media_type=_TYPES[form],
        headers={"content-disposition": f'attachment; filename="{what}.{form}"'},
    )


def told(found: Adopted) -> str:
    """Return what became of decisions made elsewhere, in a sentence."""
    said = f"Decisions taken in: {found.taken:,}; here already: {found.known:,}"
    return f"{said}; left out: {len(found.problems):,}."


def _page(
    request: Request,
    studio: Studio,
    review: str,
    *,
    status: int = 200,
    problem: str = "",
    said: str = "",
    left_out: Sequence[str] = (),
) -> HTMLResponse:
    def look(board: Board) -> tuple[tuple[str, ...], bool, list[tuple[str, str]]]:
        project = board.project
        trains = any(stage.kind == "training" for stage in project.stages)
        return project.show, trains, [(s.id, s.title) for s in project.flow if s.roles]

    show, trains, stages = studio.store.read(review, look)
    return render(
        request,
        "manage_import.html",
        status=status,
        problem=problem,
        said=said,
        left_out=left_out[:_SHOWN_PROBLEMS],
        more=max(0, len(left_out) - _SHOWN_PROBLEMS),
        review=review,
        show=show,
        trains=trains,
        stages=stages,
        tools=TOOLS,
        limit=studio.upload_limit // (1024 * 1024),
    )
