"""FIN-FORCE items with known verdicts, of the project's own writing.

``exam_items.jsonl`` holds, for 40 invented headlines (four of each category of table 1), a risk and
an opportunity counterfactual that pass, a sentence that contradicts the headline, and one about
something else altogether. From them are made, by the guidelines of appendix A.7:

==================  =====================  ==============  =====================================
kind                forward compatibility  directionality  made of
==================  =====================  ==============  =====================================
``pass``            true                   true            the counterfactual of that side
``contradiction``   false                  not asked       what excludes the headline's event
``unrelated``       false                  not asked       what has nothing to do with it
``unchanged``       not asked              false           the headline itself, for either side
``wrong-direction`` asked as ``pass``      false           the counterfactual of the other side
==================  =====================  ==============  =====================================

A criterion is asked only where its verdict is certain. Whether a headline said again "reports a
development" can be argued; that it shows no turn of the market cannot.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from contrafact.family.exam import Examiner, ExamItem, ExamSpec, draw_items, true_or_false
from contrafact.family.settings import StructuredOptions
from contrafact.judges.verifier import Subject
from contrafact.records import CRITERIA, SIDES, Headline, Side, content_id
from contrafact.text.delimit import delimit

if TYPE_CHECKING:
    from contrafact.judges.surface import LeakItem
    from contrafact.prompts import PromptPack

__all__ = ["EXAM", "examiner", "finforce_items", "surface_items"]

_FORWARD, _DIRECTION = CRITERIA


@cache
def finforce_items() -> tuple[ExamItem, ...]:
    """Return all items: 80 that pass and 240 that do not, by kind."""
    lines = Path(__file__).with_name("exam_items.jsonl").read_text(encoding="utf-8").splitlines()
    found: list[ExamItem] = []
    for row in map(json.loads, lines):
        headline = Headline.of(row["headline"], category=row["category"])
        right = {_FORWARD: True, _DIRECTION: True}
        for side, other in zip(SIDES, reversed(SIDES), strict=True):
            found += [
                _item(headline, "pass", side, row[side], right),
                _item(headline, "unchanged", side, headline.text, {_DIRECTION: False}),
                _item(headline, "wrong-direction", side, row[other], {_DIRECTION: False}),
            ]
        for kind in ("contradiction", "unrelated"):
            found.append(_item(headline, kind, "risk", row[kind], {_FORWARD: False}))
    return tuple(found)


def examiner(pack: "PromptPack", options: StructuredOptions) -> Examiner:
    """Return how a judge is asked, as `contrafact.families.finforce.judging.Judging` asks."""
    from contrafact.families.finforce.judging import Judging, criteria_of, subject_of

    judging = Judging(pack, structured=options.structured)

    def prompts(item: ExamItem) -> Mapping[str, str]:
        side: Side = "opportunity" if item.facts["side"] == "opportunity" else "risk"
        names = [criterion.name for criterion in criteria_of(side)]
        asked = dict(zip(names, judging.prompts(item.material, side, item.text), strict=True))
        return {name: asked[name] for name in item.known}

    def shown(item: ExamItem) -> Sequence[str]:
        return delimit(item.about), delimit(item.text)

    def subject(item: ExamItem) -> Subject:
        return subject_of(item.about, item.facts["side"], item.text)

    return Examiner(prompts, shown, true_or_false(structured=options.structured), subject)


def surface_items(items: Sequence[ExamItem]) -> "list[LeakItem]":
    """Return items as readers see them that know no news: the text, its headline, the side."""
    from contrafact.judges.surface import LeakItem

    return [
        LeakItem(
            text=item.text,
            about=(item.about, item.facts["side"]),
            asked=dict.fromkeys(item.known, item.facts["side"]),
            verdicts=item.known,
            block=item.cluster,
            groups={"headline": item.cluster},
        )
        for item in items
    ]


def _item(headline: Headline, kind: str, side: Side, text: str, known: dict[str, bool]) -> ExamItem:
    return ExamItem(
        id=content_id(headline.text, kind, side, text, prefix="x"),
        cluster=headline.id,
        kind=kind,
        about=headline.text,
        text=text,
        known=known,
        facts={"side": side},
        material=headline,
    )


EXAM = ExamSpec(
    task="finforce",
    criteria={name: name for name in CRITERIA},
    items=lambda options, n, seed: draw_items(finforce_items(), n, seed),
    examiner=examiner,
    options=StructuredOptions,
    surface=surface_items,
    unread="reads no news",
)
