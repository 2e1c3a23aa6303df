"""Asking a model about the headlines that the rules leave open (FIN-FORCE, appendix A.6)."""

import asyncio
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from inspect_ai.model import GenerateConfig, Model, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.families.finforce.data import CATEGORIES
from contrafact.models.asking import Ask, Unanswered, failure_cause
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit

__all__ = ["Replies", "ask_screening", "category_meanings", "screening_template"]


@dataclass
class Replies:
    """Replies by headline id, and why a call failed; a failed call is made again by a rerun."""

    replies: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


@cache
def category_meanings() -> tuple[tuple[str, str], ...]:
    """Return the ten categories in table 1's order, each with what it covers."""
    file = resources.files("contrafact.families.finforce").joinpath("screen_categories.toml")
    meanings = tomllib.loads(file.read_text("utf-8"))
    return tuple((name, meanings[name]) for name in CATEGORIES)


def screening_template(pack: PromptPack) -> PromptTemplate:
    """Return the pack's template ``finforce/screen``.

    Raises:
        InputError: The pack lacks it, or it has other variables.
    """
    return pack.template("finforce/screen", required={"headline", "categories"})


async def ask_screening(
    headlines: Mapping[str, str],
    model: Model,
    template: PromptTemplate,
    *,
    at_once: int,
    structured: bool,
    each: Callable[[str, str | None], None],
) -> Replies:
    """Return a model's reply for each headline.

    Args:
        headlines: Texts by id.
        model: The model that labels.
        template: The prompt, from :func:`screening_template`.
        at_once: Calls under way at the same time.
        structured: Whether to ask the provider for JSON by schema.
        each: Called with an id and the reply, or none if the call failed.
    """
    ask = Ask(model, structured=structured, config=GenerateConfig(temperature=0.0))
    found = Replies()
    free = asyncio.Semaphore(at_once)

    async def one(identity: str, text: str) -> None:
        prompt = template.render(headline=delimit(text), categories=category_meanings())
        async with free:
            try:
                reply = (await ask(prompt, _schema())).completion
            except Unanswered as error:
                reply = f"[{error}]"
            except Exception as error:  # noqa: BLE001 - told as this headline's failure
                found.failures[identity] = failure_cause(error)
                each(identity, None)
                return
        found.replies[identity] = reply
        each(identity, reply)

    await asyncio.gather(*(one(identity, text) for identity, text in headlines.items()))
    return found


def _schema() -> ResponseSchema:
    properties = {
        "reason": JSONSchema(type="string"),
        "event_status": JSONSchema(type="boolean"),
        "material_relevance": JSONSchema(type="boolean"),
        "category": JSONSchema(
            anyOf=[JSONSchema(type="string", enum=list(CATEGORIES)), JSONSchema(type="null")]
        ),
    }
    return ResponseSchema(
        name="screening",
        json_schema=JSONSchema(
            type="object",
            properties=properties,
            required=list(properties),
            additionalProperties=False,
        ),
        strict=True,
    )
