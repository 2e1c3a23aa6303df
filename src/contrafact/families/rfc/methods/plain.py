"""plain: the task and the item in one call (RFC-BENCH, sections 2.3 and 3.2, appendix T).

A model that runs in this process is constrained to the labels. ``question=paper`` asks only the
question of appendix T (a prompt pack may bring the paper's exact words), without that constraint.
"""

from contrafact.errors import InputError
from contrafact.families.rfc.methods import asks_for_reasons
from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext

QUESTIONS = ("own", "paper")
OPTIONS = {"question": "own"}


def method(context: MethodContext) -> OneCall:
    name = context.name or "plain"
    question = context.options.get("question", "own")
    if question not in QUESTIONS:
        raise InputError(f"there is no question '{question}'", hint=" or ".join(QUESTIONS))
    if question == "own":
        return OneCall(name, context)
    if asks_for_reasons(context):
        raise InputError(
            "question=paper asks for a label only, but --rationale asks for reasons too",
            hint="leave out either question=paper or --rationale",
        )
    return OneCall(name, context, template="-paper", reasons=False, free=True)
