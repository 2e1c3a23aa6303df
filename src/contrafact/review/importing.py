"""Items from files: read, named, and checked against what a project shows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.files.sheets import unguarded
from contrafact.files.tables import read_rows, source_name
from contrafact.records import content_id
from contrafact.review.intake import is_plain
from contrafact.review.project import Project
from contrafact.review.shapes import plain, spread

__all__ = ["read_gold", "read_items"]

_IDS = ("id", "item_id", "item")
_SHEETS = (".csv", ".tsv")


def read_items(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the items of a file by id: all fields of a row, and those that the project shows.

    JSON Lines, JSON, CSV or Parquet, in any form that a family's commands write. An item's id is
    its ``id`` (or ``item_id``, or ``item`` of a study's sheet); a row without one gets a content
    hash of what is shown.

    Args:
        path: The file.
        project: The project.
        names: By field of the project, the file's name for it, where they differ.

    Raises:
        InputError: The file cannot be read, a field is not there, an id is none, or two rows have
            one id; the line is named.
    """
    found: dict[str, dict[str, Any]] = {}
    for line, fields in _rows(path, project, names or {}):
        shown = {field: fields.get(field) for field in project.show}
        given = next((fields[key] for key in _IDS if fields.get(key) not in (None, "")), None)
        name = (
            str(given) if given is not None else content_id(*map(str, shown.values()), prefix="i")
        )
        if not is_plain(name):
            raise InputError(
                f"{name[:40]!a} is no id of an item",
                file=source_name(path),
                line=line,
                hint="use a short plain text",
            )
        if name in found:
            raise InputError(
                f"item '{name[:40]}' is there twice",
                file=source_name(path),
                line=line,
                hint="leave one of them out",
            )
        found[name] = fields
    if not found:
        raise InputError(
            "the file holds no items", file=source_name(path), hint="give at least one row"
        )
    return found


def read_gold(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Return a file's items for training: fields, and known answers from columns of that name.

    Raises:
        InputError: As :func:`read_items`; or the project has no training, or a row no answer.
    """
    stage = next((stage for stage in project.stages if stage.kind == "training"), None)
    if stage is None:
        raise InputError(f"the project '{project.name}' has no training")
    gold = {}
    for name, fields in read_items(path, project, names).items():
        answers = {
            q: _answer(fields[q]) for q in stage.questions if fields.get(q) not in (None, "")
        }
        if not answers:
            raise InputError(
                f"item '{name[:40]}' has no known answer",
                file=source_name(path),
                hint=f"add columns {', '.join(stage.questions)}",
            )
        rest = {key: value for key, value in fields.items() if key not in stage.questions}
        gold[name] = (rest, answers)
    return gold


def _rows(
    path: str | Path, project: Project, names: Mapping[str, str]
) -> Iterable[tuple[int, dict[str, Any]]]:
    sheet = Path(path).suffix.lower() in _SHEETS
    for line, row in read_rows(path):
        try:
            whole = plain({key: _cell(value, sheet) for key, value in row.items()})
            for fields in spread(whole, project):
                yield line, _checked(fields, project, names)
        except InputError as error:
            raise InputError(
                error.problem, file=source_name(path), line=line, hint=error.hint
            ) from error


def _checked(fields: dict[str, Any], project: Project, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an item's fields under the names that the caller gave, with all that is shown."""
    for source in names.values():
        if source not in fields:
            raise InputError(
                f"there is no field '{source}'", hint=f"it has {', '.join(list(fields)[:12])}"
            )
    made = fields | {target: fields[source] for target, source in names.items()}
    missing = [
        field
        for field in project.show
        if field not in project.may_lack and not str(made.get(field) or "").strip()
    ]
    if missing:
        raise InputError(
            f"has no '{missing[0]}', which '{project.name}' shows",
            hint=f"say which field it is: --field {missing[0]}=NAME",
        )
    return made


def _cell(value: Any, sheet: bool) -> Any:
    """Return a cell as it was before it was guarded for spreadsheets."""
    return unguarded(value) if sheet and isinstance(value, str) else value


def _answer(value: object) -> str:
    # A file's own booleans stand for the answers true and false.
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
