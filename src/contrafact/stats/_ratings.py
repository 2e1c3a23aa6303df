"""Tables of ratings as numbers: categories coded, missing ratings told apart."""

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ratings", "encode", "item_counts", "ordinal_weights"]

Ratings = NDArray[Any] | Sequence[Sequence[Hashable]]
"""Shape (items, raters): any hashable categories, None or NaN where a rating is missing."""


def encode(
    ratings: Ratings, categories: Sequence[Hashable] | None = None, *, ordered: bool = False
) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Return the ratings as codes, -1 where missing, and the categories they stand for.

    Args:
        ratings: Shape (items, raters).
        categories: All categories, in order; None for those that occur, numbers ascending and
            other things in an order that does not depend on the rows'.
        ordered: Whether the order of the categories means something.

    Raises:
        ValueError: If ratings are not a table, a rating is not among the categories given, or
            an order is asked for and neither given nor that of numbers.
    """
    table = np.asarray(ratings, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"ratings must be a table of (items, raters), not {table.ndim}-D")
    cells = table.ravel().tolist()
    missing = [cell is None or cell != cell for cell in cells]
    seen = {cell for cell, absent in zip(cells, missing, strict=True) if not absent}
    if categories is None:
        numeric = _are_numbers(seen)
        if ordered and not numeric:
            raise ValueError("the ratings are not numbers: give their categories in order")
        key = None if numeric else (lambda cell: (type(cell).__name__, repr(cell)))
        known: list[Hashable] = sorted(seen, key=key)
    else:
        known = list(dict.fromkeys(categories))
        strange = sorted(repr(cell) for cell in seen.difference(known))
        if strange:
            raise ValueError(f"ratings that are not among the categories: {', '.join(strange)}")
    code_of = {category: code for code, category in enumerate(known)}
    codes = [-1 if absent else code_of[cell] for cell, absent in zip(cells, missing, strict=True)]
    return np.array(codes, dtype=np.intp).reshape(table.shape), known


def item_counts(codes: NDArray[np.intp], categories: int) -> NDArray[np.float64]:
    """Return how many raters put each item in each category, shape (items, categories)."""
    counts = np.zeros((len(codes), categories))
    items, raters = np.nonzero(codes >= 0)
    np.add.at(counts, (items, codes[items, raters]), 1.0)
    return counts


def ordinal_weights(
    categories: Sequence[Hashable], scheme: Literal["quadratic", "ordinal"]
) -> NDArray[np.float64]:
    """Return how far each pair of categories agrees, shape (categories, categories), 1 to 0.

    Gwet, Handbook of Inter-Rater Reliability, 4th edition, 2014, section 3.5.

    Raises:
        ValueError: If the scheme is unknown.
    """
    q = len(categories)
    ranks = np.arange(q, dtype=np.float64)
    if scheme == "quadratic":
        values = np.array(categories, dtype=np.float64) if _are_numbers(categories) else ranks
        loss = (values[:, None] - values[None, :]) ** 2
    elif scheme == "ordinal":
        # As many pairs as can be formed of the ranks from one category to the other.
        apart = np.abs(ranks[:, None] - ranks[None, :])
        loss = apart * (apart + 1.0) / 2.0
    else:
        raise ValueError(f"scheme must be 'quadratic' or 'ordinal', not {scheme!r}")
    return 1.0 - loss / max(1.0, float(loss.max(initial=0.0))) if q else np.eye(0)


def _are_numbers(categories: Sequence[Hashable] | set[Hashable]) -> bool:
    return all(isinstance(category, Real | np.bool_) for category in categories)
