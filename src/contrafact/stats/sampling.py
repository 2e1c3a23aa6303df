"""Samples with unequal but known inclusion probabilities, and estimates from them.

*Drawing.* Draws are allocated to strata evenly or in proportion to their sizes, and strata that are
too small are merged (`split_cells`). `draw_by_levels` draws the items that people label to measure
a judge or a review.

*Means.* A study that draws a larger share from small systems than from large ones must weight its
items by 1 / p before it describes all of them (`contrafact.stats.intervals.cluster_bootstrap`).

*Shares.* An audit draws few items from each stratum, few of which are faulty: a 95% percentile
bootstrap of such a share covers 86 to 100%. Wilson's interval at the effective number of outcomes
covers 93 to 97% (`stratified_share`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats.intervals import (
    MIN_CLUSTERS,
    Clusters,
    Interval,
    check_settings,
    cluster_codes,
    cluster_sums,
    exact_bounds,
    finite_values,
    widened_for_few,
    wilson_bounds,
)

__all__ = [
    "LEAST_OF_A_STRATUM",
    "draw_by_levels",
    "even_allocation",
    "stratified_share",
    "verdict_levels",
]

LEAST_OF_A_STRATUM = 10
"""Strata with fewer items are merged; at least this many items of each are drawn."""

_CERTAIN = 1e-9


def even_allocation(sizes: Sequence[int], n: int) -> list[int]:
    """Return an even allocation of ``n`` draws to strata of these sizes.

    Draws that a small stratum cannot take go to the others; if ``n`` is larger than the total, all
    items are drawn.
    """
    draws = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        open_strata = [i for i, size in enumerate(sizes) if draws[i] < size]
        share = max(1, left // len(open_strata))
        for i in open_strata[:left]:
            more = min(share, sizes[i] - draws[i], left)
            draws[i] += more
            left -= more
    return draws


def proportional_allocation(sizes: Sequence[int], n: int, *, least: int = 0) -> list[int]:
    """Return an allocation of ``n`` draws in proportion to the strata's sizes, ``least`` for each.

    If ``n`` is larger than the total, all items are drawn. Remaining draws go to the largest
    remainders.
    """
    size = np.asarray(sizes, dtype=np.float64)
    n = min(n, int(size.sum()))
    floor = np.minimum(size, least)
    if not len(size) or floor.sum() >= n:
        return even_allocation(floor.astype(int).tolist(), n)
    more = np.clip(n * size / size.sum() - floor, 0.0, None)
    share = floor + (n - floor.sum()) * more / more.sum()
    whole = np.floor(share + _CERTAIN).astype(int)
    whole[np.argsort(whole - share, kind="stable")[: n - int(whole.sum())]] += 1
    return [int(draws) for draws in whole]


def verdict_levels(
    verdicts: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return two levels of each item: whether it passed all criteria, and how surely.

    The first is 1 if all verdicts passed; the second is 1 if the lowest of the item's probabilities
    is above the median of the items with the same first level. The arguments have the shape
    (items, criteria), NaN without a verdict.
    """
    passed = np.where(np.isnan(verdicts), np.inf, verdicts).min(axis=1, initial=np.inf)
    whole = ((passed >= 1.0) & np.isfinite(passed)).astype(np.intp)
    least = np.where(np.isnan(chances), np.inf, chances).min(axis=1, initial=np.inf)
    half = np.zeros(len(whole), dtype=np.intp)
    for value in (0, 1):
        among = (whole == value) & np.isfinite(least)
        if among.any():
            half[among] = least[among] > np.median(least[among])
    return whole, half


def split_cells(
    levels: Sequence[NDArray[np.intp]], counted: NDArray[np.bool_], least: int, *, first: int = 0
) -> NDArray[np.intp]:
    """Return the cell of each item, as whole numbers from 0.

    For one level after the other, each cell is split by the level if every part has at least
    ``least`` of the items that are ``counted``; ``first``, if given, for the first level.
    """
    cells = np.zeros(len(counted), dtype=np.intp)
    for place, level in enumerate(levels):
        fewest = least if place else first or least
        _, apart = np.unique(np.stack([cells, level]), axis=1, return_inverse=True)
        apart = apart.reshape(-1)
        enough = np.bincount(apart, counted, minlength=len(apart))[apart] >= fewest
        short = np.unique(cells[~enough])
        cells = np.where(np.isin(cells, short), cells, len(counted) + apart)
        cells = np.unique(cells, return_inverse=True)[1].reshape(-1)
    return cells


@dataclass(frozen=True)
class StratifiedDraw:
    """A stratified draw of items to label.

    Attributes:
        strata: The stratum of each item, from 0, shape (items,).
        probability: The inclusion probability of each item, shape (items,).
        drawn: The indices of the drawn items, by stratum, in random order within each.
    """

    strata: NDArray[np.intp]
    probability: NDArray[np.float64]
    drawn: NDArray[np.intp]


