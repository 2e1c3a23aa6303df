"""The scorer of both tasks, and its measures over samples.

RFC-BENCH, section 2.3 and appendix F. The measures here are what Inspect's log shows; intervals,
and figures by manipulation, are the report's.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric
from inspect_ai.solver import TaskState

from contrafact.families.rfc.answers import answer_of, item_of
from contrafact.families.rfc.items import SCORER
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.family.task import log_scorer
from contrafact.stats.classification import Form

__all__ = [
    "answered",
    "label_rates",
    "pairwise_accuracy",
    "whole_pairs",
]


@metric(name="label_rates")
def label_rates() -> Metric:
    """Rates over samples: appendix F's measures over valid outputs, and strictly.

    Named as they stand are the paper's, over valid outputs; ``_strict`` counts what is invalid as
    wrong. ``pairwise_accuracy`` is the share of pairs with both members right, of those with two
    valid answers; strictly, of all. ``auroc`` is there where every valid answer has probabilities:
    of the probability of ``true`` in detection; in diagnosis the macro average, over the
    manipulations present, of each one's area against the rest. So are ``brier``, of the
    probabilities of all labels, and ``ece``, of the answer's. All but ``auroc`` and ``ece``, whose
    intervals are the report's, come with standard errors, ``_stderr``, clustered by article: of
    means by their sums over clusters, of the others by leaving out one article after the other.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        from contrafact.stats.classification import confusion_matrix, jackknife_errors, measures
        from contrafact.stats.intervals import standard_error

        rows = [cast(dict[str, Any], score.score.metadata) for score in scores]
        if not rows:
            return {}
        labels = rows[0]["labels"]
        matrix = confusion_matrix(
            [row["gold"] for row in rows], [row["predicted"] for row in rows], labels
        )
        valid, strict = measures(matrix, "valid"), measures(matrix, "strict")
        rates = {name: float(value) for name, value in valid.items()}
        rates |= {f"{name}_strict": float(value) for name, value in strict.items()}
        articles = [row["article_id"] for row in rows]
        labelled = ([row["gold"] for row in rows], [row["predicted"] for row in rows])
        for form, mark in (("valid", ""), ("strict", "_strict")):
            errors = jackknife_errors(*labelled, labels, articles, cast(Form, form))
            rates |= {f"{name}{mark}_stderr": error for name, error in errors.items()}
        right = [float(row["predicted"] == row["gold"]) for row in rows]
        invalid = [row["predicted"] is None for row in rows]
        known = [math.nan if no else one for no, one in zip(invalid, right, strict=True)]
        rates["accuracy_stderr"] = standard_error(known, articles)
        rates["accuracy_strict_stderr"] = standard_error(right, articles)
        rates["invalid_rate"] = sum(invalid) / len(rows)
        rates["invalid_rate_stderr"] = standard_error([float(one) for one in invalid], articles)
        if rows[0]["task"] == "rfc-detect" and rows[0]["manipulation"]:
            rates["pairwise_accuracy"], rates["pairwise_accuracy_strict"] = pairwise_accuracy(rows)
            pairs = whole_pairs(rows)
            among = [article for article, _, _ in pairs]
            of_valid = [right if valid else math.nan for _, valid, right in pairs]
            rates["pairwise_accuracy_stderr"] = standard_error(of_valid, among)
            strict_error = standard_error([right for _, _, right in pairs], among)
            rates["pairwise_accuracy_strict_stderr"] = strict_error
        return rates | _of_probabilities(rows, labels)

    return compute


@log_scorer(SCORER, label_rates())
def answered() -> Scorer:
    """Score one sample: whether its answer is valid, and right.

    The value has ``valid`` (1 or 0), ``correct`` (1, 0, or not-a-number where invalid) and
    ``correct_strict`` (invalid is 0).
    """

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
    pairs = whole_pairs(rows)
    right, valid = sum(right for _, _, right in pairs), sum(valid for _, valid, _ in pairs)
    return right / valid if valid else math.nan, right / len(pairs) if pairs else math.nan


def whole_pairs(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str | None, bool, float]]:
    """Return the article of each pair of which both members were shown, validity, and rightness.

    A pair is valid or right (1.0 or 0.0) where both answers are.
    """
    members: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        members[row["pair_id"]].append(row)
    return [
        (
            both[0].get("article_id"),
            all(row["predicted"] is not None for row in both),
            float(all(row["predicted"] == row["gold"] for row in both)),
        )
        for both in members.values()
        if {row["gold"] for row in both} == {TRUE, FALSE}
    ]


def _of_probabilities(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, float]:
    """Return AUROC, Brier's score and the calibration error; nothing without probabilities."""
    import numpy as np

    from contrafact.stats.calibration import calibration_error, squared_errors
    from contrafact.stats.classification import auroc_one_vs_rest
    from contrafact.stats.intervals import standard_error

    valid = [row for row in rows if row["predicted"] is not None]
    if not valid or any(row["probabilities"] is None for row in valid):
        return {}
    gold = [row["gold"] for row in valid]
    shares = [[row["probabilities"][label] for label in labels] for row in valid]
    once: dict[str, Any] = {"resamples": 1, "rng": np.random.default_rng(0)}
    errors = squared_errors(gold, shares, labels)
    found = {
        # Of two labels, each against the rest is the same area twice.
        "auroc": auroc_one_vs_rest(gold, shares, labels, None, **once).estimate,
        "brier": float(errors.mean()),
        "brier_stderr": standard_error(errors, [row["article_id"] for row in valid]),
        "ece": calibration_error(
            [row["predicted"] == row["gold"] for row in valid],
            [row["probabilities"][row["predicted"]] for row in valid],
            None,
            **once,
        ).estimate,
    }
    return {name: value for name, value in found.items() if not math.isnan(value)}
