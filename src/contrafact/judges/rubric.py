"""Asking a panel of judges the criteria of a text: the one loop that every family's judging uses.

A judge sees one text at a time. It is asked each criterion in a call of its own, or those that
share a template in one. The rubric comes first in a prompt and the text last, so that prefix caches
serve.
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
"""Asks one judge some criteria, by their names, with one prompt; returns a verdict on each.

The subject is what is judged as data, for a verifier; then come the texts that the prompt shows:
what words are quoted from, and what in a reply is none of the judge's."""


def true_or_false(*, structured: bool = True, cache: bool | CachePolicy = False) -> Ask[Verdict]:
    """Return how a judge is asked that answers one criterion with true or false in JSON."""

    return _each(judge_once, structured=structured, cache=cache)


def letter(*, logprobs: bool = True, cache: bool | CachePolicy = False) -> Ask[LetterVerdict]:
    """Return how a judge is asked that answers one criterion with T or F."""

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
    """Return what calls made at once give; the first failure is raised when all have ended.

    No answer that was paid for is then lost to the cache.
    """
    found: list[_T] = []
    for one in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(one, BaseException):
            raise one
        found.append(one)
    return found


@dataclass(frozen=True)
class Judged(Generic[_V_co]):
    """The verdicts on one text, by criterion: the one that counts, and every judge's in order."""

    panel: Mapping[str, Verdict]
    members: Mapping[str, Sequence[_V_co]]

    @property
    def passed(self) -> bool | None:
        """Whether all criteria pass; None where that is open. See `all_pass`."""
        return all_pass(verdict.passed for verdict in self.panel.values())

    def as_json(self) -> dict[str, Any]:
        """Return the verdicts as a score's metadata keeps them, by criterion."""
        return {
            name: {
                "panel": self.panel[name].model_dump(mode="json"),
                "members": [vote.model_dump(mode="json") for vote in self.members[name]],
            }
            for name in self.panel
        }


@dataclass
class Rubric(Generic[_V]):
    """Criteria's templates, opened and checked, and how a judge is asked by them.

    Attributes:
        pack: The prompt pack.
        templates: The templates that criteria are asked by, and the variables that each must show:
            texts, ``criterion`` (`Criterion.text`), ``criteria`` (names that one call asks).
        ask: How one judge is asked.
        optional: Variables that templates may show. They stay blank, but for ``criteria``, where a
            template need not show them.
        each: Whether criteria that share a template are asked in calls of their own all the same.
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
        """Return the prompts about a text, each with the names of the criteria that it asks."""
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
        """Have one judge or a panel judge a text by some criteria: all calls are made at once."""
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
