"""Verifiers: judges that work a verdict out by proof or by rule, or leave it open.

A verifier is asked through Inspect's model interface like any judge (``verifier/NAME``), so that
panels, exams, logs, resuming and judging again are the same. What it is asked is not in the words
of the prompt: the message carries the *subject*, the texts as data, in its metadata.

Undecided is an invalid verdict with its reason: it votes for nothing, and its coverage (valid
verdicts over all) stands beside its rates.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import CachePolicy, Model, ModelOutput

__all__ = [
    "UNDECIDED",
    "VERIFIER",
    "Decision",
    "Subject",
    "Verifier",
    "answered",
    "asked_of",
    "decision_by",
    "is_verifier",
]

VERIFIER = "verifier/"
"""The provider of verifiers, in a model's name."""

UNDECIDED = "undecided"
"""How the reason of a verdict begins that a verifier does not give."""

Subject = Mapping[str, Any]
"""What is judged, as data: ``family`` and whatever that family's verifiers read."""

_KEY = "contrafact"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a verifier says of one criterion: whether it holds, None where that is undecided.

    The reason is what decides it, or why nothing does; the probability is that it holds.
    """

    passed: bool | None
    reason: str
    probability: float | None = None


Verifier = Callable[[str, Subject], Decision]
"""Decides one criterion about one subject."""


def is_verifier(judge: "Model | str") -> bool:
    """Tell whether a judge is a verifier."""
    return str(judge).startswith(VERIFIER)


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
        content=prompt, metadata={_KEY: {"criterion": criterion, "subject": dict(subject or {})}}
    )
    output = await judge.generate([message], cache=cache)
    found = json.loads(output.completion)
    return Decision(found["passed"], found["reason"], found.get("probability"))


def asked_of(metadata: Mapping[str, Any] | None) -> tuple[str, Subject]:
    """Return the criterion and the subject that a verifier is asked about, or raise ValueError."""
    asked = (metadata or {}).get(_KEY)
    if not asked:
        raise ValueError("a verifier judges what it is handed as data, not what a prompt says")
    return asked["criterion"], asked["subject"]


def answered(model: str, decision: Decision) -> "ModelOutput":
    """Return a decision as a model's output."""
    from inspect_ai.model import ModelOutput

    verdict: dict[str, Any] = {"passed": decision.passed, "reason": decision.reason}
    if decision.probability is not None:
        verdict["probability"] = decision.probability
    return ModelOutput.from_content(model, json.dumps(verdict, ensure_ascii=False))
