"""Scenario cards: what an analyst asks of a scenario besides its text, as the model states it.

On request the model that wrote a counterfactual says by which channel the shift reaches the market,
how soon, whom and what it touches, how severe and how likely it is, and what must hold for it to
come about. The form is closed: a card with a field too many or too few, or a word that is none of
its list, is invalid, with the reason. Nothing of a card is judged, and no score rests on it.

Likelihood is stated in words, whose ranges are those of the calibrated language of the IPCC's
guidance note on uncertainty (Mastrandrea et al., 2010).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from inspect_ai.model import ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from contrafact.families.finforce.generation import Generation, added_by, look_over
from contrafact.family.method import Method, MethodContext, open_weights, roles_of
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.records import SIDES, Headline, Side
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import delimit, replace_surrogates

__all__ = [
    "CHANNELS",
    "HORIZONS",
    "LIKELIHOODS",
    "SEVERITIES",
    "Card",
    "Channel",
    "Horizon",
    "WithCards",
    "card_columns",
    "card_schema",
    "card_values",
    "read_cards",
]

Channel = Literal[
    "interest rates", "credit", "liquidity", "exchange rates", "asset prices", "commodity prices",
    "demand", "supply", "trade", "regulation", "confidence", "other",
]  # fmt: skip
Horizon = Literal["days", "weeks", "months", "years"]
Severity = Literal["low", "moderate", "high", "severe"]
Likelihood = Literal["very unlikely", "unlikely", "about as likely as not", "likely", "very likely"]

CHANNELS: tuple[str, ...] = get_args(Channel)
"""How a shock reaches a market."""
HORIZONS: tuple[str, ...] = get_args(Horizon)
"""How soon, in order."""
SEVERITIES: tuple[str, ...] = get_args(Severity)
"""How severe, in order."""
LIKELIHOODS: tuple[str, ...] = get_args(Likelihood)
"""How likely within the horizon, in order."""

_MOST = 6
_CHARACTERS = 300
_REPLY_TOKENS = 180
_LEVELS = {"horizon": HORIZONS, "severity": SEVERITIES, "likelihood": LIKELIHOODS}
_LISTS = ("assets", "parties")


class Card(BaseModel):
    """A scenario as its model states it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    channel: Channel = Field(description="How the shift reaches the market.")
    horizon: Horizon = Field(description="How soon it would be felt.")
    assets: tuple[str, ...] = Field(
        min_length=1, max_length=_MOST, description="Affected assets or markets."
    )
    parties: tuple[str, ...] = Field(
        min_length=1, max_length=_MOST, description="Affected companies, groups, institutions."
    )
    severity: Severity = Field(description="How hard it would hit, or how much it would help.")
    likelihood: Likelihood = Field(description="How likely it is within the horizon.")
    assumption: str = Field(
        min_length=1, max_length=_CHARACTERS, description="What must hold for it to come about."
    )

    @field_validator("channel", "horizon", "severity", "likelihood", mode="before")
    @classmethod
    def _plain(cls, word: Any) -> Any:
        return " ".join(word.casefold().split()) if isinstance(word, str) else word

    @field_validator("assets", "parties", mode="before")
    @classmethod
    def _names(cls, names: Any) -> Any:
        if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
            return names
        return [text for one in names if (text := _one_line(one))]

    @field_validator("assumption", mode="before")
    @classmethod
    def _line(cls, text: Any) -> Any:
        return _one_line(text) if isinstance(text, str) else text


