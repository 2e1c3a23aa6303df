"""Reading the rows of a stage: each is checked, and an error names its line.

Every stage writes its output, the rows it dropped (``<out>.dropped.jsonl``, with the reason) and
its ledger (``<out>.ledger.jsonl``). Each file is written whole or not at all; apart from the
ledger's times, every run from the same input writes the same files.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contrafact.corpus.ledger import LedgerEvent
from contrafact.errors import InputError
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.files.tables import read_rows, source_name
from contrafact.stages.stage import InputRow
from contrafact.text.delimit import replace_surrogates


class BuildEvent(LedgerEvent):
    """A decision on an item of a build; ``manipulation`` is one of the four, if given."""

    manipulation: Manipulation | None = None


def read_stage(
    path: str | Path,
    texts: Sequence[str] = (),
    *,
    manipulated: bool = False,
    allow_empty: bool = False,
) -> list[InputRow]:
    """Return a stage file's rows, each checked; no two have the same id."""
    name = source_name(path)
    if allow_empty and str(path) != "-" and Path(path).is_file() and not Path(path).stat().st_size:
        return []
    rows: list[InputRow] = []
    first: dict[str, int] = {}
    for line, fields in read_rows(path):
        try:
            row = stage_fields(fields, texts, manipulated=manipulated)
        except InputError as error:
            raise error.at(name, line) from error
        key = str(row["id"])
        if key in first:
            raise InputError(
                f"id '{key[:60]}' is there twice (first on line {first[key]})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
        first[key] = line
        rows.append(InputRow(line - 1, row))
    if not rows:
        raise InputError("the file holds no rows", file=name, hint="give at least one")
    return rows


def stage_fields(
    fields: Mapping[str, Any], texts: Sequence[str] = (), *, manipulated: bool = False
) -> dict[str, Any]:
    """Return a row of a stage file, after checking that it has an id and the named texts."""
    fields = with_text_id(fields)
    for name in ("id", *texts, *(("manipulation",) if manipulated else ())):
        _require_text(fields, name)
    row: dict[str, Any] = {
        key: replace_surrogates(value) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    if manipulated:
        named = row["manipulation"].strip()
        row["manipulation"] = named.casefold()
        if row["manipulation"] not in MANIPULATIONS:
            hint = f"use one of {', '.join(MANIPULATIONS)}"
            raise InputError(f"'{named[:40]}' is not a manipulation", hint=hint)
    return row


def with_text_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row whose id is text where it was a number, as it would be in a CSV file."""
    name = fields.get("id")
    if isinstance(name, int | float) and not isinstance(name, bool):
        return {**fields, "id": f"{name:.15g}" if isinstance(name, float) else str(name)}
    return fields


def passed_of(fields: Mapping[str, Any]) -> bool | None:
    """Return a row's ``passed``, also from text such as "true"; None if it is undecided."""
    passed = fields.get("passed")
    text = str("" if passed is None or passed != passed else passed).strip().casefold()
    return {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}.get(
        text
    )


def _require_text(fields: Mapping[str, Any], field: str) -> None:
    """Check that a row has a field, as text that is not blank."""
    value = fields.get(field)
    if isinstance(value, str) and value.strip():
        return
    if field not in fields:
        found = ", ".join(str(key) for key in list(fields)[:8]) or "none"
        problem, hint = f"no field '{field}' (found: {found})", "add it, or leave the row out"
    elif value is None or value == "" or isinstance(value, str):
        problem, hint = f"the field '{field}' is empty", "fill it in, or leave the row out"
    else:
        problem, hint = f"the field '{field}' is not text: {str(value)[:40]!r}", "write it as text"
    raise InputError(problem, hint=hint)
