"""Judging counterfactuals: forward compatibility and directionality, each in a call of its own.

FIN-FORCE, section 3.5, B.1, tables 6 and 7. Every counterfactual is judged alone, and on one
criterion at a time; directionality has a rubric for risk and one for opportunity. The rubric comes
first in the prompt, so that services can cache this prefix.

The task's scorer gives the validity and the verdicts of one sample; its metric, their rates.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from inspect_ai.model import CachePolicy, Model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric
from inspect_ai.solver import TaskState

from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.records import CRITERIA, SIDES, Headline, Side
from contrafact.family.task import OUTPUT, log_scorer, number, rate_of, rates_of_criterion
from contrafact.judges.judge import judges_of_role
from contrafact.judges.rubric import Judged, Rubric, gathered, true_or_false
from contrafact.models.asking import cache_policy
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Criterion, Verdict

__all__ = ["SCORER", "Judging", "counterfactuals", "criteria_of", "rates"]

SCORER = "counterfactuals"
"""The scorer's name in logs, after the package's name."""

# The two error classes of figure 4 that need judgement; asked only on request.
FAULTS: tuple[str, str] = ("trivial_consequences", "financially_unrealistic")


def criteria_of(side: Side, *, faults: bool = False) -> list[Criterion]:
    criteria = [
        Criterion(name=CRITERIA[0], template="finforce/judge-forward-compatibility"),
        Criterion(name=CRITERIA[1], template=f"finforce/judge-directionality-{side}"),
    ]
    if faults:
        for fault in FAULTS:
            template = f"finforce/judge-{fault.replace('_', '-')}"
            criteria.append(Criterion(name=fault, template=template))
    return criteria


@dataclass
class Judging:
    """The rubrics, opened and checked; ``faults`` adds the two error classes that need a judge."""

    pack: PromptPack
    faults: bool = False
    structured: bool = True
    cache: bool | CachePolicy = False
    _rubric: Rubric[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        names = {c.template for side in SIDES for c in criteria_of(side, faults=self.faults)}
        shown = dict.fromkeys(sorted(names), ("headline", "counterfactual"))
        ask = true_or_false(structured=self.structured, cache=self.cache)
        self._rubric = Rubric(self.pack, shown, ask)

    def prompts(self, headline: Headline, side: Side, counterfactual: str) -> list[str]:
        """Return one prompt per criterion, in the order of `criteria_of`."""
        criteria = criteria_of(side, faults=self.faults)
        texts = {"headline": headline.text, "counterfactual": counterfactual}
        return [prompt for _, prompt in self._rubric.prompts(criteria, **texts)]

    async def judge(
        self, judges: Sequence[Model], headline: Headline, texts: Mapping[Side, str | None]
    ) -> dict[Side, Judged[Verdict]]:
        """Judge the valid counterfactuals, all at once."""
        valid = {side: text for side in SIDES if (text := texts.get(side)) is not None}
        judged = await gathered(
            self._rubric.judge(
                judges,
                criteria_of(side, faults=self.faults),
                headline=headline.text,
                counterfactual=text,
            )
            for side, text in valid.items()
        )
        return dict(zip(valid, judged, strict=True))


@metric(name="counterfactual_rates")
def rates() -> Metric:
    """Compute rates over samples: valid counterfactuals, and each criterion in two forms.

    ``forward_compatibility`` and ``directionality`` are over counterfactuals with a valid
    verdict, as in the paper; the ``_strict`` forms count invalid and degenerate texts as failed.
    Each has its standard error, ``_stderr``, clustered by headline.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        degenerate = [
            side in (score.score.metadata or {}).get("degenerate", {})
            for score in scores
            for side in SIDES
        ]
        headlines = [str(score.sample_id) for score in scores for _ in SIDES]
        valid = [float(row[f"{side}_valid"]) for row in rows for side in SIDES]
        result = rate_of("valid", valid, headlines)
        for name in CRITERIA:
            if not any(f"{side}_{name}" in row for row in rows for side in SIDES):
                continue
            values = [number(row.get(f"{side}_{name}")) for row in rows for side in SIDES]
            result |= rates_of_criterion(name, values, degenerate, headlines)
        return result

    return compute


@log_scorer(SCORER, rates())
def counterfactuals(
    judged: bool = True,
    judge_faults: bool = False,
    structured: bool = True,
    prompts: str | None = None,
    cache_scope: str | None = None,
) -> Scorer:
    """Score one sample: 1 or 0 per side and criterion, not-a-number if invalid.

    This one scorer makes all of a sample's judge calls.

    Args:
        judged: Whether the judge bound to the role ``grader`` is asked; else only validity is
            scored.
        judge_faults: Whether the judge also looks for the two faults that need judgement.
        structured: Whether to ask the judge for schema-constrained JSON.
        prompts: Folder of a prompt pack; the default pack if None.
        cache_scope: The name under which every call's answer is kept for a rerun.
    """
    judging = None
    if judged:
        judging = Judging(open_pack(prompts), judge_faults, structured, cache_policy(cache_scope))

    async def score(state: TaskState, target: Target) -> Score:
        generation = Generation(**state.store.get(OUTPUT))
        texts, degenerate = generation.texts, generation.degenerate
        value: dict[str, float] = {
            f"{side}_valid": float(texts[side] is not None) for side in SIDES
        }
        metadata: dict[str, Any] = {"degenerate": degenerate}
        if judging is not None:
            headline = Headline.of(state.input_text)
            by_side = await judging.judge(judges_of_role(), headline, texts)
            for side in SIDES:
                verdicts = by_side[side].panel if side in by_side else {}
                for name in CRITERIA:
                    passed = verdicts[name].passed if name in verdicts else None
                    value[f"{side}_{name}"] = number(passed)
            metadata["verdicts"] = {side: one.as_json() for side, one in by_side.items()}
        no_answer = [f"the {side} counterfactual {why}" for side, why in degenerate.items()]
        reasons = "; ".join([*generation.invalid.values(), *no_answer])
        return Score(
            value=cast(Any, value),
            answer=json.dumps(texts, ensure_ascii=False),
            explanation=reasons or None,
            metadata=metadata,
        )

    return score
