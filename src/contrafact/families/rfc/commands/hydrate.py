"""``contrafact rfc hydrate``: a published dataset gets its originals back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.families.rfc.pipeline.fetch_pages import FetchSettings
    from contrafact.families.rfc.pipeline.hydrate import Find, Published

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

    For those who may use the articles; what is fetched stays with you. FILE.dropped.jsonl tells
    what is gone, failed or no longer the text that was rewritten. Pages are kept in
    FILE.pages.jsonl: a rerun fetches only what failed, and exits with 1 while something does.

    Example: contrafact rfc hydrate release/pairs.jsonl --out pairs.jsonl
    """
    from contrafact.console import show_counts
    from contrafact.corpus.ledger import Ledger, ledger_path
    from contrafact.corpus.news_items import load_news
    from contrafact.families.rfc.pipeline.fetch_pages import FetchSettings
    from contrafact.families.rfc.pipeline.hydrate import held_news, load_published
    from contrafact.families.rfc.pipeline.hydrate import hydrate as give_back
    from contrafact.families.rfc.pipeline.stage_files import beside
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import write_rows

    guard_output(out, file, news)
    rows = load_published(file)
    if news is not None:
        find = held_news(load_news(news))
    else:
        find = _from_web(rows, out, FetchSettings(max_connections, pause, timeout))
    result = give_back(rows, find, min_similarity=min_similarity, accept_similar=accept_similar)
    write_rows(beside(out, "dropped"), result.dropped)
    Ledger(ledger_path(out)).append(result.events)
    write_rows(out, result.rows)
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
    from contrafact.families.rfc.pipeline.answer_file import AnswerFile
    from contrafact.families.rfc.pipeline.fetch_pages import fetch_pages, usable_address
    from contrafact.families.rfc.pipeline.hydrate import Held
    from contrafact.families.rfc.pipeline.stage_files import beside

    urls = list(dict.fromkeys(row.url for row in rows if row.url and usable_address(row.url)))
    with (
        AnswerFile(beside(out, "pages"), {"what": "article pages"}) as answers,
        Progress("pages", len(urls)) as count,
    ):
        pages = asyncio.run(fetch_pages(urls, answers, settings, each=count.one))

    def find(row: "Published") -> Held | None:
        page = pages.get(row.url or "")
        return Held(page.status, page.titles, page.summaries, page.why) if page else None

    return find
