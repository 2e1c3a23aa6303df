"""Exams of judges whose rates are given, or whose every verdict is."""

import pandas as pd

from contrafact.exams.score import examine
from contrafact.family.exam_file import CriterionExam, Exam, Figure, Rate
from contrafact.family.manifest import PackRecord

PLAIN = {
    "cluster": "", "kind": "any", "invalid": None, "probability": None,
    "words": 9, "text": "", "reference": None,
}  # fmt: skip


def exam_rows(rows):
    """Return an exam's rows of what is given: item, criterion, known, passed, and what differs."""
    made = [{**PLAIN, "cluster": row["item"], **row} for row in rows]
    return pd.DataFrame(made, dtype=object)


def examined(rows, **known):
    """Return the exam that such rows make."""
    given = {
        "judge": "j", "family": "cobe", "task_version": "1-A", "items": "i.jsonl", "seed": 0,
        "pack": PackRecord(name="default", hash="p"), "resamples": 200,
    }  # fmt: skip
    return examine(exam_rows(rows), **(given | known))


def rate(right, n):
    return Rate(k=right, n=n, n_effective=n, clusters=n, estimate=right / n, low=None, high=None)


def exam_with(rates, *, judge="j", templates=()):
    """Return an exam of these rates: of each criterion (right, n) of sound and of faulty items."""
    none = Figure(estimate=None)
    criteria = {
        name: CriterionExam(
            sensitivity=rate(*passes), specificity=rate(*fails), invalid=rate(0, 100),
            bias_true=none, length=none, kinds={},
        )
        for name, (passes, fails) in rates.items()
    }  # fmt: skip
    return Exam(
        judge=judge, family="rfc", task_version="1", n=100, seed=0, level=0.95, criteria=criteria,
        pack=PackRecord(name="default", hash="x", templates=dict(templates)),
        items="x",
    )  # fmt: skip
