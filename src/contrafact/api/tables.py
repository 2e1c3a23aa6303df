"""What is handed in: a table, rows, texts or a file, as the file that the engines read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from contrafact.errors import InputError
from contrafact.files.tables import called, of_one_type, read_rows, write_frame, write_rows
from contrafact.options import Options, checked_value, parameters_of
from contrafact.text.delimit import shorten

if TYPE_CHECKING:
    import pandas as pd

PathLikeOrNone = str | PathLike[str] | None
Names = str | Sequence[str] | None
"""One name, several, or none."""
Paths = str | PathLike[str] | Sequence[str | PathLike[str]] | None
"""One file, several, or none."""
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0)]
Level = Annotated[float, Field(gt=0, lt=1)]
"""The level of an interval, as a share."""

_OF_COMMANDS = ("file", "out", "estimate")
_MAPPINGS = {"judge_arg": "judge_args"}


def names_of(names: Names) -> list[str]:
    """Return names as a list."""
    return [names] if isinstance(names, str) else list(names or ())


def is_path(data: object) -> bool:
    """Return whether a file is named, rather than its rows handed in."""
    return isinstance(data, str | PathLike)


def frame_of(data: Any, *, text: str = "text", name: str = "data") -> "pd.DataFrame":
    """Return rows at hand as a data frame.

    They are a table that narwhals knows (pandas, Polars, Arrow, …), mappings or texts.

    Raises:
        InputError: There are no rows, one is no mapping, or two columns have one name.
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        if data.columns.nlevels > 1:
            raise InputError(f"{name} has columns of two levels", hint="give each one name")
        frame = data.rename(columns=str)
    elif isinstance(data, pd.Series):
        frame = data.to_frame(text)
    elif (table := _table_of(data, name)) is not None:
        frame = pd.DataFrame(table.rows(named=True), columns=table.columns, dtype=object)
    else:
        if isinstance(data, nw.Series):
            data = data.to_list()
        frame = _frame_of_rows(data, text, name)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(
            f"two columns are called '{twice[0]}'", file=name, hint="rename one of them"
        )
    if frame.empty:
        raise InputError(f"{name} has no rows", hint="give at least one")
    for column in filter(lambda one: pd.api.types.is_object_dtype(frame[one]), frame):
        for line, value in enumerate(frame[column], start=1):
            if isinstance(value, bytes | bytearray):
                raise InputError(f"'{column}' is bytes", file=name, line=line, hint="decode them")
    return frame


def as_given(data: Any, items: "pd.DataFrame", *, rows: bool = False) -> Any:
    """Return items as the kind of table handed in, else pandas; ``rows`` keep its index."""
    import narwhals as nw
    import pandas as pd

    if isinstance(data, pd.DataFrame | pd.Series):
        return items.set_axis(data.index[: len(items)], axis=0) if rows else items
    table = None if is_path(data) else _table_of(data, "data")
    if table is None:
        return items
    import pyarrow  # type: ignore[import-untyped]

    whole = pyarrow.Table.from_pandas(of_one_type(items), preserve_index=False)
    return nw.from_arrow(whole, backend=table.implementation).to_native()


