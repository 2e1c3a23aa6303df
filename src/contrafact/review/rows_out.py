"""Rows as files: JSON Lines as they are, CSV that no spreadsheet runs, Parquet.

In CSV and Parquet lists and objects are JSON text; a column of Parquet has one type. In CSV an
apostrophe stands before a cell that a spreadsheet would take for a formula; the project's own
commands take it off again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from contrafact.errors import InputError
from contrafact.files.atomic import write_bytes
from contrafact.files.sheets import guarded
from contrafact.text.delimit import replace_surrogates

__all__ = ["FORMS", "Form", "form_of", "render_rows", "write_rows"]

Form = Literal["jsonl", "csv", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet")

_LARGEST = 2**63  # of what a column of whole numbers holds
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?", re.ASCII)


def form_of(path: str | Path) -> Form:
    """Return the form that a file's suffix names.

    Raises:
        InputError: It names none.
    """
    suffix = Path(path).suffix.lower()
    if suffix.removeprefix(".") not in FORMS:
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            hint="name the file .csv, .jsonl or .parquet",
        )
    return cast(Form, suffix.removeprefix("."))


def write_rows(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows to a file in the form that its suffix names, whole or not at all.

    Raises:
        InputError: The suffix names no form, or the file cannot be written.
    """
    write_bytes(path, render_rows(rows, form_of(path)))


def render_rows(rows: Sequence[Mapping[str, Any]], form: Form) -> bytes:
    """Return rows as the bytes of a file.

    Args:
        rows: The rows; the columns are those of all of them, in the order met.
        form: The file's form.
    """
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        columns[replace_surrogates(name)] = [row.get(name) for row in rows]
    if form == "parquet":
        return _parquet(columns)
    import pandas as pd

    from contrafact.files.tables import render_csv, render_jsonl

    if form == "csv":
        columns = {_safe(name): [_safe(cell) for cell in own] for name, own in columns.items()}
    # Objects, lest a column of texts be made one of another type, which holds no lone surrogates.
    frame = pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in columns.items()})
    return (render_csv(frame) if form == "csv" else render_jsonl(frame)).encode()


def _safe(value: Any) -> Any:
    # A negative number is no formula, and would be no number any more behind an apostrophe.
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return guarded(value)


def _parquet(columns: Mapping[str, Sequence[Any]]) -> bytes:
    import io

    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    table = pyarrow.table({name: _uniform(own) for name, own in columns.items()})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def _uniform(column: Sequence[Any]) -> list[Any]:
    """Return a column whose values have one type: texts, where they have several or are nested."""
    kinds = {type(value) for value in column if value is not None}
    numbers = kinds <= {int, float} and all(
        value is None or abs(value) < _LARGEST for value in column
    )
    if kinds <= {bool}:
        return list(column)
    if numbers and float in kinds:
        return [None if value is None else float(value) for value in column]
    return list(column) if numbers else [_text(value) for value in column]


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return replace_surrogates(value)
