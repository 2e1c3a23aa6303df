"""Rows as files: JSON Lines as they are, CSV that no spreadsheet runs, Parquet.

In CSV and Parquet lists and objects are JSON text; a column of Parquet has one type. In CSV an
apostrophe stands before a cell that a spreadsheet would take for a formula; the project's own
commands take it off again.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from contrafact.files.atomic import write_bytes
from contrafact.files.sheets import guarded

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMS", "Form", "form_of", "render_rows", "write_rows"]

Form = Literal["jsonl", "csv", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet")

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?", re.ASCII)


def form_of(path: str | Path) -> Form:
    """Return the form that a file's suffix names.

    Raises:
        InputError: It names none.
    """
    from contrafact.errors import InputError

    suffix = Path(path).suffix.lower()
    if suffix.removeprefix(".") not in FORMS:
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            mend="name the file .csv, .jsonl or .parquet",
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
    import pandas as pd

    from contrafact.files.tables import render_csv, render_jsonl

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = [[row.get(name) for name in columns] for row in rows]
    frame = pd.DataFrame(table, columns=columns, dtype=object)
    if form == "jsonl":
        return render_jsonl(frame).encode()
    if form == "csv":
        safe = frame.map(_safe)
        safe.columns = pd.Index([_safe(name) for name in columns])
        return render_csv(safe).encode()
    return _parquet(frame)


def _safe(value: Any) -> Any:
    # A negative number is no formula, and would be no number any more behind an apostrophe.
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return guarded(value)


def _parquet(frame: "pd.DataFrame") -> bytes:
    import io

    from contrafact.files.tables import tame_text

    sink = io.BytesIO()
    tame_text(frame.apply(_uniform)).to_parquet(sink, engine="pyarrow", index=False)
    return sink.getvalue()


def _uniform(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return a column whose values have one type: texts, where they have several or are nested."""
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float} or kinds <= {str}:
        return column
    return column.map(_text)


def _text(value: Any) -> str | None:
    import json

    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
