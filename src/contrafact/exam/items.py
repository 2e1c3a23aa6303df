"""Exam items: texts whose verdict is known, with what a judge needs to see of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from inspect_ai.model import Model

from contrafact.prompts import PromptPack
from contrafact.records import Headline, Story, Verdict

__all__ = ["ExamItem", "Examiner", "draw_items"]


@dataclass(frozen=True)
class ExamItem:
    """A text, and what a judge should say of it.

    Attributes:
        id: Names the item, and is the same whenever the item is.
        cluster: What it shares with items that resemble it: its headline or story.
        kind: How it was made, as in ``contradiction``.
        material: The headline or the story that the text is about.
        text: The text to judge.
        known: The verdict on each criterion for which it is certain.
        whole: Whether the text as a whole is right; none where the family has no such verdict.
        side: Of a forward counterfactual, ``risk`` or ``opportunity``.
        reference: The representative answer, where there is one.
    """

    id: str
    cluster: str
    kind: str
    material: Headline | Story
    text: str
    known: Mapping[str, bool]
    whole: bool | None = None
    side: str | None = None
    reference: str | None = None

    @property
    def should_pass(self) -> bool:
        """Whether all that is known of it is that it passes."""
        return self.whole if self.whole is not None else all(self.known.values())


class Examiner(Protocol):
    """How a family puts its questions, exactly as its runs do."""

    family: str
    task_version: str
    pack: PromptPack

    def questions(self, item: ExamItem) -> dict[str, str]:
        """Return the prompt for each criterion whose verdict is known."""
        ...

    def shown(self, item: ExamItem) -> Sequence[str]:
        """Return the texts to judge, as they stand in the prompts."""
        ...

    async def ask(self, judge: Model, criterion: str, prompt: str) -> Verdict:
        """Ask one judge one question."""
        ...


def draw_items(
    items: Sequence[ExamItem], n: int | None, rng: np.random.Generator
) -> list[ExamItem]:
    """Draw items at random: half that should pass and half that should not, evenly over kinds.

    What one kind lacks goes to the others of its half, what one half lacks to the other. They
    come back in the order in which they were given.

    Args:
        items: All there are.
        n: How many to draw; None for all.
        rng: Where randomness comes from.
    """
    if n is None or n >= len(items):
        return list(items)
    halves: list[list[list[int]]] = []
    for passing in (True, False):
        kinds: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            if item.should_pass is passing:
                kinds.setdefault(item.kind, []).append(place)
        shuffled = [kinds[kind] for kind in sorted(kinds)]
        halves.append([[int(place) for place in rng.permutation(own)] for own in shuffled])
    turns = [_in_turn(half) for half in halves]
    first = max(n - n // 2, n - len(turns[1]))
    chosen = turns[0][:first]
    chosen += turns[1][: n - len(chosen)]
    return [items[place] for place in sorted(chosen)]


def _in_turn(kinds: Sequence[Sequence[int]]) -> list[int]:
    """Return one of each kind, then another of each, and so on."""
    longest = max(map(len, kinds), default=0)
    return [own[turn] for turn in range(longest) for own in kinds if turn < len(own)]
