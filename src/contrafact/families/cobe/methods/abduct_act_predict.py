"""abduct-act-predict: the three steps of a counterfactual, one turn each, then the text.

CoBe, section 1, after Pearl: infer the background of the facts (abduction); make the
hypothetical change and nothing else (action); say what follows from it with the same background
(prediction). Every step's reply is kept.
"""

from contrafact.families.cobe.data import StoryQuery
from contrafact.families.cobe.methods.few_shot import EDIT_TOKENS
from contrafact.family.method import MethodContext
from contrafact.family.task import Turn, Turns, read_text
from contrafact.records import Output
from contrafact.text.delimit import delimit

STEPS = ("situate", "intervene", "predict", "write")
_STEP_TOKENS = 110


def method(context: MethodContext) -> Turns[StoryQuery, Output]:
    def turn(step: str) -> Turn[StoryQuery]:
        names = ("story", "query") if step == STEPS[0] else ("query",)
        template = context.pack.template(f"cobe/abduct-act-predict-{step}", required=set(names))

        def prompt(question: StoryQuery) -> str:
            values = {"query": delimit(question.query), "story": delimit(question.story.text)}
            return template.render(**{name: values[name] for name in names})

        return Turn(step, prompt, EDIT_TOKENS if step == STEPS[-1] else _STEP_TOKENS)

    return Turns(
        "abduct-act-predict",
        [turn(step) for step in STEPS],
        lambda output, steps: read_text(output, trace={"steps": steps}),
    )
