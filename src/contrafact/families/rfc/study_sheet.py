"""The sheets that people fill in for the studies of RFC-BENCH, and their keys.

Both are CSV. A sheet shows texts and nothing of what is right; the key, kept apart, holds that, the
pair that an item comes from, and its probability of being drawn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Literal

from contrafact.errors import InputError
from contrafact.families.rfc.labels import (
    ERROR_CLASSES,
    FALSE,
    RIGHT_ONLY,
    TRUE,
    manipulation_named,
)
from contrafact.files.sheets import (
    FilledRow,
    probability,
    read_filled,
    read_key_rows,
    write_sheet,
)
from contrafact.records import MANIPULATIONS

__all__ = [
    "CATEGORIES",
    "KEY_COLUMNS",
    "RIGHT",
    "STEPS",
    "WRONG",
    "Answers",
    "KeyItem",
    "StudyKind",
    "read_answers",
    "read_key",
    "shown_columns",
    "write_study",
]

StudyKind = Literal["agreement", "detect", "diagnose", "reasons"]

STEPS: dict[StudyKind, tuple[str, ...]] = {
    "agreement": ("category_correct", "rewrite_valid"),
    "detect": ("label",),
    "diagnose": ("manipulation",),
    "reasons": ("reason_class",),
}
"""What each kind of study asks of every item: the columns to fill in."""

_SHOWN: dict[StudyKind, tuple[str, ...]] = {
    "agreement": ("claimed_manipulation", "original", "rewritten"),
    "detect": ("paragraph",),
    "diagnose": ("original", "rewritten"),
    "reasons": ("paragraph", "original", "right_label", "given_label", "reasons"),
}
WRONG = "wrong"
RIGHT = "right"
"""Whether the answer whose reasons are sorted was the right one."""
CATEGORIES: dict[StudyKind, tuple[str, ...]] = {
    "agreement": MANIPULATIONS,
    "detect": MANIPULATIONS,
    "diagnose": MANIPULATIONS,
    "reasons": (WRONG, RIGHT),
}
"""What each kind draws by and counts by: manipulations, or whether a model's answer was right."""
KEY_COLUMNS = (
    *("item", "kind", "pair_id", "article_id", "category", "gold", "probability", "check"),
)
_ANSWER_COLUMNS = ("system", "sample_id", "draw")

_TRUE = frozenset(("true", "t", "yes", "y", "1", "1.0", "pass"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "0.0", "fail"))
_NAMED: dict[str, tuple[str, ...]] = {
    "manipulation": MANIPULATIONS,
    "reason_class": ERROR_CLASSES,
}
_COMMAND = "rfc study sample"


@dataclass(frozen=True)
class KeyItem:
    """What the key holds of an item.

    ``gold`` is what people's answers are held against: what is right, or in a study of reasons the
    class that a judge gave; empty in a study of agreement, or where no judge gave one. ``system``,
    ``sample_id`` and ``draw`` are of the answer whose reasons are sorted.
    """

    item: str
    kind: StudyKind
    pair_id: str
    article_id: str
    category: str
    gold: str
    probability: float
    check: str
    system: str = ""
    sample_id: str = ""
    draw: str = ""


@dataclass
class Answers:
    """What people answered, and what could not be used.

    Attributes:
        given: By step, person and item, the answer.
        people: Their names, in the order met.
        problems: One sentence for each cell or row that was not used, with file and line.
        blanks: How many cells were left empty.
    """

    given: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    people: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    blanks: int = 0


def _key_columns(kind: str) -> tuple[str, ...]:
    return KEY_COLUMNS + (_ANSWER_COLUMNS if kind == "reasons" else ())


def shown_columns(kind: StudyKind) -> tuple[str, ...]:
    """Return the columns of a sheet that show an item."""
    return _SHOWN[kind]


