"""What a method takes and gives: a story and a query in, an edited text out (CoBe, section 4.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from inspect_ai.model import (
    CachePolicy,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver

from contrafact.families.cobe.items import PHRASINGS
from contrafact.family.method import Method
from contrafact.models.asking import Ask, Unanswered
from contrafact.records import Story
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "MAX_CHARACTERS",
    "Edited",
    "Question",
    "edit_stories",
    "edited_of",
    "question_of",
    "questions_of",
    "read_edit",
]

MAX_CHARACTERS = 20_000
"""A longer response is no edit of a short scenario, and no judge should be made to read it."""


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


@dataclass(frozen=True)
class Edited:
    """A method's result for one question.

    Attributes:
        text: The edited text that is judged; None where the response was invalid.
        invalid: The reason, where it was.
        reply: The model's last reply, as it came; None where there was none.
        trace: What the method kept of its way there (steps, graph, …).
    """

    text: str | None
    invalid: str | None = None
    reply: str | None = None
    trace: Mapping[str, Any] = field(default_factory=dict)


@solver
def edit_stories(
    method: Method[Question, Edited], *, structured: bool = True, cache: bool | CachePolicy = False
) -> Solver:
    """Answer a sample by a method; a model that gives no answer makes an invalid one.

    Args:
        method: The method.
        structured: Whether to ask the provider for schema-constrained JSON, where JSON is asked.
        cache: Inspect's cache policy for the calls.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        ask = Ask(get_model(), structured, cache)
        try:
            edited = await method(question_of(state.metadata), ask, draw=state.epoch)
        except Unanswered as unanswered:
            edited = Edited(None, str(unanswered))
        state.store.set("edited", asdict(edited))
        state.output = ModelOutput.from_content(str(state.model), edited.text or edited.reply or "")
        return state

    return solve


def questions_of(stories: Sequence[Story]) -> list[Question]:
    """Return every story in its three phrasings, in the stories' order."""
    return [Question(story, phrasing) for story in stories for phrasing in PHRASINGS]


def question_of(metadata: Mapping[str, Any]) -> Question:
    """Return the question that a sample was made from."""
    return Question(Story.model_validate(metadata["story"]), metadata["phrasing"])


def edited_of(state: TaskState) -> Edited:
    """Return the edit in a sample: a solver's of ours, or whatever another wrote as output."""
    kept = state.store.get("edited")
    if kept is not None:
        return Edited(**kept)
    return read_edit(state.output)


def read_edit(output: ModelOutput, trace: Mapping[str, Any] | None = None) -> Edited:
    """Return the edit that a model's output gives: its whole text.

    The text is judged as it came, however it is laid out (appendix C.2: extra text and several
    possible outcomes are no fault). Only an empty or an endless one is invalid.

    Args:
        output: The output.
        trace: What to keep besides.
    """
    text = replace_surrogates(output.completion).strip()
    kept = dict(trace or {})
    if output.stop_reason == "max_tokens":
        kept["cut_off"] = True
    if not text.strip(" .…"):
        reason = "cut off at the token limit, empty" if "cut_off" in kept else "empty reply"
        return Edited(None, reason, output.completion, kept)
    if len(text) > MAX_CHARACTERS:
        reason = f"the reply is over {MAX_CHARACTERS:,} characters"
        return Edited(None, reason, output.completion, kept)
    return Edited(text, None, output.completion, kept)
