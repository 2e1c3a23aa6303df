"""Hydration: a published dataset gets its originals back (RFC-BENCH, appendix I).

A release has addresses and no articles. Whoever may use the articles fetches them, or brings them,
and each is compared with what the release says of it; what is gone or no longer matches is told.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from contrafact.corpus.ledger import LedgerEvent
from contrafact.errors import InputError
from contrafact.families.rfc.labels import manipulation_named
from contrafact.families.rfc.pipeline.release import original_hash
from contrafact.files.tables import read_rows, source_name
from contrafact.records import MANIPULATIONS, Manipulation, NewsItem, Rewrite, content_id
from contrafact.text.delimit import replace_surrogates
from contrafact.text.diff import normalised_edit_distance

__all__ = ["Held", "Hydrated", "Published", "held_news", "hydrate", "load_published"]

MIN_SIMILARITY = 0.5
"""One minus the edit distance over the longer text, under which a page is another text."""

_NAMES = {
    "rewritten": ("rewritten", "rewritten_text", "rewritten_news", "misinformation", "text"),
    "manipulation": ("manipulation", "manipulation_category", "misinformation_type", "category"),
    "url": ("url", "link", "source_url", "public_url"),
    "ticker": ("ticker", "stock_ticker", "stock", "symbol"),
    "date": ("date", "published", "publication_date"),
}
_OWN = frozenset(("canary", "private", "label", "misinformation_types"))


@dataclass(frozen=True)
class Published:
    """A row of a published dataset."""

    line: int
    id: str
    manipulation: Manipulation
    rewritten: str
    url: str | None
    sha256: str | None
    """The hash of the original, where the dataset gives it."""
    fields: Mapping[str, Any]


Find = Callable[[Published], "Held | None"]


@dataclass(frozen=True)
class Held:
    """What was found for a row: texts, or the reason why there are none."""

    status: Literal["found", "gone", "failed"]
    titles: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    why: str = ""


@dataclass
class Hydrated:
    """What hydration made of a dataset.

    Attributes:
        rows: Pairs with their originals, as `rfc rewrite` writes them.
        dropped: Rows without one, each with ``reason`` and ``problem``: "gone", "no match",
            "failed" or "no address".
        events: One ledger event a row.
        counts: How many of what.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    events: list[LedgerEvent] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def load_published(path: str | Path) -> list[Published]:
    """Return the rows of a published dataset: ours, or a table of the paper's release fields.

    Column names match in any case, and the usual ones will do (``text`` for ``rewritten``,
    ``stock`` for ``ticker``, ``category`` for ``manipulation``); "Directional Flipping" and the
    paper's other long names count as their manipulations.

    Raises:
        InputError: The file cannot be read or holds no rows; a row has no rewritten text or no
            manipulation; two rows are the same. The line is named.
    """
    name = source_name(path)
    rows: list[Published] = []
    first: dict[str, int] = {}
    for line, fields in read_rows(path):
        row = _published(fields, name, line)
        if row.id in first:
            raise InputError(
                f"the row '{row.id}' is there twice (first on line {first[row.id]})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
        first[row.id] = line
        rows.append(row)
    if not rows:
        raise InputError("the file holds no rows", file=name, hint="give at least one")
    return rows


def held_news(items: Iterable[NewsItem]) -> Find:
    """Return a finder of originals among news items that the user holds.

    An item is a row's original by its hash, or by its address.
    """
    by_hash: dict[str, NewsItem] = {}
    by_url: dict[str, NewsItem] = {}
    for item in items:
        by_hash.setdefault(original_hash(item.paragraph), item)
        if item.url:
            by_url.setdefault(item.url.strip(), item)

    def find(row: Published) -> Held | None:
        item = by_hash.get(row.sha256 or "") or by_url.get((row.url or "").strip())
        if item is None:
            return Held("gone", why="no item of the file has its address or hash")
        return Held("found", (item.title,), (item.summary,) if item.summary else ())

    return find


def hydrate(
    rows: Sequence[Published],
    find: Find,
    *,
    min_similarity: float = MIN_SIMILARITY,
    accept_similar: bool = False,
) -> Hydrated:
    """Return the rows with their originals.

    Of the texts found for a row, the paragraph whose hash is the published one is its original
    (``hydrated`` is "verified"). Where the dataset gives no hash, it is the paragraph most like
    the rewrite, if it is like enough ("similar"): a manipulation is small.

    Args:
        rows: The dataset.
        find: Gives what was found for a row; None where there was nowhere to look.
        min_similarity: From 0 to 1.
        accept_similar: Whether a similar text will do even where the dataset gives a hash.
    """
    result = Hydrated()
    for row in rows:
        held = find(row)
        if held is None:
            _drop(result, row, "no address", "has no address that can be fetched")
        elif held.status != "found":
            _drop(result, row, held.status, held.why)
        else:
            _match(result, row, held, min_similarity, accept_similar)
    return result


def _match(
    result: Hydrated, row: Published, held: Held, min_similarity: float, accept_similar: bool
) -> None:
    best: tuple[float, NewsItem] | None = None
    for title in held.titles:
        for summary in held.summaries or ("",):
            item = NewsItem.of(title, summary)
            if row.sha256 is not None and original_hash(item.paragraph) == row.sha256:
                _keep(result, row, item, "verified")
                return
            near = 1.0 - normalised_edit_distance(item.paragraph, row.rewritten)
            if best is None or near > best[0]:
                best = (near, item)
    assert best is not None, "what was found has a title"
    near, item = best
    if row.sha256 is not None and not accept_similar:
        _drop(
            result, row, "no match", f"not the text of the published hash (similarity {near:.2f})"
        )
    elif near < min_similarity:
        _drop(result, row, "no match", f"another text than was rewritten (similarity {near:.2f})")
    elif item.paragraph == row.rewritten:
        _drop(result, row, "no match", "the same text as the rewrite")
    else:
        _keep(result, row, item, "similar")


def _keep(result: Hydrated, row: Published, item: NewsItem, how: str) -> None:
    given = row.fields
    pair = Rewrite.of(
        row.manipulation,
        item.paragraph,
        row.rewritten,
        article_id=str(given.get("article_id") or item.id),
        rewriter=str(given.get("rewriter") or "unknown"),
        url=row.url,
        **{name: _plain(given.get(name)) for name in ("ticker", "date")},
    )
    carried = {k: v for k, v in given.items() if k not in _OWN and k != "original_sha256"}
    result.rows.append(
        {
            **carried,
            **pair.model_dump(exclude={"category", "edits", "attempts"}),
            "title": item.title,
            "summary": item.summary,
            "published_id": row.id,
            "hydrated": how,
        }
    )
    result.counts[how] += 1
    result.events.append(_event(row, "kept", f"{how} original", pair.article_id))


def _drop(result: Hydrated, row: Published, problem: str, why: str) -> None:
    result.dropped.append({**row.fields, "line": row.line, "problem": problem, "reason": why})
    result.counts[problem] += 1
    result.events.append(_event(row, "dropped", f"{problem}: {why}", None))


def _event(
    row: Published, decision: Literal["kept", "dropped"], why: str, article: str | None
) -> LedgerEvent:
    return LedgerEvent.model_validate(
        {
            "item_id": row.id,
            "article_id": article or row.fields.get("article_id"),
            "manipulation": row.manipulation,
            "stage": "hydrate",
            "decision": decision,
            "by": "rule:hydrate",
            "why": why,
        }
    )


def _published(fields: Mapping[str, Any], file: str, line: int) -> Published:
    by_name = {str(key).strip().casefold(): value for key, value in fields.items()}

    def first(name: str) -> str | None:
        return next((text for key in _NAMES[name] if (text := _plain(by_name.get(key)))), None)

    rewritten = first("rewritten")
    if rewritten is None:
        found = ", ".join(str(key) for key in list(fields)[:8]) or "none"
        raise InputError(
            f"no rewritten text (found: {found})",
            file=file,
            line=line,
            hint="name the column 'rewritten'",
        )
    manipulation = next(
        (
            label
            for key in _NAMES["manipulation"]
            if (label := manipulation_named(by_name.get(key)))
        ),
        None,
    )
    if manipulation is None:
        raise InputError(
            "names none of the four manipulations",
            file=file,
            line=line,
            hint=f"fill in 'manipulation' with one of {', '.join(MANIPULATIONS)}",
        )
    url = first("url")
    own = {name: first(name) for name in ("ticker", "date")}
    sha256 = _plain(by_name.get("original_sha256"))
    identity = _plain(by_name.get("id")) or content_id(
        url or "", manipulation, rewritten, prefix="r"
    )
    carried = {**fields, **{name: value for name, value in own.items() if value is not None}}
    return Published(line, identity, manipulation, rewritten, url, sha256, carried)


def _plain(value: object) -> str | None:
    if value is None or value != value:  # a table's NaN
        return None
    text = replace_surrogates(str(value)).strip()
    return text or None
