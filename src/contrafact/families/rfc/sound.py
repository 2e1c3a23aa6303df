"""Estimates of how many pairs are really sound: a judge's passes, corrected by labels or an exam.

If people labelled a random part of the file, their labels decide (`stats.correction`), and nothing
is assumed about the judge. An exam is weaker evidence. Its sound items show how often the judge
passes a sound pair as a whole, its faulty items how often it fails a faulty pair, by kind of fault.
Verdicts are on whole pairs, so errors on the criteria of one pair may be correlated. The exam
cannot know which faults the file has, so the bounds hold for every mix of its kinds of fault: the
share of sound pairs is corrected for each kind of fault alone, and the outermost bounds are taken.
Pairs of one original are not independent. Pairs that facts decide count as facts decide them.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Check
from contrafact.families.rfc.judging import JudgeSettings
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.family.exam_file import CriterionExam, Exam, read_exam
from contrafact.family.study import Question
from contrafact.files.tables import read_rows
from contrafact.stats.correction import (
    MIN_YOUDEN,
    ExamRate,
    correct_rate,
    correction_bounds,
    ppi_share,
)
from contrafact.stats.intervals import effective_number

ALL = "all"

_SOUND = Question("sound")
BY_FACTS = "facts"
"""The signs of a pair that facts alone pass."""

_LEAST_OF_A_FAULT = 10.0
"""The effective number of exam items that a kind of fault needs to be counted by itself."""
_LABEL = "label some 100 pairs drawn at random (--labels)"


class Counted(NamedTuple):
    """The verdicts on one pair, for counting sound pairs.

    Attributes:
        signs: 1, 0 or ? for each criterion of its kind; blank if facts failed it, `BY_FACTS` if
            facts alone decide and pass it.
        cluster: The pair's original.
    """

    kind: Manipulation
    signs: str
    cluster: str
    id: str = ""


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


def counted(fields: Mapping[str, Any], check: Check) -> Counted:
    """Return the verdicts on a pair, from its check."""
    kind = fields["manipulation"]
    if check.judged is None or kind == "numerical":
        signs = BY_FACTS if check.passed else "" if check.passed is False else "?"
    else:
        signs = "".join({True: "1", False: "0", None: "?"}[passed] for passed in check.judged)
    return Counted(kind, signs, str(fields["original"]), str(fields["id"]))


def _read_labels(path: str, known: Collection[str] | None) -> dict[str, bool]:
    """Return people's labels of pairs, by id, from a table with ``id`` and ``sound``."""
    answered: dict[str, bool] = {}
    for line, row in read_rows(path, guarded=True):
        name, given = (str(row.get(one, "")).strip() for one in ("id", "sound"))
        if known is not None and name not in known:
            hint = "give the id of a pair that is checked"
            raise InputError(f"{name!r} is not the id of a pair", file=path, line=line, hint=hint)
        if (answer := _SOUND.read(given)) is None:
            hint = "write true or false, and leave out pairs that nobody labelled"
            raise InputError(f"sound is {given!r}", file=path, line=line, hint=hint)
        if answered.setdefault(name, answer == "true") != (answer == "true"):
            hint = "settle which of them is right first"
            raise InputError(f"{name!r} has two labels", file=path, line=line, hint=hint)
    if not answered:
        raise InputError("there is no label", file=path, hint="give rows with id and sound")
    return answered


def _exam_of(path: str, settings: JudgeSettings) -> tuple[Exam, str]:
    """Return the exam in a file, and why it does not apply to this judge; blank if it does."""
    exam = read_exam(path)
    if exam.family != "rfc":
        hint = "examine the judge with `contrafact exam --family rfc`"
        raise InputError(f"is an exam in {exam.family}, not in rfc", file=path, hint=hint)
    judging = settings.judging()
    judge = " + ".join(settings.judges)
    if exam.judge != judge:
        return exam, f"the exam is one of {exam.judge}, not of {judge}"
    return exam, str(exam.asked_otherwise(judging.pack.used, settings.asked()) or "")


