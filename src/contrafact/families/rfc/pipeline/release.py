"""The release: metadata and rewritten text, never an original (RFC-BENCH, appendix I).

A release is a folder: the rows, the hard cases, a schema, a card (``release_card.md.jinja``, with
the fields that dataset hubs read), Croissant metadata (MLCommons, version 1.0) and checksums. It is
made from what finalization retained, the same bytes from the same pairs.
"""

import re
import unicodedata
import uuid
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
    sha256_text,
    with_checksums,
)
from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.stages import passed_of
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.files.tables import json_line
from contrafact.stages.stage import InputRow

SHINGLE = 8
"""A field that repeats this many consecutive words of an original reveals part of it."""

FIELDS: Fields = {
    "id": ("string", "Content hash of the pair of texts and the manipulation."),
    "article_id": ("string", "The article that the rewrite was made from; rows cluster by it."),
    "ticker": ("string", "The stock that the article was found under, where known."),
    "date": ("date", "The article's day of publication, YYYY-MM-DD, or its text, where known."),
    "url": ("string", "Where the article is, where known."),
    "category": ("string", "The article's market category, where known."),
    "manipulation": ("string", "What was done: numerical, flipping, sentiment or causal."),
    "rewritten": ("string", "The manipulated paragraph, which is false."),
    "label": ("string", "Always 'false': the paragraph is manipulated."),
    "artificial": ("boolean", "Always true: the paragraph was made for research, not reported."),
    "rewriter": ("string", "'rules', or 'model:' and the model's name."),
    "original_sha256": ("string", "SHA-256 of the original paragraph, for those who hold it."),
    "passed": (
        "boolean",
        "True where facts, a judge or people found the rewrite to do what its manipulation is to "
        "do; null where nobody has decided.",
    ),
    "canary": ("string", "A mark by which training corpora can be searched for this dataset."),
}
"""The fields of a released row: type and meaning. Nothing else of a pair is ever written."""

_OPTIONAL = ("ticker", "date", "url", "category")
_NULLABLE = (*_OPTIONAL, "passed")
_ABOUT = (
    "Artificial financial misinformation: news paragraphs with one small manipulation each, "
    "for research on detection. Every text in it is false by construction."
)
_WORD = re.compile(r"\w+")
_MEANING = {
    "numerical": "quantities changed; direction, names and dates kept",
    "flipping": "direction or judgement turned round; names, dates and figures kept",
    "sentiment": "tone made stronger in the same direction; facts kept",
    "causal": "the stated cause replaced; the effect kept",
}


@dataclass(frozen=True)
class Release:
    """A release's files: content by path below its folder, checksums among them.

    ``shared_articles`` counts articles with several rewrites: each leaves other words unchanged, so
    that together they reveal most of the original.
    """

    files: Mapping[str, str]
    canary: str
    rows: int
    hard: int
    shared_articles: int


