"""Hydration: a published dataset gets its originals back (RFC-BENCH, appendix I).

A release has addresses but no articles. Users bring articles that they may use; each is compared
with the release's hash or rewrite, and articles that are missing or do not match are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrafact.corpus.ledger import LedgerEvent
from contrafact.errors import InputError, Reason
from contrafact.families.rfc.data import PairNotes, read_pairs
from contrafact.families.rfc.pipeline.release import original_hash
from contrafact.families.rfc.records import Rewrite
from contrafact.files.fields import fold, fold_row, is_absent
from contrafact.files.tables import read_rows, source_name
from contrafact.records import NewsItem
from contrafact.stages.stage import KEPT, REJECTS, StageOutput
from contrafact.text.diff import normalised_edit_distance

MIN_SIMILARITY = 0.5
"""The similarity to the rewrite (one minus the edit distance over the longer text) below which an
article is another text."""

_OF_RELEASE = frozenset(("canary", "label", "original_sha256"))


@dataclass(frozen=True)
class Published:
    """A row of a published dataset."""

    line: int
    pair: Rewrite
    sha256: str | None
    """The hash of the original, where the dataset gives it."""
    fields: Mapping[str, Any]


def load_published(path: str | Path) -> list[Published]:
    """Return the rows of a published dataset: ours, or a table of the paper's release fields."""
    name = source_name(path)
    rows: dict[str, Published] = {}
    for line, fields in read_rows(path):
        (pair,) = read_pairs([(line, fields)], name, PairNotes())
        sha256 = fold_row(fields).get(fold("original_sha256"))
        row = Published(line, pair, None if is_absent(sha256) else str(sha256).strip(), fields)
        if (first := rows.setdefault(pair.id, row)) is not row:
            raise InputError(
                f"the row '{pair.id}' is there twice (first on line {first.line})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
    if not rows:
        raise InputError("the file holds no rows", file=name, hint="give at least one")
    return [*rows.values()]


def hydrate(rows: Sequence[Published], news: Iterable[NewsItem]) -> StageOutput:
    """Return the rows with their originals.

    An article is matched to a row by the published hash of its paragraph (``hydrated`` is
    "verified"), or by its address. If the dataset gives no hash, the paragraph must be similar
    enough to the rewrite ("similar"), since a manipulation is small.
    """
    by_hash: dict[str, NewsItem] = {}
    by_url: dict[str, NewsItem] = {}
    for item in news:
        by_hash.setdefault(original_hash(item.paragraph), item)
        if item.url:
            by_url.setdefault(item.url.strip(), item)
    result = StageOutput()
    for row in rows:
        known, named = by_hash.get(row.sha256 or ""), by_url.get((row.pair.url or "").strip())
        if known is not None:
            _keep(result, row, known, "verified")
        elif named is None:
            _drop(result, row, "missing", "no article of the file has its address or hash")
        elif why := _unlike(row, named):
            _drop(result, row, "no match", why)
        else:
            _keep(result, row, named, "similar")
    return result


def _unlike(row: Published, item: NewsItem) -> str:
    """Return why an article with a row's address is not its original; empty if it may be."""
    near = 1.0 - normalised_edit_distance(item.paragraph, row.pair.rewritten)
    if row.sha256 is not None:
        return f"its hash is not the published one (similarity {near:.2f})"
    if near < MIN_SIMILARITY:
        return f"not the text that was rewritten (similarity {near:.2f})"
    return "the same text as the rewrite" if item.paragraph == row.pair.rewritten else ""


def _keep(result: StageOutput, row: Published, item: NewsItem, how: str) -> None:
    given, published = row.fields, row.pair
    pair = Rewrite.of(
        published.manipulation,
        item.paragraph,
        published.rewritten,
        article_id=str(given.get("article_id") or item.id),
        rewriter=str(given.get("rewriter") or "unknown"),
        **{name: getattr(published, name) for name in ("url", "ticker", "date")},
    )
    hydrated = {
        **{name: value for name, value in given.items() if name not in _OF_RELEASE},
        **pair.model_dump(exclude={"category", "edits", "attempts"}),
        "title": item.title,
        "summary": item.summary,
        "published_id": published.id,
        "hydrated": how,
    }
    why = Reason(how, f"{how} original")
    result.add(KEPT, row.line - 1, hydrated, _event(row, "kept", why, pair.article_id))
    result.counts[how] += 1


def _drop(result: StageOutput, row: Published, problem: str, why: str) -> None:
    dropped = {**row.fields, "line": row.line, "problem": problem, "reason": why}
    event = _event(
        row, "dropped", Reason(problem, f"{problem}: {why}"), row.fields.get("article_id")
    )
    result.add(REJECTS, row.line - 1, dropped, event)
    result.counts[problem] += 1


def _event(row: Published, decision: str, why: Reason, article: str | None) -> LedgerEvent:
    about = {"article_id": article, "manipulation": row.pair.manipulation}
    return LedgerEvent.of("hydrate", row.pair.id, decision, "rule:hydrate", why, **about)
