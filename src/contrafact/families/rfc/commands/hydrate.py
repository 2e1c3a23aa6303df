"""``contrafact rfc hydrate``: a published dataset gets its originals back."""

from pathlib import Path

import typer

from contrafact.console import show_counts
from contrafact.corpus.news_items import news_rows
from contrafact.files.atomic import guard_output
from contrafact.options import Options, argument, command, option
from contrafact.stages.stage import KEPT


class _Options(Options):
    file: str = argument("FILE", "The published rows: JSONL, JSON, CSV, Parquet.")
    news: Path = option(..., "The articles: title, summary and url of each.", metavar="FILE")
    out: Path = option(..., "Pairs with originals.", metavar="FILE")


@command
def hydrate(options: _Options) -> None:
    """Give published rewrites their originals, title and summary, from articles that you hold.

    An article is found by the published hash or by its address. FILE.dropped.jsonl holds the rows
    whose article is missing, or differs from the text that was rewritten.

    Example: contrafact rfc hydrate release/pairs.jsonl --news articles.jsonl --out pairs.jsonl
    """
    from contrafact.families.rfc.pipeline.hydrate import hydrate as give_back
    from contrafact.families.rfc.pipeline.hydrate import load_published

    out = options.out
    guard_output(out, options.file, options.news, kind="JSON Lines")
    rows = load_published(options.file)
    items = [row.item for row in news_rows(options.news)]
    result = give_back(rows, items)
    result.write(out)
    matched = len(result.table(KEPT))
    typer.echo(f"{out}: {matched:,} of {len(rows):,} rows have their original")
    show_counts(result.counts)
