"""``contrafact rfc hydrate``: a published dataset gets its originals back."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["hydrate"]


def hydrate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The published rows: JSONL, JSON, CSV, Parquet.")
    ],
    news: Annotated[
        Path, typer.Option(metavar="FILE", help="The articles: title, summary and url of each.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Pairs with originals.")],
    min_similarity: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Without a published hash: how like the rewrite."),
    ] = 0.5,
    accept_similar: Annotated[
        bool,
        typer.Option("--accept-similar", help="Take a similar text that is not the hash's, too."),
    ] = False,
) -> None:
    """Give published rewrites their originals, title and summary, from articles that you hold.

    An article is found by the published hash or by its address. FILE.dropped.jsonl holds the rows
    whose article is missing, or no longer the text that was rewritten.

    Example: contrafact rfc hydrate release/pairs.jsonl --news articles.jsonl --out pairs.jsonl
    """
    from contrafact.console import show_counts
    from contrafact.corpus.ledger import write_stage
    from contrafact.corpus.news_items import load_news
    from contrafact.families.rfc.pipeline.hydrate import hydrate as give_back
    from contrafact.families.rfc.pipeline.hydrate import load_published
    from contrafact.files.atomic import guard_output

    guard_output(out, file, news)
    rows = load_published(file)
    result = give_back(
        rows, load_news(news), min_similarity=min_similarity, accept_similar=accept_similar
    )
    write_stage(out, result.rows, result.events, dropped=result.dropped)
    typer.echo(f"{out}: {len(result.rows):,} of {len(rows):,} rows have their original")
    show_counts(result.counts)
