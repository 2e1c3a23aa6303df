"""What training a verifier needs of a family: items whose verdicts are known by construction.

An item is what surface readers read as well (`contrafact.judges.surface.LeakItem`), so that both
learn from the same: a text, what it is about, what is asked by criterion, and the verdicts. Its
groups are what held-out items share with no item that was learned from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contrafact.judges.surface import LeakItem
from contrafact.judges.verifier import Subject

__all__ = ["LearningSpec"]


@dataclass(frozen=True)
class LearningSpec:
    """How a verifier of a family is trained, and how it reads what it judges.

    Attributes:
        criteria: What ``--judge`` may ask it, in order.
        lessons: What may be learned before: simpler questions, by the names that items have them
            under. They are trained on and measured, and never asked by a judge's caller.
        items: Returns items, given how many are asked for, a seed and a file; the family says in
            which unit it counts (stories, headlines, pairs). Raises `InputError` on a bad file.
        question: What is asked of an item's text under a criterion or lesson, in words.
        subject: A subject as an item without verdicts; None where it lacks what a question needs.
        crossed: Items of the family's exam, which are scored and never learned from; the held-out
            groups of ``items`` stand for themselves if none.
    """

    criteria: tuple[str, ...]
    items: Callable[[int, int, Path | None], Sequence[LeakItem]]
    question: Callable[[str, LeakItem], str]
    subject: Callable[[Subject], LeakItem | None]
    lessons: tuple[str, ...] = ()
    crossed: Callable[[], Sequence[LeakItem]] | None = None
