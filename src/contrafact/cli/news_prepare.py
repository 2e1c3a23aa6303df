"""``contrafact news dedupe`` and ``anonymise``: what a set of news needs before anything else."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contrafact.corpus.duplicates import Text
    from contrafact.corpus.news_items import NewsRow

__all__ = ["anonymise", "dedupe"]

_Items = Annotated[str, typer.Argument(metavar="FILE", help="News items: JSONL, CSV, Parquet.")]
_Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The items, JSON Lines.")]


def dedupe(
    file: _Items,
    out: _Out,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Another set whose items must not come again."),
    ] = None,
    near: Annotated[
        float,
        typer.Option(min=0.3, max=1, help="Similarity from which two items are one."),
    ] = 0.8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the index's hash functions.")] = 1,
) -> None:
    """Leave out items that are, exactly or nearly, the same as one before them.

    What is left out stands in FILE.dropped.jsonl with the item it repeats, every decision in
    FILE.ledger.jsonl.

    Example: contrafact news dedupe news.jsonl --against published.json --out fresh.jsonl
    """
    from contrafact.console import Progress
    from contrafact.corpus.duplicates import find_duplicates
    from contrafact.corpus.ledger import LedgerEvent, write_stage
    from contrafact.corpus.news_items import news_record
    from contrafact.files.atomic import guard_output

    guard_output(out, file)
    rows = _load(file)
    others = [text for path in against or () for text in _texts(_load(str(path)))]
    with Progress("items", len(rows) + len(others)) as steps:
        found = {
            duplicate.position: duplicate
            for duplicate in find_duplicates(
                _texts(rows), others, threshold=near, seed=seed, progress=steps.step
            )
        }
    kept, dropped, events = [], [], []
    for position, row in enumerate(rows):
        duplicate = found.get(position)
        record = news_record(row.item, row.fields)
        if duplicate is None:
            kept.append(record)
        else:
            dropped.append(
                {
                    **record,
                    "dropped_because": duplicate.reason,
                    "duplicate_of": duplicate.of,
                    "similarity": round(duplicate.similarity, 4),
                }
            )
        events.append(
            LedgerEvent(
                item_id=row.item.id,
                article_id=row.item.id,
                stage="dedupe",
                decision="kept" if duplicate is None else "dropped",
                by=f"rule:dedupe at {near:g}",
                why="" if duplicate is None else duplicate.reason,
            )
        )
    write_stage(out, kept, events, dropped=dropped)
    kinds = [duplicate.kind for duplicate in found.values()]
    counts = {kind: kinds.count(kind) for kind in ("exact", "address", "near")}
    by_kind = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    typer.echo(f"{out}: {len(kept):,} of {len(rows):,} items; duplicates: {by_kind}")


def anonymise(
    file: _Items,
    out: _Out,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name to leave as it is.")
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A doubtful name to replace as well.")
    ] = None,
) -> None:
    """Put a placeholder for each named person, the same one throughout the file.

    FILE.persons.jsonl says what was replaced where, and by what: it undoes the work, so keep it
    private. A recogniser makes mistakes both ways; names it is less sure of are left and listed.

    Example: contrafact news anonymise news.jsonl --out anonymous.jsonl
    """
    from dataclasses import asdict

    from contrafact.console import Progress
    from contrafact.corpus.anonymise import Anonymiser
    from contrafact.corpus.news_items import news_record
    from contrafact.files.atomic import guard_output
    from contrafact.files.journal import sidecar_path
    from contrafact.files.tables import write_rows

    guard_output(out, file)
    rows = _load(file)
    worker = Anonymiser(keep=keep or (), also=also or ())
    records: list[dict[str, Any]] = []
    replaced: list[dict[str, Any]] = []
    with Progress("items", len(rows)) as steps:
        for row, done in zip(rows, worker.run(row.item for row in rows), strict=True):
            records.append(news_record(done.item, row.fields))
            replaced += [
                {**asdict(change), "new_item_id": done.item.id} for change in done.replaced
            ]
            steps.step()
    write_rows(sidecar_path(out, "persons"), replaced)
    write_rows(out, records)
    changed = len({change["item_id"] for change in replaced})
    typer.echo(
        f"{out}: {len(worker.persons):,} persons replaced at {len(replaced):,} places "
        f"in {changed:,} of {len(rows):,} items"
    )
    typer.echo(f"{out}.persons.jsonl: what was replaced by what; keep it private")
    if worker.doubtful:
        shown = ", ".join(name for name, _ in worker.doubtful.most_common(12))
        more = ", …" if len(worker.doubtful) > 12 else ""
        typer.echo(f"left, as doubtful (replace with --also): {shown}{more}")


def _load(file: str) -> "list[NewsRow]":
    from contrafact.corpus.news_items import NewsNotes, news_rows

    notes = NewsNotes()
    rows = news_rows(file, notes)
    for sentence in notes.lines():
        typer.echo(f"{file}: {sentence}", err=True)
    return rows


def _texts(rows: "list[NewsRow]") -> "list[Text]":
    from contrafact.corpus.duplicates import Text

    return [Text(row.item.id, row.item.paragraph, row.item.url) for row in rows]
