"""Sheets that people fill in for a study, and their keys, written safely for spreadsheets.

A sheet shows items without their sources or the right answers, which are in a separate key. Each
kind of study defines the columns of both and the meaning of an answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.atomic import write_bytes
from contrafact.files.delimited import Dialect
from contrafact.files.fields import columns_found, guarded, refuse_alike, rename_row, unguarded
from contrafact.files.tables import read_rows, render_csv, table_bytes, table_file
from contrafact.records import content_id
from contrafact.text.delimit import printable, seen

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = [
    "find_key",
    "guarded_frame",
    "item_check",
    "item_names",
    "probability",
    "read_filled",
    "read_key_rows",
    "write_sheet",
]


@dataclass(frozen=True, slots=True)
class FilledRow:
    """One item as one person filled it in; ``annotator`` is the person's name, or the file's."""

    person: str
    item: str
    cells: dict[str, str]
    where: str


def item_check(shown: Iterable[str]) -> str:
    """Return a hash of the texts of an item that ignores changes of white space."""
    return content_id(*(" ".join(printable(text).split()) for text in shown))


def item_names(n: int, rng: "np.random.Generator") -> list[str]:
    """Return distinct random names for items."""
    names: dict[str, None] = {}
    while len(names) < n:
        names[f"i{rng.bytes(4).hex()}"] = None
    return list(names)


def probability(cell: str) -> float | None:
    """Return the probability, above 0, in a cell; None if there is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0.0 < value <= 1.0 else None


def write_sheet(
    path: Path, sheet: "pd.DataFrame", key: "pd.DataFrame", guidelines: str
) -> tuple[Path, Path]:
    """Write a sheet, with key and guidelines next to it; return the paths of sheet and key.

    An existing study is never overwritten, since it may have been filled in: if it is the same it
    stays, otherwise an error is raised.
    """
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".xlsx"):
        raise InputError(
            "a study's sheet is a CSV or an Excel file", file=path, hint="name it .csv or .xlsx"
        )
    # A byte-order mark tells spreadsheets that a CSV file is UTF-8; a workbook needs none.
    plain = guarded_frame(sheet) if suffix == ".csv" else sheet
    shown = table_bytes(plain, path, Dialect(mark=True))
    key_path = path.with_suffix(".key.csv")
    guidelines_path = path.with_suffix(".guidelines.txt")
    for target, content in (
        (path, shown),
        (key_path, render_csv(guarded_frame(key)).encode()),
        (guidelines_path, guidelines.encode()),
    ):
        if target.exists() and target.read_bytes() == content:
            continue
        if target.exists() and target != guidelines_path:
            raise InputError(
                "there is another study under this name, which may have been filled in",
                file=target,
                hint="give another name with --out",
            )
        write_bytes(target, content)
    return key_path, guidelines_path


def find_key(sheets: Sequence[Path]) -> Path:
    """Return the key next to the sheets: the one of the same name, or the only one."""
    for sheet in sheets:
        if not table_file(sheet).exists():
            raise InputError("no such file", file=sheet, hint="check the path")
    named = sheets[0].with_suffix(".key.csv")
    if named.exists():
        return named
    keys = sorted(sheets[0].parent.glob("*.key.csv"))
    if len(keys) == 1:
        return keys[0]
    problem = "no key is next to this sheet" if not keys else "several keys are next to this sheet"
    raise InputError(problem, file=sheets[0], hint="name the key with --key FILE")


def read_key_rows(
    path: str | Path, columns: Sequence[str], *, command: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a key as texts, each with its line."""
    empty = True
    for line, row in read_rows(path):
        empty = False
        missing = [column for column in columns if column not in row]
        if missing:
            raise InputError(
                f"this is not a study's key: it has no column '{missing[0]}'",
                file=path,
                line=line,
                hint=f"give the file that `{command}` wrote next to the sheet",
            )
        yield line, {column: unguarded(_text(row[column]).strip()) for column in columns}
    if empty:
        raise InputError("the key holds no items", file=path)


def read_filled(
    paths: Iterable[str | Path],
    checks: Mapping[str, str],
    *,
    shown: Sequence[str],
    asked: Sequence[str],
    command: str,
    problems: list[str],
    columns: Mapping[str, str] | None = None,
) -> Iterator[FilledRow]:
    """Yield the usable rows of filled sheets; empty ones are skipped.

    Items that are not in the key, or whose texts have changed, are left out and listed in
    ``problems``.

    Args:
        checks: The `item_check` of each item, from the key.
        problems: A list to which a sentence with file and line is added for each row left out.
        columns: The present names of renamed columns, by their original names.
    """
    filled: dict[tuple[str, str], str] = {}
    for path in paths:
        for line, given in read_rows(path):
            row, _ = rename_row(given, columns or {})
            missing = [column for column in ("item", *shown, *asked) if column not in row]
            if missing:
                raise InputError(
                    f"this is not a sheet of this study: it has no column '{missing[0]}' "
                    f"(found: {columns_found(given)})",
                    file=path,
                    line=line,
                    hint=f"give what `{command}` wrote, or pass --columns {missing[0]}=NAME",
                )
            cells = {name: unguarded(_text(value)) for name, value in row.items()}
            if not any(cell.strip() for cell in cells.values()):
                continue
            person = cells.get("annotator", "").strip() or table_file(path).stem
            item, where = seen(cells["item"]), f"{path}:{line}"
            if item not in checks:
                problems.append(f"{where}: item '{item[:20]}' is not in the key; left out")
                continue
            if (person, item) in filled:
                raise InputError(
                    f"'{person}' has item {item} twice (first at {filled[person, item]})",
                    file=path,
                    line=line,
                    hint="name each person's file after them, or add a column 'annotator'",
                )
            filled[person, item] = where
            texts = (cells, {name: _text(value) for name, value in row.items()})
            if checks[item] not in [item_check(one[name] for name in shown) for one in texts]:
                problems.append(f"{where}: item {item} shows another text than was drawn; left out")
                continue
            yield FilledRow(person, item, cells, where)
        refuse_alike((person for person, _ in filled), "annotator", path)


def _text(value: Any) -> str:
    """Return a cell's text: a workbook may hold the number 1 for "1", or True for "True"."""
    return "" if value is None else str(value)


def guarded_frame(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose texts no spreadsheet reads as formulas."""
    return frame.map(lambda value: guarded(value) if isinstance(value, str) else value)
