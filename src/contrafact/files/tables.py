"""Tables out: one data frame as CSV, JSON Lines or Parquet, whole or not at all."""

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["render_csv", "render_jsonl", "write_frame"]


def write_frame(frame: "pd.DataFrame", path: str | Path) -> None:
    """Write a table to ``path``, whole or not at all, in the format its suffix names.

    The index is left out. Missing values (``None``, ``NaN``, ``NaT``) are empty cells in CSV and
    ``null`` elsewhere. Lone surrogates become U+FFFD, except in JSON Lines, which keeps them.

    Args:
        frame: The table; column names are texts.
        path: A file named ``.csv``, ``.jsonl`` or ``.parquet``.

    Raises:
        InputError: Another suffix, or a file that cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl", ".parquet"):
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            hint="name the file .csv, .jsonl or .parquet",
        )
    with atomic_path(path) as temporary:
        if suffix == ".csv":
            temporary.write_bytes(render_csv(frame).encode())
        elif suffix == ".jsonl":
            temporary.write_bytes(render_jsonl(frame).encode())
        else:
            _tame(frame).to_parquet(temporary, engine="pyarrow", index=False)


def render_csv(frame: "pd.DataFrame") -> str:
    """Return a table as CSV with a header and line feeds, quoted where a cell needs it.

    Lists and objects in cells are written as JSON.
    """
    sink = io.StringIO(newline="")
    # The csv module quotes line feeds and carriage returns both only when both end its rows.
    writer = csv.writer(_LineFeeds(sink), lineterminator="\r\n")
    writer.writerow([str(column) for column in frame.columns])
    for row in _rows(frame):
        writer.writerow([_cell(value) for value in row])
    return replace_surrogates(sink.getvalue())


def render_jsonl(frame: "pd.DataFrame") -> str:
    """Return a table as JSON Lines: one object a row, keys in the order of the columns.

    Infinite numbers, which JSON lacks, are the texts ``"Infinity"`` and ``"-Infinity"``.
    """
    columns = [str(column) for column in frame.columns]
    lines = (
        json.dumps(
            {key: _plain(value) for key, value in zip(columns, row, strict=True)},
            ensure_ascii=False,
            allow_nan=False,
            default=str,
        )
        for row in _rows(frame)
    )
    text = "".join(line + "\n" for line in lines)
    # A lone surrogate is written as its JSON escape, since UTF-8 cannot hold it.
    return text.encode("utf-8", "backslashreplace").decode()


class _LineFeeds:
    """Ends each row that the csv module writes with a line feed."""

    def __init__(self, sink: io.StringIO) -> None:
        self._sink = sink

    def write(self, row: str) -> int:
        return self._sink.write(row.removesuffix("\r\n") + "\n")


def _rows(frame: "pd.DataFrame") -> Iterator[tuple[Any, ...]]:
    """Yield rows of plain Python values, missing ones as ``None``."""
    columns = []
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        missing = column.isna()
        columns.append(
            [
                None if gone else value
                for value, gone in zip(column.tolist(), missing.tolist(), strict=True)
            ]
        )
    return zip(*columns, strict=True)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what it has no word for is left to ``default=str``."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _cell(value: Any) -> Any:
    value = _plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _tame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table without lone surrogates, which Parquet refuses."""
    tame = frame.copy()
    for column in tame.columns:
        if tame[column].dtype == object or str(tame[column].dtype).startswith("str"):
            tame[column] = tame[column].map(
                lambda value: replace_surrogates(value) if isinstance(value, str) else value
            )
    return tame
