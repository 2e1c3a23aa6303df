"""Edited reviews whose verdict is known: the human revision flips, the other edit does not.

Both are edited about as much, so that how far a text is from its review does not give it away.
"""

from contrafact.family.exam import ExamItem, ExamSpec, draw_items
from contrafact_flip.data import SAMPLES, load_reviews
from contrafact_flip.run import RUN

__all__ = ["EXAM", "exam_items"]


def exam_items() -> list[ExamItem]:
    """Return three items for each bundled review: flipped, kept, and flipped but broken off."""
    found = []
    for review in load_reviews(SAMPLES)[0]:
        revision = str(review.revision)
        words = revision.split()
        for kind, text, known in (
            ("revision", revision, {"flipped": True, "fluent": True}),
            ("kept", str(review.kept), {"flipped": False}),
            ("broken", " ".join(words[: len(words) * 2 // 3]), {"fluent": False}),
        ):
            item = ExamItem(
                id=f"{review.id}-{kind}",
                cluster=review.id,
                kind=kind,
                about=review.text,
                text=text,
                known=known,
                reference=revision,
                material=review,
            )
            found.append(item)
    return found


EXAM = ExamSpec(
    task="flip",
    criteria={one.name: one.name for one in RUN.criteria},
    items=lambda options, n, seed: draw_items(exam_items(), n, seed),
    examiner=RUN.examiner,
)
