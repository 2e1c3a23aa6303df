"""Pairs as the review studio shows them, from files that name their fields otherwise."""

from collections.abc import Mapping
from typing import Any

from contrafact.families.rfc.labels import manipulation_named

__all__ = ["pair_rows"]

# What published pairs are called; the first name that is there is taken.
_NAMES: dict[str, tuple[str, ...]] = {
    "original": ("original_text", "original_news", "original_paragraph"),
    "rewritten": (
        *("rewritten_text", "rewritten_news", "rewritten_paragraph"),
        *("misinformation", "misinformation_text", "manipulated", "text"),
    ),
    "manipulation": ("manipulation_category", "misinformation_type"),
    "ticker": ("stock_ticker", "stock", "symbol"),
}


def pair_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a pair under the names of the project ``rfc-rewrite``, its manipulation included.

    Args:
        row: A row of a file of pairs.
    """
    pair = dict(row)
    for target, names in _NAMES.items():
        source = next((name for name in names if name in pair), None)
        if target not in pair and source is not None:
            pair[target] = pair[source]
    named = manipulation_named(pair.get("manipulation"))
    return [pair if named is None else pair | {"manipulation": named}]
