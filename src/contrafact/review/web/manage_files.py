"""The manager's files: items and decisions in, everything that was decided out."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import Annotated, cast

from fastapi import APIRouter, Form, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse, Response

from contrafact.errors import InputError
from contrafact.review import export as rows
from contrafact.review.export import TABLE_FORMATS, render_rows
from contrafact.review.external_formats import TOOLS, read_annotations
from contrafact.review.field_mapping import read_gold, read_items
from contrafact.review.import_annotations import ImportedAnnotations, import_annotations
from contrafact.review.project import Project, builtin_projects, load_project, parse_project
from contrafact.review.state import ReviewState
from contrafact.review.web.access import (
    Studio,
    TheManager,
    TheReview,
    TheStudio,
    client_address,
    log_change,
)
from contrafact.review.web.pages import render

__all__ = ["pairs", "read_project", "router", "shown_name", "uploaded"]


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
        project = studio.store.read(review, lambda state: state.project)
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
    log_change(request, studio, account.name, review, "imported", f"{shown_name(file)}: {said}")
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
            decisions = read_annotations(path, tool, annotator=annotator or None)
        found = studio.store.change(
            review,
            lambda state, now, rng: import_annotations(
                state,
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
    log_change(
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
    if what not in rows.EXPORTS or form not in TABLE_FORMATS:
        raise HTTPException(404, "There is no such export.")
    if what == "history":
        made = rows.history_rows(studio.store.history(review))
    else:
        made = studio.store.read(
            review, lambda state: rows.export_rows(state, cast(rows.Export, what), stage, question)
        )
    studio.accounts.log(
        "exported", account.name, f"{review}: {what}.{form}", client_address(request)
    )
    return Response(
        render_rows(made, form),
        media_type=_TYPES[form],
        headers={"content-disposition": f'attachment; filename="{what}.{form}"'},
    )


def told(found: ImportedAnnotations) -> str:
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


_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_PROJECT_BYTES = 256 * 1024


def read_project(name: str, file: UploadFile | None) -> Project:
    """Return the project that a form names, or brings as a TOML file.

    Raises:
        InputError: It names none, or brings none that is sound.
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
    """Give what was uploaded as a file of ours; messages name it as its sender did.

    Raises:
        InputError: As the block does, with the sender's name in the place of ours.
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


def pairs(text: str, form: str) -> dict[str, str]:
    """Return the pairs that a field holds, one to a line.

    Args:
        text: What was written.
        form: What a pair looks like, for messages.

    Raises:
        InputError: A line is no pair.
    """
    found = {}
    for line in text.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not equals or not name or not value:
            raise InputError(f"'{line[:40]}' is not of the form {form}")
        found[name] = value
    return found
