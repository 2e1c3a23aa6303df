"""``contrafact rfc check``: check that each pair does what its manipulation asks, and no more."""

from pathlib import Path
from typing import Literal

from contrafact.errors import InputError
from contrafact.families.rfc.commands.shared import BANDS, JudgeOptions
from contrafact.families.rfc.pipeline.check import CheckStage
from contrafact.files.tables import require_tables
from contrafact.options import ModelBulkOptions, absolute, argument, command, option
from contrafact.stages.run import executor, stage_command

__all__ = ["CheckOptions", "check"]


class CheckOptions(JudgeOptions):
    """The options of the command."""

    file: str = argument("PAIRS", "Pairs: JSON Lines, JSON, CSV, Parquet, or `-`.")
    out: str | None = option(None, "The checks, JSON Lines. [standard output]", metavar="FILE")
    judge: list[str] | None = option(
        None,
        "A model that judges what pairs mean; several form a panel. Without one, it stays open.",
        metavar="J",
    )
    numerical: Literal["review", "decide"] | None = option(
        None,
        "Ask about numerical pairs that facts pass, too: for review, or to decide, by a judge "
        "whose --exam allows it.",
    )
    exam: str | None = option(
        None, "The judge's exam, to estimate how many pairs are really sound.", metavar="FILE"
    )
    labels: str | None = option(
        None,
        "People's labels of random pairs (id, sound), to estimate how many are really sound.",
        metavar="FILE",
    )
    polarity_model: Path | None = option(
        None, "A FinBERT folder that judges tone; not judged if not given.", metavar="DIR"
    )
    bands: Path | None = BANDS

    def stage(self) -> "CheckStage":
        """Return the check stage; an option that needs a judge is an `InputError` without one."""
        settings = self.judging(self.numerical)
        if settings is None:
            self.refuse(_ONLY_JUDGED, "without --judge", "name a judge")
        tone, bands = absolute(self.polarity_model), absolute(self.bands)
        return CheckStage(tone, bands, settings, self.exam, self.labels)


_ONLY_JUDGED = (
    "each",
    "numerical",
    "exam",
    "labels",
    "estimate",
    "prompts",
    "structured",
    "judge_arg",
)


@command
def check(options: CheckOptions, bulk: ModelBulkOptions) -> None:
    """Check pairs: facts by rule, and meaning by a judge.

    Each row needs id, manipulation, original and rewritten. The check of a pair has passed (true,
    false, or null if undecided), the violations, and, as review, what a person should look at.
    Facts decide a numerical pair in which only figures differ. Other pairs also need a judge, which
    is asked if facts find no fault and quotes the deciding words. Replies are saved in
    FILE.answers.jsonl as they come: if interrupted, run it again, and nothing is asked twice.

    Exits with 0, 1 if some pairs fail, 2 if a row is bad; bad rows are named by line, and the
    others are still checked.

    Example: contrafact rfc check pairs.jsonl --out checks.jsonl
    """
    elsewhere = executor(bulk)
    if elsewhere is None:
        require_tables(options.file, options.labels)
    stage = options.stage()
    if elsewhere is not None:
        options.refuse(["estimate", "labels"], "with --engine ray", "leave one out")
        if options.out is None:
            raise InputError("--engine ray writes a folder", hint="name one with --out")
    out = options.out or "-"
    estimate, yes = options.estimate, options.yes
    stage_command(stage, options.file, out, elsewhere, estimate=estimate, yes=yes)
