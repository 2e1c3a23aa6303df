"""Exams of judges of pairs whose rates are given."""

from contrafact.family.exam_file import CriterionExam, Exam, Figure, Rate, Repeats
from contrafact.family.manifest import PackRecord


def rate(right, n):
    return Rate(k=right, n=n, n_effective=n, clusters=n, estimate=right / n, low=None, high=None)


def exam_with(rates, *, judge="j", templates=()):
    """Return an exam of these rates: of each criterion (right, n) of sound and of faulty items."""
    none = Figure(estimate=None)
    criteria = {
        name: CriterionExam(
            sensitivity=rate(*passes), specificity=rate(*fails), invalid=rate(0, 100),
            bias_true=none, length=none, order=None, kinds={},
        )
        for name, (passes, fails) in rates.items()
    }  # fmt: skip
    return Exam(
        judge=judge, family="rfc", task_version="1", n=100, seed=0, level=0.95, criteria=criteria,
        pack=PackRecord(name="default", hash="x", templates=dict(templates)), surface_scores={},
        repeats=Repeats(times=1, same={}), items="x",
    )  # fmt: skip
