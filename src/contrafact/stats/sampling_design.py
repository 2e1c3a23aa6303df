"""Whom to ask about what: samples with unequal probabilities that are known exactly.

A total is known best for a given number of labels where items are drawn in proportion to how much
their labels are expected to vary (Neyman, Journal of the Royal Statistical Society 97(4), 1934;
for items rather than strata, Sarndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
section 12.2). What is expected may be wrong, so that a share of every draw is uniform: no item
that is left out of account, and no weight above a known bound (Zrnic and Candes, Active
Statistical Inference, ICML 2024).

The draw is the pivotal method (Deville and Tille, Biometrika 85(1), 1998) on items in random
order: the sample's size is fixed, and each item's probability is exactly the one that was asked
for. Strata are gone through one after another, so that each gets its expected number of items,
rounded up or down.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contrafact.stats._checks import finite_values

__all__ = ["even_allocation", "inclusion_probabilities", "pivotal_sample"]

_CERTAIN = 1e-9


def even_allocation(sizes: Sequence[int], n: int) -> list[int]:
    """Share ``n`` draws out evenly over strata of these sizes.

    What a small stratum lacks goes to the others; all items are drawn where ``n`` is more.

    Returns:
        Draws per stratum, in order.
    """
    given = [0] * len(sizes)
    left = min(n, sum(sizes))
    while left:
        open_strata = [i for i, size in enumerate(sizes) if given[i] < size]
        share = max(1, left // len(open_strata))
        for i in open_strata[:left]:
            more = min(share, sizes[i] - given[i], left)
            given[i] += more
            left -= more
    return given


def inclusion_probabilities(
    sizes: ArrayLike, n: int, *, uniform: float = 0.2
) -> NDArray[np.float64]:
    """Return probabilities of being drawn that sum to ``n``: a mixture of two designs.

    ``uniform`` of the draw goes to all items alike, the rest in proportion to ``sizes``; items
    that come to 1 or more are certain, and what they do not need goes to the others. None is less
    than ``uniform * n / len(sizes)``.

    Args:
        sizes: What items are drawn in proportion to, at least 0, shape (items,): the standard
            deviation that each label is expected to have, times its weight in the figure.
        n: How many items are to be drawn; all, where there are fewer.
        uniform: The share of the draw that is uniform, above 0 and at most 1.

    Raises:
        ValueError: If a size is negative or no number, or ``n`` or ``uniform`` out of range.
    """
    size = finite_values(sizes, "sizes")
    if (size < 0.0).any():
        raise ValueError("sizes must be at least 0")
    if not 0.0 < uniform <= 1.0:
        raise ValueError(f"the uniform share must be above 0 and at most 1, not {uniform}")
    if n < 0:
        raise ValueError(f"{n} items cannot be drawn")
    if n >= len(size):
        return np.ones(len(size))
    total = float(size.sum())
    share = np.full(len(size), 1.0 / len(size))
    if total > 0.0:
        share = (1.0 - uniform) * size / total + uniform * share
    certain = np.zeros(len(size), dtype=bool)
    while True:
        rest = share[~certain].sum()
        scaled = np.where(certain, 1.0, share * ((n - certain.sum()) / rest))
        beyond = ~certain & (scaled >= 1.0)
        if not beyond.any():
            return np.asarray(scaled, dtype=np.float64)
        certain |= beyond


def pivotal_sample(
    probabilities: ArrayLike, rng: np.random.Generator, *, strata: ArrayLike | None = None
) -> NDArray[np.bool_]:
    """Draw a sample in which each item is with exactly its probability.

    Two items that are undecided meet: one takes over as much of the other's probability as makes
    it certain to be in or out, at odds that leave both probabilities as they were, and the other
    meets the next.

    Args:
        probabilities: Each item's probability, 0 to 1, shape (items,).
        rng: Where randomness comes from.
        strata: A whole number for each item's stratum: each gets its expected number of items,
            rounded up or down; None for one stratum.

    Returns:
        Whether each item is drawn, shape (items,). As many are as the probabilities sum to, or
        one of the two whole numbers next to it.

    Raises:
        ValueError: If a probability is not between 0 and 1, or the lengths differ.
    """
    p = finite_values(probabilities, "probabilities")
    if ((p < 0.0) | (p > 1.0)).any():
        raise ValueError("probabilities must lie between 0 and 1")
    order = rng.permutation(len(p))
    if strata is not None:
        codes = np.asarray(strata, dtype=np.intp)
        if codes.shape != p.shape:
            raise ValueError(f"{len(p)} probabilities for {len(codes)} strata")
        order = order[np.argsort(codes[order], kind="stable")]
    certain = p >= 1.0 - _CERTAIN
    order = order[~certain[order] & (p[order] > _CERTAIN)]
    winners: list[int] = []
    holder, held = -1, 0.0
    meetings = zip(order.tolist(), p[order].tolist(), rng.random(len(order)).tolist(), strict=True)
    for one, own, chance in meetings:
        if holder < 0:
            holder, held = one, own
            continue
        both = held + own
        if both < 1.0:
            if chance * both >= held:
                holder = one
            held = both
        else:
            # One is drawn, and the other goes on with what is left.
            if chance * (2.0 - both) < 1.0 - own:
                winners.append(holder)
                holder = one
            else:
                winners.append(one)
            held = both - 1.0
        if held <= _CERTAIN:
            holder = -1
        elif held >= 1.0 - _CERTAIN:
            winners.append(holder)
            holder = -1
    if holder >= 0 and rng.random() < held:
        winners.append(holder)
    certain[winners] = True
    return certain
