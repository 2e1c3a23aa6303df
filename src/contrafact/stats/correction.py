"""A judged rate, corrected for the measured errors of the judge.

Where the share ``π`` of items should pass, a judge with sensitivity ``se`` and specificity ``sp``
passes the share ``π se + (1 - π)(1 - sp)``. Two corrections are here:

- `correct_rate`, if an exam measured the judge on other items (Rogan and Gladen, American
  Journal of Epidemiology 107(1), 1978). Its interval inverts a score test: π is in the interval if
  the observed rate and the exam's two rates are compatible with it at the level, with variances
  under that hypothesis. It includes the uncertainty of the exam as well as of the rate, and unlike
  a ratio's interval it stays valid when the judge is close to useless: it becomes wide.
- `ppi_share`, if people labelled a random part of the same items (prediction-powered inference
  with the tuned weight, in strata: Angelopoulos, Duchi and Zrnic, PPI++, 2023; Fisch and others,
  Stratified Prediction-Powered Inference, 2024). For verdicts of 1 or 0 the tuned
  estimate is the post-stratified one: the people's shares among items that the judge passed and
  failed, each weighted by its part of the run. It assumes nothing about the judge, so it holds for
  verdicts on whole responses, however the judge's errors on a response's criteria are correlated.
  Bounds are Wilson's, or exact ones near 0 and 1, at the effective number of labels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.errors import Reason
from contrafact.stats.distributions import normal_quantile
from contrafact.stats.intervals import (
    MIN_CLUSTERS,
    Clusters,
    Interval,
    check_settings,
    cluster_codes,
    effective_number,
    exact_bounds,
    finite_values,
    variance_of_mean,
    wilson_bounds,
)
from contrafact.stats.sampling import share_and_effective_size, split_cells

__all__ = [
    "ASSUMED",
    "FEW_ITEMS",
    "MIN_EXAM",
    "MIN_ITEMS",
    "MIN_YOUDEN",
    "UNINFORMATIVE",
    "UNLIKE",
    "Corrected",
    "ExamRate",
    "correct_rate",
    "correction_bounds",
    "planned_half_width",
    "ppi_share",
]

MIN_YOUDEN = 0.2
"""Sensitivity + specificity - 1 below which coverage was not tested, and no bounds are given."""
MIN_ITEMS = 100
"""Judged items below which coverage was not tested."""
MIN_EXAM = 25
"""Exam items of each known verdict below which coverage was not tested."""

ASSUMED = (0.8, 0.9)
"""The true rate, and the sensitivity and specificity of a judge, that plans assume."""

NO_EXAM_ITEMS = Reason(
    "no-exam-items", "of one of the two verdicts the exam has no reply that can be read"
)
FEW_EXAM_ITEMS = Reason("few-exam-items", f"the exam needs {MIN_EXAM} items of each known verdict")
FEW_ITEMS = Reason(
    "few-items", f"below {MIN_ITEMS} judged items, as here, the correction was not tested"
)
FEW_OF_BOTH = Reason("few-items-and-exam-items", f"{FEW_ITEMS.text}, and {FEW_EXAM_ITEMS.text}")
UNINFORMATIVE = Reason(
    "uninformative",
    "this judge cannot tell right from wrong: its sensitivity and specificity sum to {total:.2f}, "
    "not above 1",
)
BARELY_INFORMATIVE = Reason(
    "barely-informative",
    "sensitivity and specificity sum to {total:.2f}, and below "
    f"{1.0 + MIN_YOUDEN:.1f} the correction was not tested",
)
UNLIKE = Reason("unlike", "{how}; the exam's items are not like these")
"""The reason why a rate of items unlike those of the exam is not corrected."""

_STRENGTH = 3.0
"""The ``strength`` of `share_and_effective_size` for cells, none of which is small."""
_RARE, _NEAR_AN_END = 20, 0.25
"""Bounds are exact if the rarer answer has fewer effective labels and a smaller share."""
_STEPS = 10
_ZOOM, _ZOOMS = 65, 4


@dataclass(frozen=True)
class ExamRate:
    """A judge's right replies on exam items of one known verdict, without invalid replies.

    ``n`` is the effective number of items if they are clustered.
    """

    right: float
    n: float

    @property
    def rate(self) -> float:
        """The share of right replies; NaN without items."""
        return self.right / self.n if self.n else math.nan


@dataclass(frozen=True)
class Corrected:
    """A corrected rate, from 0 to 1, beside the ``raw`` rate as judged.

    The estimate is NaN if the judge is uninformative; the bounds are NaN if the correction is not
    valid, for the reason ``why``.
    """

    estimate: float
    low: float
    high: float
    level: float
    raw: float
    why: Reason | None = None

    @property
    def usable(self) -> bool:
        return self.why is None


def correct_rate(
    values: ArrayLike,
    clusters: Clusters = None,
    *,
    sensitivity: ExamRate,
    specificity: ExamRate,
    level: float = 0.95,
) -> Corrected:
    """Return a judged rate corrected for the judge's measured sensitivity and specificity.

    Values are verdicts, 1 or 0 (or means of several), shape (n,); sensitivity is how often the
    judge passed exam items that should pass, specificity how often it failed those that should
    fail.

    Raises:
        ValueError: If a value is not between 0 and 1, or the exam's counts are impossible.
    """
    check_settings(level)
    x = finite_values(values)
    if len(x) == 0 or x.min() < 0.0 or x.max() > 1.0:
        raise ValueError("there must be verdicts, between 0 and 1")
    for rate in (sensitivity, specificity):
        if not 0 <= rate.right <= rate.n:
            raise ValueError(f"{rate.right} right of {rate.n} exam items makes no sense")
    raw = float(x.mean())
    why = _unusable(len(x), sensitivity, specificity)
    if why is not None:
        informative = sensitivity.rate + specificity.rate > 1.0
        estimate = _estimate(raw, sensitivity, specificity) if informative else math.nan
        return Corrected(estimate, math.nan, math.nan, level, raw, why)
    bounds = correction_bounds(
        raw,
        effective_number(x, clusters),
        sensitivity.rate,
        sensitivity.n,
        specificity.rate,
        specificity.n,
        level=level,
    )
    low, high = (float(bound[0]) for bound in bounds)
    if math.isnan(low):
        than = "more" if raw > sensitivity.rate else "fewer"
        how = (
            f"the judge passes {than} of these items than it would at any true rate, by what the "
            "exam saw of it"
        )
        return Corrected(math.nan, math.nan, math.nan, level, raw, UNLIKE.filled(how=how))
    return Corrected(_estimate(raw, sensitivity, specificity), low, high, level, raw)


def correction_bounds(
    raw: ArrayLike,
    n: ArrayLike,
    sensitivity: ArrayLike,
    n_sensitivity: ArrayLike,
    specificity: ArrayLike,
    n_specificity: ArrayLike,
    *,
    level: float = 0.95,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of the true rate of each study, by inverting the score test.

    Arguments are broadcast to one shape, (studies,): the judged rates and how many independent
    items each has (the effective number if clustered), then the judge's rates of right verdicts on
    exam items that should pass and that should fail, each with the number of items. Bounds are NaN
    if no true rate is compatible with verdicts and exam.
    """
    z2 = normal_quantile(0.5 + level / 2.0) ** 2
    columns = np.broadcast_arrays(raw, n, sensitivity, n_sensitivity, specificity, n_specificity)
    counts = [np.atleast_1d(np.asarray(column, dtype=np.float64))[:, None] for column in columns]
    anchor = _point(*(rate[:, 0] for rate in (counts[0], counts[2], counts[4])))
    fits = _score(anchor[:, None], counts)[:, 0] <= z2  # no rate fits better than the estimate
    low, high = (_edge(anchor, np.full_like(anchor, end), counts, z2) for end in (0.0, 1.0))
    return np.where(fits, low, math.nan), np.where(fits, high, math.nan)


