"""What a detector of manipulated paragraphs learns from: rewrites and their originals.

RFC-BENCH, section 2.1, task 1: a paragraph is shown alone, and is as it was published or not. No
rewriter of the held-out pairs made any pair that was learned from, and no article is in both, since
what one rewriter leaves behind is not what tells manipulation. Where all pairs are by one rewriter,
articles alone are held out.
"""

from pathlib import Path

import numpy as np

from contrafact.errors import InputError
from contrafact.families.rfc.data import bundled_pairs, load_pairs
from contrafact.family.learning import LearningSpec
from contrafact.judges.surface import LeakItem
from contrafact.judges.verifier import Subject

__all__ = ["LEARNING", "ORIGINAL", "question"]

ORIGINAL = "original"
"""Whether a paragraph is as it was published."""


def question(criterion: str, item: LeakItem) -> str:
    """Return what is asked of a paragraph."""
    return "It is as it was published, and nothing in it was changed."


def _items(count: int, seed: int, data: Path | None) -> list[LeakItem]:
    pairs = [one for one in (bundled_pairs() if data is None else load_pairs(data)) if one.original]
    if not pairs:
        raise InputError(
            "no pair has its original", file=data, hint="give 'original' beside 'rewritten'"
        )
    rng = np.random.default_rng([seed, 0])
    found: list[LeakItem] = []
    for place in rng.permutation(len(pairs))[:count]:
        one = pairs[int(place)]
        for text, holds in ((one.original, True), (one.rewritten, False)):
            found.append(
                LeakItem(
                    text=text,
                    about=("", ""),
                    asked={ORIGINAL: ""},
                    verdicts={ORIGINAL: holds},
                    block=one.article_id,
                    groups={
                        "rewriter": one.rewriter or "unknown",
                        "article": one.article_id,
                    },
                )
            )
    return found


def _subject(subject: Subject) -> LeakItem | None:
    shown = subject.get("shown")
    if not isinstance(shown, str):
        return None
    return LeakItem(shown, ("", ""), {ORIGINAL: ""}, {}, "", {})


LEARNING = LearningSpec(criteria=(ORIGINAL,), items=_items, question=question, subject=_subject)