class WithCards:
    """A method whose scenarios come with cards: one call more for a headline."""

    def __init__(self, inner: Method[Headline, Generation], context: MethodContext):
        self._inner = inner
        self.name, self.shots, self.roles = inner.name, inner.shots, roles_of(inner)
        self.added = (*added_by(inner), *(name for side in SIDES for name in card_columns(side)))
        self._template = context.pack.template(
            "finforce/cards", required={"headline", "texts", "lists"}
        )
        self._batch = Batch([one.text for one in context.items]) if context.items else None

    async def __call__(self, item: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        headline = item
        exchanges = [] if ask.exchanges is None else ask.exchanges
        made = await self._inner(headline, replace(ask, exchanges=exchanges), draw=draw)
        shown = exchanges or [(call.prompt, "") for call in self._inner.plan(headline)]
        seen = look_over(self._batch or Batch([headline.text]), headline, made, shown)
        texts = {
            side: text
            for side in SIDES
            if (text := seen.texts[side]) is not None and side not in seen.degenerate
        }
        if not texts:
            return made
        # What it is shown here it has written already.
        asked = replace(ask, exchanges=None)
        try:
            output = await asked(self._prompt(headline, texts), card_schema(tuple(texts)))
            cards = read_cards(output, tuple(texts))
        except Unanswered as reason:
            cards = dict.fromkeys(texts, str(reason))
        kept = {
            side: {"invalid": card} if isinstance(card, str) else card.model_dump(mode="json")
            for side, card in cards.items()
        }
        return replace(made, trace={**made.trace, "cards": kept})

    def plan(self, item: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        prompt = self._prompt(item, dict.fromkeys(SIDES, item.text))
        return [*self._inner.plan(item), PlannedCall(prompt, 2 * _REPLY_TOKENS)]

    def open(self, model: str, model_args: Mapping[str, Any]) -> None:
        """Let the method load weights, where it runs them itself."""
        open_weights(self._inner, [model], model_args)

    def _prompt(self, headline: Headline, texts: Mapping[Side, str]) -> str:
        lists = {"channel": CHANNELS, **_LEVELS}
        return self._template.render(
            headline=delimit(headline.text),
            texts={side: delimit(text) for side, text in texts.items()},
            lists={name: ", ".join(words) for name, words in lists.items()},
        )


def card_schema(sides: Sequence[Side]) -> ResponseSchema:
    """Return the schema of a reply: a card for each side, closed."""
    words = {
        name: JSONSchema(type="string", enum=list(allowed))
        for name, allowed in {"channel": CHANNELS, **_LEVELS}.items()
    }
    lists = {name: JSONSchema(type="array", items=JSONSchema(type="string")) for name in _LISTS}
    known = {**words, **lists, "assumption": JSONSchema(type="string")}
    card = JSONSchema(
        type="object",
        properties={name: known[name] for name in Card.model_fields},
        required=list(Card.model_fields),
        additionalProperties=False,
    )
    both = JSONSchema(
        type="object",
        properties=dict.fromkeys(sides, card),
        required=list(sides),
        additionalProperties=False,
    )
    return ResponseSchema(name="cards", json_schema=both, strict=True)


def read_cards(output: ModelOutput, sides: Sequence[Side]) -> dict[Side, "Card | str"]:
    """Return the card of each side that was asked for, or why there is none."""
    reply = read_json_object(output.completion)
    found: dict[Side, Card | str] = {}
    for side in sides:
        stated = (reply.value or {}).get(side)
        if not isinstance(stated, dict):
            found[side] = reply.invalid or f"the reply has no card of the {side} scenario"
            continue
        try:
            found[side] = Card.model_validate(stated)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            found[side] = f"the card's {where}: {first['msg']}"
    return found


def card_columns(side: Side | None = None) -> list[str]:
    """Return the columns of a card; ordered words have a column with their place, from 1.

    Args:
        side: The side, whose name then stands before; ``card`` if not given.
    """
    names: list[str] = []
    for name in Card.model_fields:
        names += [name, f"{name}_level"] if name in _LEVELS else [name]
    return [f"{side or 'card'}_{name}" for name in (*names, "card_error" if side else "error")]


def card_values(trace: Mapping[str, Any], side: Side, prefix: str = "") -> dict[str, Any]:
    """Return a side's columns, None where there is no card; lists are joined by semicolons.

    Args:
        trace: What a method kept, as `WithCards` adds to it.
        side: The side.
        prefix: What stands before the columns; ``card`` if not given.
    """
    card = trace.get("cards", {}).get(side, {})
    values: dict[str, Any] = {}
    for name in Card.model_fields:
        value = card.get(name)
        values[name] = "; ".join(value) if isinstance(value, list | tuple) else value
        if name in _LEVELS:
            values[f"{name}_level"] = None if value is None else 1 + _LEVELS[name].index(value)
    values["card_error" if prefix else "error"] = card.get("invalid")
    return {f"{prefix or 'card'}_{name}": value for name, value in values.items()}


def card_details(trace: Mapping[str, Any], side: Side) -> dict[str, str]:
    """Return a side's card as a reader is shown it: labels and texts."""
    card = trace.get("cards", {}).get(side)
    if card is None:
        return {}
    if "invalid" in card:
        return {"Card": f"cannot be used: {card['invalid']}"}
    values = card_values(trace, side)
    return {name.capitalize(): str(values[f"card_{name}"]) for name in Card.model_fields}


def _one_line(text: str) -> str:
    return " ".join(replace_surrogates(text).split())[:_CHARACTERS]
