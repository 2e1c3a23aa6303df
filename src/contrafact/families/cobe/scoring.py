"""The scorer of the task: the verdicts on one response, and their rates over samples.

CoBe, sections 4.2 and 4.3. The rates here are what Inspect's log shows; intervals, and figures by
graph, domain and failure mode, are the report's.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from contrafact.families.cobe.data import question_of
from contrafact.families.cobe.failure_modes import suggested_mode
from contrafact.families.cobe.items import CRITERION_NAMES, PHRASINGS
from contrafact.families.cobe.judging import Judging
from contrafact.family.task import output_of
from contrafact.judges.judge import judges_of_role

__all__ = ["edit_rates", "judged_edit", "rates_of"]


@metric(name="edit_rates")
def edit_rates() -> Metric:
    """Rates over samples: accuracy by phrasing and over all three, and failures per criterion.

    Named as they stand are the paper's, over responses with a verdict; ``_strict`` counts what is
    invalid as wrong.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return rates_of([cast(dict[str, Any], score.score.metadata) for score in scores])

    return compute


def rates_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rates of samples, by the metadata of their scores.

    - ``valid``: the share of responses that could be judged.
    - ``accuracy_A``, ``_B``, ``_C``: the share of correct responses per phrasing; ``accuracy``:
      their mean, as in table 5; ``accuracy_spread``: their standard deviation (n - 1).
    - ``accuracy_strict``: over all responses, everything invalid counted as wrong.
    - ``E1_failure`` to ``E5_failure``: the share of failures among valid verdicts (figure 5).

    What nobody judged, or no story asks, is left out.
    """
    rates = {"valid": _mean([float(row["text"] is not None) for row in rows])}
    if not any(row["judged"] for row in rows):
        return rates
    by_phrasing = []
    for phrasing in PHRASINGS:
        own = [row["correct"] for row in rows if row["phrasing"] == phrasing]
        share = _mean([float(value) for value in own if value is not None])
        if own:
            rates[f"accuracy_{phrasing}"] = share
            by_phrasing.append(share)
    rates["accuracy"] = _mean(by_phrasing)
    if len(by_phrasing) > 1:
        mean = rates["accuracy"]
        squares = sum((share - mean) ** 2 for share in by_phrasing)
        rates["accuracy_spread"] = math.sqrt(squares / (len(by_phrasing) - 1))
    rates["accuracy_strict"] = _mean([float(row["correct"] is True) for row in rows])
    for name in CRITERION_NAMES:
        passed = [row["verdicts"][name]["panel"]["passed"] for row in rows if name in row["asked"]]
        failed = [float(not value) for value in passed if value is not None]
        if passed:
            rates[f"{name}_failure"] = _mean(failed)
    return rates


@scorer(metrics=[edit_rates()], name="edit")
def judged_edit(judging: Judging | None = None) -> Scorer:
    """Score one sample: ``valid``, ``correct``, ``correct_strict`` and every criterion asked.

    All of a sample's judge calls are made by this one scorer. Without judging, only validity is
    scored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        question, edited = question_of(state.metadata), output_of(state)
        value: dict[str, float] = {"valid": float(edited.text is not None)}
        metadata: dict[str, Any] = {
            "phrasing": question.phrasing,
            "text": edited.text,
            "invalid": edited.invalid,
            "judged": judging is not None,
            "asked": [],
            "correct": None,
            "suggested_failure_mode": None,
            "verdicts": {},
        }
        if judging is not None:
            if edited.text is not None:
                judged = await judging.judge(
                    judges_of_role(), question.story, edited.text, query=question.query
                )
                failed = [name for name, one in judged.panel.items() if one.passed is False]
                metadata |= {
                    "asked": list(judged.panel),
                    "correct": judged.correct,
                    "suggested_failure_mode": suggested_mode(failed, question.story),
                    "verdicts": {
                        name: {
                            "panel": one.model_dump(mode="json"),
                            "members": [m.model_dump(mode="json") for m in judged.members[name]],
                            "probability": judged.probability(name),
                        }
                        for name, one in judged.panel.items()
                    },
                }
                for name, one in judged.panel.items():
                    value[name] = math.nan if one.passed is None else float(one.passed)
            right = metadata["correct"]
            value["correct"] = math.nan if right is None else float(right)
            value["correct_strict"] = float(right is True)
        return Score(
            value=cast(Any, value),
            answer=edited.text,
            explanation=edited.invalid,
            metadata=metadata,
        )

    return score


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
