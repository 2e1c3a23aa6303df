"""The share of responses that pass every criterion, corrected criterion by criterion, jointly.

A response is right where it passes all criteria that it was asked. A judge errs on each criterion
at rates of its own, so how often its verdict on the whole is wrong depends on which criteria the
responses fail: an exam's rate for the whole holds for the exam's mix of failures, not for a run's.
Here nothing is assumed of the mix. If the judge's errors on the criteria of one response are
independent given what is true of each, the shares of the verdicts' patterns are those of the true
patterns under a product of two-by-two tables, one a criterion; inverting it gives the true shares,
and the one that passes all is

    mean over responses of the product over criteria of w,

with w = sp / (se + sp - 1) where the judge passed the criterion, and -(1 - sp) / (se + sp - 1)
where it failed it. For one criterion this is Rogan and Gladen's estimate. The interval comes of
resampling clusters of the run, and the exam's rates from their posteriors (beta, Jeffreys' prior).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats.correction import MIN_EXAM, MIN_ITEMS, MIN_YOUDEN, Corrected, ExamRate
from contrafact.stats.intervals import Clusters, check_settings, cluster_codes

__all__ = ["MOST_WIDE", "correct_conjunction"]

MOST_WIDE = 0.9
"""An interval wider than this says nothing, and is not given."""


def correct_conjunction(
    verdicts: ArrayLike,
    clusters: Clusters = None,
    *,
    names: Sequence[str],
    sensitivity: Sequence[ExamRate],
    specificity: Sequence[ExamRate],
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 4_000,
) -> Corrected:
    """Return the corrected share of responses that pass all criteria they were asked.

    Args:
        verdicts: The judge's verdicts, 1 or 0, NaN where a criterion was not asked, shape
            (responses, criteria).
        sensitivity: For each criterion, how often the judge passed what should pass.
        specificity: For each, how often it failed what should fail.
        draws: How often run and exam are drawn again.

    Raises:
        ValueError: If shapes differ, a verdict is none, or nothing was asked of a response.
    """
    check_settings(level, 1)
    given = np.asarray(verdicts, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != len(names) or not len(given):
        raise ValueError("there must be one row of verdicts a response, one column a criterion")
    asked = ~np.isnan(given)
    if not asked.any(axis=1).all() or not np.isin(given[asked], (0.0, 1.0)).all():
        raise ValueError("a verdict is 1 or 0, and a response has at least one")
    raw = float(np.where(asked, given, 1.0).min(axis=1).mean())
    used = [place for place in range(len(names)) if asked[:, place].any()]
    why = _unusable(len(given), used, names, sensitivity, specificity)
    if why:
        return Corrected(math.nan, math.nan, math.nan, level, raw, False, why)
    patterns, kinds = np.unique(np.where(asked, given, -1.0), axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    shares = np.bincount(kinds, minlength=len(patterns)) / len(given)
    point = [np.array([[one.rate for one in some]]) for some in (sensitivity, specificity)]
    estimate = float(_weights(patterns, *point)[0] @ shares)
    drawn = [
        np.column_stack(
            [
                rng.beta(one.right + 0.5, one.n - one.right + 0.5, draws)
                if place in used
                else np.ones(draws)
                for place, one in enumerate(some)
            ]
        )
        for some in (sensitivity, specificity)
    ]
    codes, groups = cluster_codes(clusters, len(given))
    table = np.zeros((groups, len(patterns)))
    np.add.at(table, (codes, kinds), 1.0)
    picked = rng.multinomial(groups, np.full(groups, 1.0 / groups), draws) @ table
    picked /= picked.sum(axis=1, keepdims=True)
    # Resampled clusters vary less than fresh ones by this much.
    picked = shares + (picked - shares) * math.sqrt(groups / max(1, groups - 1))
    found = (_weights(patterns, *drawn) * picked).sum(axis=1)
    low, high = np.quantile(found, (0.5 - level / 2.0, 0.5 + level / 2.0))
    low, high = float(np.clip(low, 0.0, 1.0)), float(np.clip(high, 0.0, 1.0))
    estimate = min(1.0, max(0.0, estimate))
    if high - low > MOST_WIDE:
        why = "not known: what the exam saw of the judge leaves nearly every rate possible"
        return Corrected(estimate, math.nan, math.nan, level, raw, False, why)
    if high <= 0.0 or low >= 1.0:
        why = (
            "not known: the verdicts fit no true rate, by what the exam saw of the judge; the "
            "exam's items are not like these"
        )
        return Corrected(math.nan, math.nan, math.nan, level, raw, False, why)
    return Corrected(estimate, min(low, estimate), max(high, estimate), level, raw, True, "")


def _weights(
    patterns: NDArray[np.float64],
    sensitivity: NDArray[np.float64],
    specificity: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each pattern's part in the share that passes all, shape (draws, patterns)."""
    found = np.ones((len(sensitivity), len(patterns)))
    for place in range(patterns.shape[1]):
        # A draw in which the judge cannot tell says as little as one in which it hardly can.
        youden = np.maximum(sensitivity[:, place] + specificity[:, place] - 1.0, MIN_YOUDEN / 4)
        passed = specificity[:, place] / youden
        failed = (specificity[:, place] - 1.0) / youden
        column = patterns[:, place]
        found *= np.where(column == 1.0, passed[:, None], 1.0)
        found *= np.where(column == 0.0, failed[:, None], 1.0)
    return found


def _unusable(
    n: int,
    used: Sequence[int],
    names: Sequence[str],
    sensitivity: Sequence[ExamRate],
    specificity: Sequence[ExamRate],
) -> str:
    for place in used:
        se, sp = sensitivity[place], specificity[place]
        if min(se.n, sp.n) < MIN_EXAM:
            return f"not known: the exam needs {MIN_EXAM} items of either verdict on {names[place]}"
        if se.rate + sp.rate - 1.0 < MIN_YOUDEN:
            return (
                f"not known: on {names[place]} sensitivity and specificity sum to "
                f"{se.rate + sp.rate:.2f}, and below {1.0 + MIN_YOUDEN:.1f} the correction was not "
                "tested"
            )
    if n < MIN_ITEMS:
        return f"not known: {n} judged items, and below {MIN_ITEMS} the correction was not tested"
    return ""
