"""``generate`` as its options say it: what decides the result, and the job that makes it.

The same for one process and for partitions of an input past one machine (`contrafact.bulk`).
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model

from contrafact.bulk.stage import KEPT, REJECTS, Given, Made
from contrafact.corpus.related import load_dated
from contrafact.errors import InputError
from contrafact.families.finforce.bulk import (
    BulkJob,
    ResultRow,
    batch_of,
    collect,
    column_names,
    headlines_of,
)
from contrafact.families.finforce.data import bundled_shots, load_headlines
from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.families.finforce.verifying import say_unranked
from contrafact.family.method import Method, MethodContext, check_helpers, open_weights
from contrafact.family.settings import RunSettings, check_verifiers, judge_names
from contrafact.files.download import sha256_of
from contrafact.models.asking import Ask
from contrafact.models.opening import call_config, open_model
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline

__all__ = ["OUTCOMES", "GenerateStage", "tally"]


@dataclass(frozen=True)
class GenerateStage:
    """Headlines in, scenarios out.

    Attributes:
        method: The generation method, with its options.
        shots: Worked examples of a prompt; the method's own number if none.
        shots_from: The file of examples; the bundled ones if none.
        seed: Seed of the draw of examples.
        prompts: The folder of templates; the bundled pack if none.
        sampling: How the model writes: ``temperature``, ``top_p``, ``max_tokens``.
        structured: Whether providers are asked for JSON by schema.
        columns: By field, what the input calls its column, where they differ.
        bounds: Bounds of each call (`contrafact.models.opening.call_config`).
    """

    method: str
    model: str
    judges: tuple[str, ...] = ()
    shots: int | None = None
    shots_from: str | None = None
    verifier: str | None = None
    news: str | None = None
    seed: int = 0
    prompts: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    structured: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    model_args: Mapping[str, Any] = field(default_factory=dict)
    judge_args: Mapping[str, Any] = field(default_factory=dict)
    name: str = "generation"
    partition_rows: int = 500

    @cached_property
    def pack(self) -> PromptPack:
        """The prompt pack."""
        return open_pack(self.prompts)

    @cached_property
    def spec(self) -> str:
        """The method's name with the options that are not its defaults."""
        return METHODS.spec(self.method, self._given)

    @cached_property
    def context(self) -> MethodContext:
        """What the method is made from, but for the headlines it is used on."""
        if self.news is not None and not (
            self.spec.partition(":")[0] == "grounded" or "." in self.spec
        ):
            raise InputError("--news has no use here: only grounded reads it", hint="leave it out")
        return MethodContext(
            RunSettings(
                task="finforce", models=(self.model,), seed=self.seed, options=self.options
            ),
            pack=self.pack,
            pool=load_headlines(self.shots_from) if self.shots_from else bundled_shots(),
            files={} if self.news is None else {"news": load_dated(Path(self.news))},
        )

    @property
    def options(self) -> FinforceOptions:
        """The family's own options."""
        return FinforceOptions(shots=self.shots or 0, verifier=self.verifier)

    @cached_property
    def judging(self) -> Judging | None:
        """The rubrics, where judges are named."""
        return Judging(self.pack, structured=self.structured) if self.judges else None

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Inspect's names of the judges."""
        return tuple(judge_names(self.judges))

    def chosen(self, items: Sequence[Headline] = ()) -> Method[Headline, Generation]:
        """Return the method, for headlines that are worked on together."""
        return METHODS.make(self.spec, replace(self.context, items=items))

    def check(self) -> Method[Headline, Generation]:
        """Return the method, having checked all that can be wrong before the first call."""
        chosen = self.chosen()
        check_verifiers("finforce", [*self.judge_names, *self.options.helpers.values()])
        if self.verifier is None:
            say_unranked([self.spec])
        check_helpers(self.options.helpers, [chosen], self.judge_names)
        _ = self.judging
        return chosen

    def facts(self) -> dict[str, Any]:
        """Return what decides the results, once `check` has opened the templates."""
        self.check()
        sampling = {
            name: self.sampling.get(name) for name in ("temperature", "top_p", "max_tokens")
        }
        arguments = {"-M": self.model_args, "--judge-arg": self.judge_args}
        return {
            "method": self.spec,
            "model": self.model,
            "judge": list(self.judges),
            "shots": self.shots,
            "shots-from": sha256_of(self.shots_from) if self.shots_from else None,
            "seed": self.seed,
            "prompts": self.pack.used_hash,
            "structured": self.structured,
            **{name.replace("_", "-"): value for name, value in sampling.items()},
            **({"columns": dict(self.columns)} if self.columns else {}),
            **{option: dict(given) for option, given in arguments.items() if given},
            **({"verifier": self.verifier} if self.verifier else {}),
            **({"news": sha256_of(self.news)} if self.news else {}),
        }

    def job(
        self,
        chosen: Method[Headline, Generation],
        *,
        wrap: Callable[[Model], Model] = lambda model: model,
        at_once: int | None = None,
    ) -> BulkJob:
        """Return the job, with every model open.

        Args:
            at_once: Rows worked on at the same time; as many as calls if not given.
        """
        open_weights(chosen, [self.model], self.model_args)
        calls = call_config(self.max_connections, **self.bounds)
        config = calls.merge(GenerateConfig(**self._given))
        helpers = self.options.helpers
        return BulkJob(
            method=chosen,
            ask=Ask(
                wrap(open_model(self.model, config=config, **self.model_args)),
                structured=self.structured,
                helpers={
                    role: wrap(open_model(name, config=calls)) for role, name in helpers.items()
                },
            ),
            judging=self.judging,
            judges=tuple(
                wrap(open_model(name, config=calls, **self.judge_args)) for name in self.judge_names
            ),
            at_once=at_once or self.max_connections,
            columns=self.columns,
        )

    def open_models(
        self, wrap: Callable[[Model], Model], at_once: int
    ) -> Callable[[Sequence[Given]], Awaitable[Made]]:
        """Return the work on a partition; what is worked on together are its headlines."""
        opened = self.job(self.check(), wrap=wrap, at_once=at_once)

        async def work(rows: Sequence[Given]) -> Made:
            given = [(row.line, row.fields) for row in rows]
            job = replace(
                opened,
                method=self.chosen(headlines_of(given, self.columns)),
                batch=batch_of(given, self.columns),
                asked={},
            )
            made = Made()
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

            await collect(job, given, {}, each)
            return made

        return work

    @property
    def _given(self) -> dict[str, Any]:
        return {name: value for name, value in self.sampling.items() if value is not None}


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
