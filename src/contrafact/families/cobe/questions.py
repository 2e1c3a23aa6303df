"""What a method of the family takes: a story, asked in one of its phrasings (CoBe, section 4.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contrafact.families.cobe.items import PHRASINGS
from contrafact.records import Story

__all__ = ["Question", "question_of", "questions_of"]


@dataclass(frozen=True)
class Question:
    """A story, asked in one of its phrasings."""

    story: Story
    phrasing: str
    """``A``, ``B`` or ``C``."""

    @property
    def query(self) -> str:
        """The query in that phrasing."""
        return self.story.queries[PHRASINGS.index(self.phrasing)]

    @property
    def id(self) -> str:
        """The id of the sample: the story's, and the phrasing."""
        return f"{self.story.id}-{self.phrasing}"


def questions_of(stories: Sequence[Story]) -> list[Question]:
    """Return every story in its three phrasings, in the stories' order."""
    return [Question(story, phrasing) for story in stories for phrasing in PHRASINGS]


def question_of(metadata: Mapping[str, Any]) -> Question:
    """Return the question that a sample was made from."""
    return Question(Story.model_validate(metadata["story"]), metadata["phrasing"])
