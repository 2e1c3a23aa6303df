"""abduct-act-predict: the three steps of a counterfactual, one turn each, then the text.

CoBe, section 1, after Pearl: situate oneself in the facts and say what background they tell of
(abduction); carry out the hypothetical change and nothing else (action); say what follows from it
downstream, the background held (prediction). Every step's reply is kept.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from contrafact.families.cobe.data import StoryQuery
from contrafact.families.cobe.methods.few_shot import EDIT_TOKENS
from contrafact.family.method import MethodContext
from contrafact.family.task import read_text
from contrafact.judges.replies import NO_ANSWER, answer_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Output
from contrafact.text.delimit import delimit

__all__ = ["method"]

STEPS = ("situate", "intervene", "predict", "write")
_STEP_TOKENS = 110


class AbductActPredict:
    """Four turns of one conversation; the last reply is the edit."""

    name = "abduct-act-predict"
    shots = 0

    def __init__(self, context: MethodContext):
        self._templates = {
            step: context.pack.template(
                f"cobe/abduct-act-predict-{step}",
                required={"story", "query"} if step == "situate" else {"query"},
            )
            for step in STEPS
        }

    def _prompt(self, step: str, question: StoryQuery) -> str:
        values = {"query": delimit(question.query)}
        if step == "situate":
            values["story"] = delimit(question.story.text)
        return self._templates[step].render(**values)

    async def __call__(self, question: StoryQuery, ask: Ask, *, draw: int = 1) -> Output:
        messages: list[ChatMessage] = []
        steps: dict[str, str] = {}
        for step in STEPS:
            messages.append(ChatMessageUser(content=self._prompt(step, question)))
            output = await ask(list(messages))
            if step == STEPS[-1]:
                return read_text(output, trace={"steps": steps})
            steps[step] = answer_text(output.completion).text or NO_ANSWER
            messages.append(ChatMessageAssistant(content=steps[step]))
        raise AssertionError("the last step returns")

    def plan(self, question: StoryQuery) -> Sequence[PlannedCall]:
        calls: list[PlannedCall] = []
        so_far = ""
        for step in STEPS:
            so_far += self._prompt(step, question)
            reply = EDIT_TOKENS if step == STEPS[-1] else _STEP_TOKENS
            calls.append(PlannedCall(so_far, reply))
            so_far += " word" * reply
        return calls


def method(context: MethodContext) -> AbductActPredict:
    """Return the method."""
    return AbductActPredict(context)
