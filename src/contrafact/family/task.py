"""Shared parts of families' Inspect tasks: methods as solvers, their outputs, rates in a log."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, cast

from inspect_ai.log import EvalSample
from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Metric, SampleScore, Scorer, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import BaseModel

from contrafact.family.method import Method
from contrafact.judges.judge import judges_of_role
from contrafact.judges.replies import MAX_CHARACTERS, NO_ANSWER, answer_text
from contrafact.models.asking import CUT_OFF, Ask, PlannedCall, Unanswered, no_answer
from contrafact.models.calls import asked_for
from contrafact.records import Output
from contrafact.stats.intervals import standard_error
from contrafact.text.degenerate import Batch

__all__ = [
    "OUTPUT",
    "Exchanges",
    "Solving",
    "Turn",
    "Turns",
    "degenerate_text",
    "log_scorer",
    "method_solver",
    "number",
    "output_of",
    "rate_of",
    "rates",
    "rates_of_criterion",
    "read_text",
    "score_metadata",
    "stored_fields",
    "verdict_columns",
]

ItemT = TypeVar("ItemT")
OutputT = TypeVar("OutputT")
_P = ParamSpec("_P")
_PACKAGE = "contrafact"

OUTPUT = "output"
"""The key of the method's output in a sample's store."""

Exchanges = Sequence[tuple[str, str]]
"""Prompts sent to a model and its replies, in order."""


@dataclass(frozen=True)
class Solving(Generic[ItemT, OutputT]):
    """How a family's samples are solved, apart from the method.

    Attributes:
        unanswered: Returns the output, given the reason why the model gave no answer.
        shown: Returns the text that the log shows as the sample's output.
        check: Checks an output without a model, and returns it with the findings, given the item,
            the output, and the prompts and replies on the way (`degenerate_text`).
        config: Settings of the calls that override the model's.
    """

    item_of: Callable[[TaskState], ItemT]
    unanswered: Callable[[str], Any] = lambda reason: Output(text=None, invalid=reason)
    shown: Callable[[Any], str] = lambda output: output.text or output.reply or ""
    check: Callable[[ItemT, OutputT, Exchanges], OutputT] = lambda _, output, __: output
    config: GenerateConfig = field(default_factory=GenerateConfig)


@solver
def method_solver(
    method: Method[ItemT, OutputT],
    how: Solving[ItemT, OutputT],
    *,
    structured: bool = True,
    cache: bool | CachePolicy = False,
    judged: bool = False,
) -> Solver:
    """Return a solver that runs a method on a sample; without an answer, the output is invalid.

    Args:
        structured: Whether to ask the provider for schema-constrained JSON when JSON is needed.
        judged: Whether a judge will be asked; a missing judge is reported before the first call.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if judged:
            judges_of_role()
        asked_for.set(f"{state.sample_id} {state.epoch}")
        exchanges: list[tuple[str, str]] = []
        # Outputs made elsewhere need no model under test.
        model = get_model(default=getattr(method, "asked_model", None))
        ask = Ask(model, structured, cache, how.config, exchanges)
        item = how.item_of(state)
        try:
            output = await method(item, ask, draw=state.epoch)
        except Unanswered as reason:
            output = how.unanswered(str(reason))
        # The prompts to weights in this process are known only from the plan.
        shown = exchanges or [(call.prompt, "") for call in method.plan(item)]
        output = how.check(item, output, shown)
        state.store.set(OUTPUT, stored_fields(output))
        state.output = ModelOutput.from_content(str(state.model), how.shown(output))
        return state

    return solve


@dataclass
class Turn(Generic[ItemT]):
    """One turn of a conversation; ``reply_tokens`` is the approximate length of the reply."""

    name: str
    prompt: Callable[[ItemT], str]
    reply_tokens: int
    schema: ResponseSchema | None = None


@dataclass
class Turns(Generic[ItemT, OutputT]):
    """A method that asks in several turns of a conversation; the last reply is the answer.

    ``read`` makes the output from that reply and from the other turns' answers, by turn name.
    """

    name: str
    turns: Sequence[Turn[ItemT]]
    read: Callable[[ModelOutput, dict[str, str]], OutputT]
    shots: int = 0

    async def __call__(self, item: ItemT, ask: Ask, *, draw: int = 1) -> OutputT:
        messages: list[ChatMessage] = []
        steps: dict[str, str] = {}
        *before, last = self.turns
        for turn in before:
            messages.append(ChatMessageUser(content=turn.prompt(item)))
            output = await ask(list(messages), turn.schema)
            steps[turn.name] = answer_text(output.completion).text or NO_ANSWER
            messages.append(ChatMessageAssistant(content=steps[turn.name]))
        messages.append(ChatMessageUser(content=last.prompt(item)))
        return self.read(await ask(messages, last.schema), steps)

    def plan(self, item: ItemT) -> Sequence[PlannedCall]:
        calls: list[PlannedCall] = []
        so_far = ""
        for turn in self.turns:
            so_far += turn.prompt(item)
            calls.append(PlannedCall(so_far, turn.reply_tokens))
            so_far += " word" * turn.reply_tokens
        return calls


