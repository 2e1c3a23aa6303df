"""Items from the files of the three families: which of their fields a project shows as what."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.files.jsonl import read_rows, source_name
from contrafact.records import SIDES, content_id
from contrafact.review.project import Project

__all__ = ["read_gold", "read_items"]

# How a family's files name what a project shows; the first that a row has all fields of is taken.
_SHAPES: dict[str, tuple[dict[str, str], ...]] = {
    "headline-screening": (
        {"headline": "title", "description": "summary"},
        {"headline": "title"},
        {"headline": "text", "description": "description"},
        {"headline": "text"},
    ),
    "judge-agreement": ({"counterfactual": "text"},),
    "cobe-rating": ({"text": "story", "edit": "text", "story_id": "sample_id"},),
}


def read_items(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the items of a file by id: all fields of a row, and those that the project shows.

    JSON Lines, JSON, CSV or Parquet. An item's id is its ``id`` (or ``item_id``); a row without one
    gets a content hash of what is shown. A row with a risk and an opportunity is two items where
    the project shows one side.

    Args:
        path: The file.
        project: The project.
        names: By field of the project, the file's name for it, where they differ.

    Raises:
        InputError: The file cannot be read, a field is not there, or two rows have one id.
    """
    found: dict[str, dict[str, Any]] = {}
    for line, fields in _rows(path, project, names or {}):
        shown = {field: fields.get(field) for field in project.show}
        given = fields.get("id") or fields.get("item_id")
        name = str(given) if given else content_id(*(str(v) for v in shown.values()), prefix="i")
        if name in found:
            raise InputError(
                f"item '{name[:40]}' is there twice",
                file=source_name(path),
                line=line,
                mend="leave one of them out",
            )
        found[name] = fields
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
                mend=f"add columns {', '.join(stage.questions)}",
            )
        rest = {key: value for key, value in fields.items() if key not in stage.questions}
        gold[name] = (rest, answers)
    return gold


def _rows(
    path: str | Path, project: Project, names: Mapping[str, str]
) -> Iterable[tuple[int, dict[str, Any]]]:
    for line, row in read_rows(path):
        for fields in _sides(row, project):
            taken = names or _shape(fields, project)
            for source in taken.values():
                if source not in fields:
                    raise InputError(
                        f"there is no field '{source}'",
                        file=source_name(path),
                        line=line,
                        mend=f"it has {', '.join(list(fields)[:12])}",
                    )
            made = fields | {target: fields[source] for target, source in taken.items()}
            missing = [
                field
                for field in project.show
                if field not in project.may_lack and not str(made.get(field) or "").strip()
            ]
            if missing:
                raise InputError(
                    f"has no '{missing[0]}', which '{project.name}' shows",
                    file=source_name(path),
                    line=line,
                    mend=f"say which field it is: --field {missing[0]}=NAME",
                )
            yield line, made


def _sides(row: dict[str, Any], project: Project) -> list[dict[str, Any]]:
    both = all(row.get(side) for side in SIDES)
    if not both or "counterfactual" not in project.show or "counterfactual" in row:
        return [row]
    rest = {key: value for key, value in row.items() if key not in (*SIDES, "id")}
    own = f"{row['id']}-" if row.get("id") else None
    return [
        rest
        | {"side": side, "counterfactual": row[side]}
        | ({"id": own + side} if own is not None else {})
        for side in SIDES
    ]


def _shape(fields: Mapping[str, Any], project: Project) -> dict[str, str]:
    if project.name == "cobe-rating":
        if "edit" in fields:
            return {}
    elif all(field in fields for field in project.show if field not in project.may_lack):
        return {}
    for shape in _SHAPES.get(project.name, ()):
        if all(source in fields for source in shape.values()):
            return shape
    return {}


def _answer(value: object) -> str:
    # A file's own booleans stand for the answers true and false.
    return str(value).lower() if isinstance(value, bool) else str(value).strip()
