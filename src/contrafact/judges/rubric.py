"""Asks a panel of judges the criteria of a text, for all families.

A judge sees one text at a time. It is asked each criterion in a separate call, or in one call those
that share a template. In a prompt the rubric comes first and the text last, so that prefix caches
work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from inspect_ai.model import CachePolicy, Model

from contrafact.judges.judge import LetterVerdict, all_pass, judge_letter, judge_once, panel_verdict
from contrafact.judges.verifier import Subject
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import Criterion, Verdict
from contrafact.text.delimit import delimit

__all__ = ["Ask", "Judged", "Rubric", "gathered", "letter", "true_or_false"]

_T = TypeVar("_T")
_V = TypeVar("_V", bound=Verdict)
_V_co = TypeVar("_V_co", bound=Verdict, covariant=True)

Ask = Callable[[Model, Sequence[str], str, Subject | None, Sequence[str]], Awaitable[Sequence[_V]]]
"""A function that asks one judge some criteria, by name, in one prompt; it returns their verdicts.

The subject is the data for a verifier. The last argument are the texts that the prompt shows, from
which words are quoted, and whose repetitions in a reply are not the judge's words."""


def true_or_false(*, structured: bool = True, cache: bool | CachePolicy = False) -> Ask[Verdict]:
    """Return a function that asks a judge one criterion, answered with true or false in JSON."""

    return _each(judge_once, structured=structured, cache=cache)


def letter(*, logprobs: bool = True, cache: bool | CachePolicy = False) -> Ask[LetterVerdict]:
    """Return a function that asks a judge one criterion, answered with T or F."""

    return _each(judge_letter, logprobs=logprobs, cache=cache)


def _each(once: Callable[..., Awaitable[_V]], **how: Any) -> Ask[_V]:
    async def ask(
        judge: Model,
        names: Sequence[str],
        prompt: str,
        subject: Subject | None = None,
        texts: Sequence[str] = (),
    ) -> list[_V]:
        asked = {"subject": subject, "graded": texts, **how}
        return [await once(judge, prompt, name, **asked) for name in names]

    return ask


async def gathered(calls: Iterable[Awaitable[_T]]) -> list[_T]:
    """Return the results of concurrent calls; raise the first failure after all have ended.

    So every answer that was paid for gets into the cache.
    """
    found: list[_T] = []
    for one in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        found.append(one)
    return found


@dataclass(frozen=True)
class Judged(Generic[_V_co]):
    """The verdicts on one text by criterion: the final one, and each judge's in order."""

    panel: Mapping[str, Verdict]
    members: Mapping[str, Sequence[_V_co]]

    @property
    def passed(self) -> bool | None:
        """Whether all criteria pass; None if that is open. See `all_pass`."""
        return all_pass(verdict.passed for verdict in self.panel.values())

    def as_json(self) -> dict[str, Any]:
        """Return the verdicts by criterion, as the metadata of a score."""
        return {
            name: {
                "panel": self.panel[name].model_dump(mode="json"),
                "members": [vote.model_dump(mode="json") for vote in self.members[name]],
            }
            for name in self.panel
        }


@dataclass
class Rubric(Generic[_V]):
    """The checked prompt templates of criteria, and the function that asks a judge.

    Attributes:
        pack: The prompt pack.
        templates: The names of the templates, and the variables that each must use: texts,
            ``criterion`` (`Criterion.text`), ``criteria`` (the names of the criteria of a call).
        ask: The function that asks one judge.
        optional: Variables that templates may use; except for ``criteria`` they are blank.
        each: Whether criteria that share a template are asked in separate calls nevertheless.
    """

    pack: PromptPack
    templates: Mapping[str, Iterable[str]]
    ask: Ask[_V]
    optional: frozenset[str] = frozenset()
    each: bool = False
    _opened: dict[str, PromptTemplate] = field(init=False)

    def __post_init__(self) -> None:
        self._opened = {
            name: self.pack.template(
                name, required=set(shown), optional={*self.optional} - {*shown}
            )
            for name, shown in self.templates.items()
        }

    def prompts(
        self, criteria: Sequence[Criterion], /, **texts: str
    ) -> list[tuple[tuple[str, ...], str]]:
        """Return the prompts about a text, each with the names of its criteria."""
        groups: dict[Any, list[Criterion]] = {}
        for criterion in criteria:
            groups.setdefault(criterion if self.each else criterion.template, []).append(criterion)
        delimited: dict[str, object] = {name: delimit(text) for name, text in texts.items()}
        prompts = []
        for group in groups.values():
            path, names = group[0].template, tuple(criterion.name for criterion in group)
            template = self._opened[path]
            blank = dict.fromkeys(self.optional.difference(self.templates[path]))
            values = {**delimited, **blank, "criterion": delimit(group[0].text), "criteria": names}
            prompts.append((names, template.render(**{n: values[n] for n in template.variables})))
        return prompts

    async def judge(
        self,
        judges: Sequence[Model],
        criteria: Sequence[Criterion],
        /,
        subject: Subject | None = None,
        **texts: str,
    ) -> Judged[_V]:
        """Return the verdicts of one judge or a panel on a text; all calls are made at once."""
        asked = self.prompts(criteria, **texts)
        replies = await gathered(
            self.ask(judge, names, prompt, subject, tuple(texts.values()))
            for names, prompt in asked
            for judge in judges
        )
        members: dict[str, list[_V]] = {}
        for place, (names, _) in enumerate(asked):
            of_prompt = replies[place * len(judges) : (place + 1) * len(judges)]
            members |= {
                name: [verdict[at] for verdict in of_prompt] for at, name in enumerate(names)
            }
        return Judged({name: panel_verdict(votes) for name, votes in members.items()}, members)
