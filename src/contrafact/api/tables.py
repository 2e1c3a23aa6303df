"""Convert given data (a table, rows, texts or a file) for engines, and results back."""

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import narwhals as nw
import pandas as pd
import pyarrow  # type: ignore[import-untyped]
from narwhals.exceptions import DuplicateError
from pydantic import Field

from contrafact.errors import InputError
from contrafact.files.config import nearest
from contrafact.files.fields import no_column, present, rename_row
from contrafact.files.tables import of_one_type, read_rows, render_jsonl
from contrafact.options import Options, checked_value
from contrafact.text.delimit import shorten

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    TableData: TypeAlias = (
        IntoFrame | Iterable[Mapping[str, Any]] | Iterable[str] | str | PathLike[str]
    )
    """A table of any library, rows, texts, or a file."""
else:
    TableData = Any  # what it holds is checked when it is read

PathLikeOrNone = str | PathLike[str] | None
Names = str | Sequence[str] | None
"""A name, several names, or None."""
Paths = str | PathLike[str] | Sequence[str | PathLike[str]] | None
"""A file, several files, or None."""
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Level = Annotated[float, Field(gt=0, lt=1)]
"""The level of an interval, as a share."""

_OF_COMMANDS = ("file", "out", "estimate")
_MAPPINGS = {"judge_arg": "judge_args"}


