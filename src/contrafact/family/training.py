"""What a family must define for self-rewarding training.

The algorithm (Yuan et al., 2024) is the same for all: a model is warmed up on known answers,
invents new items, answers each several times, has the answers scored, and learns to prefer the
best to the worst. The family defines items and answers, and how they are asked for, read and
checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from contrafact.family.method import Methods
from contrafact.prompts import PromptPack

__all__ = [
    "Answer",
    "CheckedReply",
    "EditSpec",
    "EditTask",
    "ReadReply",
    "TrainingItem",
    "TrainingSpec",
]

Answer = Mapping[str, str]
"""The texts of an answer, by part name, in the family's order."""


@dataclass(frozen=True)
class TrainingItem:
    """An item to answer, with the right answer if it is known; equal texts have equal ids."""

    id: str
    text: str
    answer: Answer | None = None
    line: int | None = None


@dataclass(frozen=True)
class ReadReply:
    """The parts of the answer read from a model's reply; None for an invalid part."""

    texts: Mapping[str, str | None]
    invalid: str | None = None
    repairs: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer | None:
        """All parts; None if one is invalid."""
        texts = {name: text for name, text in self.texts.items() if text is not None}
        return texts if len(texts) == len(self.texts) else None


@dataclass(frozen=True)
class CheckedReply:
    """A reply's score from 0 to 10, and values by measure, empty if the reply cannot be read."""

    score: float
    values: Mapping[str, float] = field(default_factory=dict)


class TrainingPrompts(Protocol):
    """The prompts of a training, from one prompt pack."""

    def answer(self, item: str) -> str:
        """Return the prompt for the answer to an item."""
        ...

    def new_item(self, examples: Sequence[str]) -> str:
        """Return the prompt for a new item, given examples."""
        ...

    def score(self, item: str, answer: Answer) -> str:
        """Return the prompt to score an answer, which asks for ``score: N`` from 0 to 10."""
        ...


@dataclass(frozen=True)
class TrainingSpec:
    """How a family is trained.

    Attributes:
        item: The noun for an item: a key of rows and configs, and a word in messages.
        answer: The name of a whole answer in messages, such as ``both counterfactuals``.
        presets: The folder of configs that ship with the family.
        load: Reads the items of a file, or the bundled items without a file.
        row: Returns an item and its answer as a row of a file that ``load`` reads.
        reply: Returns an answer in the form that the prompt asks for.
        read: Reads a reply, given whether the model finished it.
        read_item: Reads a new item from a reply: its text, and why it is not an item, or None.
        check: Scores replies without a model, given the items and the replies as read.
        measures: The names of the reported measures of valid answers, in order.
        methods: Methods whose answers can be preferred, besides the model's own replies.
        method_answer: Returns the answer in a method's output; None if it is invalid.
    """

    item: str
    items: str
    answer: str
    presets: Path
    load: Callable[[Path | None], Sequence[TrainingItem]]
    row: Callable[[str, Answer], dict[str, Any]]
    item_id: Callable[[str], str]
    prompts: Callable[[PromptPack], TrainingPrompts]
    reply: Callable[[str, Answer], str]
    read: Callable[[str, bool], ReadReply]
    read_item: Callable[[str, bool], tuple[str, str | None]]
    check: Callable[[Sequence[str], Sequence[ReadReply]], Sequence[CheckedReply]]
    measures: tuple[str, ...]
    methods: Methods
    method_input: Callable[[str], Any]
    method_answer: Callable[[Any], Answer | None]


@dataclass(frozen=True)
class EditTask:
    """A text to edit: the prompt, and an answer to learn that is proven right.

    ``source`` is JSON by which the family scores answers.
    """

    id: str
    prompt: str
    answer: str
    source: str


@dataclass(frozen=True)
class EditSpec:
    """How a family's editors are trained: on unlimited tasks with proven answers.

    Attributes:
        presets: The folder of configs that ship with the family.
        train: A description of the training tasks, for the model card.
        splits: The measured splits: name and description of what is held out; no two share a task.
        framing: Returns the full name of a way to put requests; the usual way if none is named.
        tasks: Draws tasks of a split, or of ``train``, endlessly, by a seed, in a framing; the
            number is how many are planned, so that those of ``train`` become harder on the way.
        passed: Returns whether an answer is proven right or wrong; None if that is open.
    """

    presets: Path
    train: str
    splits: Mapping[str, str]
    framing: Callable[[str | None], str]
    tasks: Callable[[PromptPack, str, int, int, str], Iterator[EditTask]]
    passed: Callable[[str, str], bool | None]
