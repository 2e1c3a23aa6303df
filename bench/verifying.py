"""Verdicts by verifiers against the embedded model's, the same questions in one run.

The questions are those of the exams: edits of drawn stories for ``proof``, crossed headlines for
``rules``. Each judge is asked as a run asks it, through Inspect's model interface. A learned
verifier's speed does not depend on what it learned: the embedded weights, read off their two answer
tokens in one forward pass of PyTorch, stand for it.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from inspect_ai.model import Model, get_model

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.family import family_named, learning_specs
from contrafact.family.exam import Examiner, ExamItem
from contrafact.models.whitebox.classifier import Classifier, new_classifier
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
            return (await examiner.ask(judge, name, prompt, subject)).passed is not None

    async def every() -> int:
        return sum(await asyncio.gather(*map(one, asked)))

    return asyncio.run(every())


def _read(classifier: Classifier, family: str, asked: Sequence[Question]) -> int:
    spec = learning_specs()[family]
    exam = family_named(family).exam
    assert exam is not None
    surface = exam.load().surface
    assert surface is not None
    items = surface([item for item, _, _ in asked])
    fed = [
        classifier.tokens(spec.question(name, one), one.text)
        for one, (_, name, _) in zip(items, asked, strict=True)
    ]
    return len(classifier.logits(fed))


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time each verifier and the embedded model in turns; the ratio is that of ``proof``."""
    embedded = get_model("embedded/smollm2-135m")
    classifier = new_classifier("smollm2-135m", head="answers")
    found: dict[str, tuple[Timing, Timing, Timing, int]] = {}
    size = 0
    for family, verifier in (("cobe", "proof"), ("finforce", "rules")):
        examiner, asked = questions(family, 24 if quick else 240)
        judge = get_model(f"verifier/{verifier}")
        few = len(asked) // (12 * _SLICES)
        _ask(examiner, embedded, asked[:1])  # loads the model
        _ask(examiner, judge, asked[:1])
        ours: list[Timing] = []
        model: list[Timing] = []
        learned: list[Timing] = []
        given = 0
        each = len(asked) // _SLICES
        for start in range(0, each * _SLICES, each):
            part = asked[start : start + each]
            verdicts, timing = timed(verifier, len(part), partial(_ask, examiner, judge, part))
            given += verdicts
            ours.append(timing)
            some = part[: max(1, few)]
            model.append(timed("embedded", len(some), partial(_ask, examiner, embedded, some))[1])
            reading = partial(_read, classifier, family, some)
            learned.append(timed("learned", len(some), reading)[1])
        found[verifier] = added(ours), added(model), added(learned), given
        size = size or each * _SLICES
    proof, baseline, _, _ = found["proof"]
    notes = []
    for verifier, (own, model_timing, learned_timing, given) in found.items():
        for name, timing in ((f"`{verifier}`", own), ("a learned verifier", learned_timing)):
            ratio = timing.per_second / model_timing.per_second
            notes.append(
                f"{name}: {timing.per_second:.1f} judgements a second where the embedded model "
                f"gives {model_timing.per_second:.1f}, {ratio:.1f} times"
            )
        notes.append(f"`{verifier}` decides {given} of {own.items}; the rest it leaves open")
    return BenchResult(
        name="verifying",
        unit="judgements",
        total_items=size,
        ours=proof,
        baseline=baseline,
        target=TARGET,
        data="the exams' questions about drawn stories and crossed headlines",
        notes=notes,
    )