def names_of(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def paths_of(files: Paths) -> list[Path]:
    return [Path(file) for file in ([files] if isinstance(files, str | PathLike) else files or ())]


def as_path(path: PathLikeOrNone) -> Path | None:
    return None if path is None else Path(path)


def is_path(data: object) -> bool:
    """Return whether the data is a file's name rather than rows."""
    return isinstance(data, str | PathLike)


def frame_of(data: Any, *, text: str = "text") -> pd.DataFrame:
    """Return rows as a data frame whose column names are texts.

    The rows are a table that narwhals supports (pandas, Polars, Arrow, …), mappings, or texts,
    which become the column ``text``.

    Raises:
        InputError: There are no rows, a row is not a mapping, or two columns have the same name.
    """

    if isinstance(data, pd.DataFrame):
        if data.columns.nlevels > 1:
            raise InputError("data has columns of two levels", hint="give each one name")
        frame = data
    elif isinstance(data, pd.Series):
        frame = data.to_frame(text)
    elif (table := _table_of(data)) is not None:
        frame = pd.DataFrame(table.rows(named=True), columns=table.columns, dtype=object)
    else:
        frame = _frame_of_rows(data.to_list() if isinstance(data, nw.Series) else data, text)
    frame = frame.rename(columns=str)
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        problem = f"two columns are called '{doubled[0]}'"
        raise InputError(problem, file="data", hint="rename one of them")
    if frame.empty:
        raise InputError("data has no rows", hint="give at least one")
    for column in filter(lambda name: pd.api.types.is_object_dtype(frame[name]), frame):
        for line, value in enumerate(frame[column], start=1):
            if isinstance(value, bytes | bytearray):
                problem = f"'{column}' is bytes"
                raise InputError(problem, file="data", line=line, hint="decode them")
    return frame


def as_given(data: Any, items: pd.DataFrame, *, rows: bool = False) -> Any:
    """Return items as a table of the type of ``data``, else pandas; ``rows`` keeps its index."""

    if isinstance(data, pd.DataFrame | pd.Series):
        return items.set_axis(data.index[: len(items)], axis=0) if rows else items
    table = None if is_path(data) else _table_of(data)
    if table is None:
        return items
    whole = pyarrow.Table.from_pandas(of_one_type(items), preserve_index=False)
    return nw.from_arrow(whole, backend=table.implementation).to_native()


def _table_of(data: Any) -> Any:
    """Return a table as a narwhals frame, collected if lazy; None if it is not a table."""

    try:
        table = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        problem = f"two columns have the same name: {error}"
        raise InputError(problem, file="data", hint="rename one of them") from None
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    return table if isinstance(table, nw.DataFrame) else None


def _frame_of_rows(data: Any, text: str) -> pd.DataFrame:
    if not isinstance(data, Iterable) or isinstance(data, Mapping | bytes):
        raise InputError(
            f"data is {type(data).__name__}, not a table",
            hint="give a DataFrame, a list of dicts, a list of texts, or a file's path",
        )
    rows = list(data)
    texts = bool(rows) and isinstance(rows[0], str)
    for line, row in enumerate(rows, start=1):
        if not isinstance(row, str if texts else Mapping):
            problem = f"the row is {type(row).__name__}, not a {'text' if texts else 'dict'}"
            raise InputError(problem, file="data", line=line, hint="give only dicts or only texts")
    return pd.DataFrame([{text: row} if texts else dict(row) for row in rows], dtype=object)


def rows_of(
    data: Any, *, text: str = "text", columns: Mapping[str, str] | None = None
) -> str | list[dict[str, Any]]:
    """Return data for engines: a file's path, or rows as they would be in a JSON file.

    Args:
        data: Rows, or a file.
        text: The column's name for rows that are texts.
        columns: The data's column for each wanted name; if given, a file is read here.

    Raises:
        InputError: There are no rows or no such column, or a text does not name a file.
    """
    rows: list[dict[str, Any]]
    if is_path(data):
        name = str(data)
        if name == "-":
            raise InputError("standard input cannot be read here", hint="name a file, or give rows")
        if isinstance(data, str) and " " in name and not (Path(name).suffix or Path(name).exists()):
            problem = f"there is no file '{shorten(name, 60)[0]}'"
            raise InputError(problem, hint="give texts in a list")
        if not columns:
            return name
        rows = [row for _, row in read_rows(name)]
    else:
        name, lines = "data", render_jsonl(frame_of(data, text=text)).split("\n")
        rows = [present(json.loads(line), top=True) for line in lines[:-1]]
    for want, have in (columns or {}).items():
        if not any(rename_row(row, {want: have})[1] for row in rows):
            raise no_column(have, want, rows[0], name)
    return [rename_row(row, columns)[0] for row in rows] if columns else rows


def read_frame(path: Path) -> pd.DataFrame:
    """Return the rows of a file that an engine wrote; an empty file gives no rows."""

    return pd.DataFrame([row for _, row in read_rows(path)] if path.stat().st_size else [])


def check_options(options: Iterable[str], known: Sequence[str], of: str = "") -> None:
    """Raise `InputError` for an unknown option, with the nearest known name as a hint."""
    for name in options:
        if name not in known:
            problem = f"{of} has no option '{name}'" if of else f"there is no option '{name}'"
            raise InputError(problem, hint=nearest(name, known))


def columns_of(options: dict[str, Any]) -> dict[str, str]:
    """Remove the option ``columns`` from options, and return its checked mapping."""
    columns: dict[str, str] = checked_value(
        "columns", dict[str, str] | None, options.pop("columns", None)
    )
    return columns or {}


def command_options(
    model: type[Options], options: Mapping[str, Any], of: str = "", more: Sequence[str] = ()
) -> dict[str, Any]:
    """Return options in the form of a command's model, with mappings as KEY=VALUE.

    Args:
        model: The command's options.
        options: The options of a call, by their Python names; ``judge_args`` is ``--judge-arg``.
        of: The name of the function, for the message on unknown options.
        more: Names of further options, which are not the model's.
    """
    known = {_MAPPINGS.get(name, name): name for name in model.model_fields}
    check_options(options, [*more, *(name for name in known if name not in _OF_COMMANDS)], of)
    values = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            plain = name == "columns"
            value = [f"{k}={v if plain else json.dumps(v)}" for k, v in value.items()]
        if name in known:
            kind = model.model_fields[known[name]].rebuild_annotation()
            value = [value] if isinstance(value, str) and "list[" in str(kind) else value
            value = fspath(value) if isinstance(value, PathLike) else value
            value = checked_value(name, kind, value)
        values[known.get(name, name)] = value
    return values
