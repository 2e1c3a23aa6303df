"""reflect: an answer with reasons, a sceptical look at it, the final label.

Explicit reflection is proposed in RFC-BENCH, section 4; it was not run in the paper. The model is
told to look for the errors of section 3.5. The first answer is kept.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

from contrafact.families.rfc.answers import REASONS_TOKENS, Answer, read_answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.methods import with_reasons
from contrafact.families.rfc.prompting import VARIABLES, OneCall, kind_of, texts_of
from contrafact.family.method import MethodContext
from contrafact.judges.replies import NO_ANSWER, answer_text
from contrafact.models.asking import Ask, PlannedCall


class Reflect:
    name = "reflect"

    def __init__(self, context: MethodContext):
        self._draft = OneCall(self.name, with_reasons(context))
        self.shots = self._draft.shots
        kind = kind_of(context)
        required = VARIABLES[kind] - {"shots"}
        self._again = context.pack.template(f"rfc/{kind}-reflect", required=required)

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        # Step 1: an answer with reasons.
        question = ChatMessageUser(content=self._draft.prompt(item, draw))
        output = await ask([question])
        first = read_answer(output, item, reasons=True)
        # Step 2: a sceptical look at it, for the errors of section 3.5; step 3: the final label.
        # Hidden reasoning is not quoted back; an empty turn is refused by some providers.
        reply = answer_text(output.completion).text or NO_ANSWER
        again = ChatMessageUser(content=self._again.render(**texts_of(item)))
        output = await ask([question, ChatMessageAssistant(content=reply), again])
        trace = {"first_reply": first.reply, "first_label": first.predicted}
        return read_answer(output, item, reasons=True, trace=trace)

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        first = self._draft.prompt(item)
        again = first + " word" * REASONS_TOKENS + self._again.render(**texts_of(item))
        return [PlannedCall(first, REASONS_TOKENS), PlannedCall(again, REASONS_TOKENS)]


def method(context: MethodContext) -> Reflect:
    return Reflect(context)
