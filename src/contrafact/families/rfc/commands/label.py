"""``contrafact rfc label``: bucketed articles in, one row per article and manipulation out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contrafact.families.rfc.commands.shared import absolute
from contrafact.options import MaxConnections, MaxRetries, Prompts, Timeout, bulk_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.families.rfc.pipeline.stages import StageRow

__all__ = ["label"]

_MODEL = "With a model"


@bulk_options(rates=True)
def label(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Articles, as `rfc bucket` writes them.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The labelled rows.")],
    per_article: Annotated[
        Literal["one", "all"],
        typer.Option(help="An item for every manipulation that fits, or a single one an article."),
    ] = "all",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            rich_help_panel=_MODEL,
            help="The model that decides what rules leave open.",
        ),
    ] = None,
    prompts: Prompts = None,
    max_connections: MaxConnections = 16,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Give each article its manipulation: by rules, and by a model where rules leave it open.

    FILE.dropped.jsonl holds candidates that the text cannot carry, FILE.apart.jsonl articles
    without a label (No-Categorized, or open), each with its reason; FILE.ledger.jsonl every
    decision. A model's replies are kept in FILE.answers.jsonl, and none is asked for twice.

    Example: contrafact rfc label bucketed.jsonl --per-article one --out labelled.jsonl
    """
    from contrafact.console import show_counts
    from contrafact.corpus.ledger import write_stage
    from contrafact.families.rfc.pipeline.label import label_rows, open_rows
    from contrafact.families.rfc.pipeline.stages import read_stage
    from contrafact.files.atomic import guard_output
    from contrafact.files.journal import sidecar_path
    from contrafact.files.tables import source_name

    if bulk is not None:
        from contrafact.bulk.run import bulk_command
        from contrafact.families.rfc.bulk import APART, LabelStage, ModelLabelStage

        stage = LabelStage(per_article)
        if model is not None:
            stage = ModelLabelStage(
                per_article,
                model=model,
                prompts=absolute(prompts),
                max_connections=max_connections,
                bounds={"max_retries": max_retries, "timeout": timeout},
            )
        found = bulk_command(stage, file, out, bulk, noun="articles")
        show_counts(found.counts)
        if found.rows[APART]:
            typer.echo(f"{out}/_apart: {found.rows[APART]:,} articles without a label")
        found.end()
        return
    guard_output(out, file)
    rows = read_stage(file, ("title",))
    name = source_name(file)
    result = label_rows(rows, per_article=per_article, file=name)
    failures: dict[str, str] = {}
    if model is not None:
        bounds = {"max_retries": max_retries, "timeout": timeout}
        replies, failures = _ask(
            open_rows(rows, per_article), model, prompts, out, max_connections, bounds
        )
        result = label_rows(
            rows,
            per_article=per_article,
            replies=replies,
            failures=failures,
            model=model,
            file=name,
        )
    write_stage(out, result.rows, result.events, dropped=result.dropped, apart=result.apart)
    typer.echo(f"{out}: {len(result.rows):,} items of {len(rows):,} articles")
    show_counts(result.counts)
    if result.apart:
        typer.echo(f"{sidecar_path(out, 'apart')}: {len(result.apart):,} articles without a label")
    if failures:
        calls = f"{len(failures)} {'call' if len(failures) == 1 else 'calls'}"
        typer.echo(f"{calls} failed; the same command tries again", err=True)
        raise typer.Exit(1)


def _ask(
    rows: "Sequence[StageRow]",
    model: str,
    prompts: Path | None,
    out: str,
    max_connections: int,
    bounds: "dict[str, int | None]",
) -> "tuple[dict[str, str], dict[str, str]]":
    import asyncio

    from contrafact.console import Progress
    from contrafact.families.rfc.pipeline.label import ask_labels, label_template
    from contrafact.files.journal import Journal, sidecar_path
    from contrafact.models.opening import call_config, open_model
    from contrafact.prompts import open_pack

    pack = open_pack(prompts)
    template = label_template(pack)
    labeller = open_model(model, config=call_config(max_connections, **bounds))
    facts = {"model": model, "prompts": pack.used_hash}
    with (
        Journal(sidecar_path(out, "answers"), facts) as answers,
        Progress("articles", len(rows)) as count,
    ):
        return asyncio.run(
            ask_labels(rows, labeller, template, answers, at_once=max_connections, each=count.one)
        )