def _table_of(data: Any, name: str) -> Any:
    """Return a table as narwhals has it, a lazy one collected; None of what is no table."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        table = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        problem = f"two columns have one name: {error}"
        raise InputError(problem, file=name, hint="rename one of them") from None
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    return table if isinstance(table, nw.DataFrame) else None


def _frame_of_rows(data: Any, text: str, name: str) -> "pd.DataFrame":
    import pandas as pd

    if not isinstance(data, Iterable) or isinstance(data, Mapping | bytes):
        raise InputError(
            f"{name} is {type(data).__name__}, and no table",
            hint="give a DataFrame, a list of dicts, a list of texts, or a file's path",
        )
    rows = list(data)
    texts = bool(rows) and isinstance(rows[0], str)
    for line, row in enumerate(rows, start=1):
        if not isinstance(row, str if texts else Mapping):
            problem = f"the row is {type(row).__name__}, and no {'text' if texts else 'dict'}"
            raise InputError(problem, file=name, line=line, hint="give dicts, or texts alone")
    return pd.DataFrame([{text: row} if texts else dict(row) for row in rows], dtype=object)


@contextmanager
def rows_file(
    data: Any,
    *,
    text: str = "text",
    name: str = "data",
    columns: Mapping[str, str] | None = None,
) -> Iterator[Path]:
    """Yield a file that holds the rows; errors about it name the argument and its row.

    Args:
        data: Rows, or a file.
        text: The column of rows that are texts.
        name: The argument.
        columns: By the name that is wanted, that of the column.
    """
    if str(data) == "-" and is_path(data):
        raise InputError("standard input is not read here", hint="name a file, or give rows")
    if isinstance(data, str) and " " in data and not Path(data).suffix and not Path(data).exists():
        raise InputError(f"there is no file '{shorten(data, 60)[0]}'", hint="give texts in a list")
    if is_path(data) and not columns:
        yield Path(data)
        return
    with TemporaryDirectory(prefix="contrafact-") as folder:
        path = Path(folder) / f"{name}.jsonl"
        try:
            if not is_path(data):
                write_frame(frame_of(data, text=text, name=name), path)
            if columns:
                source = data if is_path(data) else path
                write_rows(path, [row for _, row in read_rows(source, columns)])
            with called(path, name):
                yield path
        except InputError as error:
            if error.file != str(path):
                raise
            raise error.at(name, error.line) from None


def read_frame(path: Path) -> "pd.DataFrame":
    """Return the rows of a file that an engine wrote."""
    import pandas as pd

    # JSON Lines without a row are an empty file, which readers of rows refuse.
    return pd.DataFrame([row for _, row in read_rows(path)] if path.stat().st_size else [])


def as_path(path: PathLikeOrNone) -> Path | None:
    """Return a path, where there is one."""
    return None if path is None else Path(path)


@contextmanager
def output_file(out: PathLikeOrNone, name: str) -> Iterator[Path]:
    """Yield the file to write: the one named, or one of that name that is gone afterwards."""
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="contrafact-") as folder:
        path = Path(folder) / name
        with called(path, ""):
            yield path


def check_options(options: Iterable[str], known: Sequence[str], of: str = "") -> None:
    """Refuse options that there are not, with the nearest name that there is."""
    from contrafact.files.config import nearest

    for name in options:
        if name not in known:
            problem = f"{of} has no option '{name}'" if of else f"there is no option '{name}'"
            raise InputError(problem, hint=nearest(name, known))


def columns_of(options: dict[str, Any]) -> dict[str, str]:
    """Take what columns are called otherwise out of options."""
    columns: dict[str, str] = checked_value(
        "columns", dict[str, str] | None, options.pop("columns", None)
    )
    return columns or {}


def command_options(
    model: type[Options], options: Mapping[str, Any], of: str = "", more: Sequence[str] = ()
) -> dict[str, Any]:
    """Return options as a command's model has them: paths as paths, mappings as KEY=VALUE.

    Args:
        model: The command's options.
        options: Those of a call, by their names there; ``judge_args`` is ``--judge-arg``.
        of: What has no option of another name, for the message.
        more: Names of options that are not the model's.
    """
    known = {_MAPPINGS.get(one.name, one.name): one for one in parameters_of(model)}
    check_options(options, [*more, *(one for one in known if one not in _OF_COMMANDS)], of)
    found = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            plain = name == "columns"
            value = [f"{k}={one if plain else json.dumps(one)}" for k, one in value.items()]
        if name in known:
            kind = known[name].annotation
            value = [value] if isinstance(value, str) and "list[" in str(kind) else value
            value = fspath(value) if isinstance(value, PathLike) else value
            value = checked_value(name, kind, value)
        found[known[name].name if name in known else name] = value
    return found
