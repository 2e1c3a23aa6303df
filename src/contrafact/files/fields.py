"""What files call the fields that the program reads: one table of names, one rule of matching.

A column's name is compared without case, spaces, hyphens and underscores, so that "News Headline",
"news_headline" and "newsHeadline" are one name.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "FIELD_NAMES",
    "column_of",
    "columns_found",
    "fold",
    "fold_row",
    "is_absent",
    "names_of",
    "value_of",
]

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    # a headline, and what may come with it
    "headline": ("headline", "title", "text", "news_headline"),
    "category": ("category",),
    "classification": ("classification",),
    "description": ("description",),
    "risk": ("risk_counterfactual",),
    "opportunity": ("opportunity_counterfactual",),
    # an article
    "title": ("title", "headline", "news_headline"),
    "summary": ("summary", "description"),
    "ticker": ("ticker", "stock_ticker", "stock", "symbol"),
    "date": (
        *("date", "published", "published_at", "publication_date", "publish_date", "pub_date"),
    ),
    "url": ("url", "link", "source_url", "public_url"),
    "source": ("source", "publisher"),
    # an article and its rewrite
    "id": ("id", "pair_id"),
    "article_id": ("article_id",),
    "original": ("original", "original_text", "original_news", "original_paragraph"),
    "rewritten": (
        *("rewritten", "rewritten_text", "rewritten_news", "rewritten_paragraph"),
        *("misinformation", "misinformation_text", "manipulated", "text"),
    ),
    "manipulation": ("manipulation", "manipulation_category", "misinformation_type"),
    "rewriter": ("rewriter",),
}
"""By field, the names it is met under; of several in one row, the earlier one counts."""


def fold(name: object) -> str:
    """Return what the spellings of one column's name share."""
    return re.sub(r"[\s_-]+", "", str(name).casefold())


def fold_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row by the folded names of its columns."""
    return {fold(name): value for name, value in row.items()}


def names_of(field: str) -> tuple[str, ...]:
    """Return the folded names of a field, in their order."""
    return tuple(map(fold, FIELD_NAMES[field]))


def column_of(row: Mapping[str, Any], field: str) -> str | None:
    """Return the folded name under which a row has a field, whether or not it is filled.

    Where a field must not be taken from another column because its own is empty (a headline from
    a column with the article's text), this says which column it is.

    Args:
        row: A row, folded (`fold_row`).
        field: A field of `FIELD_NAMES`.
    """
    return next((name for name in names_of(field) if name in row), None)


def value_of(row: Mapping[str, Any], field: str) -> Any:
    """Return the first value that a row has for a field; None where it has none.

    Args:
        row: A row, folded (`fold_row`).
        field: A field of `FIELD_NAMES`.
    """
    found = (row[name] for name in names_of(field) if name in row)
    return next((value for value in found if not is_absent(value)), None)


def is_absent(value: Any) -> bool:
    """Return whether a field has no value: none, a table's NaN, or a text of spaces."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def columns_found(row: Mapping[Any, Any]) -> str:
    """Return a row's first columns as a message names them."""
    return ", ".join(str(name) for name in list(row)[:8]) or "none"