def write_study(
    kind: StudyKind, rows: Sequence[dict[str, str]], key: Sequence[KeyItem], path: Path
) -> tuple[Path, Path]:
    """Write a sheet, and beside it its key and guidelines; return the paths of the two.

    A study that is there already is left as it is if it is the same, and never overwritten: a
    person may have filled it in.

    Raises:
        InputError: The sheet is not to be a CSV file, or another study has its name.
    """
    import pandas as pd

    columns = ["item", *_SHOWN[kind], *STEPS[kind], "comment"]
    blank = dict.fromkeys(columns, "")
    sheet = pd.DataFrame([blank | row for row in rows], columns=columns)
    keys = pd.DataFrame([vars(item) for item in key], columns=list(_key_columns(kind)))
    guidelines = (
        resources.files("contrafact.families.rfc").joinpath(f"study_{kind}.txt").read_text("utf-8")
    )
    return write_sheet(path, sheet, keys, guidelines)


def read_key(path: str | Path) -> list[KeyItem]:
    """Return the items of a key, in its order.

    Raises:
        InputError: The file is no key of such a study, or a row of it cannot be used.
    """
    items: dict[str, KeyItem] = {}
    _, first = next(read_key_rows(path, KEY_COLUMNS, command=_COMMAND))
    columns = _key_columns(first["kind"])
    for line, cells in read_key_rows(path, columns, command=_COMMAND):
        kind = next((known for known in STEPS if known == cells["kind"]), None)
        drawn = probability(cells["probability"])
        known = kind is not None and cells["category"] in CATEGORIES[kind]
        if kind is None or not known or drawn is None or cells["item"] in items:
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its kind, category or probability "
                "is wrong",
                file=path,
                line=line,
                hint=f"use the key as `{_COMMAND}` wrote it",
            )
        texts = {c: cells[c] for c in columns if c not in ("kind", "probability")}
        items[cells["item"]] = KeyItem(kind=kind, probability=drawn, **texts)
    if len({item.kind for item in items.values()}) > 1:
        raise InputError("the key is of two kinds of study", file=path, hint="keep them apart")
    return list(items.values())


def read_answers(paths: Iterable[str | Path], key: Sequence[KeyItem]) -> Answers:
    """Return the answers of filled sheets.

    A person is named by the column ``annotator``, or else by the name of the file. A cell with an
    answer that the step does not have, an item that is not in the key, and an item whose text is
    not the one drawn are not used, and told in ``problems``.

    Raises:
        InputError: A file is no sheet, or one person answered one item twice.
    """
    kind = key[0].kind
    wrong = {item.item for item in key if item.category == WRONG}
    answers = Answers(given={step: {} for step in STEPS[kind]})
    for row in read_filled(
        paths,
        {item.item: item.check for item in key},
        shown=_SHOWN[kind],
        asked=STEPS[kind],
        command=_COMMAND,
        problems=answers.problems,
    ):
        if row.person not in answers.people:
            answers.people.append(row.person)
        for step in STEPS[kind]:
            _take(answers, step, row, wrong=row.item in wrong)
    return answers


def _take(answers: Answers, step: str, row: FilledRow, *, wrong: bool) -> None:
    cell = row.cells[step].strip()
    if not cell:
        answers.blanks += 1
        answers.problems.append(f"{row.where}: {step} is empty")
        return
    answer = _answer(step, cell)
    if answer is None:
        wanted = ", ".join(_NAMED[step]) if step in _NAMED else "TRUE or FALSE"
        answers.problems.append(f"{row.where}: {step} is '{cell[:40]}', not {wanted}; left out")
        return
    if wrong and answer in RIGHT_ONLY:
        answers.problems.append(
            f"{row.where}: {step} is '{answer}', which is for right answers only; left out"
        )
        return
    answers.given[step].setdefault(row.person, {})[row.item] = answer


def _answer(step: str, cell: str) -> str | None:
    if step == "manipulation":
        return manipulation_named(cell)
    if step == "reason_class":
        named = "-".join(cell.casefold().replace("_", " ").replace("-", " ").split())
        return named if named in ERROR_CLASSES else None
    text = cell.casefold()
    return TRUE if text in _TRUE else FALSE if text in _FALSE else None
