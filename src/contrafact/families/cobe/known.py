"""Stories with answers whose verdicts are known: right ones, and ones that fail one criterion.

The keys are our own, beside the paper's in a story's object:

``Right answers``: a list of ``{"text", "why"}``; ``Wrong answers``: a list of ``{"text", "fails",
"why"}``, where ``fails`` names the one criterion that the text fails; ``Proof``: how that was
established, where it was computed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contrafact.errors import InputError
from contrafact.families.cobe.data import StoryNotes, story_rows
from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.files.jsonl import source_name
from contrafact.records import Story

__all__ = ["KnownAnswer", "KnownStory", "answers_object", "load_known"]


class KnownAnswer(BaseModel):
    """An answer to a story's query whose verdicts are known."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str = Field(min_length=1, description="The answer.")
    why: str = Field(default="", description="Why it is right, or what is wrong with it.")
    fails: str | None = Field(
        default=None, description="The one criterion that it fails; none for a right answer."
    )


class KnownStory(BaseModel):
    """A story with known answers."""

    model_config = ConfigDict(frozen=True)

    story: Story = Field(description="The story.")
    right: tuple[KnownAnswer, ...] = Field(description="Answers that pass all its criteria.")
    wrong: tuple[KnownAnswer, ...] = Field(description="Answers that fail one of them each.")
    proof: dict[str, Any] | None = Field(default=None, description="The proof, where computed.")


def load_known(path: str | Path, notes: StoryNotes | None = None) -> list[KnownStory]:
    """Return those stories of a file that have known answers, in its order.

    The representative answer is among the right ones.

    Raises:
        InputError: As for `families.cobe.data.load_stories`; an answer is not as described, or
            fails a criterion that its story does not ask; or no story has answers.
    """
    name = source_name(path)
    found = []
    for line, story, row in story_rows(path, notes):
        if "Right answers" not in row and "Wrong answers" not in row:
            continue
        try:
            found.append(_known(story, row))
        except InputError as error:
            raise InputError(error.problem, file=name, line=line, hint=error.hint) from error
    if not found:
        raise InputError(
            "no story of this file has known answers",
            file=name,
            hint="make stories that have them with `contrafact cobe synth`",
        )
    return found


def answers_object(known: KnownStory) -> dict[str, Any]:
    """Return the answers and the proof as further keys of the story's object."""
    row: dict[str, Any] = {
        "Right answers": [one.model_dump(exclude={"fails"}) for one in known.right],
        "Wrong answers": [one.model_dump() for one in known.wrong],
    }
    return row if known.proof is None else row | {"Proof": known.proof}


def _known(story: Story, row: Mapping[str, Any]) -> KnownStory:
    right = _answers(row, "Right answers")
    wrong = _answers(row, "Wrong answers")
    texts = {"E1": story.unchanged, "E2": story.changed, "E3": "asked of every response"}
    texts |= {"E4": story.numerical or "", "E5": story.latent or ""}
    for one in wrong:
        if one.fails not in CRITERION_NAMES or not texts[one.fails]:
            raise InputError(
                f"'Wrong answers': an answer fails {one.fails!r}, which the story does not ask",
                hint=f"name one of {', '.join(name for name, text in texts.items() if text)}",
            )
    if story.answer and story.answer not in {one.text for one in right}:
        right.insert(0, KnownAnswer(text=story.answer, why="the representative answer"))
    proof = row.get("Proof")
    return KnownStory(
        story=story,
        right=tuple(one.model_copy(update={"fails": None}) for one in right),
        wrong=tuple(wrong),
        proof=proof if isinstance(proof, dict) else None,
    )


def _answers(row: Mapping[str, Any], key: str) -> list[KnownAnswer]:
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputError(f"'{key}' is not a list", hint='write it as [{"text": "…"}, …]')
    try:
        return [KnownAnswer.model_validate(one) for one in value]
    except ValueError:
        raise InputError(
            f"'{key}' holds what is no answer", hint='write each as {"text": "…", "why": "…"}'
        ) from None
