"""What corrects a judge's rates: people's labels of a run's items, and that an exam is of it.

Where people labelled a random part of the items that a judge judged, their labels say what they
would say of all of them, whatever the judge is worth (`contrafact.stats.correction.ppi_mean`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.family import family_of_task, tasks
from contrafact.family.exam_file import Exam
from contrafact.files.tables import read_rows
from contrafact.report.frames import TaskRuns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_exams", "check_labels", "read_labels"]

_NEEDED = ("question", "answer", "system", "judge", "sample_id")
_TRUE = frozenset(("true", "t", "yes", "y", "1", "1.0"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "0.0"))
_HINT = (
    "give labels.csv that a family's `study score --out` wrote, or a review's labels: "
    "contrafact review export --what labels"
)
_KEPT = ("item", "annotator", "question", "answer", "system", "judge", "draw", "sample_id")


def read_labels(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the labels in files: one row per answer of a person.

    Columns: ``item``, ``annotator``, ``question`` (a judged column), ``answer`` (1.0 or 0.0),
    ``system``, ``judge``, ``sample_id``, and, where a file has them for every row, ``draw``, what
    else names a row of a family (a side, a phrasing) and ``probability`` (of being drawn).
    Questions that no judge is asked are left out, as are rows without an answer.

    Raises:
        InputError: A file cannot be read, or a row is no label; the line is named.
    """
    import pandas as pd

    specs = [task.report.load() for task in tasks().values()]
    known = {criterion.column for spec in specs for criterion in spec.criteria}
    columns = dict.fromkeys((*_KEPT, *(name for spec in specs for name in spec.key), "probability"))
    rows: list[dict[str, Any]] = []
    for path in paths:
        for line, row in read_rows(path):
            missing = [name for name in _NEEDED if name not in row]
            if missing:
                raise InputError(
                    f"these are no labels of a run: there is no '{missing[0]}'",
                    file=path,
                    line=line,
                    hint=_HINT,
                )
            if row["question"] in known and row["answer"] not in (None, ""):
                rows.append(_label(row, columns, path, line))
    if not rows:
        raise InputError("there is no label", hint=_HINT)
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[c for c in frame if frame[c].isna().any()])


def check_labels(labels: "pd.DataFrame", runs_of: Sequence[TaskRuns]) -> None:
    """Refuse labels of a system and judge that none of the runs has, by InputError."""
    judged = {
        (str(system), str(judge))
        for runs in runs_of
        if "judge" in runs.items.columns
        for system, judge in runs.items[["system", "judge"]].drop_duplicates().to_numpy()
    }
    for system, judge in labels[["system", "judge"]].drop_duplicates().to_numpy():
        if (system, judge) not in judged:
            raise InputError(
                f"there are labels of '{system}', judged by {judge}, and no run of it here",
                hint="name the run whose items were labelled, or leave these labels out",
            )


def check_exams(exams: Sequence[Exam], runs_of: Sequence[TaskRuns]) -> None:
    """Refuse an exam of a judge that judged nothing in the report, by InputError."""
    judges = {
        (str(judge), family_of_task(runs.task).name)
        for runs in runs_of
        if "judge" in runs.items.columns
        for judge in runs.items["judge"].dropna().unique()
    }
    for exam in exams:
        if (exam.judge, exam.family) not in judges:
            raise InputError(
                f"the exam of {exam.judge} in {exam.family} is of no judge in these runs",
                hint="name a run that it judged, or leave this --exam out",
            )


def _label(
    row: Mapping[str, Any], columns: Iterable[str], path: str | Path, line: int
) -> dict[str, Any]:
    answer = str(row["answer"]).strip().casefold()
    if answer not in _TRUE | _FALSE:
        raise InputError(
            f"'{answer[:40]}' is neither true nor false",
            file=path,
            line=line,
            hint="correct the answer",
        )
    found: dict[str, Any] = {name: _text(row.get(name)) for name in columns}
    found["answer"] = float(answer in _TRUE)
    for name in ("draw", "probability"):
        try:
            found[name] = None if found[name] is None else float(found[name])
        except ValueError as error:
            raise InputError(
                f"'{found[name][:40]}' is no number in '{name}'", file=path, line=line, hint=_HINT
            ) from error
    return found


def _text(value: object) -> str | None:
    return None if value is None or str(value).strip() in ("", "nan") else str(value)
