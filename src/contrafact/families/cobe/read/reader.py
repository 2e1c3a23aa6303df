"""The reader's next question: asked once, and again if a fact that is not said would decide."""

from collections.abc import Sequence
from functools import cache

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.families.cobe.read.question import (
    KINDS,
    OTHERS,
    WAYS,
    asked_facts,
    read_reply,
    reader_prompt,
    reader_template,
)
from contrafact.families.cobe.verifier import decisions, opened, unsaid
from contrafact.judges.verifier import Question, Subject
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.prompts import open_pack

__all__ = ["question"]

_TOKENS = 60
"""The most tokens of a reader's answer on one fact or one link."""


@cache
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


def question(subject: Subject) -> Question | None:
    """Return the next question for the reader about a subject of `data.subject_of`, or None.

    There is none if the grammar decides every criterion or the story has no proof. After the first
    reply (in ``readings``) there is one only if a fact that it finds not said would decide a
    criterion. ``prompts`` is the folder of the prompt pack, if it is not the default one.
    """
    facts = opened(subject)
    replies: Sequence[str] = subject.get("readings", ())
    if isinstance(facts, str) or len(replies) > 1:
        return None
    response = subject["response"]
    if replies:
        read = read_reply(replies[0], asked_facts(facts, response, 0), response)
        if isinstance(read, str) or not unsaid(facts, read):
            return None
    else:
        decided = decisions({**subject, "readings": ()})
        if all(decided[name].passed is not None for name in subject["criteria"]):
            return None
    template = reader_template(open_pack(subject.get("prompts")))
    asked = asked_facts(facts, response, len(replies))
    prompt = reader_prompt(template, subject["text"], response, asked)
    return Question(prompt, reply_schema(), _TOKENS * (2 * len(asked) + 2))
