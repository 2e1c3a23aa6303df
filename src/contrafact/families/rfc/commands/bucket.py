"""``contrafact rfc bucket``: articles in, candidates for the four manipulations out."""

from collections import Counter
from typing import Any

import typer

from contrafact.families.rfc.commands.shared import counts_below
from contrafact.options import Options, argument, bulk_options, option, takes

__all__ = ["bucket"]


class _Options(Options):
    file: str = argument("FILE", "Articles: CSV, JSON, JSON Lines, Parquet, or `-`.")
    out: str = option("The candidates, JSON Lines.", metavar="FILE")
    titles_alone: bool = option(
        "Sort articles without a summary too, by their title.", False, "--titles-alone"
    )


@bulk_options(rates=False)
@takes(_Options)
def bucket(options: _Options, bulk: dict[str, Any] | None = None) -> None:
    """Sort articles by the manipulations that their words allow; one may allow several.

    Each candidate keeps the words that made it one. Articles that allow none, and rows that repeat
    another, are in FILE.dropped.jsonl with the reasons, every decision is in FILE.ledger.jsonl.

    Example: contrafact rfc bucket news.jsonl --out candidates.jsonl
    """
    from contrafact.bulk.stage import write_pieces
    from contrafact.corpus.news_items import NewsNotes
    from contrafact.families.rfc.pipeline.bucket import bucket_file
    from contrafact.files.atomic import guard_output

    file, out, titles_alone = options.file, options.out, options.titles_alone
    if bulk is not None:
        from contrafact.bulk.run import bulk_command
        from contrafact.families.rfc.bulk import BucketStage

        found = bulk_command(BucketStage(titles_alone), file, out, bulk, noun="articles")
        _show(found.counts, out)
        found.end()
        return
    guard_output(out, file, kind="JSON Lines")
    notes = NewsNotes()
    pieces = bucket_file(file, notes, titles_alone=titles_alone)
    counts = write_pieces(pieces, out, distinct=True)
    for line in notes.lines():
        typer.echo(line, err=True)
    _show(counts, out)


def _show(counts: Counter[str], out: str) -> None:
    from contrafact.console import show_table
    from contrafact.records import MANIPULATIONS

    rows, kept = [], 0
    for name in MANIPULATIONS:
        own, reasons = counts[f"kept|{name}"], counts_below(counts, f"why|{name}|")
        frequent = "; ".join(f"{count} x {why}" for why, count in reasons.most_common(4))
        rows.append((name, str(own), str(reasons.total()), frequent))
        kept += own
    columns = ("manipulation", "candidates", "others", "most frequent reasons")
    show_table("Candidates, and the others by reason", columns, rows, stderr=True)
    candidates, dropped = counts["candidates"], counts["dropped"]
    typer.echo(
        f"{candidates + dropped:,} articles: {candidates:,} are candidates ({kept:,} with each of "
        f"their manipulations), {dropped:,} dropped; written to {out}",
        err=True,
    )
