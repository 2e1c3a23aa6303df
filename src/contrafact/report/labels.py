"""People's labels of a run's items, read for the correction of its judge's rates.

Where people labelled a random part of the items that a judge judged, their labels say what they
would say of all of them, whatever the judge is worth (`contrafact.stats.correction.ppi_mean`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.exam.correct import examined_criteria
from contrafact.family import families
from contrafact.files.tables import read_rows
from contrafact.report.chapter import TaskRuns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_labels", "labels_for", "read_labels"]

_NEEDED = ("question", "answer", "system", "judge", "sample_id")
_TRUE = frozenset(("true", "t", "yes", "y", "1", "1.0"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "0.0"))
_MEND = (
    "give labels.csv of `contrafact finforce study score --out`, or a review's labels: "
    "contrafact review export --what labels"
)
_KEPT = ("item", "annotator", "question", "answer", "system", "judge", "draw", "sample_id")
_MORE = ("side", "phrasing", "probability")


def read_labels(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the labels in files: one row per answer of a person.

    Columns: ``item``, ``annotator``, ``question`` (a judged column), ``answer`` (1.0 or 0.0),
    ``system``, ``judge``, ``sample_id``, and, where a file has them for every row, ``draw``,
    ``side``, ``phrasing`` and ``probability`` (of being drawn). Questions that no judge is asked
    are left out, as are rows without an answer.

    Raises:
        InputError: A file cannot be read, or a row is no label; the line is named.
    """
    import pandas as pd

    known = {name for family in families() for name in examined_criteria(family)}
    rows: list[dict[str, Any]] = []
    for path in paths:
        for line, row in read_rows(path):
            missing = [name for name in _NEEDED if name not in row]
            if missing:
                raise InputError(
                    f"these are no labels of a run: there is no '{missing[0]}'",
                    file=path,
                    line=line,
                    hint=_MEND,
                )
            if row["question"] in known and row["answer"] not in (None, ""):
                rows.append(_label(row, path, line))
    if not rows:
        raise InputError("there is no label", hint=_MEND)
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[c for c in frame if frame[c].isna().any()])


def check_labels(labels: "pd.DataFrame", tasks: Sequence[TaskRuns]) -> None:
    """Refuse labels of what is in none of the runs.

    Raises:
        InputError: For the first such system and judge.
    """
    judged = {
        (str(system), str(judge))
        for runs in tasks
        if "judge" in runs.items.columns
        for system, judge in runs.items[["system", "judge"]].drop_duplicates().to_numpy()
    }
    for system, judge in labels[["system", "judge"]].drop_duplicates().to_numpy():
        if (system, judge) not in judged:
            raise InputError(
                f"there are labels of '{system}', judged by {judge}, and no run of it here",
                hint="name the run whose items were labelled, or leave these labels out",
            )


def labels_for(labels: "pd.DataFrame | None", family: str) -> "pd.DataFrame | None":
    """Return the labels of one family's judged columns; None where there are none."""
    if labels is None:
        return None
    own = labels[labels["question"].isin(list(examined_criteria(family)))]
    return None if own.empty else own


def _label(row: Mapping[str, Any], path: str | Path, line: int) -> dict[str, Any]:
    said = str(row["answer"]).strip().casefold()
    if said not in _TRUE | _FALSE:
        raise InputError(
            f"'{said[:40]}' is neither true nor false", file=path, line=line, hint="mend the answer"
        )
    found: dict[str, Any] = {name: _text(row.get(name)) for name in (*_KEPT, *_MORE)}
    found["answer"] = float(said in _TRUE)
    for name in ("draw", "probability"):
        try:
            found[name] = None if found[name] is None else float(found[name])
        except ValueError as error:
            raise InputError(
                f"'{found[name][:40]}' is no number in '{name}'", file=path, line=line, hint=_MEND
            ) from error
    return found


def _text(value: object) -> str | None:
    return None if value is None or str(value).strip() in ("", "nan") else str(value)
