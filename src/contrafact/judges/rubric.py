"""Asking a panel of judges several criteria: each in a call of its own, or together in one.

A judge sees one text at a time, and one criterion unless it is asked several together. The rubric
comes first in a prompt and the text last, so that prefix caches serve.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from inspect_ai.model import CachePolicy, GenerateConfig, Model

from contrafact.judges.judge import judge_once, panel_verdict
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import Criterion, Verdict
from contrafact.text.delimit import delimit

__all__ = ["JUDGE_CONFIG", "Judged", "Rubric", "judge_all", "judge_together"]

_V = TypeVar("_V", bound=Verdict)

JUDGE_CONFIG = GenerateConfig(temperature=0.0)
"""A judge answers the same question the same way."""


@dataclass(frozen=True)
class Judged(Generic[_V]):
    """The verdicts on one text.

    Attributes:
        panel: For each criterion, the verdict that counts.
        members: For each criterion, every judge's own verdict, in the judges' order.
    """

    panel: Mapping[str, Verdict]
    members: Mapping[str, Sequence[_V]]

    def as_json(self) -> dict[str, Any]:
        """Return the verdicts as a score's metadata keeps them, by criterion."""
        return {
            name: {
                "panel": self.panel[name].model_dump(mode="json"),
                "members": [vote.model_dump(mode="json") for vote in self.members[name]],
            }
            for name in self.panel
        }


async def judge_all(
    judges: Sequence[Model],
    questions: Sequence[tuple[str, str]],
    ask: Callable[[Model, str, str], Awaitable[_V]],
) -> Judged[_V]:
    """Ask every judge every question, each of one criterion; see `judge_together`.

    Args:
        judges: One judge or a panel.
        questions: The criteria's names and the prompts that ask them.
        ask: Asks one judge one prompt about one criterion.
    """

    async def one(judge: Model, prompt: str, names: Sequence[str]) -> list[_V]:
        return [await ask(judge, prompt, names[0])]

    return await judge_together(judges, [((name,), prompt) for name, prompt in questions], one)


async def judge_together(
    judges: Sequence[Model],
    questions: Sequence[tuple[Sequence[str], str]],
    ask: Callable[[Model, str, Sequence[str]], Awaitable[Sequence[_V]]],
) -> Judged[_V]:
    """Ask every judge every question, each of which may be about several criteria.

    All calls are made at once; the first failure is raised when all have ended, so that no answer
    that was paid for is lost.

    Args:
        judges: One judge or a panel.
        questions: The names of the criteria that a prompt asks together, and the prompt.
        ask: Asks one judge one prompt; returns a verdict on each of its criteria.
    """
    calls = [ask(judge, prompt, names) for names, prompt in questions for judge in judges]
    replies = await asyncio.gather(*calls, return_exceptions=True)
    verdicts: list[Sequence[_V]] = []
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
        verdicts.append(reply)
    members: dict[str, list[_V]] = {}
    for place, (names, _) in enumerate(questions):
        own = verdicts[place * len(judges) : (place + 1) * len(judges)]
        members |= {name: [one[at] for one in own] for at, name in enumerate(names)}
    return Judged({name: panel_verdict(votes) for name, votes in members.items()}, members)


@dataclass
class Rubric:
    """Criteria that a judge answers with true or false, their templates opened and checked.

    Attributes:
        pack: The prompt pack.
        criteria: The criteria, with the templates that ask them.
        variables: What every template shows; texts are delimited before they are put in.
        structured: Whether to ask for schema-constrained JSON.
        cache: Inspect's cache policy for the calls.
    """

    pack: PromptPack
    criteria: Sequence[Criterion]
    variables: frozenset[str]
    structured: bool = True
    cache: bool | CachePolicy = False
    _templates: dict[str, PromptTemplate] = field(init=False)

    def __post_init__(self) -> None:
        self._templates = {
            one.name: self.pack.template(one.template, required=set(self.variables))
            for one in self.criteria
        }

    def prompts(self, **texts: str) -> list[str]:
        """Return one prompt per criterion, in their order."""
        values = {name: delimit(text) for name, text in texts.items()}
        return [template.render(**values) for template in self._templates.values()]

    async def judge(self, judges: Sequence[Model], **texts: str) -> Judged[Verdict]:
        """Judge a text by all criteria."""
        questions = list(zip(self._templates, self.prompts(**texts), strict=True))
        return await judge_all(judges, questions, self._ask)

    async def _ask(self, judge: Model, prompt: str, criterion: str) -> Verdict:
        return await judge_once(
            judge,
            prompt,
            criterion,
            structured=self.structured,
            cache=self.cache,
            config=JUDGE_CONFIG,
        )
