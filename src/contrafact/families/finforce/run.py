"""Runs of ``finforce``: what they need before the first call, and the tables they leave."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from inspect_ai import Task
from inspect_ai.log import EvalSample

from contrafact.errors import InputError
from contrafact.families.finforce import bundled
from contrafact.families.finforce.bundled import bundled_headlines, bundled_shots
from contrafact.families.finforce.data import LoadNotes, load_headlines
from contrafact.families.finforce.error_classes import classify_many
from contrafact.families.finforce.generation import Method
from contrafact.families.finforce.judging import FAULTS, Judging
from contrafact.families.finforce.methods import (
    MethodContext,
    make_method,
    method_spec,
    open_weights,
)
from contrafact.families.finforce.task import TASK_VERSION, finforce
from contrafact.files.tables import write_frame
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.prompts import open_pack
from contrafact.records import CRITERIA, SIDES, Headline, Side
from contrafact.runs.fluency import score_fluency
from contrafact.runs.items import ITEMS, VERDICTS
from contrafact.runs.prepared import (
    Evaluated,
    Prepared,
    absolute,
    data_record,
    file_record,
    hash_file,
    require_model,
)
from contrafact.runs.settings import RunSettings, identity

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["FinforceRun", "prepare_finforce"]

_JUDGE_REPLY_TOKENS = 12
_COLUMNS = (
    "system", "model", "method", "shots", "judge", "draw", "sample_id", "side", "headline",
    "category", "text", "invalid_reason", "repairs", *CRITERIA,
    *(f"{name}_invalid" for name in CRITERIA), *FAULTS,
)  # fmt: skip

# Of methods that write a factual first, and then what it would have been.
_FACTUAL = ("base", "base_distance")


@dataclass(frozen=True)
class FinforceRun(Prepared):
    """A run of ``finforce`` that is ready to start.

    Attributes:
        headlines: The items, limited.
        methods: The methods, by name, their templates checked.
        judging: The rubrics, checked; none where no judge was named.
    """

    family: ClassVar[str] = "finforce"
    task_version: ClassVar[str] = TASK_VERSION

    headlines: list[Headline]
    methods: dict[str, Method]
    judging: Judging | None

    @property
    def items(self) -> int:
        """How many headlines."""
        return len(self.headlines)

    @property
    def asked(self) -> tuple[str, ...]:
        """The generation methods."""
        return tuple(self.methods)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out."""
        if self.judging is not None:
            return ()
        return ("no --judge: forward compatibility and directionality are left out",)

    def draws(self, method: str) -> int:
        """Return how often the examples are drawn; a method that shows none is run once."""
        return self.settings.draws if self.methods[method].shots else 1

    def task(self, method: str) -> Task:
        """Return the Inspect task of one generation method, what it runs itself loaded.

        Raises:
            InputError: If a model cannot be loaded.
        """
        settings = self.settings
        open_weights(self.methods[method], settings.models, settings.model_args)
        shows = self.methods[method].shots
        return finforce(
            data=absolute(settings.data),
            method=method,
            shots=settings.shots if shows else 0,
            draws=self.draws(method),
            shots_from=absolute(settings.shots_from) if shows else None,
            seed=settings.seed,
            prompts=absolute(settings.prompts),
            structured=settings.structured,
            judged=bool(settings.judges),
            judge_faults=settings.judge_faults,
            limit=settings.limit,
            cache_scope="shared" if settings.shared_cache else self.identity,
            fingerprint=self.identity,
        )

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return one estimate for every writer and method, and one for every judge."""
        settings = self.settings
        sample = sampled(self.headlines)
        scale = self.items / len(sample)
        times = {name: scale * self.draws(name) for name in self.methods}
        plans = {
            name: [call for item in sample for call in method.plan(item)]
            for name, method in self.methods.items()
        }
        rows = subject_estimates(settings.models, plans, times, tokens=tokens)
        if self.judging is not None:
            prompts = [
                prompt
                for item in sample
                for side in SIDES
                for prompt in self.judging.prompts(item, side, item.text)
            ]
            rows += judge_estimates(
                settings.judges,
                prompts,
                len(settings.models) * sum(times.values()),
                reply_tokens=_JUDGE_REPLY_TOKENS,
                tokens=tokens,
            )
        return rows

    def written_here(self, sample: EvalSample) -> Sequence[tuple[int, int]]:
        """See `Prepared`; it is what ``lm-counterfactuals`` keeps of its texts."""
        trace = sample.store.get("generation", {}).get("trace", {})
        read = trace.get("prompt_tokens", {})
        return [(tokens, len(trace["tokens"][part])) for part, tokens in read.items()]

    def write_tables(
        self, folder: Path, evaluated: Sequence[Evaluated], scorer: "CausalModel | None"
    ) -> None:
        """Write one row per counterfactual, scored for fluency, and the judges' verdicts."""
        import pandas as pd

        judge = " + ".join(self.settings.judges) or None
        rows = [row for one in evaluated for s in one.samples for row in _rows(one, s, judge)]
        verdicts = [row for one in evaluated for s in one.samples for row in _verdicts(one, s)]
        factual = [name for name in _FACTUAL if any(name in row for row in rows)]
        items = pd.DataFrame(rows, columns=[*_COLUMNS, *factual])
        order = {item.id: position for position, item in enumerate(self.headlines)}
        items = items.sort_values(
            by=["system", "draw", "sample_id"],
            key=lambda column: column.map(order) if column.name == "sample_id" else column,
            kind="stable",
            ignore_index=True,
        )
        scored = score_fluency([*items["headline"], *items["text"].dropna()], scorer, folder)
        items = items.assign(
            perplexity=[scored.get(text, math.nan) for text in items["text"]],
            headline_perplexity=[scored.get(text, math.nan) for text in items["headline"]],
        )
        write_frame(classify_many(items), folder / ITEMS)
        if verdicts:
            write_frame(pd.DataFrame(verdicts), folder / VERDICTS)


