"""What is handed in: a table, rows, texts or a file, as the file that the engines read."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.tables import write_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rows", "as_path", "command_options", "frame_of", "is_path", "output_file", "rows_file"]

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


def as_path(given: str | PathLike[str] | None) -> Path | None:
    """Return a path that was given; None where none was."""
    return None if given is None else Path(given)


@contextmanager
def output_file(out: str | PathLike[str] | None, name: str) -> Iterator[Path]:
    """Yield the file to write: the one named, or one of that name that is gone afterwards."""
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="contrafact-") as folder:
        yield Path(folder) / name


def command_options(command: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a function behind a command takes them, its paths as paths.

    Args:
        command: The function.
        given: The options, by the name of the command line with underscores.

    Raises:
        InputError: It has no such option.
    """
    from contrafact.files.config import nearest

    known = inspect.signature(command, eval_str=True).parameters
    for name in given:
        if name not in known or name in _OF_COMMANDS:
            hint = nearest(name, [one for one in known if one not in _OF_COMMANDS])
            raise InputError(f"there is no option '{name}'", hint=hint)
    return {
        name: Path(value) if value is not None and "Path" in str(known[name].annotation) else value
        for name, value in given.items()
    }


_OF_COMMANDS = ("file", "out", "columns", "model_args", "judge_arg", "estimate", "yes", "bulk")
"""What commands take for themselves."""
