"""The scorer of the task: the verdicts on one response (CoBe, sections 4.2 and 4.3).

The report has the paper's accuracy and figures by graph, domain and failure mode.

In the paper, people mapped failures to the seven modes of appendix B.1 by hand. Here stories carry
modes as labels of what they probe.
"""

import math
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from contrafact.families.cobe.data import StoryQuery, query_of
from contrafact.families.cobe.items import SCORER
from contrafact.families.cobe.judging import Judging, probability
from contrafact.family.task import log_scorer, number, output_of, rates
from contrafact.judges.judge import judges_of_role
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack

__all__ = ["failure_modes", "judged_edit"]


class FailureMode(NamedTuple):
    number: int
    name: str
    means: str


@cache
def failure_modes() -> dict[int, FailureMode]:
    text = (files("contrafact.families.cobe") / "failure_modes.toml").read_text(encoding="utf-8")
    return {fields["number"]: FailureMode(**fields) for fields in tomllib.loads(text)["mode"]}


@log_scorer(SCORER, rates())
def judged_edit(
    judged: bool = True,
    judge_context: bool = False,
    judge_logprobs: bool = True,
    prompts: str | None = None,
    cache_scope: str | None = None,
) -> Scorer:
    """Score one sample: ``valid``, ``correct`` and every criterion that its story asks.

    All of a sample's judge calls are made by this one scorer; the arguments are the task's.
    """
    judging = None
    if judged:
        cache = cache_policy(cache_scope)
        judging = Judging(open_pack(prompts), judge_context, judge_logprobs, cache)

    async def score(state: TaskState, target: Target) -> Score:
        question, edited = query_of(state.metadata), output_of(state)
        value: dict[str, float] = {"valid": float(edited.text is not None)}
        metadata: dict[str, Any] = {
            "phrasing": question.phrasing,
            "text": edited.text,
            "invalid": edited.invalid,
            "degenerate": edited.degenerate,
            "judged": judging is not None,
            "asked": [],
            "correct": None,
            "verdicts": {},
        }
        if judging is not None:
            asked = judging.asked(question.story)
            value |= dict.fromkeys((criterion.name for criterion in asked), math.nan)
            if edited.text is not None:
                metadata |= await _judged(judging, question, edited.text)
            for name, both in metadata["verdicts"].items():
                value[name] = number(both["panel"]["passed"])
            value["correct"] = number(metadata["correct"])
        return Score(
            value=cast(Any, value),
            answer=edited.text,
            explanation=edited.invalid or edited.degenerate,
            metadata=metadata,
        )

    return score


async def _judged(judging: Judging, question: StoryQuery, text: str) -> dict[str, Any]:
    judged = await judging.judge(judges_of_role(), question.story, text, query=question.query)
    return {
        "asked": list(judged.panel),
        "correct": judged.passed,
        "verdicts": {
            name: {**both, "probability": probability(judged.members[name])}
            for name, both in judged.as_json().items()
        },
    }
