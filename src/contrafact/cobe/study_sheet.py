"""The sheet that a person fills in for the human study of CoBe, and its key (appendix C.3).

Both are CSV. The sheet shows original text, query and response, and nothing of the system that
wrote it or of the judge's verdict; the key, kept apart, holds those.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.jsonl import read_rows
from contrafact.files.tables import render_csv
from contrafact.records import content_id
from contrafact.text.fence import printable

__all__ = [
    "KEY_COLUMNS",
    "NO",
    "OTHER",
    "SHOWN",
    "YES",
    "Answers",
    "KeyItem",
    "find_key",
    "item_check",
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
# A spreadsheet takes a cell that begins so for a formula, or drops what it begins with.
_FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")


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


def item_check(shown: Iterable[str]) -> str:
    """Return a hash of what an item shows, whatever a spreadsheet did to its spaces."""
    return content_id(*(" ".join(printable(text).split()) for text in shown))


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

    if path.suffix.lower() != ".csv":
        raise InputError("a study's sheet is a CSV file", file=path, mend="name it .csv")
    blank = dict.fromkeys(_SHEET, "")
    sheet = pd.DataFrame([blank | row for row in rows], columns=list(_SHEET)).map(_guarded)
    keys = pd.DataFrame([vars(item) for item in key], columns=list(KEY_COLUMNS))
    keys = keys.map(lambda value: _guarded(value) if isinstance(value, str) else value)
    key_path = path.with_suffix(".key.csv")
    guidelines_path = path.with_suffix(".guidelines.txt")
    guidelines = (resources.files("contrafact.cobe") / "study_guidelines.txt").read_text("utf-8")
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
                mend="give the file that `cobe study sample` wrote beside the sheet",
            )
        cells = {
            column: _unguarded(str("" if row[column] is None else row[column]).strip())
            for column in KEY_COLUMNS
        }
        probability = _probability(cells.pop("probability"))
        if (
            probability is None
            or cells["item"] in items
            or cells["judge_verdict"] not in (YES, NO, "")
        ):
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its verdict or probability is "
                "wrong",
                file=path,
                line=line,
                mend="use the key as `cobe study sample` wrote it",
            )
        items[cells["item"]] = KeyItem(probability=probability, **cells)
    if not items:
        raise InputError("the key holds no items", file=path)
    return list(items.values())


def read_answers(paths: Iterable[str | Path], key: Sequence[KeyItem]) -> Answers:
    """Return the answers of filled sheets.

    A person is named by the column ``annotator``, or else by the name of the file. A cell that is
    none of Yes, No and Other, an item that is not in the key, and an item whose texts are not those
    drawn are not used, and told in ``problems``.

    Raises:
        InputError: A file is no sheet, or one person answered one item twice.
    """
    checks = {item.item: item.check for item in key}
    answers = Answers()
    seen: dict[tuple[str, str], str] = {}
    for path in paths:
        for line, row in read_rows(path):
            missing = [c for c in ("item", *SHOWN, "judgement") if c not in row]
            if missing:
                raise InputError(
                    f"this is no sheet of this study: it has no column '{missing[0]}'",
                    file=path,
                    line=line,
                    mend="fill in the file that `cobe study sample` wrote, and keep its columns",
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
            if item_check(cells[column] for column in SHOWN) != checks[item]:
                answers.problems.append(
                    f"{where}: item {item} shows other texts than were drawn; left out"
                )
                continue
            _take(answers, person, item, cells, where)
    return answers


def _take(answers: Answers, person: str, item: str, cells: dict[str, str], where: str) -> None:
    own = answers.given.setdefault(person, {})
    if comment := cells.get("comment", "").strip():
        answers.comments.setdefault(person, {})[item] = comment
    cell = cells["judgement"].strip()
    if not cell:
        answers.blanks += 1
        answers.problems.append(f"{where}: judgement is empty")
        return
    answer = _READ.get(cell.casefold().rstrip("."))
    if answer is None:
        answers.problems.append(f"{where}: judgement is '{cell[:40]}', not Yes, No or Other")
        return
    own[item] = answer


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