def _counted(
    rows: Sequence[Mapping[str, Any]], hard: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the figures of the card: rows by manipulation, articles, days, rewriters."""
    both = [*rows, *hard]
    articles = Counter(row["article_id"] for row in both)
    days = sorted(day for row in both if row["date"] and (day := day_of(row["date"])))
    return {
        "pairs": _kinds(rows),
        "undecided": _kinds([row for row in rows if row["passed"] is None]),
        "hard": _kinds(hard),
        "articles": len(articles),
        "shared_articles": sum(number > 1 for number in articles.values()),
        "days": (days[0], days[-1]) if days else None,
        "rewriters": dict(sorted(Counter(row["rewriter"] for row in both).items())),
    }


def _kinds(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {name: sum(row["manipulation"] == name for row in rows) for name in MANIPULATIONS}


def release(
    retained: Sequence[InputRow], hard: Sequence[InputRow], facts: Facts, *, file: str | None = None
) -> Release:
    both = {row.fields["id"] for row in retained} & {row.fields["id"] for row in hard}
    if both:
        raise InputError(
            f"{min(both)} is among the hard cases too", file=file, hint="leave one of them out"
        )
    # A unique string, derived from the release's contents.
    ids = "\n".join(sorted(str(row.fields["id"]) for row in (*retained, *hard)))
    mark = uuid.uuid5(uuid.NAMESPACE_URL, f"contrafact:{facts.name}:{facts.version}:{ids}")
    canary = f"contrafact canary {mark} (artificial misinformation; keep out of training data)"
    own = [_row(row, canary, file) for row in retained]
    doubtful = [_row(row, canary, file) for row in hard]
    data = {"pairs.jsonl": "".join(map(json_line, own))}
    if doubtful:
        data["hard_cases.jsonl"] = "".join(map(json_line, doubtful))
    counts = _counted(own, doubtful)
    counts["unreviewed"] = sum(row.fields.get("review") == "unreviewed" for row in retained)
    files = {
        **data,
        "schema.json": json_text(row_schema()),
        CROISSANT: json_text(croissant_of(facts, _ABOUT, FIELDS, data)),
        "README.md": card_of(
            Path(__file__).with_name("release_card.md.jinja"),
            name=facts.name,
            version=facts.version,
            license=facts.license,
            fields={name: meaning for name, (_, meaning) in FIELDS.items()},
            counts=counts,
            categories=MANIPULATIONS,
            meaning=_MEANING,
            canary=canary,
        ),
    }
    return Release(
        with_checksums(dict(sorted(files.items()))),
        canary,
        len(own),
        len(doubtful),
        counts["shared_articles"],
    )


def row_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a released row."""
    constants: dict[str, dict[str, Any]] = {
        "manipulation": {"enum": list(MANIPULATIONS)},
        "label": {"const": "false"},
        "artificial": {"const": True},
        "rewritten": {"minLength": 1},
    }
    return schema_of("A released rewrite", FIELDS, _NULLABLE, constants)


def leaks(original: str, rewritten: str, text: str) -> list[str]:
    """Return the runs of eight words of the original that a text has but the rewrite does not.

    Words are compared without case and punctuation. If the original has fewer words, all of them
    are the run.
    """
    n = min(SHINGLE, max(1, len(_words(original))))
    return sorted((shingles(original, n) - shingles(rewritten, n)) & shingles(text, n))


def shingles(text: str, n: int) -> set[str]:
    """Return all runs of ``n`` words of a text, in lower case; the whole text if it has fewer."""
    words = _words(text)
    n = min(n, max(1, len(words)))
    return {" ".join(words[i : i + n]) for i in range(len(words) - n + 1)} if words else set()


def original_hash(paragraph: str) -> str:
    """Return the SHA-256 of a paragraph, in NFC and with single spaces: what `hydrate` checks."""
    return sha256_text(" ".join(unicodedata.normalize("NFC", paragraph).split()))


def _row(row: InputRow, canary: str, file: str | None) -> dict[str, Any]:
    pair = row.fields
    given: dict[str, Any] = {name: _text(pair.get(name)) for name in _OPTIONAL}
    given |= {
        "id": pair["id"],
        "article_id": pair["article_id"],
        "manipulation": pair["manipulation"],
        "rewritten": pair["rewritten"],
        "label": "false",
        "artificial": True,
        "rewriter": _text(pair.get("rewriter")) or "unknown",
        "passed": passed_of(pair),
        "original_sha256": original_hash(pair["original"]),
        "canary": canary,
    }
    # An address often spells out its article's title, and is published by the paper's own policy.
    checked = {
        name: value
        for name, value in given.items()
        if isinstance(value, str) and name not in ("url", "rewritten")
    }
    for name, value in checked.items():
        if found := leaks(pair["original"], pair["rewritten"], value):
            raise InputError(
                f"the field '{name}' would give the original away: '{found[0][:60]}'",
                file=file,
                line=row.line,
                hint="take those words out of the field",
            )
    return {name: given[name] for name in FIELDS}


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
