"""The release: headlines that people accepted as market events, in the benchmark's format.

FIN-FORCE, sections 3.2 and 3.3. A release is a folder: ``headlines.json`` in the format of the
published benchmark, ``headlines.jsonl`` with the origin of each headline, a schema, a card,
Croissant metadata and checksums. The same decisions give the same bytes.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrafact.corpus.news_items import day_of
from contrafact.corpus.release import (
    CROISSANT,
    Facts,
    Fields,
    card_of,
    croissant_of,
    json_text,
    schema_of,
    with_checksums,
)
from contrafact.families.finforce.data import CATEGORIES

CLASSIFICATION = "market_event"
_FIELDS: Fields = {
    "id": ("string", "Content hash of the headline."),
    "headline": (
        "string",
        "The headline as it was published, persons replaced where that was asked for.",
    ),
    "classification": ("string", f"Always '{CLASSIFICATION}'."),
    "category": ("string", "One of the ten market categories."),
    "date": ("date", "Day of publication, YYYY-MM-DD, or its text, where known."),
    "url": ("string", "Where the article is, where known."),
    "source": ("string", "The publisher, where known."),
    "reviewed_by": (
        "integer",
        "How many people decided on the headline; 0 is a proposal nobody has seen.",
    ),
}
_ABOUT = (
    "News headlines that report financial market events, chosen and categorised by people, for "
    "research on forward-looking counterfactuals."
)
_OPTIONAL = ("date", "url", "source")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"))  # as the hub names them


@dataclass(frozen=True)
class Released:
    """One headline of a release: its screened row, and how many people decided on it."""

    row: Mapping[str, Any]
    category: str
    people: int

    def fields(self) -> dict[str, Any]:
        return {
            "id": self.row["id"],
            "headline": self.row["headline"],
            "classification": CLASSIFICATION,
            "category": self.category,
            **{name: self.row.get(name) for name in _OPTIONAL},
            "reviewed_by": self.people,
        }


def row_schema() -> dict[str, Any]:
    limits: dict[str, dict[str, Any]] = {
        "classification": {"const": CLASSIFICATION},
        "category": {"enum": list(CATEGORIES)},
        "reviewed_by": {"minimum": 0},
    }
    return schema_of("A headline that reports a financial market event", _FIELDS, _OPTIONAL, limits)


def release_files(
    released: Sequence[Released], facts: Facts, counts: Mapping[str, int]
) -> dict[str, str]:
    """Return the contents of a release's files by name, checksums included.

    ``counts``, for the card, are the numbers of screened headlines by decision.
    """
    rows = [headline.fields() for headline in released]
    plain = [
        {name: row[name] for name in ("headline", "classification", "category")} for row in rows
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    files = {
        "headlines.json": json_text(plain),
        "headlines.jsonl": lines,
        "schema.json": json_text(row_schema()),
        CROISSANT: json_text(croissant_of(facts, _ABOUT, _FIELDS, {"headlines.jsonl": lines})),
        "README.md": card_of(
            Path(__file__).with_name("release_card.md.jinja"),
            name=facts.name,
            version=facts.version,
            license=facts.license,
            rows=len(rows),
            size=next((name for most, name in _SIZES if len(rows) < most), "10K<n<100K"),
            days=sorted(day for row in rows if row["date"] and (day := day_of(row["date"]))),
            counts=counts,
            reviewed=sorted(Counter(row["reviewed_by"] for row in rows).items()),
            categories=CATEGORIES,
            by_category=Counter(row["category"] for row in rows),
            fields={name: meaning for name, (_, meaning) in _FIELDS.items()},
        ),
    }
    return with_checksums(files)
