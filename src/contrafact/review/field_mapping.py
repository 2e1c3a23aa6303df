"""Items from files: read, mapped to the fields that a project shows, and checked.

Files of many commands and publications are taken as they come; one row can hold several items. What
they call the fields of a built-in project, and what its exports are called elsewhere, is in the
folder ``formats`` beside it, one file for each project.
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
from contrafact.review.setup import is_valid_name
from contrafact.text.delimit import replace_surrogates

__all__ = ["name_pairs", "read_gold", "read_items"]

_IDS = ("id", "item_id", "item")
# What tells two outputs of a run apart whose texts are the same.
_RUN = ("system", "judge", "draw", "sample_id", "side", "phrasing")


class SheetFormat(BaseModel):
    """What the columns of a study's sheet are filled with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shown: dict[str, str] = Field(description="By column, the item's field that it shows.")
    answered: dict[str, str] = Field(description="By column, the question that it answers.")


class FileFormats(BaseModel):
    """What other commands' files call the fields and questions of a built-in project."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    own: tuple[str, ...] = Field(
        default=(),
        description="Fields of a row that has the project's own names; all it needs, if none.",
    )
    renames: tuple[dict[str, str], ...] = Field(
        default=(),
        description="By field of the project, its name in a file; the first whose names are there.",
    )
    sheet: SheetFormat | None = Field(
        default=None, description="The study's sheet that the answers can fill in."
    )
    judged: dict[str, str] = Field(
        default={}, description="By question, the judged column of a run's items that it is about."
    )


@cache
def file_formats(project: str) -> FileFormats:
    """Return the formats that are known for a project of this name; for others, none."""
    known = review_files().get(project)
    path = known and known.parent / "formats" / known.name
    if path is None or not path.is_file():
        return FileFormats()
    return FileFormats.model_validate(tomllib.loads(path.read_text("utf-8")))


def read_items(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the items of a file by id: all fields of a row, and those that the project shows.

    An item's id is its ``id`` (or ``item_id``, or ``item`` of a study's sheet); a row without one
    gets a content hash of what is shown. ``names`` has, by field of the project, the file's name
    for it, where they differ.

    Raises:
        InputError: The file cannot be read, a field is not there, an id is none, or two rows have
            one id; the line is named.
    """
    found: dict[str, dict[str, Any]] = {}
    for line, row in read_rows(path, guarded=True):
        try:
            for mapped in map_fields(json_value(row), project):
                fields = _named(mapped, names or {})
                _check_shown(fields, project)
                name = _item_id(fields, project)
                if name in found:
                    raise InputError(
                        f"item '{name[:40]}' is there twice", hint="leave one of them out"
                    )
                found[name] = fields
        except InputError as error:
            raise error.at(source_name(path), line) from error
    if not found:
        raise InputError(
            "the file holds no items", file=source_name(path), hint="give at least one row"
        )
    return found


def read_gold(
    path: str | Path, project: Project, names: Mapping[str, str] | None = None
) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Return items for training with known answers; `InputError` as `read_items`, or if none."""
    stage = next((stage for stage in project.stages if stage.kind == "training"), None)
    if stage is None:
        raise InputError(f"the project '{project.name}' has no training")
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
    """Yield the items of a file's row, under the names of the project; none of an invalid output.

    Families say which of their rows hold several items.

    Raises:
        InputError: The row cannot be used.
    """
    formats = file_formats(project.name)
    needed = [name for name in project.show if name not in project.may_lack]
    if "system" in row and "sample_id" in row and "text" in row and row["text"] is None:
        return  # a run's row without an output, which a judge did not see either
    known = (family.review_rows.load() for family in families().values() if family.review_rows)
    made = (rows(row, project.show) for rows in known)
    for given in next((found for found in made if found is not None), [row]):
        fields = dict(given)
        if not all(name in fields for name in formats.own or needed):
            fitting = (r for r in formats.renames if all(n in fields for n in r.values()))
            fields |= {to: fields[source] for to, source in next(fitting, {}).items()}
        named = fields.get("id") or fields.get("item_id")
        if "system" in fields and "sample_id" in fields and not named:
            # A run's output gets an id of its own: two systems may write the same text.
            facts = [str(fields.get(name)) for name in _RUN]
            fields["id"] = content_id(*facts, prefix="o")
        yield fields


def name_pairs(given: Iterable[str], form: str, option: str = "") -> dict[str, str]:
    """Return pairs of names, as ``rewritten=text``, blanks skipped; `InputError` on others."""
    pairs = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not text.strip():
            continue
        if not equals or not name or not value:
            raise InputError(f"{option} '{text[:40]}' is not of the form {form}".strip())
        pairs[name] = value
    return pairs


def json_value(value: Any) -> Any:
    """Return a cell as JSON and pages can hold it.

    What is missing is None, times and bytes are texts, and half a character (a lone surrogate),
    which no page can show, is U+FFFD.
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
    """Return fields, and some of them under the caller's names, too."""
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
                hint=f"say which field it is: --columns {field}=NAME",
            )


def _item_id(fields: Mapping[str, Any], project: Project) -> str:
    given = next((fields[key] for key in _IDS if fields.get(key) not in (None, "")), None)
    if given is None:
        return content_id(*(str(fields.get(field)) for field in project.show), prefix="i")
    if not is_valid_name(str(given)):
        raise InputError(f"{str(given)[:40]!a} is no id of an item", hint="use a short plain text")
    return str(given)
