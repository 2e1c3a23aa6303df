"""FIN-FORCE items with known verdicts, of the project's own writing.

``finforce_items/items.jsonl`` holds, for 40 invented headlines (four of each category of table 1),
a risk and an opportunity counterfactual that pass, a sentence that contradicts the headline, and
one about something else altogether. From them are made, by the guidelines of appendix A.7:

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
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from inspect_ai.model import Model

from contrafact.exam.items import ExamItem
from contrafact.families.finforce.judging import JUDGE_CONFIG, Judging, criteria_of
from contrafact.families.finforce.run import RUN
from contrafact.judges.judge import judge_once
from contrafact.prompts import PromptPack
from contrafact.records import CRITERIA, SIDES, Headline, Side, Verdict, content_id
from contrafact.text.delimit import delimit

__all__ = ["FinforceExaminer", "finforce_items"]

_FORWARD, _DIRECTION = CRITERIA


@cache
def finforce_items() -> tuple[ExamItem, ...]:
    """Return all items: 80 that pass and 240 that do not, by kind."""
    file = resources.files("contrafact.exam") / "finforce_items" / "items.jsonl"
    found: list[ExamItem] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        headline = Headline.of(row["headline"], category=row["category"])
        found += _items_of(headline, {side: row[side] for side in SIDES})
        for kind in ("contradiction", "unrelated"):
            found.append(_item(headline, kind, "risk", row[kind], {_FORWARD: False}))
    return tuple(found)


def _items_of(headline: Headline, texts: dict[Side, str]) -> list[ExamItem]:
    items = []
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        right = {_FORWARD: True, _DIRECTION: True}
        items += [
            _item(headline, "pass", side, texts[side], right),
            _item(headline, "unchanged", side, headline.text, {_DIRECTION: False}),
            _item(headline, "wrong-direction", side, texts[other], {_DIRECTION: False}),
        ]
    return items


def _item(headline: Headline, kind: str, side: Side, text: str, known: dict[str, bool]) -> ExamItem:
    return ExamItem(
        id=content_id(headline.text, kind, side, text, prefix="x"),
        cluster=headline.id,
        kind=kind,
        material=headline,
        text=text,
        known=known,
        side=side,
    )


@dataclass
class FinforceExaminer:
    """Asks as `contrafact.families.finforce.judging.Judging` does.

    Attributes:
        pack: The prompt pack.
        structured: Whether to ask for schema-constrained JSON.
    """

    pack: PromptPack
    structured: bool = True
    family: str = field(default="finforce", init=False)
    task_version: str = field(default=RUN.version, init=False)
    _judging: Judging = field(init=False)

    def __post_init__(self) -> None:
        self._judging = Judging(self.pack, structured=self.structured)

    def questions(self, item: ExamItem) -> dict[str, str]:
        """Return the prompt for each criterion whose verdict is known."""
        side = _side(item)
        names = [criterion.name for criterion in criteria_of(side)]
        prompts = self._judging.prompts(_headline(item), side, item.text)
        asked = dict(zip(names, prompts, strict=True))
        return {name: asked[name] for name in item.known}

    def shown(self, item: ExamItem) -> Sequence[str]:
        """Return headline and counterfactual, as they stand in the prompts."""
        return delimit(_headline(item).text), delimit(item.text)

    async def ask(self, judge: Model, criterion: str, prompt: str) -> Verdict:
        """Ask one judge one question."""
        return await judge_once(
            judge, prompt, criterion, structured=self.structured, config=JUDGE_CONFIG
        )


def _headline(item: ExamItem) -> Headline:
    assert isinstance(item.material, Headline)
    return item.material


def _side(item: ExamItem) -> Side:
    return "opportunity" if item.side == "opportunity" else "risk"
