"""The published figures of RFC-BENCH: tables 2, 3, 4, 6, 7 and 9.

They are data (``published/*.csv``), typed in from the paper as printed, and named as this program
names things. Where the paper's own figures disagree with each other, ``notes.json`` says so; the
note's key names the figure, and `residuals` recomputes what follows from other figures.
"""

import json
import math
from importlib.resources import files
from io import StringIO
from typing import Any, Literal

import pandas as pd

from contrafact.families.rfc.labels import TaskName
from contrafact.family.display import PublishedNote
from contrafact.records import MANIPULATIONS

__all__ = [
    "PublishedTable",
    "published_notes",
    "published_rows",
    "published_table",
    "residuals",
]

PublishedTable = Literal["audit", "agreement", "retention", "detection", "diagnosis", "human"]

_HALF_UNIT = 0.0005  # everything is printed with three decimals


def published_notes() -> list[PublishedNote]:
    """Return where the paper's own figures disagree."""
    return [PublishedNote.model_validate(one) for one in json.loads(_text("notes.json"))]


def published_table(name: PublishedTable) -> pd.DataFrame:
    """Return one table as printed.

    - ``audit`` (table 2): ``category``, ``sample_size``, ``pass``, ``fail``, ``agreement_rate``.
    - ``agreement`` (table 3): ``step`` (``category`` or ``rewrite``), ``category``, ``samples``,
      ``accuracy``, ``macro_f1``, ``cohen_kappa`` (NaN where undefined), ``gwet_ac1``.
    - ``retention`` (table 4): ``category``, ``pre_adjudication``, ``final_retained``,
      ``hard_cases``, ``retention_rate``.
    - ``detection`` (tables 6a and 9), ``diagnosis`` (table 6b): ``model``, ``shots``, ``invalid``
      (a count), ``accuracy``, ``precision``, ``recall``, ``f1`` (all macro-averaged), ``mcc``.
    - ``human`` (table 7): ``annotator``, ``task``, ``overall`` and accuracy by manipulation.

    Shares are from 0 to 1.
    """
    return pd.read_csv(StringIO(_text(f"{name}.csv")))


def published_rows(task: TaskName) -> pd.DataFrame:
    """Return what the paper prints of a task's models, over valid outputs, zero-shot first."""
    return published_table("detection" if task == "rfc-detect" else "diagnosis")


def residuals() -> pd.DataFrame:
    """Recompute every figure that follows from others.

    Returns:
        One row per such figure: ``key`` (as in the notes), ``printed``, ``computed``, ``residual``
        (printed minus computed) and ``tolerance``, the largest residual that rounding can leave.
    """
    found: list[dict[str, str | float]] = []

    def note(key: str, printed: float, computed: float, tolerance: float = _HALF_UNIT) -> None:
        found.append(
            {
                "key": key,
                "printed": printed,
                "computed": computed,
                "residual": printed - computed,
                "tolerance": tolerance,
            }
        )

    for row in _records("audit"):
        key = f"audit:{row['category']}"
        note(f"{key}:agreement_rate", row["agreement_rate"], row["pass"] / row["sample_size"])
        note(f"{key}:sample_size", row["sample_size"], row["pass"] + row["fail"], 0.0)
    retention = _records("retention")
    for row in retention:
        rate = row["final_retained"] / row["pre_adjudication"]
        note(f"retention:{row['category']}:retention_rate", row["retention_rate"], rate)
    for column in ("pre_adjudication", "final_retained", "hard_cases"):
        total = sum(row[column] for row in retention[:-1])
        note(f"retention:total:{column}", retention[-1][column], total, 0.0)
    for step in ("category", "rewrite"):
        *rows, overall = (row for row in _records("agreement") if row["step"] == step)
        samples = sum(row["samples"] for row in rows)
        note(f"agreement:{step}:overall:samples", overall["samples"], samples, 0.0)
        for column in ("accuracy", "macro_f1", "cohen_kappa", "gwet_ac1"):
            values = [row[column] for row in rows if not math.isnan(row[column])]
            mean = sum(values) / len(values)
            note(f"agreement:{step}:overall:{column}", overall[column], mean, 2 * _HALF_UNIT)
    for row in _records("human"):
        mean = sum(row[name] for name in MANIPULATIONS) / len(MANIPULATIONS)
        note(f"human:{row['annotator']}:{row['task']}", row["overall"], mean)
    for row in _records("detection"):
        # For two classes, MCC is the geometric mean of what macro precision and recall have above
        # one half, doubled.
        precision, recall = 2 * row["precision"] - 1, 2 * row["recall"] - 1
        sign = 1.0 if recall > 0 else -1.0
        computed = sign * abs(precision * recall) ** 0.5
        note(f"detection:{row['model']}:{row['shots']}:macro", row["mcc"], computed, 0.004)
    return pd.DataFrame(found)


def _records(name: PublishedTable) -> list[dict[str, Any]]:
    records = published_table(name).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in records]


def _text(name: str) -> str:
    return (files("contrafact.families.rfc") / "published" / name).read_text(encoding="utf-8")