def planned_half_width(
    n: int,
    *,
    exam: tuple[float, float] = (math.nan, math.nan),
    labels: float = 0,
    rate: float = ASSUMED[0],
    sensitivity: float = ASSUMED[1],
    specificity: float = ASSUMED[1],
    level: float = 0.95,
) -> float:
    """Return half the expected width of a corrected rate's interval, before anybody is asked.

    Of ``n`` independent outputs ``labels`` are labelled by people, at random; or, if none is,
    ``exam`` are the numbers of the exam's right and wrong items. The variances are those at the
    assumed true rate, sensitivity and specificity (docs/exam.md has the formulas).
    """
    right, missed = rate * sensitivity, rate * (1.0 - sensitivity)
    passed = right + (1.0 - rate) * (1.0 - specificity)
    z = normal_quantile(0.5 + level / 2.0)
    if labels:
        parts = ((right, passed), (missed, 1.0 - passed))
        within = sum(good * (size - good) / size for good, size in parts if size)
        return z * math.sqrt(within / labels + (rate * (1.0 - rate) - within) / n)
    examined = rate**2 * sensitivity * (1.0 - sensitivity) / exam[0]
    examined += (1.0 - rate) ** 2 * specificity * (1.0 - specificity) / exam[1]
    spread = math.sqrt(passed * (1.0 - passed) / n + examined)
    return z * spread / (sensitivity + specificity - 1.0)


