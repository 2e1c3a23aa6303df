"""``contrafact rfc label``: bucketed articles in, one row per article and manipulation out."""

from pathlib import Path
from typing import Literal

from contrafact.families.rfc.pipeline.label import LabelStage
from contrafact.options import (
    ASKING,
    CallOptions,
    ModelBulkOptions,
    absolute,
    argument,
    command,
    option,
)
from contrafact.stages.run import executor, stage_command


class _Options(CallOptions):
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
def label(options: _Options, bulk: ModelBulkOptions) -> None:
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
