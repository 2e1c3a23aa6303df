"""What the Inspect tasks of families share: a method as a solver, and a scorer by criteria."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, cast

from inspect_ai.model import CachePolicy, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import BaseModel

from contrafact.family.method import Method
from contrafact.judges.judge import judges_of_role
from contrafact.judges.rubric import Rubric
from contrafact.models.asking import Ask, Unanswered
from contrafact.records import Output
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "DEGENERATE",
    "MAX_CHARACTERS",
    "OUTPUT",
    "Exchanges",
    "criteria_scorer",
    "degenerate_of",
    "method_solver",
    "number",
    "output_of",
    "rates",
    "read_text",
    "verdict_columns",
]

ItemT = TypeVar("ItemT")
OutputT = TypeVar("OutputT")

MAX_CHARACTERS = 20_000
"""A longer reply is no edit of a short text, and no judge should be made to read it."""

OUTPUT = "output"
"""Where a sample's store keeps the method's output."""

DEGENERATE = "degenerate"
"""Where it keeps why parts of the output are no answer, by the part's name; "" is the whole."""

Exchanges = Sequence[tuple[str, str]]
"""What was sent to a model and what came back, in order: prompts and replies."""


@solver
def method_solver(
    method: Method[ItemT, OutputT],
    *,
    item_of: Callable[[TaskState], ItemT],
    unanswered: Callable[[str], OutputT],
    shown: Callable[[OutputT], str],
    key: str = OUTPUT,
    structured: bool = True,
    cache: bool | CachePolicy = False,
    config: GenerateConfig | None = None,
    judged: bool = False,
    degenerate: Callable[[ItemT, OutputT, Exchanges], Mapping[str, str]] | None = None,
) -> Solver:
    """Work on a sample by a method; a model that gives no answer makes an invalid output.

    Args:
        method: The method.
        item_of: Returns the item that a sample was made from.
        unanswered: Returns the output where the model gave no answer, for a reason.
        shown: Returns what the log shows as the sample's output.
        key: Where the sample's store keeps the output.
        structured: Whether to ask the provider for schema-constrained JSON, where JSON is asked.
        cache: Inspect's cache policy for the calls.
        config: Settings of the calls on top of the model's own.
        judged: Whether a judge will be asked: a missing one is found here, before the first call.
        degenerate: Returns why parts of an output are no answer, by the part's name, from the item,
            the output and what was asked and answered on the way; None where any answer is one.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if judged:
            judges_of_role()
        exchanges: list[tuple[str, str]] = []
        ask = Ask(get_model(), structured, cache, config or GenerateConfig(), exchanges)
        item = item_of(state)
        try:
            output = await method(item, ask, draw=state.epoch)
        except Unanswered as reason:
            output = unanswered(str(reason))
        kept = output.model_dump(mode="json") if isinstance(output, BaseModel) else None
        state.store.set(key, kept or asdict(cast(Any, output)))
        if degenerate is not None:
            # What weights in this process were shown stands in the plan alone.
            seen = exchanges or [(call.prompt, "") for call in method.plan(item)]
            state.store.set(DEGENERATE, dict(degenerate(item, output, seen)))
        state.output = ModelOutput.from_content(str(state.model), shown(output))
        return state

    return solve


def output_of(state: TaskState) -> Output:
    """Return the output in a sample: a method's, or whatever another solver wrote."""
    kept = state.store.get(OUTPUT)
    return Output(**kept) if kept is not None else read_text(state.output)


def degenerate_of(state: TaskState) -> Mapping[str, str]:
    """Return why parts of a sample's output are no answer, by the part; none if never looked at."""
    return cast(Mapping[str, str], state.store.get(DEGENERATE, {}))


def read_text(
    output: ModelOutput,
    *,
    trace: Mapping[str, Any] | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> Output:
    """Return the text that a model's output gives: all of it, as it came.

    Only an empty or an endless one is invalid.

    Args:
        output: The output.
        trace: What to keep with it.
        max_characters: A longer reply is invalid.
    """
    reply = output.completion
    text = replace_surrogates(reply).strip()
    kept = dict(trace or {})
    if output.stop_reason == "max_tokens":
        kept["cut_off"] = True
    reason = None
    if not text.strip(" .…"):
        reason = "cut off at the token limit, empty" if "cut_off" in kept else "empty reply"
    elif len(text) > max_characters:
        reason = f"the reply is over {max_characters:,} characters"
    return Output(text=None if reason else text, invalid=reason, reply=reply, trace=kept)


@metric(name="rates")
def rates() -> Metric:
    """Rates over samples: what is valid, and each criterion in two forms.

    A criterion's own name is its rate over valid verdicts; the ``_strict`` form counts everything
    invalid, and what is no answer, as failed.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        wrong = [bool((one.score.metadata or {}).get(DEGENERATE)) for one in scores]
        names = dict.fromkeys(name for row in rows for name in row)
        result: dict[str, float] = {}
        for name in names:
            values = [number(row.get(name)) for row in rows]
            valid = [value for value in values if not math.isnan(value)]
            result[name] = sum(valid) / len(valid) if valid else math.nan
            if name != "valid":
                strict = [
                    0.0 if math.isnan(value) or no_answer else value
                    for value, no_answer in zip(values, wrong, strict=True)
                ]
                result[f"{name}_strict"] = sum(strict) / len(strict)
        return result

    return compute


@scorer(metrics=[rates()], name="criteria")
def criteria_scorer(
    rubric: Rubric | None,
    texts: Callable[[TaskState, str], Mapping[str, str]],
) -> Scorer:
    """Score one sample's `Output`: whether it is valid, and each criterion's verdict.

    All of a sample's judge calls are made by this one scorer.

    Args:
        rubric: The criteria; None where only validity is scored.
        texts: Returns what the rubric's templates show of a sample and its output's text.
    """

    async def score(state: TaskState, target: Target) -> Score:
        output = output_of(state)
        value: dict[str, float] = {"valid": float(output.text is not None)}
        metadata: dict[str, Any] = {DEGENERATE: degenerate_of(state).get("")}
        if rubric is not None:
            names = [one.name for one in rubric.criteria]
            value |= dict.fromkeys(names, math.nan)
            if output.text is not None:
                judged = await rubric.judge(judges_of_role(), **texts(state, output.text))
                value |= {name: number(judged.panel[name].passed) for name in names}
                metadata["verdicts"] = judged.as_json()
        return Score(
            value=cast(Any, value),
            answer=output.text,
            explanation=output.invalid,
            metadata=metadata,
        )

    return score


def verdict_columns(
    verdicts: Mapping[str, Mapping[str, Any]], criteria: Sequence[str]
) -> dict[str, Any]:
    """Return a row's columns of criteria: the panel's verdict (1.0, 0.0 or NaN) and its fault.

    Args:
        verdicts: A score's ``metadata["verdicts"]``, as `Judged.as_json` makes it.
        criteria: The criteria, asked or not.
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
