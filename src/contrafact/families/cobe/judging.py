"""Judging edits: five causal criteria, each a call of its own, answered by T or F.

CoBe, sections 3.2 and 4.2, appendix C.2. The judge sees a criterion and a response, as the paper's
does; with context it sees the scenario and the query besides, as the paper's raters did. It never
sees whose response it is. The question comes first in the prompt, so that prefix caches serve.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspect_ai.model import CachePolicy, GenerateConfig, Model

from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.judges.judge import LetterVerdict, all_pass, judge_letter, panel_verdict
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
from contrafact.records import Criterion, Story, Verdict
from contrafact.text.delimit import delimit

__all__ = [
    "JUDGE_CONFIG",
    "Judged",
    "Judging",
    "StoryCriterion",
    "criteria_of",
    "judge_response",
]

# A judge answers the same question the same way.
JUDGE_CONFIG = GenerateConfig(temperature=0.0)

_TEMPLATES = {
    "E1": "cobe/judge-unchanged",
    "E2": "cobe/judge-changed",
    "E3": "cobe/judge-connectors",
    "E4": "cobe/judge-numerical",
    "E5": "cobe/judge-latent",
}


@dataclass(frozen=True)
class StoryCriterion:
    """A criterion that a story asks.

    Attributes:
        name: ``E1`` to ``E5``.
        text: What the story says of it; empty for E3, which is the same for all stories.
    """

    name: str
    text: str

    @property
    def criterion(self) -> Criterion:
        """The criterion with the template that asks it."""
        return Criterion(name=self.name, template=_TEMPLATES[self.name])


@dataclass(frozen=True)
class Judged:
    """The verdicts on one response.

    Attributes:
        panel: For each criterion asked, the verdict that counts.
        members: For each criterion, every judge's own verdict, in the judges' order.
    """

    panel: Mapping[str, Verdict]
    members: Mapping[str, Sequence[LetterVerdict]]

    @property
    def correct(self) -> bool | None:
        """Whether all criteria pass; none where that is open. See `all_pass`."""
        return all_pass(verdict.passed for verdict in self.panel.values())

    def probability(self, name: str) -> float | None:
        """Return the members' mean probability of T against F; none where nobody gave one."""
        given = [one.probability for one in self.members[name] if one.probability is not None]
        return sum(given) / len(given) if given else None


def criteria_of(story: Story) -> list[StoryCriterion]:
    """Return the criteria that a response to a story is judged by.

    E3 is asked of every response; the others where the story has them.
    """
    texts = {
        "E1": story.unchanged,
        "E2": story.changed,
        "E3": "",
        "E4": story.numerical,
        "E5": story.latent,
    }
    return [
        StoryCriterion(name, text or "")
        for name in CRITERION_NAMES
        if (text := texts[name]) or name == "E3"
    ]


@dataclass
class Judging:
    """The questions, opened and checked.

    Attributes:
        pack: The prompt pack.
        context: Whether the judge sees scenario and query as well.
        logprobs: Whether to ask for the probabilities of T and F.
        cache: Inspect's cache policy for the calls.
    """

    pack: PromptPack = field(default_factory=open_pack)
    context: bool = False
    logprobs: bool = True
    cache: bool | CachePolicy = False
    _templates: dict[str, PromptTemplate] = field(init=False)

    def __post_init__(self) -> None:
        seen = {"story", "query"}
        self._templates = {
            name: self.pack.template(
                path,
                required={"response"}
                | ({"criterion"} if name != "E3" else set())
                | (seen if self.context else set()),
                optional=seen,
            )
            for name, path in _TEMPLATES.items()
        }

    def prompts(self, story: Story, query: str, response: str) -> list[str]:
        """Return one prompt per criterion, in the order of `criteria_of`."""
        shown = {
            "response": delimit(response),
            "story": delimit(story.text) if self.context else None,
            "query": delimit(query) if self.context else None,
        }
        return [
            self._templates[one.name].render(
                **shown, **({"criterion": delimit(one.text)} if one.name != "E3" else {})
            )
            for one in criteria_of(story)
        ]

    async def judge(
        self, judges: Sequence[Model], story: Story, response: str, *, query: str = ""
    ) -> Judged:
        """Judge a response by all criteria of its story.

        All calls are made at once; the first failure is raised when all have ended, so that no
        answer that was paid for is lost.

        Args:
            judges: One judge or a panel.
            story: The story.
            response: The response, as it came.
            query: The query as it was asked, for a judge that sees the context; the story's first
                where none is given.
        """
        names = [one.name for one in criteria_of(story)]
        prompts = self.prompts(story, query or story.queries[0], response)
        calls = [
            judge_letter(
                judge,
                prompt,
                name,
                logprobs=self.logprobs,
                cache=self.cache,
                config=JUDGE_CONFIG,
            )
            for name, prompt in zip(names, prompts, strict=True)
            for judge in judges
        ]
        replies = await asyncio.gather(*calls, return_exceptions=True)
        verdicts: list[LetterVerdict] = []
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
            verdicts.append(reply)
        members = {
            name: verdicts[place * len(judges) : (place + 1) * len(judges)]
            for place, name in enumerate(names)
        }
        return Judged({name: panel_verdict(votes) for name, votes in members.items()}, members)


async def judge_response(
    judges: Sequence[Model],
    story: Story,
    response: str,
    *,
    context: bool = False,
    query: str = "",
    pack: PromptPack | None = None,
    logprobs: bool = True,
    cache: bool | CachePolicy = False,
) -> Judged:
    """Judge one response to a story by all its criteria; see `Judging`."""
    judging = Judging(pack or open_pack(), context, logprobs, cache)
    return await judging.judge(judges, story, response, query=query)
