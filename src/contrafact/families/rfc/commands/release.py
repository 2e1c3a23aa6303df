"""``contrafact rfc release``: the folder that is published."""

from pathlib import Path

import typer

from contrafact.corpus.release import ReleaseOptions
from contrafact.families.rfc.pipeline.stages import passed_of, read_stage
from contrafact.files.atomic import write_folder
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import source_name
from contrafact.options import argument, command, option


class _Options(ReleaseOptions):
    file: str = argument("FILE", "The final pairs, as `rfc finalize` writes them.")
    out: Path = option(..., "The folder to make.", metavar="DIR")
    hard: Path | None = option(
        None, "The hard cases. [FILE.hard.jsonl, if it is there]", metavar="FILE"
    )
    name: str = option("rfc-contrafact", "The dataset's name.")


@command
def release(options: _Options) -> None:
    """Write the release: metadata and rewritten text, never an original.

    Rows are marked as artificial and carry a canary. With them come the schema, a dataset card,
    Croissant metadata and SHA256SUMS.

    Example: contrafact rfc release final.jsonl --name my-rfc --license CC-BY-4.0 --out release
    """
    from contrafact.families.rfc.pipeline.release import release as make

    facts = options.check()
    file, out, hard = options.file, options.out, options.hard
    needed = ("article_id", "original", "rewritten")
    rows = read_stage(file, needed, manipulated=True)
    found = sidecar_path(file, "hard")
    if hard is None and file != "-" and found.is_file():
        hard = found
    doubtful = read_stage(hard, needed, manipulated=True, allow_empty=True) if hard else []
    built = make(rows, doubtful, facts, file=source_name(file))
    write_folder(out, built.files)
    typer.echo(f"{out}: {built.rows:,} pairs and {built.hard:,} hard cases")
    if undecided := sum(passed_of(row.fields) is None for row in rows):
        typer.echo(f"  {undecided:,} undecided pairs are among them, with 'passed' null")
    typer.echo(f"  {built.canary}")
    if built.shared_articles:
        typer.echo(
            f"  {built.shared_articles:,} articles have several rewrites, which together reveal "
            "most of the original; use `rfc label --per-article one` to avoid this"
        )