def prepare_finforce(settings: RunSettings) -> FinforceRun:
    """Load and check all that a run of ``finforce`` names.

    Raises:
        InputError: for the first thing that is wrong.
    """
    require_model(settings)
    for option, given, what in (
        ("--rationale", settings.rationale, "asks for no label"),
        ("--logprobs", settings.logprobs, "asks for no label"),
        ("--background", settings.background is not None, "shows no earlier news"),
    ):
        if given:
            raise InputError(f"{option} is not for finforce, which {what}", hint="leave it out")
    # One way of writing a method: its options are part of who the run is.
    specs = [method_spec(method, settings.generation) for method in settings.methods]
    settings = settings.model_copy(update={"methods": tuple(dict.fromkeys(specs))})
    notes = LoadNotes()
    headlines = load_headlines(settings.data, notes) if settings.data else bundled_headlines()
    headlines = headlines[: settings.limit]
    data = data_record(settings.data, len(headlines), notes.lines(), bundled=_bundled("headlines"))
    pool_notes = LoadNotes()
    pool = bundled_shots()
    pool_record = None
    if settings.shots_from:
        pool = load_headlines(settings.shots_from, pool_notes)
        pool_record = file_record(settings.shots_from, len(pool), pool_notes.lines())
    pack = open_pack(settings.prompts)
    context = MethodContext(
        pack=pack,
        shots=settings.shots,
        pool=pool,
        seed=settings.seed,
        models=settings.models,
    )
    methods = {name: make_method(name, context) for name in settings.methods}
    if settings.draws > 1 and not any(method.shots for method in methods.values()):
        raise InputError(
            f"--draws {settings.draws} draws few-shot examples, and no method here shows any",
            hint="add --method few-shot, or leave --draws out",
        )
    judging = Judging(pack, settings.judge_faults) if settings.judges else None
    contents = {
        "data": data.sha256,
        "pack": pack.hash_for(FinforceRun.family),
        "task": TASK_VERSION.split("-")[0],
    }
    if any(method.shots for method in methods.values()):
        contents["shots"] = pool_record.sha256 if pool_record else hash_file(_bundled("shots"))
    return FinforceRun(
        settings=settings,
        identity=identity(settings, contents),
        pack=pack,
        data=data,
        pool=pool_record,
        background=None,
        headlines=headlines,
        methods=methods,
        judging=judging,
    )


def _rows(one: Evaluated, sample: EvalSample, judge: str | None) -> list[dict[str, Any]]:
    metadata = one.log.eval.metadata or {}
    generation = sample.store["generation"]
    panels = _panels(sample)
    rows = []
    for side in SIDES:
        row: dict[str, Any] = {
            "system": one.label,
            "model": one.log.eval.model,
            "method": metadata["method"],
            "shots": metadata["shots"],
            "judge": judge,
            "draw": sample.epoch,
            "sample_id": str(sample.id),
            "side": side,
            "headline": str(sample.input),
            "category": sample.metadata.get("category"),
            "text": generation["texts"][side],
            "invalid_reason": generation["invalid"].get(side),
            "repairs": len(generation["repairs"]),
            **_factual(generation, side),
        }
        for name in (*CRITERIA, *FAULTS):
            verdict = panels.get(side, {}).get(name)
            passed = verdict["panel"]["passed"] if verdict else None
            row[name] = math.nan if passed is None else float(passed)
            row[f"{name}_invalid"] = verdict["panel"]["invalid"] if verdict else None
        rows.append(row)
    return rows


def _factual(generation: Mapping[str, Any], side: Side) -> dict[str, Any]:
    """Return the text that a counterfactual is one of, where the method wrote such a text."""
    trace = generation["trace"]
    if "base_distance" not in trace:
        return {}
    return dict(zip(_FACTUAL, (trace["base"], trace["base_distance"][side]), strict=True))


def _verdicts(one: Evaluated, sample: EvalSample) -> list[dict[str, Any]]:
    return [
        {
            "system": one.label,
            "draw": sample.epoch,
            "sample_id": str(sample.id),
            "side": side,
            "criterion": name,
            "judge": vote["judge"],
            "passed": math.nan if vote["passed"] is None else float(vote["passed"]),
            "invalid": vote["invalid"],
        }
        for side, by_name in _panels(sample).items()
        for name, both in by_name.items()
        for vote in both["members"]
    ]


def _panels(sample: EvalSample) -> dict[str, Any]:
    score = (sample.scores or {})["counterfactuals"]
    found: dict[str, Any] = (score.metadata or {}).get("verdicts", {})
    return found


def _bundled(what: str) -> Path:
    return Path(bundled.__file__).parent / "samples" / f"{what}.jsonl"
