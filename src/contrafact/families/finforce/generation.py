"""The output of a method, and reading it in replies (FIN-FORCE, section 4 and table 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from inspect_ai.model import (
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema
from pydantic import BaseModel, ConfigDict, Field, model_serializer

from contrafact.families.finforce.records import SIDES, Headline, Side
from contrafact.family.method import Method, MethodContext
from contrafact.family.task import Turn
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import Ask, Unanswered, no_answer
from contrafact.models.requests import OneItemArray, SharedSchema, closed_object
from contrafact.records import Output
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import delimit, replace_surrogates

__all__ = [
    "WRAPPER",
    "Generation",
    "check_texts",
    "headline_turn",
    "pair_schema",
    "read_pair",
    "read_side",
    "run_method",
]

# A counterfactual is a headline; a longer text is a reply that ran on.
MAX_CHARACTERS = 2_000

_KEYS: Mapping[Side, tuple[str, ...]] = {
    side: (f"{side}_counterfactual", f"{side}_counterfactual_scenario", f"{side}_headline", side)
    for side in SIDES
}


WRAPPER = "Counterfactuals"
"""The key of the list in which the paper's format has the pair."""


class Generation(BaseModel):
    """A method's result for one headline: an output for each side, and what they have in common.

    It is made, and written to logs and files, from what each side has: texts, reasons why there is
    none, reasons why a text is no counterfactual. A side with a reason has no text.
    """

    model_config = ConfigDict(frozen=True)

    outputs: Mapping[Side, Output] = Field(description="What the method made of each side.")
    repairs: tuple[str, ...] = Field(description="What reading the reply took, in order.")
    trace: Mapping[str, Any] = Field(
        description="What the method kept of its way there (reasoning chain, masked headline, …)."
    )

    def __init__(
        self,
        texts: Mapping[Side, str | None],
        invalid: Mapping[Side, str] = MappingProxyType({}),
        repairs: Sequence[str] = (),
        trace: Mapping[str, Any] = MappingProxyType({}),
        degenerate: Mapping[Side, str] = MappingProxyType({}),
    ) -> None:
        outputs = {}
        for side in SIDES:
            text, reason = texts.get(side), invalid.get(side)
            if text is None and reason is None:
                reason = f"no {side} counterfactual"
            outputs[side] = Output(
                text=text if reason is None else None,
                invalid=reason,
                degenerate=degenerate.get(side),
            )
        super().__init__(outputs=outputs, repairs=tuple(repairs), trace=dict(trace))

    @classmethod
    def none(cls, reason: str, trace: Mapping[str, Any] | None = None) -> "Generation":
        """Return a result that is invalid on both sides for one reason."""
        return cls(dict.fromkeys(SIDES), dict.fromkeys(SIDES, reason), (), trace or {})

    @property
    def texts(self) -> dict[Side, str | None]:
        """The counterfactual of each side; None where that side is invalid."""
        return {side: output.text for side, output in self.outputs.items()}

    @property
    def invalid(self) -> dict[Side, str]:
        """For each invalid side, the reason."""
        return {side: one.invalid for side, one in self.outputs.items() if one.invalid is not None}

    @property
    def degenerate(self) -> dict[Side, str]:
        """For each side whose text can be read and is no counterfactual, the reason."""
        found = {side: output.degenerate for side, output in self.outputs.items()}
        return {side: reason for side, reason in found.items() if reason is not None}

    @model_serializer
    def _by_side(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "invalid": self.invalid,
            "repairs": self.repairs,
            "trace": self.trace,
            "degenerate": self.degenerate,
        }


def headline_turn(
    context: MethodContext,
    name: str,
    template: str,
    reply_tokens: int,
    schema: ResponseSchema | None = None,
) -> Turn[Headline]:
    """Return a turn whose prompt is a template with the headline in it."""
    asked = context.pack.template(f"finforce/{template}", required={"headline"})

    def prompt(headline: Headline) -> str:
        return asked.render(headline=delimit(headline.text))

    return Turn(name, prompt, reply_tokens, schema)


