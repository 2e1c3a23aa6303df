"""``contrafact rfc hydrate``: a published dataset gets its originals back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.families.rfc.pipeline.hydrate import FetchSettings, Find, Found, Published

__all__ = ["hydrate"]

_WEB = "From the web"


def hydrate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The published rows: JSONL, JSON, CSV, Parquet.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Pairs with originals.")],
    news: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Articles that you hold; nothing is fetched if it is given."
        ),
    ] = None,
    min_similarity: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Without a published hash: how like the rewrite."),
    ] = 0.5,
    accept_similar: Annotated[
        bool,
        typer.Option("--accept-similar", help="Take a similar text that is not the hash's, too."),
    ] = False,
    max_connections: Annotated[
        int, typer.Option(min=1, rich_help_panel=_WEB, help="Requests under way at once.")
    ] = 4,
    pause: Annotated[
        float, typer.Option(min=0.0, rich_help_panel=_WEB, help="Seconds between two, per host.")
    ] = 0.5,
    timeout: Annotated[
        float, typer.Option(min=0.1, rich_help_panel=_WEB, help="Seconds to wait for a host.")
    ] = 30.0,
) -> None:
    """Give published rewrites their originals: title and summary, by address or from your file.

    For those who may use the articles; what is fetched stays with you. FILE.dropped.jsonl holds
    what is gone, failed or no longer the text that was rewritten. Pages are kept in
    FILE.pages.jsonl: a rerun fetches only what failed, and exits with 1 while something does.

    Example: contrafact rfc hydrate release/pairs.jsonl --out pairs.jsonl
    """
    from contrafact.console import show_counts
    from contrafact.corpus.ledger import write_stage
    from contrafact.corpus.news_items import load_news
    from contrafact.families.rfc.pipeline.hydrate import FetchSettings, held_news, load_published
    from contrafact.families.rfc.pipeline.hydrate import hydrate as give_back
    from contrafact.files.atomic import guard_output

    guard_output(out, file, news)
    rows = load_published(file)
    if news is not None:
        find = held_news(load_news(news))
    else:
        find = _from_web(rows, out, FetchSettings(max_connections, pause, timeout))
    result = give_back(rows, find, min_similarity=min_similarity, accept_similar=accept_similar)
    write_stage(out, result.rows, result.events, dropped=result.dropped)
    typer.echo(f"{out}: {len(result.rows):,} of {len(rows):,} rows have their original")
    show_counts(result.counts)
    if result.counts["failed"]:
        failed = result.counts["failed"]
        typer.echo(
            f"{failed} {'page' if failed == 1 else 'pages'} could not be had; the same command "
            "tries again",
            err=True,
        )
        raise typer.Exit(1)


def _from_web(rows: "Sequence[Published]", out: Path, settings: "FetchSettings") -> "Find":
    import asyncio

    from contrafact.console import Progress
    from contrafact.families.rfc.pipeline.hydrate import fetch_pages, usable_address
    from contrafact.files.journal import Journal, sidecar_path

    urls = list(dict.fromkeys(row.url for row in rows if row.url and usable_address(row.url)))
    with (
        Journal(sidecar_path(out, "pages"), {"what": "article pages"}) as kept,
        Progress("pages", len(urls)) as count,
    ):
        pages = asyncio.run(fetch_pages(urls, kept, settings, each=count.one))

    def find(row: "Published") -> "Found | None":
        return pages.get(row.url or "")

    return find
