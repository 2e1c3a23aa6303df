"""Asking a model about the headlines that the rules leave open (FIN-FORCE, appendix A.6)."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from inspect_ai.model import GenerateConfig, Model, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.families.finforce.data import CATEGORIES
from contrafact.files.journal import Journal
from contrafact.models.asking import Ask, Unanswered, failure_cause
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit

__all__ = ["ask_screening", "category_meanings", "screening_template"]


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
    journal: Journal,
    *,
    at_once: int,
    structured: bool,
    each: Callable[[str], None],
) -> dict[str, str]:
    """Ask a model about each headline that has no reply yet; the replies are kept by id.

    Args:
        headlines: Texts by id.
        model: The model that labels.
        template: The prompt, from :func:`screening_template`.
        journal: Where replies are kept as they come.
        at_once: Calls under way at the same time.
        structured: Whether to ask the provider for JSON by schema.
        each: Called with an id when it is done with.

    Returns:
        Why a call failed, by the headline's id; a rerun makes it again.
    """
    ask = Ask(model, structured=structured, config=GenerateConfig(temperature=0.0))

    async def reply(identity: str) -> str:
        prompt = template.render(
            headline=delimit(headlines[identity]), categories=category_meanings()
        )
        try:
            return (await ask(prompt, _schema())).completion
        except Unanswered as error:
            return f"[{error}]"

    failures = await journal.fill(headlines, reply, at_once=at_once, each=each)
    return {identity: failure_cause(error) for identity, error in failures.items()}


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
