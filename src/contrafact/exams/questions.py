"""The questions of an exam, and asking each of them once, with answers kept as they come.

A journal keeps answers by judge, question and repeat, so that an interrupted exam resumes, a longer
exam asks only new questions, and a repeated exam asks nothing.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import Model

import contrafact
from contrafact.console import Progress
from contrafact.family.exam import Examiner, ExamItem
from contrafact.files.journal import Journal
from contrafact.judges.verifier import Subject, is_verifier
from contrafact.models.asking import failure_cause
from contrafact.stages.run import awake


@dataclass(frozen=True)
class JudgeCall:
    """One call of one judge.

    ``subject`` is the data to judge if the judge is a verifier; ``about`` is the item if the call
    answers all of its criteria; ``shown`` are the texts to judge.
    """

    item: str
    criterion: str
    prompt: str
    judge: str
    subject: Subject | None = None
    about: ExamItem | None = None
    shown: Sequence[str] = ()

    @property
    def prompt_hash(self) -> str:
        """A hash of the prompt alone: of its template and its texts."""
        return hashlib.sha256(self.prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def key(self) -> str:
        """A hash of the call's content, so that items with the same question share its answer.

        For a verifier, it also covers the item and the package's version.
        """
        parts = [self.judge, self.criterion, self.prompt, "1"]
        if self.subject is not None:
            parts += [self.item, contrafact.__version__]
        digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:24]


def questions_of(
    items: Sequence[ExamItem], examiner: Examiner, judges: Sequence[str]
) -> list[JudgeCall]:
    """Return every call of an exam."""
    found = []
    for item in items:
        about = item if examiner.together else None
        shown = examiner.shown(item)
        for criterion, prompt in examiner.prompts(item).items():
            for judge in judges:
                by_data = is_verifier(judge)
                subject = examiner.subject(item) if by_data and examiner.subject else None
                asked = None if by_data else about
                found.append(JudgeCall(item.id, criterion, prompt, judge, subject, asked, shown))
    return found


def ask_questions(
    questions: Sequence[JudgeCall],
    examiner: Examiner,
    judges: Mapping[str, Model],
    answers: Journal,
    *,
    at_once: int = 16,
) -> dict[str, str]:
    """Ask the unanswered questions, keep answers as they come, and return the failures.

    A call that fails for good leaves its question open; the others go on. Answers are verdicts as
    dictionaries, grouped by criterion if one call answers all. The result has the cause of each
    unanswered question, by its key.
    """
    left = {call.key: call for call in questions if call.key not in answers.known}

    async def ask(key: str) -> dict[str, Any]:
        call = left[key]
        judge = judges[call.judge]
        if call.about is not None and examiner.together:
            verdicts = await examiner.together(judge, call.about, call.prompt)
            return {name: verdict.model_dump(mode="json") for name, verdict in verdicts.items()}
        assert examiner.ask is not None, "an examiner asks criteria one by one or together"
        criteria = (call.criterion,)
        (verdict,) = await examiner.ask(judge, criteria, call.prompt, call.subject, call.shown)
        answer: dict[str, Any] = verdict.model_dump(mode="json")
        return answer

    # Questions on the same criterion follow each other, so that prefix caches are used.
    ordered = sorted(left, key=lambda key: left[key].criterion)
    with Progress("questions", len(ordered)) as steps:
        asking = answers.fill(ordered, ask, at_once=at_once, each=steps.one)
        failures = asyncio.run(awake(asking))
    return {key: failure_cause(error) for key, error in failures.items()}
