"""``contrafact finforce screen`` and ``release``: from raw headlines to a dataset."""

from pathlib import Path

import typer

from contrafact.corpus.ledger import append_events
from contrafact.corpus.release import ReleaseOptions
from contrafact.families.finforce.release import release_files
from contrafact.files.atomic import write_folder
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import require_tables
from contrafact.options import ASKING, CallOptions, argument, command, option
from contrafact.stages.run import stage_command


class _Screen(CallOptions):
    file: str = argument("FILE", "News items or headlines: JSONL, CSV, Parquet.")
    out: Path = option(..., "Proposals, JSON Lines.", metavar="FILE")
    model: str | None = option(
        None, "The model asked about what the rules leave open.", metavar="M", panel=ASKING
    )
    against: list[Path] | None = option(
        None, "A set whose headlines are left out as duplicates.", metavar="FILE"
    )
    near: float = option(0.8, "Similarity from which two headlines are the same.", ge=0.3, le=1)
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")
    structured: bool = option(True, "Ask providers for JSON by schema.")


@command
def screen(options: _Screen) -> None:
    """Propose which headlines report market events, and of which category, for people to decide.

    Rules decide if a headline's form leaves no doubt, the model is asked about the rest, and what
    neither settles is left open. People decide in FILE.sheet.csv; duplicates are written to
    FILE.dropped.jsonl, every decision to FILE.ledger.jsonl. If interrupted, run it again to go on.

    Example: contrafact finforce screen news.jsonl --out screened.jsonl --model openai/gpt-4o
    """
    require_tables(options.file)
    from contrafact.families.finforce.screen import ScreenStage
    from contrafact.prompts import pack_source

    stage = ScreenStage(
        options.model,
        tuple(map(str, options.against or ())),
        options.near,
        pack_source(options.prompts),
        options.structured,
        options.max_connections,
        options.bounds,
    )
    stage_command(stage, options.file, options.out)


class _Release(ReleaseOptions):
    file: str = argument(
        "FILE", "Headlines, as `finforce screen` writes them, or a review's exported items."
    )
    decisions: list[Path] | None = option(
        None, "Filled sheets, one or several per person.", metavar="FILE"
    )
    unreviewed: bool = option(False, "Include proposals that nobody decided on, marked as such.")
    name: str = option("market-events", "The dataset's name.")


@command
def release(options: _Release) -> None:
    """Release the headlines that people accepted as market events, in the benchmark's format.

    The folder also has a schema, a card, Croissant metadata and checksums; the decisions are in
    DIR.ledger.jsonl. Exits with 1 if nothing is left to release.

    FILE may also be the items that `review export --what items` writes, with their outcomes.

    Example: contrafact finforce release screened.jsonl --decisions anna.csv --out release
    """
    require_tables(options.file)

    from contrafact.families.finforce.review_exports import decided, taken

    facts, out, unreviewed = options.check(), options.out, options.unreviewed
    found = decided(options.file, options.decisions or [], unreviewed=unreviewed)
    released, events, counts = taken(found, unreviewed=unreviewed)
    if not released:
        waiting = counts["under way in the review, left out"]
        why = ": all are under way in the review" if waiting == len(found.rows) else ""
        typer.echo(f"no headline is left to release{why}", err=True)
        raise typer.Exit(1)
    write_folder(out, release_files(released, facts, counts))
    append_events(sidecar_path(out, "ledger"), events)
    for what, number in counts.items():
        typer.echo(f"{what}: {number:,}")
    typer.echo(f"{out}: {len(released):,} headlines")
