"""The scorer of both tasks, and its measures over samples.

RFC-BENCH, section 2.3 and appendix F. Inspect's log shows these measures; the report adds intervals
and figures by manipulation.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric
from inspect_ai.solver import TaskState

from contrafact.families.rfc.answers import answer_of, item_of
from contrafact.families.rfc.items import SCORER
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.family.task import log_scorer
from contrafact.stats.classification import confusion_matrix, measures
from contrafact.stats.intervals import standard_error

__all__ = ["answered"]


@metric(name="label_rates")
def label_rates() -> Metric:
    """Compute appendix F's measures over valid outputs, and over all outputs (``_strict``).

    ``pairwise_accuracy`` is over pairs with two valid answers. ``_stderr`` clusters by article.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.metadata) for score in scores]
        if not rows:
            return {}
        gold, predicted = [row["gold"] for row in rows], [row["predicted"] for row in rows]
        matrix = confusion_matrix(gold, predicted, rows[0]["labels"])
        valid, strict = measures(matrix, "valid"), measures(matrix, "strict")
        rates = {name: float(value) for name, value in valid.items()}
        rates |= {f"{name}_strict": float(value) for name, value in strict.items()}
        articles = [row["article_id"] for row in rows]
        right = [float(one == other) for one, other in zip(predicted, gold, strict=True)]
        invalid = [one is None for one in predicted]
        known = [math.nan if no else one for no, one in zip(invalid, right, strict=True)]
        rates["accuracy_stderr"] = standard_error(known, articles)
        rates["accuracy_strict_stderr"] = standard_error(right, articles)
        rates["invalid_rate"] = sum(invalid) / len(rows)
        rates["invalid_rate_stderr"] = standard_error([float(one) for one in invalid], articles)
        if rows[0]["task"] == "rfc-detect" and rows[0]["manipulation"]:
            rates["pairwise_accuracy"], rates["pairwise_accuracy_strict"] = pairwise_accuracy(rows)
        return rates

    return compute


@log_scorer(SCORER, label_rates())
def answered() -> Scorer:
    """Score a sample: ``valid`` 1 or 0, ``correct`` 1, 0 or NaN if invalid, ``correct_strict``."""

    async def score(state: TaskState, target: Target) -> Score:
        item, answer = item_of(state.metadata), answer_of(state)
        right = answer.predicted == item.gold
        value = {
            "valid": float(answer.predicted is not None),
            "correct": math.nan if answer.predicted is None else float(right),
            "correct_strict": float(right),
        }
        metadata: dict[str, Any] = {
            "task": item.task,
            "labels": list(item.labels),
            "gold": item.gold,
            "predicted": answer.predicted,
            "invalid": answer.invalid,
            "probabilities": answer.probabilities,
            "rationale": answer.rationale,
            "reply": answer.reply,
            "pair_id": item.pair.id,
            "article_id": item.pair.article_id,
            "manipulation": item.pair.manipulation,
        }
        return Score(
            value=cast(Any, value),
            answer=answer.predicted,
            explanation=answer.invalid or answer.rationale,
            metadata=metadata,
        )

    return score


def pairwise_accuracy(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the share of pairs with both members right: of those with valid answers, and of all.

    A model that always says the same gets 0, whatever its accuracy. A pair of which only one member
    was shown counts in neither; without any pair it is NaN.
    """
    members: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        members[row["pair_id"]].append(row)
    whole = [own for own in members.values() if {row["gold"] for row in own} == {TRUE, FALSE}]
    right = [all(row["predicted"] == row["gold"] for row in own) for own in whole]
    valid = sum(all(row["predicted"] is not None for row in own) for own in whole)
    return sum(right) / valid if valid else math.nan, sum(right) / len(whole) if whole else math.nan
