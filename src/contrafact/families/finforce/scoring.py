"""The scorer of the task: validity and verdicts of one sample, and their rates over samples."""

import json
import math
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from contrafact.families.finforce.judging import Judging
from contrafact.judges.judge import judges_of_role
from contrafact.records import CRITERIA, SIDES, Headline, Side

__all__ = ["counterfactuals", "rates"]


@metric(name="rates")
def rates() -> Metric:
    """Rates over samples: valid counterfactuals, and each criterion in two forms.

    ``forward_compatibility`` and ``directionality`` are over counterfactuals with a valid
    verdict, as in the paper; the ``_strict`` forms count everything invalid as failed.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        valid = [float(row[f"{side}_valid"]) for row in rows for side in SIDES]
        result = {"valid": _mean(valid)}
        for name in CRITERIA:
            if not any(f"{side}_{name}" in row for row in rows for side in SIDES):
                continue
            values = [
                math.nan if (v := row.get(f"{side}_{name}")) is None else float(v)
                for row in rows
                for side in SIDES
            ]
            judged = [value for value in values if not math.isnan(value)]
            result[name] = _mean(judged)
            result[f"{name}_strict"] = _mean([0.0 if math.isnan(v) else v for v in values])
        return result

    return compute


@scorer(metrics=[rates()], name="counterfactuals")
def counterfactuals(judging: Judging | None = None) -> Scorer:
    """Score one sample: 1 or 0 per side and criterion, not-a-number where invalid.

    All of a sample's judge calls are made by this one scorer. Without judging, only validity
    is scored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        generation = state.store.get("generation")
        texts: dict[Side, str | None] = generation["texts"]
        value: dict[str, float] = {
            f"{side}_valid": float(texts[side] is not None) for side in SIDES
        }
        metadata: dict[str, Any] = {}
        if judging is not None:
            headline = Headline.of(state.input_text)
            judged = await judging.judge(judges_of_role(), headline, texts)
            for side in SIDES:
                verdicts = judged[side].panel if side in judged else {}
                for name in CRITERIA:
                    passed = verdicts[name].passed if name in verdicts else None
                    value[f"{side}_{name}"] = math.nan if passed is None else float(passed)
            metadata["verdicts"] = {side: one.as_json() for side, one in judged.items()}
        reasons = "; ".join(generation["invalid"].values())
        return Score(
            value=cast(Any, value),
            answer=json.dumps(texts, ensure_ascii=False),
            explanation=reasons or None,
            metadata=metadata,
        )

    return score


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
