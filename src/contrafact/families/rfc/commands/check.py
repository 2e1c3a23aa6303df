"""``contrafact rfc check``: does every pair do what its manipulation is to do, and only that?"""

from pathlib import Path

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
        "A model that says what pairs mean; several form a panel. Without one that is undecided.",
        metavar="J",
    )
    numerical: bool = option(False, "Ask about numerical pairs too; for review alone.")
    exam: str | None = option(
        None, "The judge's exam: how many pairs are really sound, by it.", metavar="FILE"
    )
    labels: str | None = option(
        None,
        "People's labels of some pairs drawn at random (id, sound): how many are, by these.",
        metavar="FILE",
    )
    rule: list[str] | None = option(
        None,
        "Rules of your own that join the contracts: package.module, or package.module:function; "
        "may be repeated.",
        metavar="PATH",
    )
    polarity_model: Path | None = option(
        None, "A FinBERT folder that judges tone; nobody does if not given.", metavar="DIR"
    )
    bands: Path | None = BANDS

    def stage(self) -> "CheckStage":
        """Return what checks pairs; without a judge what is for one alone is an `InputError`."""
        settings = self.judging(numerical=self.numerical)
        if settings is None:
            self.refuse(_ONLY_JUDGED, "without --judge", "name a judge")
        rules, tone = tuple(self.rule or ()), absolute(self.polarity_model)
        bands = absolute(self.bands)
        return CheckStage(rules, tone, bands, settings, self.exam, self.labels)


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
    """Check pairs: facts by rule, and what they mean by a judge.

    Each row needs id, manipulation, original and rewritten. Each gets a row with passed (true,
    false, or null where it is undecided), the violations, and what a person should see, as review.
    A numerical pair is decided by facts. The others need a judge besides, who is asked where facts
    find no fault, and quotes the words that decide. Replies are kept in FILE's name with
    .answers.jsonl as they come: killed and run again, nothing is asked twice.

    Exits with 0, 1 if some fail, 2 if a row is bad; bad rows are named by line, the others are
    checked all the same.

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