async def run_method(
    method: Method[Headline, Generation],
    headline: Headline,
    ask: Ask,
    *,
    batch: Batch | None = None,
) -> Generation:
    """Run a method on one headline of a batch; without a model's answer both sides are invalid."""
    exchanges: list[tuple[str, str]] = []
    try:
        generation = await method(headline, replace(ask, exchanges=exchanges))
    except Unanswered as unanswered:
        return Generation.none(str(unanswered))
    shown = exchanges or [(call.prompt, "") for call in method.plan(headline)]
    return check_texts(batch or Batch([headline.text]), headline, generation, shown)


def check_texts(
    batch: Batch, headline: Headline, generation: Generation, shown: Sequence[tuple[str, str]]
) -> Generation:
    """Return a result with the reasons why its texts are no counterfactuals; it keeps its own."""
    outputs = {}
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        output = generation.outputs[side]
        if output.text is not None and output.degenerate is None:
            other_text = generation.outputs[other].text
            reason = batch.reason(output.text, headline.text, shown=shown, other=other_text)
            output = output.model_copy(update={"degenerate": reason})
        outputs[side] = output
    return generation.model_copy(update={"outputs": outputs})


@cache
def pair_schema(*before: str, nested: bool = False) -> ResponseSchema:
    """Return the schema of a reply: the named text fields first, then both counterfactuals.

    The opportunity comes before the risk, as in the paper's formats (FIN-FORCE, table 8);
    ``nested`` wraps the object in the paper's ``{"Counterfactuals": [{…}]}``.
    """
    pair = closed_object({name: JSONSchema(type="string") for name in (*before, *pair_keys())})
    if nested:
        # A small model repeats itself without end in a list that may go on.
        pair = closed_object({WRAPPER: OneItemArray(type="array", items=pair)})
    return SharedSchema(name="counterfactuals", json_schema=pair, strict=True)


def pair_keys() -> tuple[str, str]:
    risk, opportunity = (_KEYS[side][0] for side in SIDES)
    return opportunity, risk


def read_pair(output: ModelOutput, trace: Mapping[str, Any] | None = None) -> Generation:
    """Return the two counterfactuals in a reply (FIN-FORCE, table 8's output formats).

    The flat object and the paper's ``{"Counterfactuals": [{…}]}`` are read, with the longer keys of
    the published data too. A side without text is invalid, whatever the other is. A pair that the
    list repeats counts once, as a repair; a list of different pairs is invalid.
    """
    if (reason := no_answer(output)) is not None:
        return Generation.none(reason, trace)
    reply = read_json_object(output.completion)
    if reply.value is None:
        return Generation.none(reply.invalid or "not JSON", trace)
    repairs = list(reply.repairs)
    value = reply.value
    for wrapper in ("counterfactuals", "scenarios"):
        inner = next((item for key, item in value.items() if _plain(key) == wrapper), None)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            if any(other != inner[0] for other in inner[1:]):
                return Generation.none("several different pairs of counterfactuals", trace)
            if len(inner) > 1:
                repairs.append("repeated pair")
            value = inner[0]
        elif isinstance(inner, dict):
            value = inner
    texts: dict[Side, str | None] = {}
    invalid: dict[Side, str] = {}
    for side in SIDES:
        of_side = {key: item for key, item in value.items() if _plain(key) in _KEYS[side]}
        first, *others = of_side.values() or [None]
        texts[side], reason = None, f"no {side} counterfactual in the reply"
        if any(other != first for other in others):
            reason = f"several different {side} counterfactuals"
        elif of_side:
            texts[side], reason = read_side(first, side)
        if texts[side] is None:
            invalid[side] = reason
        elif _KEYS[side][0] not in map(_plain, of_side):
            repairs.append(f"key '{_plain(next(iter(of_side)))}'")
    kept = dict(trace or {})
    for key, item in value.items():
        if _plain(key) == "reasoning" and isinstance(item, str):
            kept["reasoning"] = item
    return Generation(texts, invalid, tuple(repairs), kept)


def read_side(text: Any, side: Side) -> tuple[str | None, str]:
    """Return the counterfactual of one side and "", or None and the reason why it is invalid."""
    if not isinstance(text, str):
        return None, f"the {side} counterfactual is not text"
    if not text.strip(" .…"):
        return None, f"the {side} counterfactual is empty"
    if len(text) > MAX_CHARACTERS:
        return None, f"the {side} counterfactual is over {MAX_CHARACTERS} characters"
    return replace_surrogates(" ".join(text.split())), ""


def _plain(key: str) -> str:
    return key.strip().lower().replace(" ", "_").replace("-", "_")
