"""What the Inspect tasks of families share: a method as a solver, its output, rates in a log."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar, cast

from inspect_ai.model import CachePolicy, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, metric
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import BaseModel

from contrafact.family.method import Method
from contrafact.judges.judge import judges_of_role
from contrafact.models.asking import Ask, Unanswered
from contrafact.records import Output
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "MAX_CHARACTERS",
    "OUTPUT",
    "method_solver",
    "number",
    "output_of",
    "rate_of",
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
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if judged:
            judges_of_role()
        ask = Ask(get_model(), structured, cache, config or GenerateConfig())
        try:
            output = await method(item_of(state), ask, draw=state.epoch)
        except Unanswered as reason:
            output = unanswered(str(reason))
        kept = output.model_dump(mode="json") if isinstance(output, BaseModel) else None
        state.store.set(key, kept or asdict(cast(Any, output)))
        state.output = ModelOutput.from_content(str(state.model), shown(output))
        return state

    return solve


def output_of(state: TaskState) -> Output:
    """Return the output in a sample: a method's, or whatever another solver wrote."""
    kept = state.store.get(OUTPUT)
    return Output(**kept) if kept is not None else read_text(state.output)


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
    invalid as failed. Each comes with its standard error, ``_stderr``.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.value) for score in scores]
        names = dict.fromkeys(name for row in rows for name in row)
        columns: dict[str, list[float]] = {}
        for name in names:
            columns[name] = [number(row.get(name)) for row in rows]
            if name != "valid":
                strict = [0.0 if math.isnan(value) else value for value in columns[name]]
                columns[f"{name}_strict"] = strict
        clusters = [str(score.sample_id) for score in scores]
        return {
            key: value
            for name, values in columns.items()
            for key, value in rate_of(name, values, clusters).items()
        }

    return compute


def rate_of(name: str, values: Sequence[float], clusters: Sequence[Any]) -> dict[str, float]:
    """Return a rate and its standard error, by ``<name>`` and ``<name>_stderr``, for a log.

    Args:
        name: The rate's name.
        values: A value of each outcome, NaN where there is none.
        clusters: What they are not independent within: the headline, the story, the article.
    """
    from contrafact.stats.intervals import standard_error

    known = [value for value in values if not math.isnan(value)]
    rate = sum(known) / len(known) if known else math.nan
    return {name: rate, f"{name}_stderr": standard_error(values, clusters)}


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
