"""Headlines to measure on: a published file's, or made ones of like length."""

import json
from pathlib import Path

import numpy as np

from contrafact.errors import InputError

COUNT = 1368

_COMPANIES = (
    "Aldmoor Bank", "Tern & Vale", "Quillon Freight", "Brackwater Energy", "Osmery Foods",
    "Halden Optics", "Pell Street Capital", "Norrick Steel", "Vantry Air", "Caldmere Health",
)  # fmt: skip
_VERBS = ("raises", "cuts", "keeps", "reviews", "warns on", "lifts", "delays", "reports", "weighs")
_THINGS = (
    "its full-year outlook", "its dividend", "a bond sale", "its plans for a new plant",
    "output at two mines", "the price of its spring range", "its third-quarter margin",
    "a bid for a smaller rival", "its stake in a port", "hiring",
)  # fmt: skip
_TAILS = (
    "as", "orders", "dry", "up", "after", "a", "calm", "quarter", "while", "regulators", "look",
    "into", "fees", "and", "traders", "wait", "for", "rates", "to", "settle", "in", "the", "north",
    "with", "freight", "costs", "at", "their", "highest", "since", "spring", "and", "unions",
    "asking", "for", "more",
)  # fmt: skip


def headlines(data: Path | None) -> tuple[list[str], str]:
    """Return the headlines of a JSON list's ``headline`` fields, or made ones, and what they are.

    Raises:
        InputError: If the file is not such a list.
    """
    if data is None:
        return _made(), f"{COUNT:,} made headlines about fictional companies"
    try:
        texts = [str(row["headline"]) for row in json.loads(data.read_text(encoding="utf-8"))]
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=data) from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError("this is not a JSON list of objects with a headline", file=data) from error
    return texts, f"{len(texts):,} headlines of {data.name}"


def _made() -> list[str]:
    """Headlines whose lengths spread as the published ones' do: log-normally, 17 tokens at the
    median. Their words are shorter than a newspaper's, so there are more of them.
    """
    rng = np.random.default_rng(11)
    lengths = np.clip(np.exp(rng.normal(np.log(15), 0.36, COUNT)).round(), 5, 60).astype(int)
    texts = []
    for length in lengths:
        parts = [str(rng.choice(part)) for part in (_COMPANIES, _VERBS, _THINGS)]
        words = " ".join(parts).split()
        start = int(rng.integers(len(_TAILS)))
        while len(words) < length:
            words.append(_TAILS[(start + len(words)) % len(_TAILS)])
        texts.append(" ".join(words[:length]))
    return texts
