"""Putting the questions: every one once, answers kept as they come.

Answers stand in a file by what was asked (judge, question, which repeat), so that a sitting that
was killed goes on, a longer one asks only what is new, and one that is repeated asks nothing.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import Model

from contrafact.exam.items import Examiner, ExamItem
from contrafact.exam.order import other_order
from contrafact.files.journal import Journal
from contrafact.models.asking import failure_cause

__all__ = ["Question", "Sitting", "questions_of", "sit"]


@dataclass(frozen=True)
class Question:
    """One call of one judge.

    Attributes:
        item: The item's id.
        criterion: What is asked of it.
        prompt: The prompt.
        judge: The judge's name.
        repeat: From 1.
        swapped: Whether the texts come in the other order.
    """

    item: str
    criterion: str
    prompt: str
    judge: str
    repeat: int
    swapped: bool

    @property
    def key(self) -> str:
        """Names the call by its content: items that share a question share its answer."""
        parts = (self.judge, self.criterion, self.prompt, str(self.repeat))
        digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:24]


@dataclass
class Sitting:
    """What came of the questions.

    Attributes:
        asked: How many calls were made.
        failures: Questions without an answer, each with the cause.
    """

    asked: int = 0
    failures: dict[str, str] = field(default_factory=dict)


def questions_of(
    items: Sequence[ExamItem],
    examiner: Examiner,
    judges: Sequence[str],
    *,
    repeats: int = 1,
    order: bool = True,
) -> list[Question]:
    """Return every call that an exam takes.

    Args:
        items: The items.
        examiner: The family's way to ask.
        judges: The judges' names.
        repeats: How often each question is put, in the order of runs.
        order: Whether each is put once more in the other order.
    """
    found = []
    for item in items:
        for criterion, prompt in examiner.questions(item).items():
            swapped = other_order(prompt, examiner.shown(item)) if order else None
            for judge in judges:
                found += [
                    Question(item.id, criterion, prompt, judge, repeat, False)
                    for repeat in range(1, repeats + 1)
                ]
                if swapped is not None:
                    found.append(Question(item.id, criterion, swapped, judge, 1, True))
    return found


async def sit(
    questions: Sequence[Question],
    examiner: Examiner,
    judges: Mapping[str, Model],
    answers: Journal,
    *,
    at_once: int = 16,
    each: Callable[[], None] = lambda: None,
) -> Sitting:
    """Ask what has no answer yet, and keep the answers as they come.

    A call that fails for good leaves its question open; the others go on.

    Args:
        questions: As `questions_of` returns them.
        examiner: The family's way to ask.
        judges: The judges, by the names that the questions have.
        answers: Where verdicts are kept, as dictionaries.
        at_once: How many calls may be under way at the same time.
        each: Called when a question is done with.
    """
    sitting = Sitting()
    # Questions of the same criterion follow each other, so that prefix caches serve.
    open_ones = {q.key: q for q in questions if q.key not in answers.known}
    free = asyncio.Semaphore(at_once)

    async def one(key: str, question: Question) -> None:
        async with free:
            try:
                verdict = await examiner.ask(
                    judges[question.judge], question.criterion, question.prompt
                )
            except Exception as error:  # noqa: BLE001 - told as this question's cause
                sitting.failures[key] = failure_cause(error)
            else:
                sitting.asked += 1
                answers.keep(key, verdict.model_dump(mode="json"))
        each()

    ordered = sorted(open_ones.items(), key=lambda pair: (pair[1].criterion, pair[1].swapped))
    tasks = [asyncio.create_task(one(key, question)) for key, question in ordered]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return sitting
