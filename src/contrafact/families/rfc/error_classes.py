"""Sorting wrong or rightly guessed answers of detection by their reasons (RFC-BENCH, section 3.5).

The paper found these classes by reading. Here a judge proposes one per answer that came with
reasons; a panel's majority counts. A valid wrong answer is sorted always, a right one to find out
whether its reasons are sound.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import CachePolicy, GenerateConfig

from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import ERROR_CLASSES, RIGHT_ONLY, Reading, read_label
from contrafact.judges.judge import judges_of_role
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.stats.votes import majority
from contrafact.text.delimit import delimit

__all__ = ["ErrorClasses"]

_CONFIG = GenerateConfig(temperature=0.0)


@dataclass
class ErrorClasses:
    """The judge that sorts answers, its template opened and checked.

    Attributes:
        pack: The prompt pack.
        cache: Inspect's cache policy for the calls.
    """

    pack: PromptPack
    cache: bool | CachePolicy = False
    _template: PromptTemplate = field(init=False)

    def __post_init__(self) -> None:
        required = {"gold", "predicted", "original", "paragraph", "rationale"}
        self._template = self.pack.template("rfc/rationale-class", required=required)

    def prompt(self, item: Item, answer: Answer) -> str:
        """Return the question about one answer."""
        return self._template.render(
            gold=item.gold,
            predicted=answer.predicted,
            original=delimit(item.pair.original or item.shown),
            paragraph=delimit(item.shown),
            rationale=delimit(answer.rationale or ""),
        )

    async def sort(self, item: Item, answer: Answer) -> dict[str, Any]:
        """Return ``error_class`` (None where undecided) and ``error_class_votes``.

        Nothing is asked, and nothing returned, about an answer that is invalid or has no reasons.
        A call that fails raises, when all have ended.

        Raises:
            InputError: if no judge is bound to the role ``grader``.
        """
        judges = judges_of_role()
        if answer.predicted is None or not answer.rationale:
            return {}
        prompt = self.prompt(item, answer)
        right = answer.predicted == item.gold
        calls = [judge.generate(prompt, config=_CONFIG, cache=self.cache) for judge in judges]
        outputs = await asyncio.gather(*calls, return_exceptions=True)
        votes = []
        for judge, output in zip(judges, outputs, strict=True):
            if isinstance(output, BaseException):
                raise output
            reading = _read(output.completion, right=right)
            votes.append({"judge": str(judge), "class": reading.label, "invalid": reading.invalid})
        named = [vote["class"] for vote in votes if vote["class"] is not None]
        return {"error_class": majority(named), "error_class_votes": votes}


def _read(reply: str, *, right: bool) -> Reading:
    reading = read_label(reply, ERROR_CLASSES)
    if reading.label in RIGHT_ONLY and not right:
        return Reading(None, f"'{reading.label}' is for right answers only")
    return reading
