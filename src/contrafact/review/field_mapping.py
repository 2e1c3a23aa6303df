"""Reading of items from files: rows are mapped to the fields that a project shows, and checked.

Files of many commands and publications can be read; one row may hold several items. For each
built-in project, a file in the folder ``formats`` beside it has the field names of such files.
"""

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contrafact.errors import InputError
from contrafact.family import families
from contrafact.family.review import review_files
from contrafact.files.fields import as_json, rename_row
from contrafact.files.tables import read_rows, source_name
from contrafact.records import content_id
from contrafact.review.project import Project
from contrafact.review.setup import check_item_id
from contrafact.text.delimit import replace_surrogates

__all__ = ["name_pairs", "read_gold", "read_items"]

_IDS = ("id", "item_id", "item")
# Fields that distinguish two outputs of a run with the same text.
_RUN = ("system", "judge", "draw", "sample_id", "side", "phrasing")


class SheetFormat(BaseModel):
    """The contents of the columns of a study's sheet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shown: dict[str, str] = Field(description="By column, the item's field that it shows.")
    answered: dict[str, str] = Field(description="By column, the question that it answers.")


class FileFormats(BaseModel):
    """The names that other commands' files have for the fields and questions of a project."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    own: tuple[str, ...] = Field(
        default=(),
        description="Fields that mark a row with the project's own names; if empty, all required.",
    )
    renames: tuple[dict[str, str], ...] = Field(
        default=(),
        description="Names in a file, by field of the project; the first set in a row is used.",
    )
    sheet: SheetFormat | None = Field(
        default=None, description="The study's sheet that is filled in with the answers."
    )
    judged: dict[str, str] = Field(
        default={}, description="The judged column of a run's items that each question is about."
    )


@cache
def file_formats(project: str) -> FileFormats:
    """Return the formats of a built-in project; they are empty for any other."""
    known = review_files().get(project)
    path = known and known.parent / "formats" / known.name
    if path is None or not path.is_file():
        return FileFormats()
    return FileFormats.model_validate(tomllib.loads(path.read_text("utf-8")))


def read_items(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the items of a file by id, each with all fields of its row.

    An item's id is its ``id`` (or ``item_id``, or ``item`` in a study's sheet), or a hash of the
    fields shown if the row has none. ``names`` has the file's names of fields that are called
    differently in the project.

    Raises:
        InputError: The file cannot be read, a field is missing, an id is invalid, or two rows have
            the same id; the message names the line.
    """
    items: dict[str, dict[str, Any]] = {}
    for line, row in read_rows(path, guarded=True):
        try:
            for mapped in map_fields(json_value(row), project):
                fields = _named(mapped, names or {})
                _check_shown(fields, project)
                name = _item_id(fields, project)
                if name in items:
                    raise InputError(
                        f"item '{name[:40]}' is in the file twice", hint="leave one of them out"
                    )
                items[name] = fields
        except InputError as error:
            raise error.at(source_name(path), line) from error
    if not items:
        raise InputError(
            "the file holds no items", file=source_name(path), hint="give at least one row"
        )
    return items


def read_gold(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Return the training items of a file, by id: their fields and known answers.

    Raises:
        InputError: As for `read_items`; the project has no training, or an item has no answer.
    """
    stage = next((stage for stage in project.stages if stage.kind == "training"), None)
    if stage is None:
        raise InputError(
            f"the project '{project.name}' has no training stage", hint="import the items to review"
        )
    gold = {}
    for name, fields in read_items(path, project, names).items():
        answers = {}
        for question in stage.questions:
            value = fields.get(question)
            if isinstance(value, bool):  # a file's own booleans stand for the answers true, false
                answers[question] = str(value).lower()
            elif value not in (None, ""):
                answers[question] = str(value).strip()
        if not answers:
            raise InputError(
                f"item '{name[:40]}' has no known answer",
                file=source_name(path),
                hint=f"add columns {', '.join(stage.questions)}",
            )
        rest = {key: value for key, value in fields.items() if key not in stage.questions}
        gold[name] = (rest, answers)
    return gold


def map_fields(row: Mapping[str, Any], project: Project) -> Iterator[dict[str, Any]]:
    """Yield the items of a row, under the project's names; an invalid output of a run has none.

    Raises:
        InputError: The row cannot be used.
    """
    formats = file_formats(project.name)
    needed = [name for name in project.show if name not in project.may_lack]
    if "system" in row and "sample_id" in row and "text" in row and row["text"] is None:
        return  # a row of a run whose output was invalid; no judge saw it either
    # Families know which of their rows hold several items.
    readers = (family.review_rows.load() for family in families().values() if family.review_rows)
    split = (reader(row, project.show) for reader in readers)
    for part in next((parts for parts in split if parts is not None), [row]):
        fields = dict(part)
        if not all(name in fields for name in formats.own or needed):
            fitting = (r for r in formats.renames if all(n in fields for n in r.values()))
            fields |= {to: fields[source] for to, source in next(fitting, {}).items()}
        named = fields.get("id") or fields.get("item_id")
        if "system" in fields and "sample_id" in fields and not named:
            # The id is not a hash of the text alone, as two systems may write the same text.
            facts = [str(fields.get(name)) for name in _RUN]
            fields["id"] = content_id(*facts, prefix="o")
        yield fields


def name_pairs(texts: Iterable[str], form: str, option: str = "") -> dict[str, str]:
    """Return the pairs in texts such as ``rewritten=text``; an `InputError` if one is no pair."""
    pairs = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not text.strip():
            continue
        if not equals or not name or not value:
            raise InputError(f"{option} '{text[:40]}' is not of the form {form}".strip())
        pairs[name] = value
    return pairs


def json_value(value: Any) -> Any:
    """Return a cell's value in a form that JSON and pages can hold.

    A missing value becomes None, times and bytes become texts, and a lone surrogate (half a
    character) becomes U+FFFD.
    """
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {replace_surrogates(str(key)): json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner) for inner in value]
    return value if value is None or isinstance(value, int | float) else as_json(value)


def _named(fields: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields, with some of them also under the project's names."""
    renamed, had = rename_row(fields, names)
    for want, have in names.items():
        if want not in had:
            hint = f"it has {', '.join(list(fields)[:12])}"
            raise InputError(f"there is no field '{have}'", hint=hint)
    return fields | {want: renamed[want] for want in had}


def _check_shown(fields: Mapping[str, Any], project: Project) -> None:
    for field in project.show:
        if field not in project.may_lack and not str(fields.get(field) or "").strip():
            raise InputError(
                f"has no '{field}', which '{project.name}' shows",
                hint=f"name the file's field: --columns {field}=NAME",
            )


def _item_id(fields: Mapping[str, Any], project: Project) -> str:
    name = next((fields[key] for key in _IDS if fields.get(key) not in (None, "")), None)
    if name is None:
        return content_id(*(str(fields.get(field)) for field in project.show), prefix="i")
    check_item_id(str(name))
    return str(name)
