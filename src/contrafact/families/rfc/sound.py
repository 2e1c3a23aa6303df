"""How many pairs of a file are really sound: what a judge passes, corrected by its exam.

A judge errs on each criterion at rates of its own, which an exam measured. The share of sound pairs
is corrected criterion by criterion, by what corrects every judged score (`contrafact.stats`), so
that it holds for whatever faults the file has; pairs of one original are not independent. Where
the exam has too few items on a criterion, the verdict on the whole pair is corrected instead, which
holds where faults are mixed as in the exam, and that is said. What facts decide counts as they
decide it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from contrafact.errors import InputError
from contrafact.families.rfc.checking import JudgedPair, JudgeSettings
from contrafact.families.rfc.judging import CRITERIA
from contrafact.family.exam_file import CriterionExam, Exam, read_exam
from contrafact.records import MANIPULATIONS, Manipulation
from contrafact.stats.correction import MIN_EXAM, Corrected, correct_conjunction, correct_rate

__all__ = ["ALL", "BY_FACTS", "Counted", "Sound", "counted", "exam_of", "signs_of", "sound_pairs"]

ALL = "all"

BY_FACTS = "facts"
"""The signs of a pair that facts alone pass."""


class Counted(NamedTuple):
    """What was said of one pair: its kind, the signs of `signs_of`, and its original."""

    kind: Manipulation
    signs: str
    cluster: str


@dataclass(frozen=True)
class Sound:
    """How many pairs of a kind are sound."""

    kind: str
    pairs: int
    passed: int
    estimate: float
    low: float
    high: float
    why: str


def signs_of(kind: Manipulation, found: JudgedPair) -> str:
    """Return what was said of a pair in signs: 1, 0 or ? for each criterion of its kind.

    Blank where facts failed it, `BY_FACTS` where facts alone decide and pass it.
    """
    facts_decide = kind == "numerical"
    if found.judged is None or facts_decide:
        passed = found.check.passed
        return BY_FACTS if passed else "" if passed is False else "?"
    signs = {True: "1", False: "0", None: "?"}
    return "".join(signs[found.judged.panel[one.name].passed] for one in CRITERIA[kind])


def counted(fields: Mapping[str, Any], found: JudgedPair) -> Counted:
    """Return what was said of a pair, for `sound_pairs`."""
    kind = fields["manipulation"]
    return Counted(kind, signs_of(kind, found), str(fields["original"]))


def exam_of(path: str, settings: JudgeSettings) -> tuple[Exam, str]:
    """Return the exam in a file, and why it is none of this judge; blank where it is."""
    exam = read_exam(path)
    if exam.family != "rfc":
        hint = "examine the judge with `contrafact exam --family rfc`"
        raise InputError(f"is an exam in {exam.family}, not in rfc", file=path, hint=hint)
    judging = settings.judging()
    judge = " + ".join(settings.judges)
    if exam.judge != judge:
        return exam, f"not known: the exam is one of {exam.judge}, not of {judge}"
    why = exam.asked_otherwise(judging.pack.used, settings.asked())
    return exam, f"not known: {why}" if why else ""


def sound_pairs(
    pairs: Sequence[Counted],
    exam: Exam,
    why: str = "",
    *,
    rng: np.random.Generator,
    level: float = 0.95,
) -> list[Sound]:
    """Return how many pairs are really sound, by kind and in all."""
    kinds = [kind for kind in MANIPULATIONS if any(one.kind == kind for one in pairs)]
    groups = [(kind, [one for one in pairs if one.kind == kind]) for kind in kinds]
    if len(kinds) > 1:
        groups.append((ALL, list(pairs)))  # type: ignore[arg-type]
    return [_sound(name, own, exam, why, rng, level) for name, own in groups]


def _sound(
    name: str,
    pairs: Sequence[Counted],
    exam: Exam,
    why: str,
    rng: np.random.Generator,
    level: float,
) -> Sound:
    facts = sum(one.signs == BY_FACTS for one in pairs)
    judged = [one for one in pairs if one.signs not in ("", BY_FACTS) and "?" not in one.signs]
    passed = facts + sum("0" not in one.signs for one in judged)
    unread = sum("?" in one.signs for one in pairs)
    notes = [f"{unread:,} without a verdict on every criterion are left out"] if unread else []
    if facts:
        notes.append(f"{facts:,} by facts alone")
    if not judged:
        count = math.nan if unread else float(facts)
        return Sound(name, len(pairs), passed, count, count, count, "; ".join(notes))
    columns, more = _columns(judged, exam)
    found = None
    if not why:
        found, why = _corrected(judged, columns, exam, rng, level)
    if found is None or not found.usable:
        nan = math.nan
        return Sound(name, len(pairs), passed, nan, nan, nan, why)
    low, high = (facts + len(judged) * share for share in (found.low, found.high))
    count = facts + len(judged) * found.estimate
    return Sound(name, len(pairs), passed, count, low, high, "; ".join([*more, *notes]))


class _Column(NamedTuple):
    """A verdict that is corrected: its name in the exam, whose it is, and its place in the signs.

    The place is None where it is the verdict on the pair as a whole.
    """

    name: str
    kind: str
    place: int | None

    def value(self, pair: Counted) -> float:
        if pair.kind != self.kind:
            return math.nan
        return float("0" not in pair.signs if self.place is None else pair.signs[self.place] == "1")


def _columns(judged: Sequence[Counted], exam: Exam) -> tuple[list[_Column], list[str]]:
    columns, notes = [], []
    for kind in [kind for kind in MANIPULATIONS if any(one.kind == kind for one in judged)]:
        own = [_Column(f"{kind}:{c.name}", kind, place) for place, c in enumerate(CRITERIA[kind])]
        if not all(_enough(exam.criteria.get(one.name)) for one in own) and kind in exam.criteria:
            own = [_Column(kind, kind, None)]
            notes.append(f"{kind} as a whole, for faults mixed as in the exam")
        columns += own
    return columns, notes


def _enough(part: CriterionExam | None) -> bool:
    if part is None:
        return False
    return min(part.sensitivity.exam_rate.n, part.specificity.exam_rate.n) >= MIN_EXAM


def _corrected(
    judged: Sequence[Counted],
    columns: Sequence[_Column],
    exam: Exam,
    rng: np.random.Generator,
    level: float,
) -> tuple[Corrected | None, str]:
    """Return the corrected share of judged pairs that pass everything, and why there is none."""
    missing = [one.name for one in columns if one.name not in exam.criteria]
    if missing:
        return None, f"not known: the exam did not ask {', '.join(missing)}"
    rates = [exam.criteria[one.name] for one in columns]
    clusters = [one.cluster for one in judged]
    if len(columns) == 1:
        found = correct_rate(
            [columns[0].value(one) for one in judged],
            clusters,
            sensitivity=rates[0].sensitivity.exam_rate,
            specificity=rates[0].specificity.exam_rate,
            level=level,
        )
        return found, found.why
    if why := exam.errs_together():
        return None, why
    found = correct_conjunction(
        [[column.value(one) for column in columns] for one in judged],
        clusters,
        names=[one.name for one in columns],
        sensitivity=[one.sensitivity.exam_rate for one in rates],
        specificity=[one.specificity.exam_rate for one in rates],
        rng=rng,
        level=level,
    )
    return found, found.why
