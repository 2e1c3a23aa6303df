"""Judging edits: five causal criteria, each a call of its own, answered by T or F.

CoBe, sections 3.2 and 4.2, appendix C.2. The judge sees a criterion and a response, as the paper's
does; with context it sees the scenario and the query besides, as the paper's raters did. It never
sees whose response it is. The question comes first in the prompt, so that prefix caches serve.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from inspect_ai.model import CachePolicy, Model

from contrafact.families.cobe.data import criteria_of
from contrafact.judges.judge import LetterVerdict, all_pass, judge_letter
from contrafact.judges.rubric import JUDGE_CONFIG, Judged, judge_all
from contrafact.judges.verifier import Subject
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
from contrafact.records import Story
from contrafact.text.delimit import delimit

__all__ = [
    "JudgedEdit",
    "Judging",
    "subject_of",
]

_TEMPLATES = {
    "E1": "cobe/judge-unchanged",
    "E2": "cobe/judge-changed",
    "E3": "cobe/judge-connectors",
    "E4": "cobe/judge-numerical",
    "E5": "cobe/judge-latent",
}


@dataclass(frozen=True)
class JudgedEdit(Judged[LetterVerdict]):
    """The verdicts on one response, by criterion."""

    @property
    def correct(self) -> bool | None:
        """Whether all criteria pass; none where that is open. See `all_pass`."""
        return all_pass(verdict.passed for verdict in self.panel.values())

    def probability(self, name: str) -> float | None:
        """Return the members' mean probability of T against F; none where nobody gave one."""
        given = [one.probability for one in self.members[name] if one.probability is not None]
        return sum(given) / len(given) if given else None


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
            self._templates[name].render(
                **shown, **({"criterion": delimit(text)} if name != "E3" else {})
            )
            for name, text in criteria_of(story).items()
        ]

    async def judge(
        self, judges: Sequence[Model], story: Story, response: str, *, query: str = ""
    ) -> JudgedEdit:
        """Judge a response by all criteria of its story; see `judge_all`.

        Args:
            judges: One judge or a panel.
            story: The story.
            response: The response, as it came.
            query: The query as it was asked, for a judge that sees the context; the story's first
                where none is given.
        """
        prompts = self.prompts(story, query or story.queries[0], response)
        ask = partial(
            judge_letter,
            logprobs=self.logprobs,
            subject=subject_of(story, response),
            cache=self.cache,
            config=JUDGE_CONFIG,
        )
        found = await judge_all(judges, list(zip(criteria_of(story), prompts, strict=True)), ask)
        return JudgedEdit(found.panel, found.members)


def subject_of(story: Story, response: str) -> Subject:
    """Return what a verifier of this family is handed, besides the story's text and queries.

    ``response`` is what is judged; ``proof`` is None where the story's file has none.
    """
    return {
        "family": "cobe",
        "text": story.text,
        "queries": list(story.queries),
        "proof": story.proof,
        "criteria": criteria_of(story),
        "response": response,
    }
