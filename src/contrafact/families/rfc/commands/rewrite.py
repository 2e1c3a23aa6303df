"""``contrafact rfc rewrite``: labelled articles in, pairs out."""

from pathlib import Path

from contrafact.errors import require
from contrafact.families.rfc.commands.shared import BANDS, JudgeOptions
from contrafact.families.rfc.pipeline.rewrite_stage import RewriteStage
from contrafact.files.tables import require_tables
from contrafact.options import ASKING, ModelBulkOptions, absolute, argument, command, option
from contrafact.stages.run import executor, stage_command

__all__ = ["RewriteOptions", "rewrite"]

_BY_RULE, _BY_MODEL = 16, 3  # proposals for a row


class RewriteOptions(JudgeOptions):
    """The options of the command."""

    file: str = argument("FILE", "Labelled articles, as `rfc label` writes them.")
    out: str = option(..., "The pairs, JSON Lines.", metavar="FILE")
    seed: int = option(0, "Seed of every choice.", ge=0, metavar="S")
    attempts: int | None = option(
        None, "The most proposals for a row. [16 by rule, 3 by model]", ge=1, metavar="N"
    )
    bands: Path | None = BANDS
    model: str | None = option(
        None, "The model that writes. [rules write numerical pairs]", metavar="M", panel=ASKING
    )
    judge: list[str] | None = option(
        None,
        "A model that judges what a rewrite means; several form a panel. Undecided without one.",
        metavar="J",
        panel=ASKING,
    )
    each: bool = option(False, "Ask judges each criterion in a separate call.", panel=ASKING)
    polarity_model: Path | None = option(
        None, "A FinBERT folder that judges tone.", metavar="DIR", panel=ASKING
    )
    decoding: Path | None = option(
        None,
        "Decoding settings per manipulation, TOML; the paper's if not given. The paper seems to "
        "print the settings of flipping and numerical in each other's place.",
        metavar="FILE",
        panel=ASKING,
    )

    def stage(self) -> "RewriteStage":
        """Return the rewrite stage; an option that needs a model is an `InputError` without one."""
        if self.model is None:
            self.refuse(_ONLY_WRITING, "without --model", "name one")
        else:
            require("bpe_openai", "the lengths of rewrites")

        return RewriteStage(
            self.seed,
            self.attempts or (_BY_RULE if self.model is None else _BY_MODEL),
            absolute(self.bands),
            self.model,
            None if self.model is None else self.judging(),
            absolute(self.decoding),
            polarity_model=absolute(self.polarity_model),
            **self.calls,
        )


_ONLY_WRITING = (
    "each",
    "judge_arg",
    "judge",
    "polarity_model",
    "decoding",
    "prompts",
    "max_retries",
    "timeout",
    "attempt_timeout",
    "estimate",
)


@command
def rewrite(options: RewriteOptions, bulk: ModelBulkOptions) -> None:
    """Rewrite each article by its manipulation; keep rewrites that no fact and no judge rejects.

    A proposal that breaks a fact, or that a judge fails, is rewritten with the reason given. An
    undecided rewrite is kept, with the reason under 'undecided'. Dropped rows are written to
    FILE.dropped.jsonl, all decisions to FILE.ledger.jsonl. If interrupted, run it again to go on.

    Example: contrafact rfc rewrite labelled.jsonl --seed 7 --out pairs.jsonl
    """
    elsewhere = executor(bulk)
    if elsewhere is None:
        require_tables(options.file)
    else:
        options.refuse(["estimate"], "with --engine ray", "leave one out")
    out, estimate, yes = options.out, options.estimate, options.yes
    stage = options.stage()
    stage_command(stage, options.file, out, elsewhere, estimate=estimate, yes=yes)
