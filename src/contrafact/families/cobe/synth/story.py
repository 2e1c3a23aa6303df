"""A drawn story with its answers and its proof, and its form in a file of the paper's schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contrafact.causal.counterfactual import Proof
from contrafact.families.cobe.data import story_object
from contrafact.records import Story

__all__ = ["Answer", "DrawnStory", "known_answers", "proof_record", "story_record"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An edit of a story whose verdict is known.

    Attributes:
        text: The edit.
        why: What was done in it.
        fails: The one criterion that it fails, "E1" to "E5"; none for a right answer.
    """

    text: str
    why: str
    fails: str | None = None


@dataclass(frozen=True, slots=True)
class DrawnStory:
    """A story and what is known of it.

    Attributes:
        story: The story, as any other of the benchmark.
        right: Right answers, the odd-looking ones included; the representative answer is first.
        wrong: Wrong answers, each failing one criterion.
        proof: What the answers rest on, as it stands in a file.
    """

    story: Story
    right: tuple[Answer, ...]
    wrong: tuple[Answer, ...]
    proof: Mapping[str, Any]


def proof_record(template: str, words: Mapping[str, str], proof: Proof) -> dict[str, Any]:
    """Return a proof in the form of a file."""
    return {
        "template": template,
        "words": dict(words),
        "assignment": {c.variable: c.before for c in proof.consequences if c.before is not None},
        "facts": dict(proof.facts),
        "intervention": dict(proof.intervention),
        "consequences": {
            c.variable: {
                "kind": c.kind,
                "before": c.before,
                "after": c.after,
                "direction": c.direction,
                "path": list(c.path),
            }
            for c in proof.consequences
        },
        "noise_settings": len(proof.posterior.settings),
    }


def story_record(drawn: DrawnStory) -> dict[str, Any]:
    """Return a story in the paper's schema (appendix A.2), with our additions."""
    return story_object(drawn.story, known_answers(drawn))


def known_answers(drawn: DrawnStory) -> dict[str, Any]:
    """Return what a file says of a story beyond the paper's schema."""
    return {
        "Right answers": [{"text": a.text, "why": a.why} for a in drawn.right],
        "Wrong answers": [{"text": a.text, "fails": a.fails, "why": a.why} for a in drawn.wrong],
        "Proof": dict(drawn.proof),
    }
