"""What is handed in: a table, rows, texts or a file, as the file that the engines read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.tables import write_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "frame_of", "is_path", "rows_file"]

Rows = "pd.DataFrame | Sequence[Mapping[str, Any]] | Sequence[str] | str | PathLike[str]"
"""What verbs take for a table: a data frame, a list of rows, a list of texts, or a file."""


def is_path(data: object) -> bool:
    """Return whether a file is named, rather than its rows handed in."""
    return isinstance(data, str | PathLike)


def frame_of(data: Any, *, text: str = "text", name: str = "data") -> "pd.DataFrame":
    """Return rows that are at hand as a data frame; missing values are None.

    Args:
        data: A data frame, a list of mappings, or a list of texts.
        text: The column that a list of texts is.
        name: What the argument is called, in errors.

    Raises:
        InputError: It is none of these.
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, pd.Series):
        frame = data.to_frame(text)
    elif isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        frame = pd.DataFrame([dict(row) for row in data], dtype=object)
    elif isinstance(data, Sequence) and all(isinstance(row, str) for row in data):
        frame = pd.DataFrame({text: list(data)}, dtype=object)
    else:
        raise InputError(
            f"{name} is {type(data).__name__}, and no table",
            hint="give a DataFrame, a list of dicts, a list of texts, or a file's path",
        )
    if frame.empty:
        raise InputError(f"{name} has no rows", hint="give at least one")
    return frame.rename(columns=str)


@contextmanager
def rows_file(data: Any, *, text: str = "text", name: str = "data") -> Iterator[Path]:
    """Yield a file that holds the rows; errors about it name the argument and its row.

    Args:
        data: A file's path, which is yielded as it is, or rows as `frame_of` takes them.
        text: The column that a list of texts is.
        name: What the argument is called, in errors.

    Raises:
        InputError: It is no table.
    """
    if is_path(data):
        if str(data) == "-":
            raise InputError("standard input is not read here", hint="name a file, or give rows")
        yield Path(data)
        return
    with TemporaryDirectory(prefix="contrafact-") as folder:
        path = Path(folder) / f"{name}.jsonl"
        write_frame(frame_of(data, text=text, name=name), path)
        try:
            yield path
        except InputError as error:
            if error.file != str(path):
                raise
            raise InputError(error.problem, file=name, line=error.line, hint=error.hint) from None
