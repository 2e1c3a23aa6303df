"""The sheets that people fill in for the studies of RFC-BENCH, and their keys.

Both are CSV. A sheet shows texts and nothing of what is right; the key, kept apart, holds that, the
pair that an item comes from, and its probability of being drawn.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Literal

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.jsonl import read_rows
from contrafact.files.tables import render_csv
from contrafact.records import MANIPULATIONS, content_id
from contrafact.rfc.labels import FALSE, TRUE, manipulation_named
from contrafact.text.fence import printable

__all__ = [
    "KEY_COLUMNS",
    "STEPS",
    "Answers",
    "KeyItem",
    "StudyKind",
    "find_key",
    "item_check",
    "read_answers",
    "read_key",
    "shown_columns",
    "write_study",
]

StudyKind = Literal["agreement", "detect", "diagnose"]

STEPS: dict[StudyKind, tuple[str, ...]] = {
    "agreement": ("category_correct", "rewrite_valid"),
    "detect": ("label",),
    "diagnose": ("manipulation",),
}
"""What each kind of study asks of every item: the columns to fill in."""

_SHOWN: dict[StudyKind, tuple[str, ...]] = {
    "agreement": ("claimed_manipulation", "original", "rewritten"),
    "detect": ("paragraph",),
    "diagnose": ("original", "rewritten"),
}
KEY_COLUMNS = (
    *("item", "kind", "pair_id", "article_id", "category", "gold", "probability", "check"),
)

_TRUE = frozenset(("true", "t", "yes", "y", "1", "1.0", "pass"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "0.0", "fail"))
# A spreadsheet takes a cell that begins so for a formula, or drops what it begins with.
_FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")


@dataclass(frozen=True)
class KeyItem:
    """What the key holds of an item; ``gold`` is empty in a study of agreement."""

    item: str
    kind: StudyKind
    pair_id: str
    article_id: str
    category: str
    gold: str
    probability: float
    check: str


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


def shown_columns(kind: StudyKind) -> tuple[str, ...]:
    """Return the columns of a sheet that show an item."""
    return _SHOWN[kind]


def item_check(shown: Iterable[str]) -> str:
    """Return a hash of what an item shows, whatever a spreadsheet did to its spaces."""
    return content_id(*(" ".join(printable(text).split()) for text in shown))


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

    if path.suffix.lower() != ".csv":
        raise InputError("a study's sheet is a CSV file", file=path, mend="name it .csv")
    columns = ["item", *_SHOWN[kind], *STEPS[kind], "comment"]
    blank = dict.fromkeys(columns, "")
    sheet = pd.DataFrame([blank | row for row in rows], columns=columns).map(_guarded)
    keys = pd.DataFrame([vars(item) for item in key], columns=list(KEY_COLUMNS))
    keys = keys.map(lambda value: _guarded(value) if isinstance(value, str) else value)
    key_path = path.with_suffix(".key.csv")
    guidelines_path = path.with_suffix(".guidelines.txt")
    guidelines = resources.files("contrafact.rfc").joinpath(f"study_{kind}.txt").read_text("utf-8")
    for target, text in (
        # The byte-order mark tells spreadsheets that this is UTF-8.
        (path, "\ufeff" + render_csv(sheet)),
        (key_path, render_csv(keys)),
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


def find_key(sheets: Sequence[Path]) -> Path:
    """Return the key that lies beside the sheets: of the same name, or the only one there.

    Raises:
        InputError: There is none, or there are several.
    """
    named = sheets[0].with_suffix(".key.csv")
    if named.exists():
        return named
    keys = sorted(sheets[0].parent.glob("*.key.csv"))
    if len(keys) == 1:
        return keys[0]
    problem = "no key lies beside this sheet" if not keys else "several keys lie beside this sheet"
    raise InputError(problem, file=sheets[0], mend="name the key with --key FILE")


def read_key(path: str | Path) -> list[KeyItem]:
    """Return the items of a key, in its order.

    Raises:
        InputError: The file is no key of such a study, or a row of it cannot be used.
    """
    items: dict[str, KeyItem] = {}
    for line, row in read_rows(path):
        missing = [column for column in KEY_COLUMNS if column not in row]
        if missing:
            raise InputError(
                f"this is no study's key: it has no column '{missing[0]}'",
                file=path,
                line=line,
                mend="give the file that `rfc study sample` wrote beside the sheet",
            )
        cells = {column: _unguarded(str(row[column] or "").strip()) for column in KEY_COLUMNS}
        kind = next((known for known in STEPS if known == cells["kind"]), None)
        probability = _probability(cells["probability"])
        if kind is None or probability is None or cells["item"] in items:
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its kind or probability is wrong",
                file=path,
                line=line,
                mend="use the key as `rfc study sample` wrote it",
            )
        texts = {c: cells[c] for c in ("pair_id", "article_id", "category", "gold", "check")}
        items[cells["item"]] = KeyItem(
            item=cells["item"], kind=kind, probability=probability, **texts
        )
    if not items:
        raise InputError("the key holds no items", file=path)
    if len({item.kind for item in items.values()}) > 1:
        raise InputError("the key is of two kinds of study", file=path, mend="keep them apart")
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
    checks = {item.item: item.check for item in key}
    answers = Answers(given={step: {} for step in STEPS[kind]})
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        for line, row in read_rows(path):
            missing = [c for c in ("item", *_SHOWN[kind], *STEPS[kind]) if c not in row]
            if missing:
                raise InputError(
                    f"this is no sheet of this study: it has no column '{missing[0]}'",
                    file=path,
                    line=line,
                    mend="fill in the file that `rfc study sample` wrote, and keep its columns",
                )
            cells = {n: _unguarded(str(v)) if v is not None else "" for n, v in row.items()}
            if not any(cell.strip() for cell in cells.values()):
                continue
            person = cells.get("annotator", "").strip() or Path(path).stem
            item, where = cells["item"].strip(), f"{path}:{line}"
            if item not in checks:
                answers.problems.append(f"{where}: item '{item[:20]}' is not in the key; left out")
                continue
            if (person, item) in seen:
                raise InputError(
                    f"'{person}' has item {item} twice (first at {seen[person, item]})",
                    file=path,
                    line=line,
                    mend="name each person's file after them, or add a column 'annotator'",
                )
            seen[person, item] = where
            if item_check(cells[column] for column in _SHOWN[kind]) != checks[item]:
                answers.problems.append(
                    f"{where}: item {item} shows another text than was drawn; left out"
                )
                continue
            if person not in answers.people:
                answers.people.append(person)
            for step in STEPS[kind]:
                _take(answers, step, person, item, cells[step].strip(), where)
    return answers


def _take(answers: Answers, step: str, person: str, item: str, cell: str, where: str) -> None:
    if not cell:
        answers.blanks += 1
        answers.problems.append(f"{where}: {step} is empty")
        return
    answer = _answer(step, cell)
    if answer is None:
        wanted = ", ".join(MANIPULATIONS) if step == "manipulation" else "TRUE or FALSE"
        answers.problems.append(f"{where}: {step} is '{cell[:40]}', not {wanted}; left out")
        return
    answers.given[step].setdefault(person, {})[item] = answer


def _answer(step: str, cell: str) -> str | None:
    if step == "manipulation":
        return manipulation_named(cell)
    text = cell.casefold()
    return TRUE if text in _TRUE else FALSE if text in _FALSE else None


def _probability(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if 0.0 < value <= 1.0 else None


def _guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text
