"""Verdicts by ``proof`` against the embedded model's, the same questions in one run.

The questions are those of the exam: edits of drawn stories. Each judge is asked as a run asks it,
through Inspect's model interface.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from inspect_ai.model import Model, get_model

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.family import family_named
from contrafact.family.exam import Examiner, ExamItem
from contrafact.prompts import open_pack

TARGET = 20.0
_SLICES = 3
_AT_ONCE = 8

Question = tuple[ExamItem, str, str]


def questions(family: str, n: int) -> tuple[Examiner, list[Question]]:
    """Return how a family's exam asks, and each criterion of some of its items."""
    exam = family_named(family).exam
    assert exam is not None
    spec = exam.load()
    options = spec.options()
    examiner = spec.examiner(open_pack(None), options)
    items = spec.items(options, n, 0)
    return examiner, [
        (item, name, prompt) for item in items for name, prompt in examiner.prompts(item).items()
    ]


def _ask(examiner: Examiner, judge: Model, asked: Sequence[Question]) -> int:
    """Ask a judge, and return how many verdicts it gave."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(question: Question) -> bool:
        item, name, prompt = question
        subject = examiner.subject(item) if examiner.subject else None
        async with room:
            (verdict,) = await examiner.ask(judge, (name,), prompt, subject)
            return verdict.passed is not None

    async def every() -> int:
        return sum(await asyncio.gather(*map(one, asked)))

    return asyncio.run(every())


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time ``proof`` and the embedded model in turns."""
    embedded, judge = get_model("embedded/smollm2-135m"), get_model("verifier/proof")
    examiner, asked = questions("cobe", 24 if quick else 240)
    few = len(asked) // (12 * _SLICES)
    _ask(examiner, embedded, asked[:1])  # loads the model
    _ask(examiner, judge, asked[:1])
    ours: list[Timing] = []
    model: list[Timing] = []
    given = 0
    each = len(asked) // _SLICES
    for start in range(0, each * _SLICES, each):
        part = asked[start : start + each]
        verdicts, timing = timed("proof", len(part), partial(_ask, examiner, judge, part))
        given += verdicts
        ours.append(timing)
        some = part[: max(1, few)]
        model.append(timed("embedded", len(some), partial(_ask, examiner, embedded, some))[1])
    own, theirs = added(ours), added(model)
    return BenchResult(
        name="verifying",
        unit="judgements",
        total_items=each * _SLICES,
        ours=own,
        baseline=theirs,
        target=TARGET,
        data="the exam's questions about drawn stories",
        notes=[
            f"`proof`: {own.per_second:.1f} judgements a second where the embedded model gives "
            f"{theirs.per_second:.1f}, {own.per_second / theirs.per_second:.1f} times",
            f"`proof` decides {given} of {own.items}; the rest it leaves open",
        ],
    )
