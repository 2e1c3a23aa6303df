"""The sheet that a person fills in for the agreement study, and its key (FIN-FORCE, A.7).

Both are CSV. The sheet shows an item, and nothing of the system that wrote it or of the judge's
verdict; the key, kept apart, holds those and each item's probability of being drawn.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.jsonl import read_rows
from contrafact.files.tables import render_csv
from contrafact.records import CRITERIA, content_id
from contrafact.text.fence import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ANSWER_COLUMNS",
    "KEY_COLUMNS",
    "OPTIONAL_COLUMNS",
    "SHEET_COLUMNS",
    "Answers",
    "find_key",
    "guarded",
    "item_check",
    "read_answers",
    "read_key",
    "unguarded",
    "write_study",
]

OPTIONAL_COLUMNS = ("trivial_consequences", "financially_unrealistic")
"""Figure 4's error classes that need a person's judgement; a blank is no answer."""
ANSWER_COLUMNS = (*CRITERIA, *OPTIONAL_COLUMNS)
SHEET_COLUMNS = ("item", "headline", "side", "counterfactual", *ANSWER_COLUMNS, "comment")
KEY_COLUMNS = (
    *("item", "system", "model", "method", "judge", "draw", "sample_id", "side"),
    *(f"judge_{criterion}" for criterion in CRITERIA),
    *("probability", "check"),
)

_YES = frozenset(("true", "t", "yes", "y", "1", "1.0"))
_NO = frozenset(("false", "f", "no", "n", "0", "0.0"))
# A spreadsheet takes a cell that begins so for a formula, or drops what it begins with.
_FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")


@dataclass
class Answers:
    """What the annotators answered, and what could not be used.

    Attributes:
        rows: One dictionary per answer: ``item``, ``annotator``, ``question``, ``answer`` (bool).
        annotators: Their names, in the order met.
        problems: One sentence for each cell or row that was not used, with file and line.
        blanks: How many cells of the two criteria were left empty.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    blanks: int = 0


def guarded(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before one."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return a cell as it was before `guarded`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def item_check(headline: str, side: str, counterfactual: str) -> str:
    """Return a hash of what an item shows, whatever a spreadsheet did to its spaces."""
    return content_id(*(" ".join(printable(t).split()) for t in (headline, side, counterfactual)))


def write_study(sheet: "pd.DataFrame", key: "pd.DataFrame", path: Path) -> tuple[Path, Path]:
    """Write the sheet, and beside it its key and the guidelines; return the paths of the two.

    A study that is there already is left as it is if it is the same, and never overwritten: a
    person may have filled it in.

    Raises:
        InputError: The sheet is not to be a CSV file, or another file has its name.
    """
    if path.suffix.lower() != ".csv":
        raise InputError("a study's sheet is a CSV file", file=path, mend="name it .csv")
    key_path = path.with_suffix(".key.csv")
    guidelines_path = path.with_suffix(".guidelines.txt")
    guidelines = (resources.files("contrafact.finforce") / "study_guidelines.txt").read_text(
        "utf-8"
    )
    for target, text in (
        # The byte-order mark tells spreadsheets that this is UTF-8.
        (path, "\ufeff" + render_csv(_guarded(sheet))),
        (key_path, render_csv(_guarded(key))),
        (guidelines_path, guidelines),
    ):
        if target.exists() and target.read_bytes() == text.encode():
            continue
        if target.exists() and target != guidelines_path:
            raise InputError(
                "there is another study under this name, which may have been filled in",
                file=target,
                mend="give another name with --out",
            )
        write_text(target, text)
    return key_path, guidelines_path


def read_key(path: str | Path) -> "pd.DataFrame":
    """Return the key of a study: ``KEY_COLUMNS``, verdicts as True, False or None.

    Raises:
        InputError: The file is no key, or a row of it cannot be used.
    """
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}
    for line, row in read_rows(path):
        missing = [column for column in KEY_COLUMNS if column not in row]
        if missing:
            raise InputError(
                f"this is no study's key: it has no column '{missing[0]}'",
                file=path,
                line=line,
                mend="give the file that `study sample` wrote beside the sheet",
            )
        cells = {column: unguarded(str(row[column] or "").strip()) for column in KEY_COLUMNS}
        if cells["item"] in rows:
            raise InputError(f"item {cells['item']} is there twice", file=path, line=line)
        entry: dict[str, Any] = dict(cells)
        try:
            entry["probability"] = float(cells["probability"])
        except ValueError:
            entry["probability"] = float("nan")
        if not 0.0 < entry["probability"] <= 1.0:
            raise InputError(
                f"'{cells['probability']}' is no probability",
                file=path,
                line=line,
                mend="use the key as `study sample` wrote it",
            )
        for criterion in CRITERIA:
            column = f"judge_{criterion}"
            entry[column] = _verdict(cells[column])
        rows[cells["item"]] = entry
    if not rows:
        raise InputError("the key holds no items", file=path)
    return pd.DataFrame(list(rows.values()), columns=list(KEY_COLUMNS))


