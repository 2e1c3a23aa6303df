"""plain: the review and the label it shall have, in one call."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.model import ModelOutput

from contrafact.family.method import MethodContext
from contrafact.family.task import read_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Output
from contrafact.text.delimit import delimit
from contrafact_flip.data import Review

__all__ = ["Plain", "method"]


class Plain:
    """One call."""

    name = "plain"
    shots = 0

    def __init__(self, context: MethodContext):
        self._template = context.pack.template("flip/flip", required={"review", "label"})

    def prompt(self, review: Review) -> str:
        """Return the prompt for one review."""
        return self._template.render(review=delimit(review.text), label=review.other)

    async def __call__(self, review: Review, ask: Ask, *, draw: int = 1) -> Output:
        """Return the edited review."""
        return self.read(await ask(self.prompt(review)), review)

    @staticmethod
    def read(output: ModelOutput, review: Review, trace: Mapping[str, Any] | None = None) -> Output:
        """Return the edit in a reply; a copy of the review, or something far longer, is none."""
        made = read_text(output, trace=trace, max_characters=4 * len(review.text) + 200)
        if made.text == review.text:
            return made.model_copy(update={"text": None, "invalid": "a copy of the review"})
        return made

    def plan(self, review: Review) -> Sequence[PlannedCall]:
        """Return the one call."""
        return [PlannedCall(self.prompt(review), reply_tokens=len(review.text) // 4 + 1)]


def method(context: MethodContext) -> Plain:
    """Return the method."""
    return Plain(context)
