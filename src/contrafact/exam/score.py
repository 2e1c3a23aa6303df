"""From rows to the exam's figures."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from contrafact.exam.file import (
    RESPONSE,
    CriterionExam,
    Exam,
    Figure,
    KindRate,
    OrderEffect,
    Pack,
    Rate,
    Repeats,
)
from contrafact.exam.rows import ExamRow
from contrafact.exam.surface import surface_scores
from contrafact.stats.classification import auroc
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.proportions import clustered_proportion, difference_between_groups

__all__ = ["examine"]

_STREAMS = {"criterion": 1, "surface": 2, "repeats": 3}


def examine(
    rows: Sequence[ExamRow],
    *,
    judge: str,
    family: Literal["finforce", "cobe"],
    task_version: str,
    pack: Pack,
    items: str,
    seed: int,
    settings: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
    level: float = 0.95,
    resamples: int = 10_000,
) -> Exam:
    """Return what an exam's rows say of the judge.

    Intervals of rates are Wilson's at the effective number of items, all others resample clusters
    (headlines or stories).

    Args:
        rows: As `exam_rows` returns them.
        judge: The judge's name, or a panel's.
        family: Whose questions were asked.
        task_version: The version of its task.
        pack: The prompts.
        items: The name of the file of items.
        seed: Seed of the resampling; the draw of items had it, too.
        settings: How the judge was asked.
        notes: What a reader should know.
        level: Confidence level.
        resamples: How many times clusters are drawn.
    """
    by_criterion: dict[str, list[ExamRow]] = {}
    for row in sorted(rows, key=lambda row: (row.criterion == RESPONSE, row.criterion)):
        by_criterion.setdefault(row.criterion, []).append(row)
    maker = _Maker(level, resamples, seed)
    return Exam(
        judge=judge,
        family=family,
        task_version=task_version,
        pack=pack,
        settings=settings or {},
        n=len({row.item for row in rows}),
        seed=seed,
        level=level,
        criteria={name: maker.criterion(name, own) for name, own in by_criterion.items()},
        surface_scores=maker.surface(by_criterion.get(RESPONSE, [])),
        repeats=Repeats(
            times=max((len(row.repeats) for row in rows), default=1),
            same=maker.repeats(by_criterion),
        ),
        items=items,
        notes=list(notes),
    )


class _Maker:
    """The settings that all figures share. Each has a random stream of its own."""

    def __init__(self, level: float, resamples: int, seed: int) -> None:
        self.level = level
        self.resamples = resamples
        self.seed = seed

    def rng(self, stream: str, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, _STREAMS[stream], *name.encode()])

    def criterion(self, name: str, rows: Sequence[ExamRow]) -> CriterionExam:
        read = [row for row in rows if row.passed is not None]
        rng = self.rng("criterion", name)
        # Where nothing could be read there are no outcomes, and every figure is undefined.
        right = _column(read, lambda row: row.passed == row.known)
        known = _column(read, lambda row: row.known)
        passed = _column(read, lambda row: row.passed)
        clusters = _clusters(read)
        apart = difference_between_groups(
            right, known, clusters, level=self.level, resamples=self.resamples, rng=rng
        )
        told = [row for row in read if row.probability is not None]
        return CriterionExam(
            sensitivity=self._rate([r for r in read if r.known], lambda r: bool(r.passed)),
            specificity=self._rate([r for r in read if not r.known], lambda r: not r.passed),
            invalid=self._rate(rows, lambda r: r.passed is None),
            bias_true=Figure(
                estimate=apart.estimate / 2.0,
                low=apart.low / 2.0,
                high=apart.high / 2.0,
                n=apart.n,
            ),
            auroc=self._auroc(told, _column(told, lambda r: r.probability), rng) if told else None,
            length=self._length(read, passed, known, clusters, rng),
            order=self._order(rows, rng),
            kinds={
                kind: KindRate(
                    known=of[0].known, right=self._rate(of, lambda r: r.passed == r.known)
                )
                for kind, of in sorted(_by_kind(read).items())
            },
        )

    def surface(self, rows: Sequence[ExamRow]) -> dict[str, Figure]:
        # The representative answer is as like itself as can be: that is no test of a score.
        others = [
            row
            for row in rows
            if row.reference and row.text != row.reference and row.passed is not None
        ]
        if not others:
            return {}
        scores = surface_scores(
            [row.text for row in others], [row.reference or "" for row in others]
        )
        scores["judge"] = [float(bool(row.passed)) for row in others]
        found = {}
        for name, values in scores.items():
            found[name] = self._auroc(others, np.array(values), self.rng("surface", name))
        return found

    def repeats(self, by_criterion: dict[str, list[ExamRow]]) -> dict[str, Figure]:
        found = {}
        for name, rows in by_criterion.items():
            shares, clusters = [], []
            for row in rows:
                read = [one for one in row.repeats if one is not None]
                pairs = len(read) * (len(read) - 1)
                if pairs:
                    yes = sum(read)
                    no = len(read) - yes
                    shares.append((yes * (yes - 1) + no * (no - 1)) / pairs)
                    clusters.append(row.cluster)
            if shares:
                rng = self.rng("repeats", name)
                found[name] = Figure.of(
                    cluster_bootstrap(
                        shares, clusters, level=self.level, resamples=self.resamples, rng=rng
                    )
                )
        return found

    def _rate(self, rows: Sequence[ExamRow], counted: Callable[[ExamRow], bool]) -> Rate:
        outcomes = _column(rows, counted)
        return Rate.of(clustered_proportion(outcomes, _clusters(rows), level=self.level))

    def _length(
        self,
        rows: Sequence[ExamRow],
        passed: NDArray[np.float64],
        known: NDArray[np.float64],
        clusters: list[str],
        rng: np.random.Generator,
    ) -> Figure:
        words = _column(rows, lambda row: row.words)
        longer, apart = np.zeros(len(rows)), passed.copy()
        for value in (0.0, 1.0):
            own = known == value
            if own.any():
                longer[own] = words[own] > np.median(words[own])
                apart[own] -= passed[own].mean()
        return Figure.of(
            difference_between_groups(
                apart, longer, clusters, level=self.level, resamples=self.resamples, rng=rng
            )
        )

    def _order(self, rows: Sequence[ExamRow], rng: np.random.Generator) -> OrderEffect | None:
        if not any(row.asked_swapped for row in rows):
            return None
        both = [row for row in rows if row.passed is not None and row.swapped is not None]
        shift = _column(both, lambda row: float(bool(row.swapped)) - float(bool(row.passed)))
        return OrderEffect(
            changed=self._rate(both, lambda row: row.passed != row.swapped),
            shift=Figure.of(
                cluster_bootstrap(
                    shift, _clusters(both), level=self.level, resamples=self.resamples, rng=rng
                )
            ),
        )

    def _auroc(
        self,
        rows: Sequence[ExamRow],
        scores: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Figure:
        return Figure.of(
            auroc(
                _column(rows, lambda row: row.known),
                scores,
                _clusters(rows),
                level=self.level,
                resamples=min(2_000, self.resamples),
                rng=rng,
            )
        )


def _column(
    rows: Sequence[ExamRow], value: Callable[[ExamRow], float | bool | None]
) -> NDArray[np.float64]:
    return np.array([value(row) for row in rows], dtype=np.float64)


def _clusters(rows: Sequence[ExamRow]) -> list[str]:
    return [row.cluster for row in rows]


def _by_kind(rows: Sequence[ExamRow]) -> dict[str, list[ExamRow]]:
    """Return the rows by kind; a kind whose items have both verdicts on a criterion is two."""
    kinds: dict[str, dict[bool, list[ExamRow]]] = {}
    for row in rows:
        kinds.setdefault(row.kind, {}).setdefault(row.known, []).append(row)
    found = {}
    for kind, by_known in kinds.items():
        for known, own in by_known.items():
            found[kind if len(by_known) == 1 else f"{kind} ({str(known).lower()})"] = own
    return found