def ppi_share(
    labels: ArrayLike,
    verdicts: ArrayLike,
    *,
    levels: Sequence[NDArray[np.intp]] = (),
    probabilities: ArrayLike | None = None,
    clusters: Clusters = None,
    level: float = 0.95,
) -> Interval:
    """Return the share of items that people would pass, from their labels of a random part.

    All arguments have one entry for each judged item. Labels are 1 or 0, NaN if missing; verdicts
    are the judge's. ``levels`` are further strata of all items (`verdict_levels`; whole numbers),
    from the coarsest. ``probabilities`` are those with which labelled items were drawn, by default
    equal. Items that were drawn but not labelled are assumed to be missing at random within a
    stratum.

    The interval is for new outputs like these.

    Raises:
        ValueError: If lengths differ, or a label or verdict is not a number of its kind.
    """
    check_settings(level)
    y, f = np.asarray(labels, dtype=np.float64), finite_values(verdicts, "verdicts")
    labelled = ~np.isnan(y)
    if y.shape != f.shape or not np.isin(y[labelled], (0.0, 1.0)).all():
        raise ValueError("there must be one label an item, 1, 0 or NaN")
    codes, groups = cluster_codes(clusters, len(y))
    labelled_groups = len(np.unique(codes[labelled]))
    n_labelled = int(labelled.sum())
    if labelled_groups < MIN_CLUSTERS:
        why = f"no interval: fewer than {MIN_CLUSTERS} labelled clusters"
        estimate = float(y[labelled].mean()) if n_labelled else math.nan
        return Interval(estimate, math.nan, math.nan, level, n_labelled, labelled_groups, why)
    # Post-stratify: in each cell of verdicts and levels, weight labels up to the cell's size.
    # One label of a verdict is enough to tell its outputs from the others, and agrees or does not.
    cell = split_cells([f.astype(np.intp), *levels], labelled, MIN_CLUSTERS, first=1)
    weight = np.ones(len(y))
    if probabilities is not None:
        weight[labelled] = 1.0 / finite_values(np.asarray(probabilities)[labelled], "probabilities")
    of_label = cell[labelled]
    weight = weight[labelled]
    weight = weight * (np.bincount(cell) / np.bincount(of_label, weight))[of_label]
    expected = (np.bincount(of_label, weight * y[labelled]) / np.bincount(of_label, weight))[cell]
    # The judge's shares come from a sample as well: they vary with the run's clusters.
    spread = variance_of_mean(expected, codes, groups)
    counted = float(expected.var()) / spread if spread > 0.0 else float(groups)
    estimate, worth = share_and_effective_size(
        y[labelled], weight, of_label, clusters=codes[labelled],
        strength=_STRENGTH / (cell.max() + 1),
        counted=counted, level=level,
    )  # fmt: skip
    rarer = min(estimate, 1.0 - estimate)
    exact = rarer < _NEAR_AN_END and rarer * worth < _RARE
    bounds = (exact_bounds if exact else wilson_bounds)(estimate, worth, level)
    method = (
        f"prediction-powered, {n_labelled} labelled of {len(y)} in {cell.max() + 1} strata, worth "
        f"{worth:.4g} labels alone; {'exact' if exact else 'score'} bounds"
    )
    return Interval(estimate, *bounds, level, len(y), groups, method)


