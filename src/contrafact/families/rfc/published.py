"""The published figures of RFC-BENCH: tables 2, 3, 4, 6, 7 and 9.

They are data (``published/*.csv``), typed in from the paper as printed, and named as this program
names things. Where the paper's own figures disagree with each other, ``notes.json`` says so; the
note's key names the figure. A test recomputes what follows from other figures.
"""

import json
from importlib.resources import files
from io import StringIO
from typing import Literal

import pandas as pd

from contrafact.families.rfc.labels import TaskName
from contrafact.family.display import PublishedNote

__all__ = ["published_notes", "published_rows", "published_table"]

PublishedTable = Literal["audit", "agreement", "retention", "detection", "diagnosis", "human"]


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


def _text(name: str) -> str:
    return (files("contrafact.families.rfc") / "published" / name).read_text(encoding="utf-8")