def stored_fields(output: Any) -> dict[str, Any]:
    """Return the fields of an output, a Pydantic model or a dataclass, for a sample's store."""
    return output.model_dump(mode="json") if isinstance(output, BaseModel) else asdict(output)


def output_of(state: TaskState) -> Output:
    """Return the output in a sample, written by a method or by another solver."""
    kept = state.store.get(OUTPUT)
    return Output(**kept) if kept is not None else read_text(state.output)


def degenerate_text(
    batch: Batch, output: Output, *own: str, shown: Exchanges = (), same: Sequence[str] = ()
) -> Output:
    """Mark an output as degenerate, with the reason, if its text is not an answer.

    Args:
        own: The texts of its input; the first is the text to change.
        shown: The prompts and replies on the way.
        same: Other inputs that it may equal: variants of its own input.
    """
    if output.text is None or output.degenerate is not None:
        return output
    reason = batch.reason(output.text, *own, shown=shown, same=same)
    return output if reason is None else output.model_copy(update={"degenerate": reason})


def read_text(
    output: ModelOutput,
    *,
    trace: Mapping[str, Any] | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> Output:
    """Return a model's output as text, or as invalid with the reason: see `answer_text`."""
    answer = answer_text(output.completion, max_characters)
    reason = no_answer(output) or answer.invalid
    return Output(
        text=None if reason else answer.text,
        invalid=reason,
        reply=output.completion,
        trace={**(trace or {}), **({"cut_off": True} if reason == CUT_OFF else {})},
    )


def log_scorer(
    name: str, *metrics: Metric
) -> Callable[[Callable[_P, Scorer]], Callable[_P, Scorer]]:
    """Register a function as an Inspect scorer under the name that a log gives it.

    A log leaves out the package in a scorer's name, but Inspect finds a package's scorer only with
    it. So the scorer is registered such that logs name it ``contrafact/NAME``; ``inspect score
    LOG`` finds it under that name, as does ``--scorer contrafact/NAME``.
    """

    def decorate(make: Callable[_P, Scorer]) -> Callable[_P, Scorer]:
        scorer(metrics=list(metrics), name=name)(make)
        return scorer(metrics=list(metrics), name=f"{_PACKAGE}/{name}")(make)

    return decorate


def score_metadata(sample: EvalSample, name: str) -> dict[str, Any]:
    """Return the metadata that a scorer made by `log_scorer` kept; empty if it gave no score."""
    scores = sample.scores or {}
    score = scores.get(f"{_PACKAGE}/{name}", scores.get(name))
    return (score.metadata if score else None) or {}


@metric(name="rates")
def rates() -> Metric:
    """Return the metric of rates over samples: valid outputs, and each criterion in two forms.

    A criterion's name gives its rate over valid verdicts; the ``_strict`` form counts everything
    invalid or degenerate (``degenerate`` in a score's metadata) as failed. Each rate has its
    standard error, ``_stderr``, clustered by ``cluster`` of the samples' metadata, or by sample. A
    criterion that a sample's score does not name was not asked about that sample.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        none = [bool((score.score.metadata or {}).get("degenerate")) for score in scores]
        clusters = [
            str((score.sample_metadata or {}).get("cluster", score.sample_id)) for score in scores
        ]
        by_name: dict[str, float] = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            asked = [place for place, row in enumerate(rows) if name in row]
            values = [number(rows[place][name]) for place in asked]
            of = [clusters[place] for place in asked]
            if name == "valid":
                by_name |= rate_of(name, values, of)
            else:
                by_name |= rates_of_criterion(name, values, [none[place] for place in asked], of)
        return by_name

    return compute


def rates_of_criterion(
    name: str, values: Sequence[float], no_answer: Sequence[bool], clusters: Sequence[Any]
) -> dict[str, float]:
    """Return a criterion's rate over valid verdicts; its strict form counts others as failed."""
    strict = [
        0.0 if math.isnan(value) or none else value
        for value, none in zip(values, no_answer, strict=True)
    ]
    return rate_of(name, values, clusters) | rate_of(f"{name}_strict", strict, clusters)


def rate_of(name: str, values: Sequence[float], clusters: Sequence[Any]) -> dict[str, float]:
    """Return a rate and its standard error for a log, as ``<name>`` and ``<name>_stderr``.

    A value is NaN if it is missing; values in the same cluster are not independent.
    """
    valid = [value for value in values if not math.isnan(value)]
    rate = sum(valid) / len(valid) if valid else math.nan
    return {name: rate, f"{name}_stderr": standard_error(values, clusters)}


def verdict_columns(
    verdicts: Mapping[str, Mapping[str, Any]], criteria: Sequence[str]
) -> dict[str, Any]:
    """Return a row's columns of criteria: the panel's verdict (1.0, 0.0 or NaN) and its fault.

    ``verdicts`` is a score's ``metadata["verdicts"]``, made by `Judged.as_json`.
    """
    row: dict[str, Any] = {}
    for name in criteria:
        panel = verdicts.get(name, {}).get("panel", {})
        row[name] = number(panel.get("passed"))
        row[f"{name}_invalid"] = panel.get("invalid")
    return row


def number(value: bool | float | None) -> float:
    """Return a value as a float; None becomes NaN."""
    return math.nan if value is None else float(value)
