"""``contrafact rfc bucket``: articles in, candidates for the four manipulations out."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import bulk_options

if TYPE_CHECKING:
    from contrafact.families.rfc.pipeline.bucket import Summary

__all__ = ["bucket"]


@bulk_options(rates=False)
def bucket(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Articles: CSV, JSON, JSON Lines, Parquet, or `-`."),
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The candidates, JSON Lines.")],
    titles_alone: Annotated[
        bool,
        typer.Option("--titles-alone", help="Sort articles without a summary too, by their title."),
    ] = False,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Sort articles by the manipulations that their words allow; one may allow several.

    Each candidate keeps the words that made it one. Articles that allow none, and rows that repeat
    another, are in FILE.dropped.jsonl with the reasons, every decision is in FILE.ledger.jsonl.

    Example: contrafact rfc bucket news.jsonl --out candidates.jsonl
    """
    from contrafact.corpus.news_items import NewsNotes
    from contrafact.families.rfc.pipeline.bucket import bucket_file
    from contrafact.files.atomic import guard_output

    if bulk is not None:
        from contrafact.bulk.command import bulk_command
        from contrafact.families.rfc.bulk import BucketStage, bucket_summary

        found = bulk_command(BucketStage(titles_alone), file, out, bulk, noun="articles")
        _show(bucket_summary(found.counts), out)
        found.end()
        return
    guard_output(out, file)
    notes = NewsNotes()
    told = bucket_file(file, out, notes, titles_alone=titles_alone)
    for line in notes.lines():
        typer.echo(line, err=True)
    _show(told, out)


def _show(told: "Summary", out: str) -> None:
    from contrafact.console import show_table

    rows = []
    for name, reasons in told.reasons.items():
        frequent = "; ".join(f"{count} x {why}" for why, count in reasons.most_common(4))
        rows.append((name, str(told.kept[name]), str(reasons.total()), frequent))
    show_table(
        "Candidates, and the others by reason",
        ("manipulation", "candidates", "others", "most frequent reasons"),
        rows,
        stderr=True,
    )
    typer.echo(
        f"{told.candidates + told.dropped:,} articles: {told.candidates:,} are candidates "
        f"({told.kept.total():,} with each of their manipulations), {told.dropped:,} dropped; "
        f"written to {out}",
        err=True,
    )
