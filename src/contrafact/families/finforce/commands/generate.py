"""``contrafact generate``: headlines in, scenarios out, in bulk."""

from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.errors import InputError
from contrafact.families.finforce.data import FIELDS
from contrafact.files.fields import checked_columns, named_columns
from contrafact.files.tables import require_tables
from contrafact.options import (
    SAMPLING,
    TRANSPORT,
    CallOptions,
    ModelBulkOptions,
    absolute,
    argument,
    command,
    key_values,
    option,
)
from contrafact.stages.run import executor, stage_command

if TYPE_CHECKING:
    from contrafact.families.finforce.scenarios import GenerateStage

__all__ = ["GenerateOptions", "generate"]


class GenerateOptions(CallOptions):
    """The options of the command."""

    file: str = argument("FILE", "Headlines: CSV, Excel, JSON(L), Parquet, hf://…, or -.")
    model: str = option(..., "The model that writes.", metavar="M")
    out: str = option(..., "CSV, Excel, JSONL or Parquet, or - (JSONL).", metavar="FILE")
    method: str = option(
        "zero-shot",
        "Generation method, or NAME:OPTION=VALUE,OPTION=VALUE. Listed by `contrafact methods`.",
        metavar="NAME",
    )
    columns: list[str] | None = option(
        None, "What FILE calls the columns, e.g. headline.", metavar="WANTED=FOUND,…"
    )
    judge: list[str] | None = option(
        None, "Score the scenarios; several form a panel.", metavar="J"
    )
    shots: int | None = option(None, "Examples per few-shot prompt. [3]", ge=1, metavar="K")
    shots_from: Path | None = option(None, "Pool of examples; our own if none.", metavar="FILE")
    limit: int | None = option(None, "Take the first N rows.", ge=1, metavar="N")
    seed: int = option(0, "Seed of the draw of examples.", ge=0, metavar="S")
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")
    temperature: float | None = option(None, panel=SAMPLING, ge=0)
    top_p: float | None = option(None, panel=SAMPLING, ge=0, le=1)
    max_tokens: int | None = option(None, panel=SAMPLING, ge=1)
    structured: bool = option(True, "Ask providers for JSON by schema.")
    model_args: list[str] | None = option(
        None, "Provider argument of the model.", flags=("-M",), panel=TRANSPORT, metavar="KEY=VALUE"
    )
    judge_arg: list[str] | None = option(
        None, "Provider argument of the judges.", panel=TRANSPORT, metavar="KEY=VALUE"
    )
    estimate: bool = option(False, "Say calls, tokens and cost, and call nothing.")
    yes: bool = option(False, "Make many paid calls without a question.", flags=("--yes", "-y"))

    def stage(self) -> "GenerateStage":
        """Return the stage that writes the scenarios."""
        from contrafact.prompts import pack_source  # imports Jinja2

        if str(self.shots_from) == "-":
            raise InputError(
                "examples cannot be read from standard input", hint="name a file with --shots-from"
            )
        from contrafact.families.finforce.scenarios import SAMPLED_BY, GenerateStage

        sampling = {name: getattr(self, name) for name in SAMPLED_BY}
        return GenerateStage(
            self.model,
            self.method,
            tuple(self.judge or ()),
            checked_columns(named_columns(self.columns), FIELDS),
            shots=self.shots,
            shots_from=absolute(self.shots_from),
            seed=self.seed,
            sampling={name: value for name, value in sampling.items() if value is not None},
            structured=self.structured,
            model_args=key_values("-M", self.model_args),
            judge_args=key_values("--judge-arg", self.judge_arg),
            max_connections=self.max_connections,
            bounds=self.bounds,
            limit=self.limit,
            prompts=pack_source(self.prompts),
        )


@command
def generate(options: GenerateOptions, bulk: ModelBulkOptions) -> None:
    """Write a risk and an opportunity scenario for every headline of a file, in order.

    A repeated headline is asked about once. Bad rows are reported by line and kept, with an error
    column. If interrupted, run it again to go on.

    Example: contrafact generate news.csv --method zero-shot --model embedded/smollm2-135m
    --out scenarios.csv
    """
    elsewhere = executor(bulk)
    if elsewhere is None:
        require_tables(options.file)
    else:
        options.refuse(["limit", "estimate"], "with --engine ray", "leave it out")
    stage, file = options.stage(), options.file
    if elsewhere is None and file != "-":
        from contrafact.corpus.datasets import data_source

        stage.checked()
        file = str(data_source(file).path)
    estimate, yes = options.estimate, options.yes
    stage_command(stage, file, options.out, elsewhere, estimate=estimate, yes=yes)
