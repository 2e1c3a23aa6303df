"""mark-then-edit: name the words that carry the label, then change those and no others."""

from collections.abc import Sequence

from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Output
from contrafact.text.delimit import delimit
from contrafact_flip.data import Review
from contrafact_flip.methods.plain import Plain

__all__ = ["MarkThenEdit", "method"]


class MarkThenEdit(Plain):
    """Two turns of one conversation; the second reply is the edit."""

    name = "mark-then-edit"

    def __init__(self, context: MethodContext):
        super().__init__(context)
        self._mark = context.pack.template("flip/mark", required={"review", "label"})

    async def __call__(self, review: Review, ask: Ask, *, draw: int = 1) -> Output:
        """Return the edited review, the words that were named in its trace."""
        first = ChatMessageUser(content=self._marking(review))
        named = (await ask([first])).completion or "(none)"
        again = ChatMessageUser(content=self.prompt(review))
        output = await ask([first, ChatMessageAssistant(content=named), again])
        return self.read(output, review, {"named": named})

    def plan(self, review: Review) -> Sequence[PlannedCall]:
        """Return the two calls."""
        first = PlannedCall(self._marking(review), reply_tokens=20)
        return [first, *super().plan(review)]

    def _marking(self, review: Review) -> str:
        return self._mark.render(review=delimit(review.text), label=review.label)


def method(context: MethodContext) -> MarkThenEdit:
    """Return the method."""
    return MarkThenEdit(context)
