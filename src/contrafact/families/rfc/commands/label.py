"""``contrafact rfc label``: bucketed articles in, one row per article and manipulation out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from contrafact.families.rfc.commands.shared import absolute
from contrafact.files.tables import require_tables
from contrafact.options import CallOptions, argument, bulk_options, option, takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.bulk.stage import InputRow
    from contrafact.families.rfc.bulk import LabelStage

__all__ = ["label"]

_MODEL = "With a model"


class _Options(CallOptions):
    file: str = argument("FILE", "Articles, as `rfc bucket` writes them.")
    out: str = option("The labelled rows.", metavar="FILE")
    per_article: Literal["one", "all"] = option(
        "An item for every manipulation that fits, or a single one an article.", "all"
    )
    model: str | None = option(
        "The model that decides what rules leave open.", None, metavar="M", panel=_MODEL
    )
    prompts: Path | None = option("Another prompt pack.", None, metavar="DIR")


@bulk_options(rates=True)
@takes(_Options)
def label(options: _Options, bulk: dict[str, Any] | None = None) -> None:
    """Give each article its manipulation: by rules, and by a model where rules leave it open.

    FILE.dropped.jsonl holds candidates that the text cannot carry, FILE.apart.jsonl articles
    without a label (No-Categorized, or open), each with its reason; FILE.ledger.jsonl every
    decision. A model's replies are kept in FILE.answers.jsonl, and none is asked for twice.

    Example: contrafact rfc label bucketed.jsonl --per-article one --out labelled.jsonl
    """
    if bulk is None:
        require_tables(options.file)
    from contrafact.bulk.stage import APART, KEPT
    from contrafact.console import show_counts
    from contrafact.errors import ModelError
    from contrafact.families.rfc.pipeline.label import label_rows, open_rows
    from contrafact.families.rfc.pipeline.stages import read_stage
    from contrafact.files.atomic import guard_output
    from contrafact.files.journal import sidecar_path
    from contrafact.files.tables import source_name

    out, per_article = options.out, options.per_article
    if bulk is not None:
        from contrafact.bulk.run import bulk_command

        found = bulk_command(_stage(options), options.file, out, bulk, noun="articles")
        show_counts(found.counts)
        if found.rows[APART]:
            typer.echo(f"{out}/_apart: {found.rows[APART]:,} articles without a label")
        found.end()
        return
    guard_output(out, options.file, kind="JSON Lines")
    rows = read_stage(options.file, ("title",))
    by_rule = partial(label_rows, rows, per_article=per_article, file=source_name(options.file))
    result, failures = by_rule(), dict[str, str]()
    if options.model is not None:
        replies, failures = _ask(open_rows(rows, per_article), options, options.model)
        result = by_rule(replies=replies, failures=failures, model=options.model)
    result.write(out, APART)
    kept, apart = (len(result.table(name)) for name in (KEPT, APART))
    typer.echo(f"{out}: {kept:,} items of {len(rows):,} articles")
    show_counts(result.counts)
    if apart:
        typer.echo(f"{sidecar_path(out, APART)}: {apart:,} articles without a label")
    if failures:
        calls = f"{len(failures)} {'call' if len(failures) == 1 else 'calls'}"
        raise ModelError(f"{calls} failed; the same command tries again:", failures.values())


def _stage(options: _Options) -> "LabelStage":
    from contrafact.families.rfc.bulk import LabelStage

    return LabelStage(
        options.per_article,
        options.model,
        absolute(options.prompts),
        options.max_connections,
        options.bounds,
    )


def _ask(
    rows: "Sequence[InputRow]", options: _Options, model: str
) -> "tuple[dict[str, str], dict[str, str]]":
    from contrafact.families.rfc.pipeline.label import paragraph_of
    from contrafact.files.journal import Journal, sidecar_path
    from contrafact.models.calls import counted_calls
    from contrafact.models.kept import work_open

    stage, at_once = _stage(options), options.max_connections
    ask = stage.open_labeller(lambda one: one)
    texts = {str(row.fields["id"]): paragraph_of(row.fields) for row in rows}
    place = sidecar_path(options.out, "answers")
    with Journal(place, stage.model_facts()) as answers, counted_calls(answers):
        failures = work_open(texts, ask, answers, at_once=at_once, noun="articles", model=model)
        replies = {key: answers.known[key] for key in texts if key in answers.known}
    return replies, {key: f"the call failed ({why})" for key, why in failures.items()}
