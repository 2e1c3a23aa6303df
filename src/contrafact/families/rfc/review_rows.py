"""Pairs as the review studio shows them, from files that name their fields otherwise."""

from collections.abc import Mapping
from typing import Any

from contrafact.families.rfc.data import FIELD_NAMES
from contrafact.families.rfc.labels import manipulation_named

__all__ = ["pair_rows"]

_SHOWN = ("original", "rewritten", "manipulation", "ticker")


def pair_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a pair under the names of the project ``rfc-rewrite``, its manipulation included.

    Args:
        row: A row of a file of pairs.
    """
    pair = dict(row)
    for field in _SHOWN:
        source = next((name for name in FIELD_NAMES[field] if name in pair), None)
        if source is not None:
            pair[field] = pair[source]
    named = manipulation_named(pair.get("manipulation"))
    return [pair if named is None else pair | {"manipulation": named}]
