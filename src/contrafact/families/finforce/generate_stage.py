"""``generate`` as its options say it: what decides the result, and the job that makes it.

The same for one process and for partitions of an input past one machine (`contrafact.bulk`).
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspect_ai.model import GenerateConfig, Model

from contrafact.bulk.stage import KEPT, REJECTS, Asked, InputRow, StageOutput
from contrafact.families.finforce.bulk import (
    BulkJob,
    ResultRow,
    batch_of,
    column_names,
    headlines_of,
)
from contrafact.families.finforce.data import bundled_shots, load_headlines
from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import Method, MethodContext
from contrafact.family.settings import RunSettings, check_verifiers, judge_names
from contrafact.files.download import sha256_of
from contrafact.models.asking import Ask
from contrafact.models.opening import call_config, open_model
from contrafact.options import key_values
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline

if TYPE_CHECKING:
    from contrafact.families.finforce.commands.generate import GenerateOptions

__all__ = ["OUTCOMES", "GenerateStage", "tally"]

_SAMPLING = ("temperature", "top_p", "max_tokens")


@dataclass(frozen=True)
class GenerateStage:
    """Headlines in, scenarios out, by the options of the command, its paths whole."""

    options: "GenerateOptions"
    columns: Mapping[str, str] = field(default_factory=dict)
    name: str = "generation"
    partition_rows: int = 500

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
            task="finforce", models=(options.model,), seed=options.seed, options=self.own_options
        )
        return MethodContext(
            settings,
            pack=self.pack,
            pool=load_headlines(options.shots_from) if options.shots_from else bundled_shots(),
        )

    @property
    def own_options(self) -> FinforceOptions:
        """The family's own options."""
        return FinforceOptions(shots=self.options.shots or 0)

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
        self,
        chosen: Method[Headline, Generation],
        *,
        wrap: Callable[[Model], Model] = lambda model: model,
        at_once: int | None = None,
    ) -> BulkJob:
        """Return the job, with every model open; ``at_once`` rows, or as many as calls."""
        if hasattr(chosen, "open"):  # it runs models itself
            chosen.open(self.options.model, self._model_args)
        calls = call_config(self.options.max_connections, **self.options.bounds)
        config = calls.merge(GenerateConfig(**self._sampling))
        return BulkJob(
            method=chosen,
            ask=Ask(
                wrap(open_model(self.options.model, config=config, **self._model_args)),
                structured=self.options.structured,
            ),
            judging=self.judging,
            judges=tuple(
                wrap(open_model(name, config=calls, **self._judge_args))
                for name in self.judge_names
            ),
            at_once=at_once or self.options.max_connections,
            columns=self.columns,
        )

    def open_models(
        self, wrap: Callable[[Model], Model], at_once: int
    ) -> Callable[[Sequence[InputRow]], Awaitable[StageOutput]]:
        """Return the work on a partition; what is worked on together are its headlines."""
        opened = self.job(self.check(), wrap=wrap, at_once=at_once)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            given = [(row.line, row.fields) for row in rows]
            job = replace(
                opened,
                method=self.chosen(headlines_of(given, self.columns)),
                batch=batch_of(given, self.columns),
                asked={},
            )
            made = StageOutput()
            taken = {key for row in rows for key in row.fields}

            def each(result: ResultRow) -> None:
                row = rows[result.position]
                made.counts[result.outcome] += 1
                if result.outcome == "failed":
                    made.fail(row, str(result.added["error"]), retry=True)
                elif result.outcome == "bad":
                    made.add(REJECTS, row.index, {**row.fields, "reason": result.added["error"]})
                else:
                    names = column_names(result.added, taken)
                    made.add(KEPT, row.index, result.merged(names))

            await job.run(given, each)
            return made

        return work

    @property
    def _sampling(self) -> dict[str, Any]:
        values = {name: getattr(self.options, name) for name in _SAMPLING}
        return {name: value for name, value in values.items() if value is not None}


OUTCOMES: Mapping[str, str] = {
    "valid": "valid",
    "invalid": "with an answer that cannot be used",
    "degenerate": "with a scenario that is none (column 'degenerate')",
    "bad": "without a headline to work on",
    "failed": "failed",
}
"""What is said of rows, by what came of them."""


def tally(counts: Counter[str]) -> str:
    """Return what became of the rows, in a line."""
    return ", ".join(f"{counts[key]:,} {name}" for key, name in OUTCOMES.items() if counts[key])
