"""least-to-most: fluency, then compatibility, then direction, one step each.

Proposed in FIN-FORCE, section 5.1, after Zhou et al. (2022); not run in the paper. Every
step's reply is kept.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.family.method import MethodContext
from contrafact.judges.replies import NO_ANSWER, answer_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Headline
from contrafact.text.delimit import delimit

__all__ = ["method"]

_STEPS = ("fluency", "compatibility", "direction")


class LeastToMost:
    """Three turns of one conversation; the last reply is the answer."""

    name = "least-to-most"
    shots = 0

    def __init__(self, context: MethodContext):
        self._templates = [
            context.pack.template(f"finforce/least-to-most-{step}", required={"headline"})
            for step in _STEPS
        ]

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        text = delimit(headline.text)
        messages: list[ChatMessage] = []
        steps: dict[str, str] = {}
        for step, template in zip(_STEPS, self._templates, strict=True):
            messages.append(ChatMessageUser(content=template.render(headline=text)))
            last = step == _STEPS[-1]
            schema = pair_schema("original_headline") if last else pair_schema()
            output = await ask(list(messages), schema)
            if last:
                return read_pair(output, {"steps": steps})
            steps[step] = answer_text(output.completion).text or NO_ANSWER
            messages.append(ChatMessageAssistant(content=steps[step]))
        raise AssertionError("the last step returns")

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        text = delimit(headline.text)
        calls: list[PlannedCall] = []
        so_far = ""
        for template in self._templates:
            so_far += template.render(headline=text)
            calls.append(PlannedCall(so_far, reply_tokens=90))
            so_far += " word" * 90
        return calls


def method(context: MethodContext) -> LeastToMost:
    """Return the method."""
    return LeastToMost(context)