def check_sources(
    exam: str | None, labels: str | None, settings: JudgeSettings, ids: Collection[str] | None
) -> None:
    """Check the files that `sound_of` reads; ``ids`` are the ids of the pairs, if known."""
    if labels is not None:
        _read_labels(labels, ids)
    found, why = (None, "") if exam is None else _exam_of(exam, settings)
    if settings.numerical == "decide":
        trusted, reason = (False, why) if found is None or why else found.trust("numerical")
        if not trusted:
            raise InputError(
                f"--numerical decide needs a judge whose exam allows it ({reason or 'no --exam'})",
                hint="examine it (`contrafact exam --family rfc --judge J --out FILE`) and give "
                "--exam FILE, or use --numerical review",
            )


def sound_of(
    pairs: Sequence[Counted], exam: str | None, labels: str | None, settings: JudgeSettings
) -> list[Sound]:
    """Return how many pairs are really sound, from a file of an exam, of labels, or from both."""
    answered = None if labels is None else _read_labels(labels, {pair.id for pair in pairs})
    known, why = (None, "") if exam is None else _exam_of(exam, settings)
    return sound_pairs(pairs, known, why, labels=answered)


def sound_pairs(
    pairs: Sequence[Counted],
    exam: Exam | None = None,
    why: str = "",
    *,
    labels: Mapping[str, bool] | None = None,
) -> list[Sound]:
    """Return how many pairs are really sound; ``why`` says why the exam does not apply."""
    kinds = [kind for kind in MANIPULATIONS if any(one.kind == kind for one in pairs)]
    groups = [[one for one in pairs if one.kind == kind] for kind in kinds]
    shares = [
        _share(kind, own, exam, why, labels or {}) for kind, own in zip(kinds, groups, strict=True)
    ]
    found = [_sound(*given) for given in zip(kinds, groups, shares, strict=True)]
    if len(kinds) > 1:
        every = _by_labels(_judged(pairs), labels or {}) or _sum(groups, shares)
        found.append(_sound(ALL, pairs, every))
    return found


class _Share(NamedTuple):
    """The share of judged pairs that are sound; if unknown, NaN with the reason as the note."""

    estimate: float
    low: float
    high: float
    note: str
    least: float = math.nan
    most: float = math.nan


def _unknown(why: str) -> _Share:
    return _Share(math.nan, math.nan, math.nan, f"not known: {why}")


def _of_one_mix(estimate: float, low: float, high: float, note: str) -> _Share:
    return _Share(estimate, low, high, note, estimate, estimate)


def _judged(pairs: Sequence[Counted]) -> list[Counted]:
    """Return the pairs that have a verdict on every criterion."""
    return [pair for pair in pairs if pair.signs not in ("", BY_FACTS) and "?" not in pair.signs]


def _passed(judged: Sequence[Counted]) -> list[float]:
    return [float("0" not in pair.signs) for pair in judged]


def _sound(kind: str, pairs: Sequence[Counted], share: _Share) -> Sound:
    facts = sum(one.signs == BY_FACTS for one in pairs)
    judged = _judged(pairs)
    passed = facts + sum("0" not in one.signs for one in judged)
    notes = [share.note] if share.note else []
    if not math.isnan(share.estimate):
        unread = sum("?" in one.signs for one in pairs)
        if unread:
            notes.append(f"{unread:,} without a verdict on every criterion are left out")
        if facts:
            notes.append(f"{facts:,} by facts alone")
    estimate, low, high = (facts + len(judged) * one for one in share[:3])
    return Sound(kind, len(pairs), passed, estimate, low, high, "; ".join(notes))


def _share(
    kind: Manipulation,
    pairs: Sequence[Counted],
    exam: Exam | None,
    why: str,
    labels: Mapping[str, bool],
) -> _Share:
    judged = _judged(pairs)
    if not judged:
        unread = sum("?" in one.signs for one in pairs)
        if unread:
            return _unknown(f"{unread:,} have no verdict on every criterion")
        return _of_one_mix(0.0, 0.0, 0.0, "")
    if found := _by_labels(judged, labels):
        return found
    if exam is None:
        return _unknown(f"too few of these pairs are labelled; {_LABEL}")
    return _unknown(why) if why else _by_exam(judged, exam, kind)


