"""``contrafact news``: acquire news and prepare it for a benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from contrafact.console import Progress
from contrafact.corpus.ledger import write_stage
from contrafact.errors import InputError
from contrafact.files.atomic import guard_output
from contrafact.files.journal import Journal
from contrafact.files.tables import BAD_DATE, RowNotes
from contrafact.options import BulkOptions, Options, argument, command, option
from contrafact.stages.run import executor, stage_command

if TYPE_CHECKING:
    from contrafact.corpus.fetch import Fetched, Pages, Window

SourceName = Literal["file", "rss", "newsapi", "yahoo"]

_ITEMS = "News items: JSONL, CSV, Parquet."

app = typer.Typer(help="Acquire news, and prepare it for a benchmark.", no_args_is_help=True)


class _Fetch(Options):
    source: SourceName = argument("SOURCE", "file, rss, newsapi or yahoo.")
    out: Path = option(..., "The items, JSON Lines.", metavar="FILE")
    what: list[str] | None = argument(
        "[WHAT]…",
        "Files; addresses of feeds; keywords (the paper's twelve if none); tickers (the paper's "
        "223 if none).",
        None,
    )
    since: str | None = option(
        None, "First day. [newsapi: the paper's window]", name="from", metavar="DAY"
    )
    until: str | None = option(None, "Last day.", name="to", metavar="DAY")
    days: int | None = option(
        None, "newsapi: days per search; fewer find more. [the whole window]", ge=1
    )
    pause: float = option(1.0, "Seconds between two requests.", ge=0)
    max_pages: int = option(50, "Pages per search at most.", ge=1)

    def facts(self, asked: list[str], window: "Window") -> dict[str, Any]:
        from contrafact.files.download import sha256_of

        found: dict[str, Any] = {
            "source": self.source,
            "what": asked,
            "from": window.since,
            "to": window.until,
            "max-pages": self.max_pages,
        }
        if self.source == "newsapi":
            found["days"] = self.days
        if self.source == "file":
            places = map(Path, asked)
            found["contents"] = [sha256_of(one) if one.is_file() else None for one in places]
        return found


@app.command("fetch")
@command
def fetch(options: _Fetch) -> None:
    """Fetch news items from a source into a file, each once.

    Items that cannot be used are written to FILE.dropped.jsonl with the reason, every decision to
    FILE.ledger.jsonl. If interrupted, run it again to resume. NewsAPI's key is read from
    NEWSAPI_API_KEY; NEWSAPI_BASE_URL and YAHOO_BASE_URL override the default addresses.

    Example: contrafact news fetch yahoo AAPL MSFT --out news.jsonl
    """
    from contrafact.corpus.fetch import Window, fetch_pages, open_source
    from contrafact.corpus.sources.base import defaults, open_client

    source, out = options.source, options.out
    usual = defaults().get(source)
    asked = list(options.what or (usual.asked if usual else ()))
    window = Window.of(options.since, options.until, usual if source == "newsapi" else None)
    guard_output(out, *(asked if source == "file" else ()), kind="JSON Lines")
    origin = open_source(source, asked, window, days=options.days)
    if source == "rss":  # removes keys that an address may hold
        asked = [request.label for request in origin.first]
    settings = options.facts(asked, window)
    journal = Journal.of_output(out, settings, what="`news fetch`")
    if journal.finished():
        typer.echo(f"{out} is finished: no request was sent")
        return
    with journal:
        try:
            with (
                open_client(origin, pause=options.pause) as get,
                Progress("requests", len(origin.first)) as steps,
            ):
                pages = fetch_pages(
                    origin, journal, get, max_pages=options.max_pages, progress=steps.one
                )
            _write(pages, window, source, journal, out)
        except InputError:
            if source == "file":  # a corrected file has other contents
                journal.discard()
            raise


def _write(pages: "Pages", window: "Window", source: str, journal: "Journal", out: Path) -> None:
    from contrafact.corpus.fetch import assemble

    notes = RowNotes()
    fetched = assemble(pages, window, source=source, notes=notes)
    tables = {"rows": fetched.items, "dropped": fetched.dropped}
    if journal.known or not pages.failed:  # otherwise nothing came, and the next start begins anew
        write_stage(out, [(tables, fetched.events)], "dropped")
        _show(pages, fetched, notes, out)
    if not pages.failed:
        journal.finish()
    for label, why in pages.failed.items():
        typer.echo(f"failed: {label}: {why}", err=True)
    if pages.failed:
        typer.echo(
            f"{len(pages.failed)} failed; run the same command again to retry only these", err=True
        )
        raise typer.Exit(1)


def _show(pages: "Pages", fetched: "Fetched", notes: "RowNotes", out: Path) -> None:
    counts = {
        "repeated": fetched.repeated,
        "outside the window": fetched.outside,
        "malformed": len(pages.rejected),
    }
    others = [f"{number:,} {name}" for name, number in counts.items() if number]
    typer.echo("; ".join([f"{out}: {len(fetched.items):,} items", *others]))
    without = sum(not str(row.get("summary") or "").strip() for row in fetched.items)
    if without:
        typer.echo(f"{without:,} have a title but no summary")
    if dates := len(notes.found.get(BAD_DATE, ())):
        typer.echo(f"{dates:,} items {BAD_DATE}")
    if fetched.dropped:
        typer.echo(f"Rows left out, with reasons: {out}.dropped.jsonl")
    for note in pages.notes:
        typer.echo(note, err=True)


class _Dedupe(Options):
    file: str = argument("FILE", _ITEMS)
    out: str = option(..., "The items, JSON Lines.", metavar="FILE")
    against: list[Path] | None = option(
        None, "Another set; items that repeat one of its are left out.", metavar="FILE"
    )
    near: float = option(0.8, "Similarity from which two items are duplicates.", ge=0.3, le=1)


@app.command("dedupe")
@command
def dedupe(options: _Dedupe, bulk: BulkOptions) -> None:
    """Leave out items that are exactly or nearly the same as an earlier item.

    Items left out are written to FILE.dropped.jsonl with the item they repeat, every decision to
    FILE.ledger.jsonl.

    Example: contrafact news dedupe news.jsonl --against published.json --out fresh.jsonl
    """
    from contrafact.stages.dedupe import DedupeStage

    against = tuple(str(path.absolute()) for path in options.against or ())
    stage_command(DedupeStage(against, options.near), options.file, options.out, executor(bulk))
