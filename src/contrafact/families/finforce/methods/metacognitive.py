"""metacognitive: draft, reflect on the four criteria of directionality, revise.

Proposed in FIN-FORCE, section 5.1, after Wang and Zhao (2023); not run in the paper. The
draft with its reflection is kept.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.family.method import MethodContext
from contrafact.judges.replies import NO_ANSWER, answer_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Headline
from contrafact.text.delimit import delimit

__all__ = ["method"]

_REFLECTION_TOKENS = 350


class Metacognitive:
    """Two turns of one conversation."""

    name = "metacognitive"
    shots = 0

    def __init__(self, context: MethodContext):
        self._draft = context.pack.template("finforce/metacognitive-draft", required={"headline"})
        self._revise = context.pack.template("finforce/metacognitive-revise", required={"headline"})

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        text = delimit(headline.text)
        question = ChatMessageUser(content=self._draft.render(headline=text))
        reflection = answer_text((await ask([question])).completion).text or NO_ANSWER
        answer = ChatMessageAssistant(content=reflection)
        revise = ChatMessageUser(content=self._revise.render(headline=text))
        output = await ask([question, answer, revise], pair_schema("original_headline"))
        return read_pair(output, {"reflection": reflection})

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        text = delimit(headline.text)
        first = self._draft.render(headline=text)
        reflection = " word" * _REFLECTION_TOKENS
        return [
            PlannedCall(first, reply_tokens=_REFLECTION_TOKENS),
            PlannedCall(first + reflection + self._revise.render(headline=text), reply_tokens=110),
        ]


def method(context: MethodContext) -> Metacognitive:
    """Return the method."""
    return Metacognitive(context)
