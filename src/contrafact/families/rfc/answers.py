"""Answers of methods, and how an answer is read from a model's reply.

A method turns one item of ``rfc-detect`` or ``rfc-diagnose`` into an answer (RFC-BENCH, section
2.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.solver import TaskState

from contrafact.families.rfc.data import Item
from contrafact.families.rfc.records import Rewrite
from contrafact.family.task import OUTPUT, Solving
from contrafact.judges.probabilities import answer_masses
from contrafact.judges.replies import read_label
from contrafact.models.asking import CUT_OFF, cut_off, no_answer

_ALTERNATIVES = 20  # alternatives asked for per token: the most that OpenAI gives
REASONS_TOKENS = 120
"""The approximate length of a rationale, for estimates."""


@dataclass(frozen=True)
class Answer:
    """A method's answer to one item.

    Attributes:
        predicted: A label of the task; None if the reply is invalid.
        reply: The model's last reply, unchanged; None if no reply was read.
        probabilities: The probability of each label (or a baseline's score), adding up to 1;
            None if there are no probabilities.
        trace: The method's intermediate results (a first answer, …).
    """

    predicted: str | None
    invalid: str | None = None
    reply: str | None = None
    rationale: str | None = None
    probabilities: Mapping[str, float] | None = None
    trace: Mapping[str, Any] = field(default_factory=dict)


def answering(*, logprobs: bool = False) -> Solving[Item, Answer]:
    return Solving(
        item_of=lambda state: item_of(state.metadata),
        unanswered=lambda reason: Answer(None, reason),
        shown=lambda made: (made.reply if made.reply is not None else made.predicted) or "",
        config=GenerateConfig(logprobs=True, top_logprobs=_ALTERNATIVES)
        if logprobs
        else GenerateConfig(),
    )


def item_of(metadata: Mapping[str, Any]) -> Item:
    return Item(
        id=metadata["sample_id"],
        task=metadata["task"],
        pair=Rewrite.model_validate(metadata["pair"]),
        gold=metadata["gold"],
        shown=metadata["shown"],
    )


def answer_of(state: TaskState) -> Answer:
    """Return a sample's answer: stored by our solver, or read from another solver's output."""
    kept, item = state.store.get(OUTPUT), item_of(state.metadata)
    answer = read_answer(state.output, item) if kept is None else Answer(**kept)
    if answer.predicted is not None and answer.predicted not in item.labels:
        reason = f"'{answer.predicted}' is not a label of these data"
        return replace(answer, predicted=None, invalid=reason, probabilities=None)
    return answer


def read_answer(
    output: ModelOutput,
    item: Item,
    *,
    reasons: bool = False,
    trace: Mapping[str, Any] | None = None,
) -> Answer:
    """Return the answer in a model's output; with ``reasons``, it is on the last line."""
    reading = read_label(output.completion, item.labels, item.texts, reasons=reasons)
    label, invalid = reading.value, reading.invalid
    if (stopped := no_answer(output, cut=False)) is not None:
        label, invalid = None, stopped
    # A bare label is complete; a label amid other text may come from unfinished reasoning.
    elif cut_off(output) and (label is None or output.completion.strip().casefold() != label):
        label, invalid = None, f"{CUT_OFF} ({invalid})" if invalid else CUT_OFF
    probabilities = None
    if label is not None:
        masses = answer_masses(output, reading.at, item.labels)
        if masses is not None:
            probabilities = {name: mass / sum(masses.values()) for name, mass in masses.items()}
    return Answer(
        predicted=label,
        invalid=invalid,
        reply=output.completion,
        rationale=reading.rationale,
        probabilities=probabilities,
        trace=dict(trace or {}),
    )


def reply_tokens(*, reasons: bool) -> int:
    return REASONS_TOKENS if reasons else 3