def _by_labels(judged: Sequence[Counted], labels: Mapping[str, bool]) -> _Share | None:
    """Return the share by people's labels of some pairs; None if there are too few labels."""
    answered = [float(labels[one.id]) if one.id in labels else math.nan for one in judged]
    if np.isnan(answered).all():
        return None
    found = ppi_share(
        answered,
        _passed(judged),
        levels=[np.array([MANIPULATIONS.index(one.kind) for one in judged])],
        clusters=[one.cluster for one in judged],
    )
    if math.isnan(found.low):
        return None
    note = f"by labels of {np.isfinite(answered).sum():,}"
    return _of_one_mix(found.estimate, found.low, found.high, note)


def _by_exam(judged: Sequence[Counted], exam: Exam, kind: str) -> _Share:
    part = exam.criteria.get(kind)
    if part is None:
        return _unknown(f"the exam has no verdicts on whole {kind} pairs; {_LABEL}")
    values, clusters = _passed(judged), [one.cluster for one in judged]
    sensitivity = part.sensitivity.exam_rate
    pooled = correct_rate(
        values, clusters, sensitivity=sensitivity, specificity=part.specificity.exam_rate,
    )  # fmt: skip
    if not pooled.usable:
        return _unknown(f"{pooled.why}; {_LABEL}")
    faults = _faults(part)
    for name, rate in faults.items():
        if sensitivity.rate + rate.rate - 1.0 < MIN_YOUDEN:
            return _unknown(
                f"the judge fails {rate.rate:.0%} of the exam's '{name}', too few to tell how many "
                f"such pairs are here; {_LABEL}"
            )
    fails = [part.specificity.exam_rate, *faults.values()]
    right, n = (np.array(one) for one in zip(*((one.rate, one.n) for one in fails), strict=True))
    low, high = correction_bounds(
        pooled.raw, effective_number(values, clusters), sensitivity.rate, sensitivity.n, right, n,
    )  # fmt: skip
    points = np.clip((pooled.raw + right - 1.0) / (sensitivity.rate + right - 1.0), 0.0, 1.0)
    # NaN bounds mean that the verdicts fit no share: the file cannot have that fault alone.
    least, most = int(np.nanargmin(low)), int(np.nanargmax(high))
    mix = "any mix of its kinds of fault" if len(faults) > 1 else "the exam's mix of faults"
    note = f"by the exam, for {mix}"
    return _Share(
        pooled.estimate, float(low[least]), float(high[most]), note, points[least], points[most]
    )


def _faults(part: CriterionExam) -> dict[str, ExamRate]:
    """Return how often the judge fails each kind of fault; kinds of few items are merged."""
    rates = {name: rate.right.exam_rate for name, rate in part.kinds.items() if not rate.known}
    alone = {name: rate for name, rate in rates.items() if rate.n >= _LEAST_OF_A_FAULT}
    few = [rate for name, rate in rates.items() if name not in alone]
    rest = ExamRate(sum(rate.right for rate in few), sum(rate.n for rate in few))
    return alone | ({"other faults": rest} if rest.n >= _LEAST_OF_A_FAULT else {})


def _sum(groups: Sequence[Sequence[Counted]], shares: Sequence[_Share]) -> _Share:
    """Return the share over all kinds of pair, each with its worst mix of faults.

    Distances to the bounds add in squares if kinds share no originals, else linearly.
    """
    if unknown := [one for one in shares if math.isnan(one.estimate)]:
        return unknown[0]
    judged = [_judged(own) for own in groups]
    size = np.array([len(own) for own in judged]) / max(1, sum(map(len, judged)))
    originals = [one for own in judged for one in {pair.cluster for pair in own}]
    apart = len(set(originals)) == len(originals)
    estimates, low, high, least, most = np.array([(*one[:3], *one[4:]) for one in shares]).T

    def far(distance: NDArray[np.float64]) -> float:
        return float(np.linalg.norm(size * distance, 2 if apart else 1))

    notes = dict.fromkeys(one.note for one in shares if one.note)
    return _Share(
        float(size @ estimates),
        max(0.0, float(size @ least) - far(least - low)),
        min(1.0, float(size @ most) + far(high - most)),
        "; ".join(notes),
    )
