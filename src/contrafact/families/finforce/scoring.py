"""The scorer of the task: validity and verdicts of one sample, and their rates over samples."""

import json
import math
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from contrafact.families.finforce.judging import Judging
from contrafact.family.task import rate_of
from contrafact.judges.judge import judges_of_role
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import CRITERIA, SIDES, Headline, Side

__all__ = ["counterfactuals", "rates"]


@metric(name="rates")
def rates() -> Metric:
    """Rates over samples: valid counterfactuals, and each criterion in two forms.

    ``forward_compatibility`` and ``directionality`` are over counterfactuals with a valid
    verdict, as in the paper; the ``_strict`` forms count everything invalid as failed. Each comes
    with its standard error, ``_stderr``, clustered by headline.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        headlines = [str(score.sample_id) for score in scores for _ in SIDES]
        valid = [float(row[f"{side}_valid"]) for row in rows for side in SIDES]
        result = rate_of("valid", valid, headlines)
        for name in CRITERIA:
            if not any(f"{side}_{name}" in row for row in rows for side in SIDES):
                continue
            values = [
                math.nan if (v := row.get(f"{side}_{name}")) is None else float(v)
                for row in rows
                for side in SIDES
            ]
            strict = [0.0 if math.isnan(value) else value for value in values]
            result |= rate_of(name, values, headlines)
            result |= rate_of(f"{name}_strict", strict, headlines)
        return result

    return compute


@scorer(metrics=[rates()], name="counterfactuals")
def counterfactuals(
    judged: bool = True,
    judge_faults: bool = False,
    structured: bool = True,
    prompts: str | None = None,
    cache_scope: str | None = None,
) -> Scorer:
    """Score one sample: 1 or 0 per side and criterion, not-a-number where invalid.

    All of a sample's judge calls are made by this one scorer.

    Args:
        judged: Whether the judge bound to the role ``grader`` is asked; else validity is scored.
        judge_faults: Whether it also looks for the two faults that need judgement.
        structured: Whether to ask it for schema-constrained JSON.
        prompts: Folder of a prompt pack; the default pack where none is given.
        cache_scope: Keep every call's answer for a rerun under this name.
    """
    judging = None
    if judged:
        judging = Judging(open_pack(prompts), judge_faults, structured, cache_policy(cache_scope))

    async def score(state: TaskState, target: Target) -> Score:
        generation = state.store.get("generation")
        texts: dict[Side, str | None] = generation["texts"]
        value: dict[str, float] = {
            f"{side}_valid": float(texts[side] is not None) for side in SIDES
        }
        metadata: dict[str, Any] = {}
        if judging is not None:
            headline = Headline.of(state.input_text)
            found = await judging.judge(judges_of_role(), headline, texts)
            for side in SIDES:
                verdicts = found[side].panel if side in found else {}
                for name in CRITERIA:
                    passed = verdicts[name].passed if name in verdicts else None
                    value[f"{side}_{name}"] = math.nan if passed is None else float(passed)
            metadata["verdicts"] = {side: one.as_json() for side, one in found.items()}
        reasons = "; ".join(generation["invalid"].values())
        return Score(
            value=cast(Any, value),
            answer=json.dumps(texts, ensure_ascii=False),
            explanation=reasons or None,
            metadata=metadata,
        )

    return score