def draw_by_levels(
    levels: Sequence[NDArray[np.intp]],
    n: int,
    rng: np.random.Generator,
    *,
    least: int = LEAST_OF_A_STRATUM,
    first: int = 0,
) -> StratifiedDraw:
    """Draw ``n`` items in proportion to strata, but at least `LEAST_OF_A_STRATUM` of each.

    Args:
        levels: Properties of each item, such as its system and a judge's verdict, each of shape
            (items,). Items with the same properties form a stratum.
        least: Strata with fewer items are merged (`split_cells`).
        first: The same for the strata of the first level, if given.
    """
    strata = split_cells(levels, np.ones(len(levels[0]), dtype=bool), least, first=first)
    sizes = np.bincount(strata)
    counts = proportional_allocation(sizes.tolist(), n, least=LEAST_OF_A_STRATUM)
    drawn = [
        rng.permutation(np.flatnonzero(strata == stratum))[:count]
        for stratum, count in enumerate(counts)
        if count
    ]
    return StratifiedDraw(strata, (np.array(counts) / sizes)[strata], np.concatenate(drawn))


_STRATUM_STRENGTH = 4.0
"""The weight of the overall share, in outcomes, when a stratum's share is smoothed."""


def stratified_share(
    outcomes: ArrayLike,
    weights: ArrayLike,
    strata: Clusters = None,
    *,
    clusters: Clusters = None,
    level: float = 0.95,
) -> Interval:
    """Return the weighted share of outcomes that are 1, with bounds for small shares and samples.

    The interval is Wilson's (Journal of the American Statistical Association 22, 1927) at the
    sample's effective size (`share_and_effective_size`). With fewer than `MIN_CLUSTERS` clusters
    the bounds are the exact binomial ones (Clopper and Pearson, Biometrika 26, 1934), each cluster
    counting once. The interval is for the process from which the outcomes come, without a
    correction for a finite population. A weight is the number of items that an outcome represents;
    a cluster may have outcomes in several strata.

    In simulations of the audit of RFC-BENCH's table 2 (four strata, 238 items, rates of 1 to 25%)
    the 95% interval covers 94 to 97% of the time.

    Raises:
        ValueError: On outcomes other than 0 and 1, weights that are not positive, or lengths that
            differ.
    """
    check_settings(level)
    y, w = finite_values(outcomes, "outcomes"), finite_values(weights, "weights")
    if not np.isin(y, (0.0, 1.0)).all():
        raise ValueError("outcomes must be 0 or 1")
    if len(w) != len(y) or (w <= 0.0).any():
        raise ValueError("weights must be positive, one per outcome")
    if not len(y):
        return Interval(math.nan, math.nan, math.nan, level, 0, 0, "no values")
    _, groups = cluster_codes(clusters, len(y))
    code, parts = np.zeros(len(y), dtype=np.intp), 1
    if strata is not None:
        code, parts = cluster_codes(strata, len(y))
    estimate, worth = share_and_effective_size(y, w, code, clusters=clusters, level=level)
    few = groups < MIN_CLUSTERS
    low, high = (exact_bounds if few else wilson_bounds)(estimate, worth, level)
    kind = "exact binomial bounds" if few else "Wilson score interval"
    strata_note = f", {parts} strata" if parts > 1 else ""
    method = f"{kind}, worth {worth:.4g} independent outcomes{strata_note}"
    return Interval(estimate, low, high, level, len(y), groups, method)


def share_and_effective_size(
    outcomes: NDArray[np.float64],
    weights: NDArray[np.float64],
    strata: NDArray[np.intp],
    *,
    clusters: Clusters = None,
    strength: float = _STRATUM_STRENGTH,
    counted: float = math.inf,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return a stratified share, and the effective size of the sample, in independent outcomes.

    The size is the variance of one outcome over that of the share (Korn and Graubard, Survey
    Methodology 24, 1998). For this variance each stratum's share is smoothed towards the overall
    one, by ``strength`` additional outcomes, so that a stratum without hits is not assumed to have
    none. If the sizes of the strata (whole numbers from 0) were themselves counted on a sample,
    ``counted`` is its number of independent items.
    """
    cluster_of, groups = cluster_codes(clusters, len(outcomes))
    size = np.bincount(strata, weights)
    part = size / size.sum()
    worth = size**2 / np.bincount(strata, weights**2)  # effective outcomes of each stratum (Kish)
    share = np.bincount(strata, weights * outcomes) / size
    estimate = float((part * share).sum())
    smooth = (worth * share + strength * estimate) / (worth + strength)
    variance = float((part**2 * smooth * (1.0 - smooth) / worth).sum())
    effect = 1.0
    if groups < len(outcomes):
        off = weights * (outcomes - smooth[strata]) if variance > 0.0 else None
        effect = _design_effect(off, cluster_of, groups, level)
    if variance <= 0.0:  # all outcomes are equal
        return estimate, 1.0 / float((part**2 / worth).sum()) / effect
    typical = float((part * smooth).sum())
    between = float((part * (share - estimate) ** 2).sum()) / counted
    return estimate, typical * (1.0 - typical) / (variance * effect + between)


def _design_effect(
    off: NDArray[np.float64] | None, codes: NDArray[np.intp], groups: int, level: float
) -> float:
    """Return the factor by which clusters raise the variance of a share.

    ``off`` has the weighted distances of outcomes from the share; None if all outcomes are equal.
    """
    effect = len(codes) / groups
    if groups < MIN_CLUSTERS:
        return effect
    if off is not None:
        together = cluster_sums(off[:, None], codes, groups)[:, 0]
        effect = max(1.0, float((together**2).sum() / (off**2).sum()))
    return effect * widened_for_few(groups, level)
