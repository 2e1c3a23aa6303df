"""An exam by recorded replies, and the rate of a sample that it corrects; no model is called."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.exams.correct import corrected_scores
from contrafact.exams.questions import questions_of
from contrafact.exams.run import PreparedExam
from contrafact.exams.score import exam_rows
from contrafact.family import Family, Shown, ShownTable
from contrafact.family.exam import ExamItem, RecordedExam
from contrafact.prompts import open_pack
from contrafact.records import Verdict

__all__ = ["examine_recorded", "prepare_recorded"]


def prepare_recorded(
    family: Family, exam: RecordedExam, judge: str, items: Sequence[ExamItem]
) -> PreparedExam:
    """Return the questions on items of a recorded exam, with the prompts of today."""
    assert family.exam is not None
    spec, pack = replace(family.exam.load(), surface=None), open_pack()
    examiner = spec.examiner(pack, spec.options())
    calls = questions_of(items, examiner, [judge])
    return PreparedExam(family.name, spec, pack, examiner, items, calls, [judge], seed=0)


def examine_recorded(family: Family, exam: RecordedExam, out: Path) -> Iterator[Shown]:
    """Examine every judge, write its exam into a folder, and yield what the demo shows."""
    name, examined, rated = exam.criterion, [], []
    for place, judge in enumerate(exam.replies, start=1):
        asked, sample = (
            prepare_recorded(family, exam, judge, items) for items in (exam.items, exam.sample)
        )
        result = asked.conclude(out / f"exam-{family.name}-{place}.json", _verdicts(exam, asked))
        part = result.criteria[name]
        rates = (part.sensitivity, part.specificity)
        cells = [f"{_percent(dict(rate), 'estimate')} of {rate.n}" for rate in rates]
        examined.append((judge, *cells, f"{part.invalid.k} of {part.invalid.n}"))
        rows = exam_rows(sample.items, sample.questions, _verdicts(exam, sample))
        rows = rows.assign(system="sample", judge=judge, sample_id=rows["cluster"])
        rows[name] = rows["passed"].astype(float)
        scores = corrected_scores(
            rows, [result], family=family.name, criteria={name: name}, rng=np.random.default_rng(0)
        )
        rated.append((judge, *_rates(scores.to_dict("records"))))
    right, passing = (
        sum(item.known[name] for item in items) for items in (exam.items, exam.sample)
    )
    yield exam.question
    title = f"Exam: {len(exam.items)} texts, {right} of which should pass"
    yield ShownTable(title, ("judge", "sensitivity %", "specificity %", "unread"), examined)
    columns = ("judge", "by its verdicts %", "corrected by its exam %")
    yield ShownTable(f"How many of {len(exam.sample)} other texts pass", columns, rated)
    truth = _percent({"share": passing / len(exam.sample)}, "share")
    yield f"In truth {truth}% of them pass. The rates are of this bundled sample alone."


def _verdicts(exam: RecordedExam, asked: PreparedExam) -> dict[str, dict[str, Any]]:
    """Return the verdicts in the replies; `InputError` if these answer other prompts."""
    found = {}
    for call in asked.questions:
        reply = exam.replies[call.judge].get(call.prompt_hash)
        if reply is None:
            problem = f"the recorded replies of {call.judge} answer other prompts"
            raise InputError(problem, hint="record them again (tools/exam_replies.py)")
        read = exam.read(reply, call.shown)
        about = {"criterion": call.criterion, "judge": call.judge, "reply": reply}
        verdict = Verdict(passed=read.value, invalid=read.invalid, **about)
        found[call.key] = verdict.model_dump(mode="json")
    return found


def _rates(scores: Sequence[Mapping[Any, Any]]) -> tuple[str, str]:
    if not scores:
        return "–", "no: no verdict can be read"
    (row,) = scores
    raw = _percent({"raw": row["raw"], "low": row["raw_low"], "high": row["raw_high"]}, "raw")
    right = _percent(row, "corrected") if row["usable"] else f"no: {row['why']}"
    return f"{raw} of {row['n']}", right


def _percent(row: Mapping[Any, Any], name: str) -> str:
    cells = [row.get(key) for key in (name, "low", "high")]
    value, low, high = (math.nan if cell is None else float(cell) for cell in cells)
    if math.isnan(value):
        return "–"
    bounds = "" if math.isnan(low) else f" ({100 * low:.1f}–{100 * high:.1f})"
    return f"{100 * value:.1f}{bounds}"
