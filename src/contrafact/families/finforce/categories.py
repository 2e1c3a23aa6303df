"""The ten market categories (FIN-FORCE, table 1) and the spellings they are met in."""

import re
from dataclasses import dataclass

__all__ = ["CATEGORIES", "PUBLISHED_COUNTS", "MarketCategory", "canonical_category"]


@dataclass(frozen=True)
class MarketCategory:
    """One row of table 1: a category's name, and its headlines in the published benchmark."""

    name: str
    headlines: int


_TABLE_1 = (
    MarketCategory("Monetary policy & central banking", 109),
    MarketCategory("Corporate strategy & operations", 229),
    MarketCategory("Geopolitical & regulatory developments", 148),
    MarketCategory("Financial markets & asset performance", 574),
    MarketCategory("Supply chain & logistics", 24),
    MarketCategory("ESG & sustainability developments", 13),
    MarketCategory("Technology & innovation", 22),
    MarketCategory("Labour & employment", 27),
    MarketCategory("Macroeconomic indicators", 186),
    MarketCategory("Banking & financial stability", 36),
)
CATEGORIES: tuple[str, ...] = tuple(row.name for row in _TABLE_1)
"""The ten names, in table 1's order and spelling."""
PUBLISHED_COUNTS: dict[str, int] = {row.name: row.headlines for row in _TABLE_1}
"""Headlines per category as table 1 prints them; they add up to 1,368."""


def _key(name: str) -> str:
    """Return what the spellings of one category share."""
    words = re.sub(r"[^a-z]+", " ", name.casefold().replace("&amp;", " ").replace("-", ""))
    return "".join("labour" if word == "labor" else word for word in words.split() if word != "and")


_BY_KEY = {_key(name): name for name in CATEGORIES}


def canonical_category(name: str) -> tuple[str | None, bool]:
    """Return the category that a name means, and whether its spelling had to be mapped.

    Case, spacing, hyphens, ``and`` for ``&`` and ``Labor`` for ``Labour`` are mapped: the published
    files hold ``Macro-economic indicators`` and ``Labor & employment`` beside the usual spellings.
    Nothing further is guessed: another name is ``(None, False)``.
    """
    if name in PUBLISHED_COUNTS:
        return name, False
    found = _BY_KEY.get(_key(name))
    return found, found is not None
