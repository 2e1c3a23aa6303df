"""``contrafact rfc bucket``: articles in, candidates for the four manipulations out."""

from contrafact.families.rfc.pipeline.bucket import BucketStage
from contrafact.options import BulkOptions, Options, argument, command, option
from contrafact.stages.run import executor, stage_command


class _Options(Options):
    file: str = argument("FILE", "Articles: CSV, JSON, JSON Lines, Parquet, or `-`.")
    out: str = option(..., "The candidates, JSON Lines.", metavar="FILE")


@command
def bucket(options: _Options, bulk: BulkOptions) -> None:
    """Sort articles by the manipulations that their words allow; an article may allow several.

    Each candidate is written with the words that qualify it. Articles that allow no manipulation,
    and repeated rows, are in FILE.dropped.jsonl with the reasons; all decisions are in
    FILE.ledger.jsonl.

    Example: contrafact rfc bucket news.jsonl --out candidates.jsonl
    """
    stage_command(BucketStage(), options.file, options.out, executor(bulk))
