"""The manager's files: items and decisions in, everything that was decided out.

What is uploaded is written to a folder of its own under a name of ours; of the name that it was
sent with only the suffix is used, and the rest shown in messages.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import Annotated, cast

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
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
from contrafact.review.import_annotations import import_annotations
from contrafact.review.project import Project, builtin_projects, load_project, parse_project
from contrafact.review.state import ReviewState
from contrafact.review.web.access import TheManager, TheReview, TheStudio, client_address
from contrafact.review.web.pages import render
from contrafact.review.web.studio import Studio

__all__ = ["read_project", "router", "shown_name", "uploaded"]

router = APIRouter()
Text = Annotated[str, Form(max_length=20_000)]
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
_PROJECT_BYTES = 256 * 1024
_SHOWN_PROBLEMS = 200
_TYPES = {
    "jsonl": "application/jsonl; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}


@router.get("/manage/r/{review:review}/import", name="manage_import")
def import_page(
    request: Request, account: TheManager, review: TheReview, studio: TheStudio
) -> HTMLResponse:
    """Show the forms for items, training items, and decisions made elsewhere."""
    return _page(request, studio, review)


@router.post("/manage/r/{review:review}/import/items", name="import_items")
def import_items(
    request: Request,
    account: TheManager,
    review: TheReview,
    studio: TheStudio,
    file: UploadFile,
    names: Text = "",
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
        return _page(request, studio, review, status=422, problem=str(error))
    detail, address = f"{shown_name(file)}: {message}", client_address(request)
    studio.log_change(account.name, review, "imported", detail, address=address)
    return _page(request, studio, review, message=message)


@router.post("/manage/r/{review:review}/import/decisions", name="import_decisions")
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
        return _page(request, studio, review, status=422, problem=str(error))
    message = (
        f"Decisions imported: {found.imported:,}; already here: {found.duplicates:,}; "
        f"left out: {len(found.problems):,}."
    )
    detail, address = f"{shown_name(file)}: {message}", client_address(request)
    studio.log_change(account.name, review, "decisions imported", detail, address=address)
    return _page(request, studio, review, message=message, left_out=found.problems)


@router.get("/manage/r/{review:review}/export/{file}", name="manage_export")
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


def _page(
    request: Request,
    studio: Studio,
    review: str,
    *,
    status: int = 200,
    problem: str = "",
    message: str = "",
    left_out: Sequence[str] = (),
) -> HTMLResponse:
    def look(state: ReviewState) -> tuple[tuple[str, ...], bool, list[tuple[str, str]]]:
        project = state.project
        trains = any(stage.kind == "training" for stage in project.stages)
        return project.show, trains, [(s.id, s.title) for s in project.flow if s.roles]

    show, trains, stages = studio.store.read(review, look)
    return render(
        request,
        "manage_import.html",
        status=status,
        problem=problem,
        message=message,
        left_out=left_out[:_SHOWN_PROBLEMS],
        more=max(0, len(left_out) - _SHOWN_PROBLEMS),
        review=review,
        show=show,
        trains=trains,
        stages=stages,
        tools=TOOLS,
        limit=studio.upload_limit // (1024 * 1024),
    )


def read_project(name: str, file: UploadFile | None) -> Project:
    """Return the project that a form names, or that it holds as a TOML file.

    Raises:
        InputError: It names none, or holds none that is valid.
    """
    if file is not None and file.filename:
        given = file.file.read(_PROJECT_BYTES + 1)
        if len(given) > _PROJECT_BYTES:
            raise InputError("the project's file is too large", hint="it is a short TOML file")
        try:
            return parse_project(given.decode("utf-8"), "the project's file")
        except UnicodeDecodeError as error:
            raise InputError("the project's file is not UTF-8", hint="save it as UTF-8") from error
    if name not in builtin_projects():
        raise InputError("no project is named", hint="choose one, or upload its file")
    return load_project(name)


@contextmanager
def uploaded(file: UploadFile) -> Iterator[Path]:
    """Give what was uploaded as a temporary file; messages name it as its sender did.

    Raises:
        InputError: As the block does, with the sender's name of the file.
    """
    suffix = PurePosixPath(file.filename or "").suffix.lower()
    with tempfile.TemporaryDirectory(prefix="contrafact-upload-") as folder:
        path = Path(folder) / f"upload{suffix if suffix in _SUFFIXES else ''}"
        with path.open("wb") as sink:
            copyfileobj(file.file, sink)
        try:
            yield path
        except InputError as error:
            where = shown_name(file) if error.file is not None else None
            raise InputError(error.problem, file=where, line=error.line, hint=error.hint) from error


def shown_name(file: UploadFile) -> str:
    """Return the name that a file was sent with, as far as it can be shown."""
    base = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if c.isprintable() else "?" for c in base)
    return plain[-80:] or "the file"
