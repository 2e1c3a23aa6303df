"""The sheet that a person fills in for the agreement study, and its key (FIN-FORCE, A.7).

Both are CSV. The sheet shows an item, and nothing of the system that wrote it or of the judge's
verdict; the key, kept apart, holds those and each item's probability of being drawn.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.files.sheets import (
    FilledRow,
    probability,
    read_filled,
    read_key_rows,
    write_sheet,
)
from contrafact.records import CRITERIA

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ANSWER_COLUMNS",
    "KEY_COLUMNS",
    "OPTIONAL_COLUMNS",
    "SHEET_COLUMNS",
    "SHOWN",
    "Answers",
    "read_answers",
    "read_key",
    "write_study",
]

OPTIONAL_COLUMNS = ("trivial_consequences", "financially_unrealistic")
"""Figure 4's error classes that need a person's judgement; a blank is no answer."""
ANSWER_COLUMNS = (*CRITERIA, *OPTIONAL_COLUMNS)
SHOWN = ("headline", "side", "counterfactual")
SHEET_COLUMNS = ("item", *SHOWN, *ANSWER_COLUMNS, "comment")
KEY_COLUMNS = (
    *("item", "system", "model", "method", "judge", "draw", "sample_id", "side"),
    *(f"judge_{criterion}" for criterion in CRITERIA),
    *("probability", "check"),
)

_YES = frozenset(("true", "t", "yes", "y", "1", "1.0"))
_NO = frozenset(("false", "f", "no", "n", "0", "0.0"))
_COMMAND = "finforce study sample"


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


def write_study(sheet: "pd.DataFrame", key: "pd.DataFrame", path: Path) -> tuple[Path, Path]:
    """Write the sheet, and beside it its key and the guidelines; return the paths of the two.

    A study that is there already is left as it is if it is the same, and never overwritten: a
    person may have filled it in.

    Raises:
        InputError: The sheet is not to be a CSV file, or another file has its name.
    """
    guidelines = (
        resources.files("contrafact.families.finforce") / "study_guidelines.txt"
    ).read_text("utf-8")
    return write_sheet(path, sheet, key, guidelines)


def read_key(path: str | Path) -> "pd.DataFrame":
    """Return the key of a study: ``KEY_COLUMNS``, verdicts as True, False or None.

    Raises:
        InputError: The file is no key, or a row of it cannot be used.
    """
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}
    for line, cells in read_key_rows(path, KEY_COLUMNS, command=_COMMAND):
        if cells["item"] in rows:
            raise InputError(f"item {cells['item']} is there twice", file=path, line=line)
        drawn = probability(cells["probability"])
        if drawn is None:
            raise InputError(
                f"'{cells['probability']}' is no probability",
                file=path,
                line=line,
                hint=f"use the key as `{_COMMAND}` wrote it",
            )
        verdicts = {f"judge_{c}": _verdict(cells[f"judge_{c}"]) for c in CRITERIA}
        rows[cells["item"]] = cells | {"probability": drawn} | verdicts
    return pd.DataFrame(list(rows.values()), columns=list(KEY_COLUMNS))


def read_answers(paths: Iterable[str | Path], key: "pd.DataFrame") -> Answers:
    """Return the answers of filled sheets.

    An annotator is named by the column ``annotator``, or else by the name of the file. A cell that
    is neither TRUE nor FALSE nor empty, an item that is not in the key, and an item whose text is
    not the one drawn are not used, and told in ``problems``.

    Raises:
        InputError: A file is no sheet, or one annotator answered one item twice.
    """
    answers = Answers()
    for row in read_filled(
        paths,
        dict(zip(key["item"], key["check"], strict=True)),
        shown=SHOWN,
        asked=CRITERIA,
        command=_COMMAND,
        problems=answers.problems,
    ):
        if row.person not in answers.annotators:
            answers.annotators.append(row.person)
        _read_cells(answers, row)
    return answers


def _read_cells(answers: Answers, row: FilledRow) -> None:
    for question in ANSWER_COLUMNS:
        cell = row.cells.get(question, "").strip()
        answer = _verdict(cell)
        if answer is not None:
            given = {"item": row.item, "annotator": row.person}
            answers.rows.append(given | {"question": question, "answer": answer})
        elif cell:
            answers.problems.append(
                f"{row.where}: {question} is '{cell[:40]}', neither TRUE nor FALSE; left out"
            )
        elif question in CRITERIA:
            answers.blanks += 1
            answers.problems.append(f"{row.where}: {question} is empty")


def _verdict(cell: str) -> bool | None:
    text = cell.strip().casefold()
    return True if text in _YES else False if text in _NO else None
