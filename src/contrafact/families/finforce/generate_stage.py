"""``generate`` as its options say it: what decides the result, and the job that makes it.

The same for one process and for partitions of an input past one machine (`contrafact.bulk`).
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspect_ai.model import GenerateConfig

from contrafact.bulk.stage import (
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    Stage,
    StageOutput,
    Work,
    Wrap,
)
from contrafact.families.finforce.bulk import (
    BulkJob,
    Piece,
    batch_of,
    column_names,
    headlines_of,
    merged,
)
from contrafact.families.finforce.data import bundled_shots, load_headlines
from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import Method, MethodContext
from contrafact.family.settings import RunSettings, check_verifiers, judge_names
from contrafact.files.download import sha256_of
from contrafact.models.asking import Ask, failure_cause
from contrafact.models.opening import call_config, open_model
from contrafact.options import key_values
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline

if TYPE_CHECKING:
    from contrafact.families.finforce.commands.generate import GenerateOptions

__all__ = ["GenerateStage", "tally"]

_SAMPLING = ("temperature", "top_p", "max_tokens")


@dataclass(frozen=True)
class GenerateStage(Stage):
    """Headlines in, scenarios out, by the options of the command, its paths whole."""

    options: "GenerateOptions"
    columns: Mapping[str, str] = field(default_factory=dict)
    name: str = "generation"

    @property
    def asked(self) -> Asked:
        """The model that writes, and who judges."""
        options = self.options
        return Asked(options.model, options.max_connections, self.judge_names, self._model_args)

    @property
    def _model_args(self) -> dict[str, Any]:
        return key_values("-M", self.options.model_args)

    @property
    def _judge_args(self) -> dict[str, Any]:
        return key_values("--judge-arg", self.options.judge_arg)

    @cached_property
    def pack(self) -> PromptPack:
        """The prompt pack."""
        return open_pack(self.options.prompts)

    @cached_property
    def spec(self) -> str:
        """The method's name with the options that are not its defaults."""
        return METHODS.spec(self.options.method, self._sampling)

    @cached_property
    def context(self) -> MethodContext:
        """What the method is made from, but for the headlines it is used on."""
        options = self.options
        settings = RunSettings(
            task="finforce",
            models=(options.model,),
            seed=options.seed,
            options=FinforceOptions(shots=options.shots or 0),
        )
        return MethodContext(
            settings,
            pack=self.pack,
            pool=load_headlines(options.shots_from) if options.shots_from else bundled_shots(),
        )

    @cached_property
    def judging(self) -> Judging | None:
        """The rubrics, where judges are named."""
        return (
            Judging(self.pack, structured=self.options.structured) if self.options.judge else None
        )

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Inspect's names of the judges."""
        return tuple(judge_names(self.options.judge or ()))

    def chosen(self, items: Sequence[Headline] = ()) -> Method[Headline, Generation]:
        """Return the method, for headlines that are worked on together."""
        return METHODS.make(self.spec, replace(self.context, items=items))

    def check(self) -> Method[Headline, Generation]:
        """Return the method, having checked all that can be wrong before the first call."""
        chosen = self.chosen()
        check_verifiers("finforce", self.judge_names)
        _ = self.judging
        return chosen

    def facts(self) -> dict[str, Any]:
        """Return what decides the results, once `check` has opened the templates."""
        self.check()
        options = self.options
        arguments = {"-M": self._model_args, "--judge-arg": self._judge_args}
        return {
            "method": self.spec,
            "model": options.model,
            "judge": list(options.judge or ()),
            "shots": options.shots,
            "shots-from": sha256_of(options.shots_from) if options.shots_from else None,
            "seed": options.seed,
            "prompts": self.pack.used_hash,
            "structured": options.structured,
            **{name.replace("_", "-"): getattr(options, name) for name in _SAMPLING},
            **({"columns": dict(self.columns)} if self.columns else {}),
            **{option: dict(own) for option, own in arguments.items() if own},
        }

    def job(
        self, chosen: Method[Headline, Generation], wrap: Wrap = lambda model: model
    ) -> BulkJob:
        """Return the job, with every model open."""
        if hasattr(chosen, "open"):  # it runs models itself
            chosen.open(self.options.model, self._model_args)
        calls = call_config(self.options.max_connections, **self.options.bounds)
        config = calls.merge(GenerateConfig(**self._sampling))
        writer = wrap(open_model(self.options.model, config=config, **self._model_args))
        return BulkJob(
            method=chosen,
            ask=Ask(writer, structured=self.options.structured),
            judging=self.judging,
            judges=tuple(
                wrap(open_model(name, config=calls, **self._judge_args))
                for name in self.judge_names
            ),
            columns=self.columns,
        )

    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work on a partition; what is worked on together are its headlines."""
        opened = self.job(self.check(), wrap)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            given = [(row.line, row.fields) for row in rows]
            chosen = self.chosen(headlines_of(given, self.columns))
            batch = batch_of(given, self.columns)
            job = replace(opened, method=chosen, batch=batch, asked={})
            taken = {key for row in rows for key in row.fields}
            made, free = StageOutput(), asyncio.Semaphore(at_once)

            async def one(row: InputRow) -> Piece | None:
                async with free:
                    try:
                        return await job.piece(row.fields)
                    except Exception as error:  # noqa: BLE001 - this row's call; a rerun asks again
                        made.counts["failed"] += 1
                        made.fail(row, f"call failed: {failure_cause(error)}", retry=True)
                        return None

            for row, piece in zip(rows, await asyncio.gather(*map(one, rows)), strict=True):
                if piece is None:
                    continue
                made.counts[piece["outcome"]] += 1
                if piece["outcome"] == "bad":
                    reason = {"reason": piece["added"]["error"]}
                    made.add(REJECTS, row.index, {**row.fields, **reason})
                else:
                    names = column_names(piece["added"], taken)
                    made.add(KEPT, row.index, merged(row.fields, piece, names))
            return made

        return work

    @property
    def _sampling(self) -> dict[str, Any]:
        values = {name: getattr(self.options, name) for name in _SAMPLING}
        return {name: value for name, value in values.items() if value is not None}


OUTCOMES: Mapping[str, str] = {
    "invalid": "with an answer that cannot be used",
    "degenerate": "with a scenario that is none (column 'degenerate')",
    "bad": "without a headline to work on",
    "failed": "failed",
}
"""What is said of rows that are not valid, by what came of them."""


def tally(rows: int, counts: Counter[str]) -> str:
    """Return what became of so many rows, in a line."""
    others = (f"{counts[key]:,} {name}" for key, name in OUTCOMES.items() if counts[key])
    return f"{rows:,} {'row' if rows == 1 else 'rows'}: " + ", ".join(
        [f"{counts['valid']:,} valid", *others]
    )
