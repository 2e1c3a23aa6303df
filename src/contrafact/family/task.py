"""What the Inspect tasks of families share: a method as a solver, its output, rates in a log."""

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
"""Where a sample's store keeps the method's output."""

Exchanges = Sequence[tuple[str, str]]
"""What was sent to a model and what came back, in order: prompts and replies."""


@dataclass(frozen=True)
class Solving(Generic[ItemT, OutputT]):
    """How a family's samples are worked on, besides by which method.

    Attributes:
        unanswered: Returns the output where the model gave no answer, for a reason.
        shown: Returns what the log shows as the sample's output.
        check: Checks an output without a model, and returns it with what was found: from the
            item, the output, and what was asked and answered on the way (`degenerate_text`).
        config: Settings of the calls on top of the model's own.
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
    """Work on a sample by a method; a model that gives no answer makes an invalid output.

    Args:
        structured: Whether to ask the provider for schema-constrained JSON, where JSON is asked.
        judged: Whether a judge will be asked: a missing one is found here, before the first call.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if judged:
            judges_of_role()
        asked_for.set(f"{state.sample_id} {state.epoch}")
        exchanges: list[tuple[str, str]] = []
        # Outputs that were made elsewhere are taken where no model is under test.
        model = get_model(default=getattr(method, "asked_model", None))
        ask = Ask(model, structured, cache, how.config, exchanges)
        item = how.item_of(state)
        try:
            output = await method(item, ask, draw=state.epoch)
        except Unanswered as reason:
            output = how.unanswered(str(reason))
        # What weights in this process were shown stands in the plan alone.
        shown = exchanges or [(call.prompt, "") for call in method.plan(item)]
        output = how.check(item, output, shown)
        state.store.set(OUTPUT, stored_fields(output))
        state.output = ModelOutput.from_content(str(state.model), how.shown(output))
        return state

    return solve


@dataclass
class Turn(Generic[ItemT]):
    """One turn of a conversation; ``reply_tokens`` is about how long the reply is."""

    name: str
    prompt: Callable[[ItemT], str]
    reply_tokens: int
    schema: ResponseSchema | None = None


@dataclass
class Turns(Generic[ItemT, OutputT]):
    """A method that asks in the turns of one conversation; its last reply is the answer.

    ``read`` makes the output of that reply, and of the others' answers by the names of the turns.
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
    """Return an output's fields, a model's or a dataclass's, as a sample's store keeps them."""
    return output.model_dump(mode="json") if isinstance(output, BaseModel) else asdict(output)


def output_of(state: TaskState) -> Output:
    """Return the output in a sample: a method's, or whatever another solver wrote."""
    kept = state.store.get(OUTPUT)
    return Output(**kept) if kept is not None else read_text(state.output)


def degenerate_text(
    batch: Batch, output: Output, *own: str, shown: Exchanges = (), same: Sequence[str] = ()
) -> Output:
    """Return an output with the reason why its text is no answer, if it is none; one stays.

    Args:
        own: The texts of its own input: the first is what it was to change.
        shown: What the model was asked and answered on the way.
        same: Inputs besides that it may equal: variants of its own.
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
    """Return the text that a model's output gives, or why it gives none: see `answer_text`."""
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
    """Make a function a scorer of Inspect's that ``inspect score LOG`` finds by what LOG says.

    A log names its scorers without the first part of their names, the package, and Inspect finds a
    scorer of a package only with it. So a log of this one names it ``contrafact/NAME``, and under
    that name it is found, as it is by ``--scorer contrafact/NAME``.
    """

    def decorate(make: Callable[_P, Scorer]) -> Callable[_P, Scorer]:
        scorer(metrics=list(metrics), name=name)(make)
        return scorer(metrics=list(metrics), name=f"{_PACKAGE}/{name}")(make)

    return decorate


def score_metadata(sample: EvalSample, name: str) -> dict[str, Any]:
    """Return what a scorer made by `log_scorer` keeps of a sample; nothing if it gave no score."""
    scores = sample.scores or {}
    score = scores.get(f"{_PACKAGE}/{name}", scores.get(name))
    return (score.metadata if score else None) or {}


@metric(name="rates")
def rates() -> Metric:
    """Rates over samples: what is valid, and each criterion in two forms.

    A criterion's own name is its rate over valid verdicts; the ``_strict`` form counts everything
    invalid, and what is no answer (``degenerate`` in a score's metadata), as failed. Each comes
    with its standard error, ``_stderr``, clustered by ``cluster`` of a sample's metadata, or by the
    sample. A criterion that a sample's score does not name was not asked of it.
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
    """Return a criterion's rate over valid verdicts, and its strict form: all else has failed."""
    strict = [
        0.0 if math.isnan(value) or none else value
        for value, none in zip(values, no_answer, strict=True)
    ]
    return rate_of(name, values, clusters) | rate_of(f"{name}_strict", strict, clusters)


def rate_of(name: str, values: Sequence[float], clusters: Sequence[Any]) -> dict[str, float]:
    """Return a rate and its standard error, by ``<name>`` and ``<name>_stderr``, for a log.

    Values are NaN where an outcome has none; clusters are what outcomes are not independent within.
    """
    valid = [value for value in values if not math.isnan(value)]
    rate = sum(valid) / len(valid) if valid else math.nan
    return {name: rate, f"{name}_stderr": standard_error(values, clusters)}


def verdict_columns(
    verdicts: Mapping[str, Mapping[str, Any]], criteria: Sequence[str]
) -> dict[str, Any]:
    """Return a row's columns of criteria: the panel's verdict (1.0, 0.0 or NaN) and its fault.

    ``verdicts`` are a score's ``metadata["verdicts"]``, as `Judged.as_json` makes it.
    """
    row: dict[str, Any] = {}
    for name in criteria:
        panel = verdicts.get(name, {}).get("panel", {})
        row[name] = number(panel.get("passed"))
        row[f"{name}_invalid"] = panel.get("invalid")
    return row


def number(value: bool | float | None) -> float:
    """Return a value as a float; NaN where there is none."""
    return math.nan if value is None else float(value)
