"""The output of a method, and reading it from replies (FIN-FORCE, section 4 and table 8)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from inspect_ai.model import ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.families.finforce.records import SIDES, Headline, Side
from contrafact.family.method import Method, MethodContext
from contrafact.family.task import Turn
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import Ask, Unanswered, no_answer
from contrafact.models.requests import OneItemArray, SharedSchema, closed_object
from contrafact.records import Output
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import delimit, replace_surrogates

# A counterfactual is a headline; a longer text is a reply that ran on.
MAX_CHARACTERS = 2_000

_KEYS: Mapping[Side, tuple[str, ...]] = {
    side: (f"{side}_counterfactual", f"{side}_counterfactual_scenario", f"{side}_headline", side)
    for side in SIDES
}


WRAPPER = "Counterfactuals"
"""The key of the list that holds the pair in the paper's format."""


@dataclass(frozen=True)
class Generation:
    """A method's result for one headline: a text per side, and facts on both.

    Attributes:
        texts: The counterfactual of each side; None where that side is invalid.
        invalid: For each invalid side, the reason.
        repairs: The repairs needed to read the reply, in order.
        trace: The method's intermediate results (reasoning chain, masked headline, …).
        degenerate: For each side whose text is readable but no counterfactual, the reason.
    """

    texts: Mapping[Side, str | None]
    invalid: Mapping[Side, str] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    degenerate: Mapping[Side, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        invalid = {
            side: self.invalid.get(side) or f"no {side} counterfactual"
            for side in SIDES
            if side in self.invalid or self.texts.get(side) is None
        }
        texts = {side: None if side in invalid else self.texts[side] for side in SIDES}
        vars(self).update(texts=texts, invalid=invalid, repairs=tuple(self.repairs))
        vars(self).update(trace=dict(self.trace), degenerate=dict(self.degenerate))

    @classmethod
    def none(cls, reason: str, trace: Mapping[str, Any] | None = None) -> "Generation":
        """Return a result that is invalid on both sides for one reason."""
        return cls({}, dict.fromkeys(SIDES, reason), (), trace or {})

    @property
    def outputs(self) -> dict[Side, Output]:
        """The output of each side: its text, and why it is invalid or degenerate."""
        return {
            side: Output(
                text=text, invalid=self.invalid.get(side), degenerate=self.degenerate.get(side)
            )
            for side, text in self.texts.items()
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
    """Return a result with reasons added for texts that are no counterfactuals."""
    degenerate = dict(generation.degenerate)
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        text, other_text = generation.texts[side], generation.texts[other]
        if text is not None and side not in degenerate:
            reason = batch.reason(text, headline.text, shown=shown, other=other_text, directed=True)
            if reason is not None:
                degenerate[side] = reason
    return replace(generation, degenerate=degenerate)


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

    The flat object and the paper's ``{"Counterfactuals": [{…}]}`` are read, also with the longer
    keys of the published data. A side without text is invalid, whatever the other side is. A pair
    repeated in the list counts once, as a repair; a list of different pairs is invalid.
    """
    if (reason := no_answer(output)) is not None:
        return Generation.none(reason, trace)
    reply = read_json_object(output.completion)
    if reply.value is None:
        return Generation.none(reply.invalid or "not JSON", trace)
    repairs, value = list(reply.repairs), reply.value
    for wrapper in ("counterfactuals", "scenarios"):
        inner = next((item for key, item in value.items() if _plain(key) == wrapper), None)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            if any(other != inner[0] for other in inner[1:]):
                return Generation.none("several different pairs of counterfactuals", trace)
            repairs += ["repeated pair"] * (len(inner) > 1)
            inner = inner[0]
        value = inner if isinstance(inner, dict) else value
    texts: dict[Side, str | None] = {}
    invalid: dict[Side, str] = {}
    for side in SIDES:
        of_side = {key: item for key, item in value.items() if _plain(key) in _KEYS[side]}
        texts[side], reason = _only(of_side.values(), side)
        if texts[side] is None:
            invalid[side] = reason
        elif _KEYS[side][0] not in map(_plain, of_side):
            repairs.append(f"key '{_plain(next(iter(of_side)))}'")
    kept = dict(trace or {})
    for key, item in value.items():
        if _plain(key) == "reasoning" and isinstance(item, str):
            kept["reasoning"] = item
    return Generation(texts, invalid, tuple(repairs), kept)


def _only(given: Collection[Any], side: Side) -> tuple[str | None, str]:
    """Return the single counterfactual of a side in a reply, or None and why there is none."""
    first, *others = given or [None]
    if any(other != first for other in others):
        return None, f"several different {side} counterfactuals"
    return read_side(first, side) if given else (None, f"no {side} counterfactual in the reply")


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
