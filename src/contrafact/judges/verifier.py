"""Verifiers: judges that derive a verdict by proof or by rule, or leave it open.

A verifier is called through Inspect's model interface like any judge (``verifier/NAME``), so that
panels, exams, logs, resuming and judging again work the same way. It does not read the prompt: the
metadata of the message hold the *subject*, the texts as data.

A verifier may have a *reader*, a language model: where the verifier cannot read a text, its family
asks that model what the text says, and passes the replies to the verifier with the subject.

An undecided verdict is invalid, with its reason: it casts no vote, and the verifier's coverage
(valid verdicts over all) is shown beside its rates.
"""

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import CachePolicy, Model, ResponseSchema

__all__ = [
    "JUDGING",
    "METADATA",
    "READER",
    "UNDECIDED",
    "VERIFIER",
    "Decision",
    "Question",
    "Subject",
    "Verifier",
    "decision_by",
    "is_verifier",
    "reader_of",
    "reading_cache",
]

VERIFIER = "verifier/"
"""The provider of verifiers, in a model's name."""

READER = "reader"
"""The role, in a log, of the model that reads for a verifier."""

JUDGING = ("grader", READER)
"""The roles, in a log, of the models that judge."""

UNDECIDED = "undecided"
"""The first words of the reason why a verifier gives no verdict."""

Subject = Mapping[str, Any]
"""The judged data: ``family`` and the fields that the family's verifiers read."""

METADATA = "contrafact"
"""The keys of the criterion and the subject in a message's metadata."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verifier's decision on one criterion: whether it holds, None if undecided.

    The reason says what decides it, or why it is undecided; the probability is that it holds.
    ``read`` says who read the text that was judged, if the verifier can have a reader.
    """

    passed: bool | None
    reason: str
    probability: float | None = None
    read: str | None = None


Verifier = Callable[[str, Subject], Decision]
"""A function that decides one criterion about one subject."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a verifier's reader is asked.

    Attributes:
        schema: The JSON schema of the reply.
        tokens: The most tokens that a reply without reasoning takes.
    """

    prompt: str
    schema: "ResponseSchema"
    tokens: int


def is_verifier(judge: "Model | str") -> bool:
    """Return whether a judge is a verifier."""
    return str(judge).startswith(VERIFIER)


def reader_of(judge: "Model | str") -> str:
    """Return the language model that reads for a verifier, ``verifier/NAME:READER``, if any."""
    return str(judge).partition(":")[2] if is_verifier(judge) else ""


reading_cache: "ContextVar[bool | CachePolicy]" = ContextVar("reading_cache", default=False)
"""How the replies of the current verifier's reader are cached."""


async def decision_by(
    judge: "Model",
    prompt: str,
    criterion: str,
    subject: Subject | None,
    *,
    cache: "bool | CachePolicy" = False,
) -> Decision:
    """Ask a verifier one criterion; the prompt for other judges is kept in the log."""
    from inspect_ai.model import ChatMessageUser

    message = ChatMessageUser(
        content=prompt,
        metadata={METADATA: {"criterion": criterion, "subject": dict(subject or {})}},
    )
    if reader_of(judge):  # its replies are kept instead, from which a resumed run counts its tokens
        reading_cache.set(cache)
        cache = False
    output = await judge.generate([message], cache=cache)
    return Decision(**json.loads(output.completion))
