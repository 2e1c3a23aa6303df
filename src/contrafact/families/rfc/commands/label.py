"""``contrafact rfc label``: bucketed articles in, one row per article and manipulation out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.families.rfc.pipeline.label_model import Asked
    from contrafact.families.rfc.pipeline.stage_files import StageRow

__all__ = ["label"]

_MODEL = "With a model"


def label(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Articles, as `rfc bucket` writes them.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The labelled rows.")],
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
    prompts: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=_MODEL, help="Another prompt pack."),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(min=1, rich_help_panel=_MODEL, help="Calls under way at once.")
    ] = 16,
    max_retries: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_MODEL, help="Per call. [5]")
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_MODEL, help="Seconds for a call, retries and all."),
    ] = None,
) -> None:
    """Give each article its manipulation: by rules, and by a model where rules leave it open.

    FILE.dropped.jsonl holds candidates that the text cannot carry, FILE.apart.jsonl articles
    without a label (No-Categorized, or open), each with its reason; FILE.ledger.jsonl every
    decision. A model's replies are kept in FILE.answers.jsonl, and none is asked for twice.

    Example: contrafact rfc label bucketed.jsonl --per-article one --out labelled.jsonl
    """
    from contrafact.console import show_counts
    from contrafact.corpus.ledger import Ledger, ledger_path
    from contrafact.families.rfc.pipeline.label import label_rows, open_rows
    from contrafact.families.rfc.pipeline.stage_files import beside, read_stage
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import source_name, write_rows

    guard_output(out, file)
    rows = read_stage(file, ("title",))
    name = source_name(file)
    result = label_rows(rows, per_article=per_article, file=name)
    asked = None
    if model is not None:
        given = {"max_retries": max_retries, "timeout": timeout}
        calls = {key: value for key, value in given.items() if value is not None}
        asked = _ask(open_rows(rows, per_article), model, prompts, out, max_connections, calls)
        result = label_rows(
            rows,
            per_article=per_article,
            replies=asked.replies,
            failures=asked.failures,
            model=model,
            file=name,
        )
    write_rows(beside(out, "dropped"), result.dropped)
    write_rows(beside(out, "apart"), result.apart)
    Ledger(ledger_path(out)).append(result.events)
    write_rows(out, result.rows)
    typer.echo(f"{out}: {len(result.rows):,} items of {len(rows):,} articles")
    show_counts(result.counts)
    if result.apart:
        typer.echo(f"{beside(out, 'apart')}: {len(result.apart):,} articles without a label")
    if asked and asked.failures:
        failed = len(asked.failures)
        typer.echo(
            f"{failed} {'call' if failed == 1 else 'calls'} failed; the same command tries again",
            err=True,
        )
        raise typer.Exit(1)


def _ask(
    rows: "Sequence[StageRow]",
    model: str,
    prompts: Path | None,
    out: Path,
    max_connections: int,
    calls: dict[str, int],
) -> "Asked":
    import asyncio

    from inspect_ai.model import GenerateConfig

    from contrafact.console import Progress
    from contrafact.families.rfc.pipeline.answer_file import AnswerFile
    from contrafact.families.rfc.pipeline.label_model import ask_labels
    from contrafact.families.rfc.pipeline.stage_files import beside
    from contrafact.models.opening import TRANSPORT, open_model
    from contrafact.prompts import open_pack

    pack = open_pack(prompts)
    settings = {**TRANSPORT, **calls, "max_connections": max_connections}
    labeller = open_model(model, config=GenerateConfig(**settings))
    facts = {"model": model, "prompts": pack.hash}
    with (
        AnswerFile(beside(out, "answers"), facts) as answers,
        Progress("articles", len(rows)) as count,
    ):
        return asyncio.run(
            ask_labels(rows, labeller, pack, answers, at_once=max_connections, each=count.one)
        )
