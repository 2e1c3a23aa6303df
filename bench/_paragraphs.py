"""Paragraphs of news to measure on: a file's, or made ones of like length."""

from pathlib import Path

import numpy as np

from bench._headlines import _COMPANIES
from contrafact.corpus.news_items import news_rows

COUNT = 1186

_OPENINGS = (
    "{} shares rose 4.2% after the group raised guidance for the year",
    "{} fell short of expectations as freight costs climbed",
    "Quarterly profit at {} slid to $41.3 million from $48 million",
    "{} will open a second office in the harbour district next month",
    "Analysts upgraded {} and called its order book resilient",
    "{} may trim its workforce because of soft demand, people close to it said",
    "A recall of two models weighed on {} for a third week",
    "{} said its chairman would speak at a conference on shipping",
)
_MIDDLES = (
    "Revenue grew 7% to $1.2 billion, in line with what most had pencilled in",
    "The outlook for the second half is mixed, the finance chief told reporters",
    "Traders pointed to a quiet calendar and to the thin volumes of the holiday week",
    "Margins narrowed by 60 basis points owing to the price of copper and of gas",
    "The board is expected to decide on the dividend when it meets in the autumn",
    "Subscribers passed 3.4 million, which led to a jump in bookings",
    "The town council had asked for a longer review of the plan and of its traffic",
    "Sales in the north stayed steady while those on the coast recovered somewhat",
    "Its rivals kept their prices where they were, and no one spoke of a price war",
    "A court will hear the lawsuit over the plant's permits early next year",
)


def paragraphs(data: Path | None) -> tuple[list[str], str]:
    """Return the paragraphs of a file of news items, or made ones, and what they are.

    Raises:
        InputError: If the file is not one of news items.
    """
    if data is None:
        return _made(), f"{COUNT:,} made paragraphs about fictional companies"
    items = [row.item for row in news_rows(data)]
    texts = [item.paragraph for item in items if item.summary] or [i.paragraph for i in items]
    return texts, f"{len(texts):,} paragraphs of {data.name}"


def _made() -> list[str]:
    """Paragraphs of three sentences on average, as leads of news articles have."""
    rng = np.random.default_rng(11)
    texts = []
    for _ in range(COUNT):
        opening = str(rng.choice(_OPENINGS)).format(rng.choice(_COMPANIES))
        rest = rng.choice(_MIDDLES, size=int(rng.integers(1, 5)), replace=False)
        texts.append(". ".join([opening, *map(str, rest)]) + ".")
    return texts
