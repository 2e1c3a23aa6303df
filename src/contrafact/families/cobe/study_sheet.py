"""The sheet that a person fills in for the human study of CoBe, and its key (appendix C.3).

Both are CSV. The sheet shows original text, query and response, and nothing of the system that
wrote it or of the judge's verdict; the key, kept apart, holds those.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.sheets import (
    FilledRow,
    probability,
    read_filled,
    read_key_rows,
    write_sheet,
)

__all__ = [
    "KEY_COLUMNS",
    "NO",
    "OTHER",
    "SHOWN",
    "YES",
    "Answers",
    "KeyItem",
    "read_answers",
    "read_key",
    "write_study",
]

YES = "yes"
NO = "no"
OTHER = "other"
SHOWN = ("original_text", "request", "response")
_SHEET = ("item", *SHOWN, "judgement", "comment")
KEY_COLUMNS = (
    *("item", "system", "model", "method", "judge", "draw", "sample_id", "phrasing"),
    *("domain", "graph", "judge_verdict", "probability", "check"),
)

_READ = {
    **dict.fromkeys(("yes", "y", "true", "t", "1", "1.0", "correct"), YES),
    **dict.fromkeys(("no", "n", "false", "f", "0", "0.0", "wrong"), NO),
    **dict.fromkeys(("other", "o", "?", "unsure"), OTHER),
}
_COMMAND = "cobe study sample"


@dataclass(frozen=True)
class KeyItem:
    """What the key holds of an item; texts, but for the probability.

    ``judge_verdict`` is ``yes``, ``no`` or empty, where the judge's verdict was open.
    """

    item: str
    system: str
    model: str
    method: str
    judge: str
    draw: str
    sample_id: str
    phrasing: str
    domain: str
    graph: str
    judge_verdict: str
    probability: float
    check: str


@dataclass
class Answers:
    """What people answered, and what could not be used.

    Attributes:
        given: By person and item, ``yes``, ``no`` or ``other``.
        comments: By person and item, the comment, where there is one.
        problems: One sentence for each cell or row that was not used, with file and line.
        blanks: How many cells were left empty.
    """

    given: dict[str, dict[str, str]] = field(default_factory=dict)
    comments: dict[str, dict[str, str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    blanks: int = 0


def write_study(
    rows: Sequence[dict[str, str]], key: Sequence[KeyItem], path: Path
) -> tuple[Path, Path]:
    """Write a sheet, and beside it its key and guidelines; return the paths of the two.

    A study that is there already is left as it is if it is the same, and never overwritten: a
    person may have filled it in.

    Raises:
        InputError: The sheet is not to be a CSV file, or another study has its name.
    """
    import pandas as pd

    blank = dict.fromkeys(_SHEET, "")
    sheet = pd.DataFrame([blank | row for row in rows], columns=list(_SHEET))
    keys = pd.DataFrame([vars(item) for item in key], columns=list(KEY_COLUMNS))
    guidelines = (resources.files("contrafact.families.cobe") / "study_guidelines.txt").read_text(
        "utf-8"
    )
    return write_sheet(path, sheet, keys, guidelines)


def read_key(path: str | Path) -> list[KeyItem]:
    """Return the items of a key, in its order.

    Raises:
        InputError: The file is no key of such a study, or a row of it cannot be used.
    """
    items: dict[str, KeyItem] = {}
    for line, cells in read_key_rows(path, KEY_COLUMNS, command=_COMMAND):
        drawn = probability(cells.pop("probability"))
        if drawn is None or cells["item"] in items or cells["judge_verdict"] not in (YES, NO, ""):
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its verdict or probability is "
                "wrong",
                file=path,
                line=line,
                hint=f"use the key as `{_COMMAND}` wrote it",
            )
        items[cells["item"]] = KeyItem(probability=drawn, **cells)
    return list(items.values())


def read_answers(paths: Iterable[str | Path], key: Sequence[KeyItem]) -> Answers:
    """Return the answers of filled sheets.

    A person is named by the column ``annotator``, or else by the name of the file. A cell that is
    none of Yes, No and Other, an item that is not in the key, and an item whose texts are not those
    drawn are not used, and told in ``problems``.

    Raises:
        InputError: A file is no sheet, or one person answered one item twice.
    """
    answers = Answers()
    for row in read_filled(
        paths,
        {item.item: item.check for item in key},
        shown=SHOWN,
        asked=("judgement",),
        command=_COMMAND,
        problems=answers.problems,
    ):
        _take(answers, row)
    return answers


def _take(answers: Answers, row: FilledRow) -> None:
    own = answers.given.setdefault(row.person, {})
    if comment := row.cells.get("comment", "").strip():
        answers.comments.setdefault(row.person, {})[row.item] = comment
    cell = row.cells["judgement"].strip()
    if not cell:
        answers.blanks += 1
        answers.problems.append(f"{row.where}: judgement is empty")
        return
    answer = _READ.get(cell.casefold().rstrip("."))
    if answer is None:
        answers.problems.append(f"{row.where}: judgement is '{cell[:40]}', not Yes, No or Other")
        return
    own[row.item] = answer
