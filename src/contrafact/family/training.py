"""What self-rewarding training needs of a family.

The algorithm (Yuan et al., 2024) is one for all: a model is warmed up on known answers, invents new
items, answers each several times, has the answers scored, and learns to prefer the best to the
worst. What an item and an answer are, how they are asked for, read and checked, is the family's.
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
    "TrainingMeasure",
    "TrainingPrompts",
    "TrainingSpec",
]

Answer = Mapping[str, str]
"""The texts of an answer by the names of its parts, in the family's order."""


@dataclass(frozen=True)
class TrainingItem:
    """Something to answer, with the right answer where it is known; equal texts have equal ids."""

    id: str
    text: str
    answer: Answer | None = None
    line: int | None = None


@dataclass(frozen=True)
class ReadReply:
    """What was read in a model's reply: each part of the answer, None where it is invalid."""

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
    """What checks make of a reply: 0 to 10, and values by measure; none if it cannot be read."""

    score: float
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingMeasure:
    """A measure of a valid answer: a ``share`` is shown in percent, one ``drawn`` has a panel."""

    name: str
    label: str
    share: bool = False
    drawn: bool = False


class TrainingPrompts(Protocol):
    """What a model is asked in a training, from one prompt pack."""

    def answer(self, item: str) -> str:
        """Return the prompt for the answer to an item."""
        ...

    def new_item(self, examples: Sequence[str]) -> str:
        """Return the prompt for one more item, from examples."""
        ...

    def score(self, item: str, answer: Answer) -> str:
        """Return the prompt for an answer's points, asking for ``score: N`` from 0 to 10."""
        ...


@dataclass(frozen=True)
class TrainingSpec:
    """How a family is trained.

    Attributes:
        item: What an item is called: a key of rows and configs, and a word in messages.
        answer: What a whole answer is called in messages, as ``both counterfactuals``.
        presets: The folder of configs that ship with the family.
        load: Reads the items of a file, or the bundled ones without a file.
        row: Makes an item with its answer a row of a file that ``load`` reads.
        reply: Returns the reply that the prompt for an answer asks for.
        read: Reads a reply, given whether the model came to its end.
        read_item: Reads a new item in a reply: its text, and why it is none, if it is none.
        check: Scores replies without a model: items and what was read of each.
        measures: What is reported of valid answers, in order.
        methods: Methods whose answers can be preferred, besides the model's own replies.
        method_answer: The answer in what they give; None if it is invalid.
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
    measures: tuple[TrainingMeasure, ...]
    methods: Methods
    method_input: Callable[[str], Any]
    method_answer: Callable[[Any], Answer | None]


@dataclass(frozen=True)
class EditTask:
    """A text to edit: what the model is asked, and an answer to learn that is proven right.

    ``source`` is what the family scores answers by, as JSON; ``wrong`` are answers by kind that a
    reader of figures compares with: a copy, a wrong answer.
    """

    id: str
    prompt: str
    answer: str
    source: str
    wrong: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EditSpec:
    """How a family's editors are taught: tasks without end, and answers that are proven.

    Attributes:
        presets: The folder of configs that ship with the family.
        train: What is trained on, in words, for the card.
        splits: What is measured, by name: what it holds out, in words; no two share a task.
        tasks: Draws tasks of a split, or ``train``, by a seed: the first so many.
        passed: What is proven of an answer: right, wrong, or open (None).
    """

    presets: Path
    train: str
    splits: Mapping[str, str]
    tasks: Callable[[PromptPack, str, int, int], Iterator[EditTask]]
    passed: Callable[[str, str], bool | None]
