"""Pairs as the review studio shows them, from files that name their fields otherwise."""

from collections.abc import Mapping
from typing import Any

from contrafact.families.rfc.labels import manipulation_named
from contrafact.files.fields import column_of, fold_row

__all__ = ["pair_rows"]

_SHOWN = ("original", "rewritten", "manipulation", "ticker")


def pair_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a pair under the names of the project ``rfc-rewrite``, its manipulation included.

    Args:
        row: A row of a file of pairs.
    """
    columns = fold_row(row)
    found = {field: column_of(columns, field) for field in _SHOWN}
    pair = dict(row) | {field: columns[name] for field, name in found.items() if name is not None}
    named = manipulation_named(pair.get("manipulation"))
    return [pair if named is None else pair | {"manipulation": named}]
