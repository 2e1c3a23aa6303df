"""The stages of ``contrafact rfc`` that take few options, each from file to file."""

from pathlib import Path
from typing import Literal

import typer

from contrafact.console import show_counts
from contrafact.corpus.news_items import news_rows
from contrafact.corpus.release import ReleaseOptions
from contrafact.families.rfc.pipeline.bucket import BucketStage
from contrafact.families.rfc.pipeline.label import LabelStage
from contrafact.families.rfc.pipeline.stages import passed_of, read_stage
from contrafact.files.atomic import guard_output, write_folder
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import source_name
from contrafact.options import (
    ASKING,
    BulkOptions,
    CallOptions,
    ModelBulkOptions,
    Options,
    absolute,
    argument,
    command,
    option,
)
from contrafact.stages.run import executor, stage_command
from contrafact.stages.stage import KEPT


class _HydrateOptions(Options):
    file: str = argument("FILE", "The published rows: JSONL, JSON, CSV, Parquet.")
    news: Path = option(..., "The articles: title, summary and url of each.", metavar="FILE")
    out: Path = option(..., "Pairs with originals.", metavar="FILE")


@command
def hydrate(options: _HydrateOptions) -> None:
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


class _BucketOptions(Options):
    file: str = argument("FILE", "Articles: CSV, JSON, JSON Lines, Parquet, or `-`.")
    out: str = option(..., "The candidates, JSON Lines.", metavar="FILE")


@command
def bucket(options: _BucketOptions, bulk: BulkOptions) -> None:
    """Sort articles by the manipulations that their words allow; an article may allow several.

    Each candidate is written with the words that qualify it. Articles that allow no manipulation,
    and repeated rows, are in FILE.dropped.jsonl with the reasons; all decisions are in
    FILE.ledger.jsonl.

    Example: contrafact rfc bucket news.jsonl --out candidates.jsonl
    """
    stage_command(BucketStage(), options.file, options.out, executor(bulk))


class _LabelOptions(CallOptions):
    file: str = argument("FILE", "Articles, as `rfc bucket` writes them.")
    out: str = option(..., "The labelled rows.", metavar="FILE")
    per_article: Literal["one", "all"] = option(
        "all", "Make an item for every manipulation that fits, or one item per article."
    )
    model: str | None = option(
        None, "The model that decides what rules leave open.", metavar="M", panel=ASKING
    )
    prompts: Path | None = option(None, "Another prompt pack.", metavar="DIR")


@command
def label(options: _LabelOptions, bulk: ModelBulkOptions) -> None:
    """Give each article its manipulation: by rules, and by a model where rules leave it open.

    FILE.dropped.jsonl holds candidates that the text does not support, FILE.apart.jsonl articles
    without a label (No-Categorized, or open), each with its reason; FILE.ledger.jsonl every
    decision. A model's replies are kept in FILE.answers.jsonl, so that nothing is asked twice.

    Example: contrafact rfc label bucketed.jsonl --per-article one --out labelled.jsonl
    """
    stage = LabelStage(
        options.per_article,
        options.model,
        absolute(options.prompts),
        options.max_connections,
        options.bounds,
    )
    stage_command(stage, options.file, options.out, executor(bulk))


class _ReleaseOptions(ReleaseOptions):
    file: str = argument("FILE", "The final pairs, as `rfc finalize` writes them.")
    out: Path = option(..., "The folder to make.", metavar="DIR")
    hard: Path | None = option(
        None, "The hard cases. [FILE.hard.jsonl, if it is there]", metavar="FILE"
    )
    name: str = option("rfc-contrafact", "The dataset's name.")


@command
def release(options: _ReleaseOptions) -> None:
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
