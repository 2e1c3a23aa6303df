"""Judging counterfactuals: forward compatibility and directionality, each in a call of its own.

FIN-FORCE, section 3.5, B.1, tables 6 and 7. Every counterfactual is judged alone, and every
criterion separately; directionality has a rubric for risk and one for opportunity. The rubric
comes first in the prompt, so that prefix caches serve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import CachePolicy, Model

from contrafact.judges.judge import judge_once
from contrafact.judges.rubric import JUDGE_CONFIG, Judged, judge_all
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import CRITERIA, SIDES, Criterion, Headline, Side, Verdict
from contrafact.text.delimit import delimit

__all__ = ["FAULTS", "JUDGE_CONFIG", "Judged", "Judging", "criteria_of"]

# The two error classes of figure 4 that need judgement; asked only on request.
FAULTS: tuple[str, str] = ("trivial_consequences", "financially_unrealistic")


def criteria_of(side: Side, *, faults: bool = False) -> list[Criterion]:
    """Return the criteria that a counterfactual of one side is judged by."""
    criteria = [
        Criterion(name=CRITERIA[0], template="finforce/judge-forward-compatibility"),
        Criterion(name=CRITERIA[1], template=f"finforce/judge-directionality-{side}"),
    ]
    if faults:
        for fault in FAULTS:
            template = f"finforce/judge-{fault.replace('_', '-')}"
            criteria.append(Criterion(name=fault, template=template))
    return criteria


@dataclass
class Judging:
    """The judge or panel of judges, with its rubrics opened and checked.

    Attributes:
        pack: The prompt pack.
        faults: Whether the two error classes that need judgement are asked as well.
        structured: Whether to ask for schema-constrained JSON.
        cache: Inspect's cache policy for the calls.
    """

    pack: PromptPack
    faults: bool = False
    structured: bool = True
    cache: bool | CachePolicy = False
    _templates: dict[str, PromptTemplate] = field(init=False)

    def __post_init__(self) -> None:
        names = {c.template for side in SIDES for c in criteria_of(side, faults=self.faults)}
        self._templates = {
            name: self.pack.template(name, required={"headline", "counterfactual"})
            for name in sorted(names)
        }

    def prompts(self, headline: Headline, side: Side, counterfactual: str) -> list[str]:
        """Return one prompt per criterion, in the order of `criteria_of`."""
        values = {"headline": delimit(headline.text), "counterfactual": delimit(counterfactual)}
        return [
            self._templates[criterion.template].render(**values)
            for criterion in criteria_of(side, faults=self.faults)
        ]

    async def judge(
        self, judges: Sequence[Model], headline: Headline, texts: Mapping[Side, str | None]
    ) -> dict[Side, Judged[Verdict]]:
        """Judge the counterfactuals that there are; an invalid side is not judged.

        All calls are made at once; the first failure is raised when all have ended, so that no
        answer that was paid for is lost.
        """
        questions = [
            (f"{side} {criterion.name}", prompt)
            for side in SIDES
            if (text := texts.get(side)) is not None
            for criterion, prompt in zip(
                criteria_of(side, faults=self.faults),
                self.prompts(headline, side, text),
                strict=True,
            )
        ]
        judged = await judge_all(judges, questions, self._ask)
        return {
            side: Judged(
                {name: judged.panel[f"{side} {name}"] for name in names},
                {name: judged.members[f"{side} {name}"] for name in names},
            )
            for side in SIDES
            if texts.get(side) is not None
            for names in [[one.name for one in criteria_of(side, faults=self.faults)]]
        }

    async def _ask(self, judge: Model, prompt: str, question: str) -> Verdict:
        return await judge_once(
            judge,
            prompt,
            question.partition(" ")[2],
            structured=self.structured,
            cache=self.cache,
            config=JUDGE_CONFIG,
        )
