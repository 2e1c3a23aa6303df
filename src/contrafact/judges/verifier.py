"""Verifiers: judges that work a verdict out by proof or by rule, or leave it open.

A verifier is asked through Inspect's model interface like any judge (``verifier/NAME``), so that
panels, exams, logs, resuming and judging again are the same. What it is asked is not in the words
of the prompt: the message carries the *subject*, the texts as data, in its metadata.

A verifier may have a *reader*, a language model: its family then asks that model what a text says,
where the verifier cannot read it, and hands the replies to the verifier with the subject.

Undecided is an invalid verdict with its reason: it votes for nothing, and its coverage (valid
verdicts over all) stands beside its rates.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import CachePolicy, Model, ResponseSchema

__all__ = [
    "METADATA",
    "UNDECIDED",
    "VERIFIER",
    "Decision",
    "Question",
    "Subject",
    "Verifier",
    "decision_by",
    "is_verifier",
    "reader_of",
]

VERIFIER = "verifier/"
"""The provider of verifiers, in a model's name."""

UNDECIDED = "undecided"
"""How the reason of a verdict begins that a verifier does not give."""

Subject = Mapping[str, Any]
"""What is judged, as data: ``family`` and whatever that family's verifiers read."""

METADATA = "contrafact"
"""Where a message's metadata has the criterion and the subject."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a verifier says of one criterion: whether it holds, None where that is undecided.

    The reason is what decides it, or why nothing does; the probability is that it holds. ``read``
    says who read the text that was judged, where a verifier can have a reader.
    """

    passed: bool | None
    reason: str
    probability: float | None = None
    read: str | None = None


Verifier = Callable[[str, Subject], Decision]
"""Decides one criterion about one subject."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a verifier's reader is asked.

    Attributes:
        schema: Of its reply.
        tokens: The most that a reply without reasoning takes.
    """

    prompt: str
    schema: "ResponseSchema"
    tokens: int


def is_verifier(judge: "Model | str") -> bool:
    """Tell whether a judge is a verifier."""
    return str(judge).startswith(VERIFIER)


def reader_of(judge: "Model | str") -> str:
    """Return the language model that reads for a verifier, ``verifier/NAME:READER``; or nothing."""
    return str(judge).partition(":")[2] if is_verifier(judge) else ""


async def decision_by(
    judge: "Model",
    prompt: str,
    criterion: str,
    subject: Subject | None,
    *,
    cache: "bool | CachePolicy" = False,
) -> Decision:
    """Ask a verifier one criterion; what another judge is asked by stands in the log."""
    from inspect_ai.model import ChatMessageUser

    message = ChatMessageUser(
        content=prompt,
        metadata={METADATA: {"criterion": criterion, "subject": dict(subject or {})}},
    )
    output = await judge.generate([message], cache=cache)
    reply = json.loads(output.completion)
    return Decision(**reply)
