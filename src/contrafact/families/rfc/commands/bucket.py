"""``contrafact rfc bucket``: articles in, candidates for the four manipulations out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.families.rfc.pipeline.bucket import Sorted

__all__ = ["bucket"]


def bucket(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Articles: CSV, JSON, JSON Lines, Parquet, or `-`."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The candidates, JSON Lines.")],
    titles_alone: Annotated[
        bool,
        typer.Option("--titles-alone", help="Sort articles without a summary too, by their title."),
    ] = False,
) -> None:
    """Sort articles by the manipulations that their words allow; one may allow several.

    Each candidate keeps the words that made it one. Articles that allow none, and rows that repeat
    another, are in FILE.dropped.jsonl with the reasons, every decision is in FILE.ledger.jsonl.

    Example: contrafact rfc bucket news.jsonl --out candidates.jsonl
    """
    from contrafact.corpus.ledger import write_stage
    from contrafact.corpus.news_items import NewsNotes, news_rows
    from contrafact.families.rfc.pipeline.bucket import bucket_news, with_repeated
    from contrafact.files.atomic import guard_output

    guard_output(out, file)
    notes = NewsNotes()
    result = bucket_news(news_rows(file, notes), titles_alone=titles_alone)
    write_stage(out, result.kept, result.events, dropped=with_repeated(result.dropped, notes))
    for line in notes.lines():
        typer.echo(line, err=True)
    _show(result, out)


def _show(result: "Sorted", out: Path) -> None:
    from collections import Counter

    from contrafact.console import show_table

    rows = []
    for name, kept in result.counts().items():
        reasons = Counter(
            event.why.partition(":")[0]
            for event in result.events
            if event.manipulation == name and event.decision == "dropped"
        )
        frequent = "; ".join(f"{count} x {why}" for why, count in reasons.most_common(4))
        rows.append((name, str(kept), str(reasons.total()), frequent))
    show_table(
        "Candidates, and the others by reason",
        ("manipulation", "candidates", "others", "most frequent reasons"),
        rows,
        stderr=True,
    )
    articles, samples = len(result.kept), sum(result.counts().values())
    typer.echo(
        f"{articles + len(result.dropped):,} articles: {articles:,} are candidates "
        f"({samples:,} with each of their manipulations), {len(result.dropped):,} dropped; "
        f"written to {out}",
        err=True,
    )
