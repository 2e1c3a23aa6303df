"""Asking a reader: once, and a second time where what is not said would decide."""

import functools
from collections.abc import Mapping

from inspect_ai.model import CachePolicy, Model, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.causal.model import Value
from contrafact.families.cobe.data import criteria_of, subject_of
from contrafact.families.cobe.read.question import (
    KINDS,
    OTHERS,
    WAYS,
    asked_facts,
    read_reply,
    reader_prompt,
)
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.synth.prove import Facts
from contrafact.families.cobe.verifier import decisions, opened
from contrafact.judges.judge import JUDGE_CONFIG
from contrafact.models.asking import answer, no_answer
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.prompts import PromptTemplate

__all__ = ["readings_of"]


@functools.cache
def reply_schema() -> ResponseSchema:
    """Return the schema of a reply."""
    text = JSONSchema(type="string")
    answers = ["A", "B", *WAYS, *OTHERS]
    fact = {"fact": text, "holds": JSONSchema(type="string", enum=answers), "words": text}
    link = {
        "causes": JSONSchema(type="array", items=text),
        "effect": text,
        "kind": JSONSchema(type="string", enum=list(KINDS)),
        "words": text,
    }
    both = {
        "facts": JSONSchema(type="array", items=closed_object(fact)),
        "links": JSONSchema(type="array", items=closed_object(link)),
    }
    return SharedSchema(name="reading", json_schema=closed_object(both), strict=True)


async def readings_of(
    reader: Model,
    template: PromptTemplate,
    story: Story,
    response: str,
    *,
    structured: bool = True,
    shown: bool = True,
    cache: bool | CachePolicy = False,
) -> list[str]:
    """Return the replies of a reader to the question what a response tells.

    It is not asked where the grammar decides every criterion of the story, or the story has no
    proof; it is asked twice where the first reply finds something not said that would decide.

    Args:
        structured: Whether to ask the provider for schema-constrained JSON.
        shown: Whether the reader sees the story.
    """
    subject = subject_of(story, response)
    facts = opened(subject)
    decided = decisions(subject)
    if isinstance(facts, str) or all(
        decided[name].passed is not None for name in criteria_of(story)
    ):
        return []
    config = JUDGE_CONFIG
    if structured:
        config = config.model_copy(update={"response_schema": reply_schema()})
    replies: list[str] = []
    for attempt in range(2):
        asked = asked_facts(facts, response, attempt)
        prompt = reader_prompt(template, story.text if shown else "", response, asked)
        output = await answer(reader, prompt, config, cache)
        replies.append(output.completion if no_answer(output) is None else "")
        read = read_reply(replies[-1], asked, response)
        if isinstance(read, str) or not _decides(facts, read.told):
            break
    return replies


def _decides(facts: Facts, told: Mapping[str, frozenset[Value | None]]) -> bool:
    """Return whether something that is not said decides a criterion: by E5 nothing does."""
    return any(
        name in about and not values
        for name, values in told.items()
        for criterion, about in facts.about.items()
        if criterion != "E5"
    )
