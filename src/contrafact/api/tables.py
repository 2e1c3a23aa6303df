"""What is handed in: a table, rows, texts or a file, as the file that the engines read."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.tables import read_rows, write_frame
from contrafact.options import Options, parameters_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Names",
    "PathLikeOrNone",
    "as_path",
    "check_options",
    "command_options",
    "frame_of",
    "is_path",
    "names_of",
    "output_file",
    "read_frame",
    "rows_file",
]

PathLikeOrNone = str | PathLike[str] | None
Names = str | Sequence[str] | None
"""One name, several, or none."""

_OF_COMMANDS = ("file", "out", "columns", "estimate", "yes")
_MAPPINGS = {"judge_arg": "judge_args"}


def names_of(names: Names) -> list[str]:
    """Return names as a list."""
    return [names] if isinstance(names, str) else list(names or ())


def is_path(data: object) -> bool:
    """Return whether a file is named, rather than its rows handed in."""
    return isinstance(data, str | PathLike)


def frame_of(data: Any, *, text: str = "text", name: str = "data") -> "pd.DataFrame":
    """Return rows at hand (frame, mappings, texts) as a data frame; missing values are None."""
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
    """Yield a file that holds the rows; errors about it name the argument and its row."""
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
            raise error.at(name, error.line) from None


def read_frame(path: Path) -> "pd.DataFrame":
    """Return the rows of a file that an engine wrote."""
    import pandas as pd

    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
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
        yield Path(folder) / name


def check_options(options: Iterable[str], known: Sequence[str], of: str = "") -> None:
    """Refuse options that there are not, with the nearest name that there is."""
    from contrafact.files.config import nearest

    for name in options:
        if name not in known:
            problem = f"{of} has no option '{name}'" if of else f"there is no option '{name}'"
            raise InputError(problem, hint=nearest(name, known))


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
            value = [f"{key}={json.dumps(one)}" for key, one in value.items()]
        elif name in known and value is not None and "Path" in str(known[name].annotation):
            value = Path(value)
        found[known[name].name if name in known else name] = value
    return found