def _unusable(n: int, sensitivity: ExamRate, specificity: ExamRate) -> Reason | None:
    examined, total = min(sensitivity.n, specificity.n), sensitivity.rate + specificity.rate
    if examined == 0:
        return NO_EXAM_ITEMS
    if total <= 1.0:
        return UNINFORMATIVE.filled(total=total)
    if total - 1.0 < MIN_YOUDEN:
        return BARELY_INFORMATIVE.filled(total=total)
    if n < MIN_ITEMS:
        return FEW_ITEMS if examined >= MIN_EXAM else FEW_OF_BOTH
    return FEW_EXAM_ITEMS if examined < MIN_EXAM else None


def _estimate(raw: float, sensitivity: ExamRate, specificity: ExamRate) -> float:
    return float(_point(*map(np.asarray, (raw, sensitivity.rate, specificity.rate))))


def _point(
    raw: NDArray[np.float64], sensitivity: NDArray[np.float64], specificity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Rogan-Gladen estimate, cut to 0 and 1."""
    youden = sensitivity + specificity - 1.0
    safe = np.where(youden > 0.0, youden, 1.0)
    corrected = np.where(youden > 0.0, (raw + specificity - 1.0) / safe, 0.5)
    return np.asarray(np.clip(corrected, 0.0, 1.0))


def _score(pi: NDArray[np.float64], counts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the squared score statistic of hypothetical true rates, shape (studies, rates).

    The variances are those of the rates that satisfy the hypothesis and are nearest to the observed
    ones, found by damped fixed-point iteration.
    """
    raw, n, se, n_se, sp, n_sp = counts
    gap = raw - pi * se - (1.0 - pi) * (1.0 - sp)
    v_raw, v_se, v_sp = _smooth(raw, n), _smooth(se, n_se), _smooth(sp, n_sp)
    total = v_raw + pi**2 * v_se + (1.0 - pi) ** 2 * v_sp
    for _ in range(_STEPS):
        # Move the three rates so that they satisfy the hypothesis, each by its own variance.
        pull = gap / total
        v_raw = (v_raw + _variance(raw - pull * v_raw, n)) / 2.0
        v_se = (v_se + _variance(se + pull * pi * v_se, n_se)) / 2.0
        v_sp = (v_sp + _variance(sp - pull * (1.0 - pi) * v_sp, n_sp)) / 2.0
        total = v_raw + pi**2 * v_se + (1.0 - pi) ** 2 * v_sp
    squared: NDArray[np.float64] = gap**2 / total
    return squared


def _smooth(rate: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    p = (rate * n + 0.5) / (n + 1.0)
    return np.asarray(p * (1.0 - p) / n)


def _variance(rate: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(rate, 0.0, 1.0)
    return np.asarray((p * (1.0 - p) + 1e-12) / n)


def _edge(
    near: NDArray[np.float64],
    far: NDArray[np.float64],
    counts: Sequence[NDArray[np.float64]],
    z2: float,
) -> NDArray[np.float64]:
    """Return the interval's end between ``near``, which is inside, and ``far``."""
    rows = np.arange(len(near))
    for _ in range(_ZOOMS):
        points = np.linspace(near, far, _ZOOM, axis=1)
        fits = _score(points, counts) <= z2
        fits[:, 0] = True
        until = np.where(fits.all(axis=1), _ZOOM, fits.argmin(axis=1))  # the first point outside
        near = points[rows, until - 1]
        far = points[rows, np.minimum(until, _ZOOM - 1)]
    return near
