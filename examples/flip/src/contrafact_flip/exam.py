"""Edited reviews whose verdict is known: the human revision flips, the other edit does not.

Both are edited about as much, so that how far a text is from its review does not give it away.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contrafact.family.exam import Examiner, ExamItem, ExamSpec, draw_items, true_or_false
from contrafact.prompts import PromptPack
from contrafact.text.delimit import delimit
from contrafact_flip.data import SAMPLES, load_reviews
from contrafact_flip.run import RUN

__all__ = ["EXAM", "exam_items"]


def exam_items() -> list[ExamItem]:
    """Return two items for each bundled review, and one that is broken off."""
    found = []
    for review in load_reviews(SAMPLES)[0]:
        assert review.revision is not None and review.kept is not None
        words = review.revision.split()
        for kind, text, known in (
            ("revision", review.revision, {"flipped": True, "fluent": True}),
            ("kept", review.kept, {"flipped": False}),
            ("broken", " ".join(words[: len(words) * 2 // 3]), {"fluent": False}),
        ):
            item = ExamItem(
                id=f"{review.id}-{kind}",
                cluster=review.id,
                kind=kind,
                about=review.text,
                text=text,
                known=known,
                reference=review.revision,
                material=review,
            )
            found.append(item)
    return found


def examiner(pack: PromptPack, options: Any) -> Examiner:
    """Return how a judge is asked, as in a run."""
    asked = RUN.rubric(pack)
    names = [one.name for one in RUN.criteria]

    def prompts(item: ExamItem) -> Mapping[str, str]:
        made = asked.prompts(**RUN.prompt_texts(item.material, item.text))
        return {name: one for name, one in zip(names, made, strict=True) if name in item.known}

    def shown(item: ExamItem) -> Sequence[str]:
        return (delimit(item.text),)

    return Examiner(prompts, shown, true_or_false())


EXAM = ExamSpec(
    task="flip",
    criteria={one.name: one.name for one in RUN.criteria},
    items=lambda options, n, seed: draw_items(exam_items(), n, seed),
    examiner=examiner,
    surface_of="flipped",
)