def find_key(sheets: Sequence[Path]) -> Path:
    """Return the key that lies beside the sheets: of the same name, or the only one there.

    Raises:
        InputError: There is none, or there are several.
    """
    first = sheets[0]
    named = first.with_suffix(".key.csv")
    if named.exists():
        return named
    keys = sorted(first.parent.glob("*.key.csv"))
    if len(keys) == 1:
        return keys[0]
    problem = "no key lies beside this sheet" if not keys else "several keys lie beside this sheet"
    raise InputError(problem, file=first, mend="name the key with --key FILE")


def read_answers(paths: Iterable[str | Path], key: "pd.DataFrame") -> Answers:
    """Return the answers of filled sheets.

    An annotator is named by the column ``annotator``, or else by the name of the file. A cell that
    is neither TRUE nor FALSE nor empty, an item that is not in the key, and an item whose text is
    not the one drawn are not used, and told in ``problems``.

    Raises:
        InputError: A file is no sheet, or one annotator answered one item twice.
    """
    checks = dict(zip(key["item"], key["check"], strict=True))
    answers = Answers()
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        for line, row in read_rows(path):
            _require_columns(row, path, line)
            cells = {name: unguarded(str(v)) if v is not None else "" for name, v in row.items()}
            annotator = cells.get("annotator", "").strip() or Path(path).stem
            item, where = cells["item"].strip(), f"{path}:{line}"
            if not any(cell.strip() for cell in cells.values()):
                continue
            if item not in checks:
                answers.problems.append(f"{where}: item '{item[:20]}' is not in the key; left out")
                continue
            if (annotator, item) in seen:
                raise InputError(
                    f"'{annotator}' has item {item} twice (first at {seen[annotator, item]})",
                    file=path,
                    line=line,
                    mend="name each person's file after them, or add a column 'annotator'",
                )
            seen[annotator, item] = where
            shown = item_check(cells["headline"], cells["side"].strip(), cells["counterfactual"])
            if shown != checks[item]:
                answers.problems.append(
                    f"{where}: item {item} shows another text than was drawn; left out"
                )
                continue
            if annotator not in answers.annotators:
                answers.annotators.append(annotator)
            _read_cells(answers, cells, item, annotator, where)
    return answers


def _read_cells(
    answers: Answers, cells: dict[str, str], item: str, annotator: str, where: str
) -> None:
    for question in ANSWER_COLUMNS:
        cell = cells.get(question, "").strip()
        answer = _verdict(cell)
        if answer is not None:
            answers.rows.append(
                {"item": item, "annotator": annotator, "question": question, "answer": answer}
            )
        elif cell:
            answers.problems.append(
                f"{where}: {question} is '{cell[:40]}', neither TRUE nor FALSE; left out"
            )
        elif question in CRITERIA:
            answers.blanks += 1
            answers.problems.append(f"{where}: {question} is empty")


def _require_columns(row: dict[str, Any], path: str | Path, line: int) -> None:
    needed = ("item", "headline", "side", "counterfactual", *CRITERIA)
    missing = [column for column in needed if column not in row]
    if missing:
        raise InputError(
            f"this is no study's sheet: it has no column '{missing[0]}'",
            file=path,
            line=line,
            mend="fill in the file that `study sample` wrote, and keep its columns",
        )


def _verdict(cell: str) -> bool | None:
    text = cell.strip().casefold()
    return True if text in _YES else False if text in _NO else None


def _guarded(frame: "pd.DataFrame") -> "pd.DataFrame":
    return frame.map(lambda value: guarded(value) if isinstance(value, str) else value)
