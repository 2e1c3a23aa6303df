"""What a verifier of scenarios learns from: reference pairs, whose verdicts are known as written.

A reference of a side passes both criteria. The same text asked of the other side fails
directionality, and asked of another headline of its category it fails forward compatibility: every
text is right once and wrong once on each. No company of the held-out pairs is in those learned
from, by the names that headlines open with. The exam's crossed items (`finforce.exam`) are scored
and never learned from.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contrafact.errors import InputError
from contrafact.families.finforce.data import bundled_shots, load_headlines
from contrafact.families.finforce.exam import finforce_items, surface_items
from contrafact.family.learning import LearningSpec
from contrafact.judges.surface import LeakItem
from contrafact.judges.verifier import Subject
from contrafact.records import CRITERIA, SIDES, Headline

__all__ = ["LEARNING", "company", "question"]

_FORWARD, _DIRECTION = CRITERIA
_ASKED = {
    (_FORWARD, ""): "It can follow this news without contradicting it: {headline}",
    (_DIRECTION, "risk"): "It turns this news for the worse: {headline}",
    (_DIRECTION, "opportunity"): "It turns this news for the better: {headline}",
}
_NAME = re.compile(r"(?:[A-Z][\w&.'’-]*\s?)+")


def question(criterion: str, item: LeakItem) -> str:
    """Return what is asked of a text about a headline; directionality is asked by side."""
    headline, side = item.about
    return _ASKED[criterion, side if criterion == _DIRECTION else ""].format(headline=headline)


def company(headline: str) -> str:
    """Return the name that a headline opens with, in lower case; its first word if none."""
    found = _NAME.match(headline)
    return (found[0] if found else headline.split()[0]).strip().lower()


def _item(headline: Headline, side: str, text: str, criterion: str, holds: bool) -> LeakItem:
    return LeakItem(
        text=text,
        about=(headline.text, side),
        asked=dict.fromkeys(CRITERIA, side),
        verdicts={criterion: holds},
        block=headline.id,
        groups={"company": company(headline.text)},
    )


def _items(count: int, seed: int, data: Path | None) -> list[LeakItem]:
    pairs = [
        one
        for one in (bundled_shots() if data is None else load_headlines(data))
        if one.reference is not None
    ]
    if not pairs:
        raise InputError(
            "no headline has both counterfactuals",
            file=data,
            hint="give risk_counterfactual and opportunity_counterfactual beside each headline",
        )
    rng = np.random.default_rng([seed, 0])
    order = [pairs[int(place)] for place in rng.permutation(len(pairs))][:count]
    found: list[LeakItem] = []
    for place, one in enumerate(order):
        # Another headline, of its category where there is one of another company.
        rest = [*order[place + 1 :], *order[:place]]
        strange = [two for two in rest if company(two.text) != company(one.text)]
        near = [two for two in strange if two.category == one.category]
        other = next(iter(near or strange), None)
        for side, opposite in zip(SIDES, reversed(SIDES), strict=True):
            text = one.reference.side(side) if one.reference else ""
            found += [
                _item(one, side, text, _DIRECTION, True),
                _item(one, opposite, text, _DIRECTION, False),
                _item(one, side, text, _FORWARD, True),
            ]
            if other is not None and other.reference is not None:
                strange_text = other.reference.side(side)
                found.append(_item(one, side, strange_text, _FORWARD, False))
    return found


def _crossed() -> Sequence[LeakItem]:
    return surface_items(finforce_items())


def _subject(subject: Subject) -> LeakItem:
    side: str = subject["side"]
    return LeakItem(
        text=subject["text"],
        about=(subject["headline"], side),
        asked=dict.fromkeys(CRITERIA, side),
        verdicts={},
        block="",
        groups={},
    )


LEARNING = LearningSpec(
    criteria=CRITERIA,
    items=_items,
    question=question,
    subject=_subject,
    crossed=_crossed,
)
