"""Judging edits: causal criteria, each asked in a separate call and answered by T or F.

CoBe, sections 3.2 and 4.2, appendix C.2. The judge sees a criterion and a response, as the paper's
does; with context it sees the scenario and the query too, as the paper's raters did. It never sees
which system wrote the response. The question comes first in the prompt, so that prefix
caches help.

E3 judges connectors by the response alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inspect_ai.model import CachePolicy, Model

from contrafact.families.cobe.data import criteria_of, subject_of
from contrafact.families.cobe.read.question import reader_template
from contrafact.families.cobe.records import Story
from contrafact.judges.judge import LetterVerdict
from contrafact.judges.rubric import Judged, Rubric, letter
from contrafact.judges.verifier import Subject
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Criterion

_TEMPLATES = {
    "E1": "cobe/judge-unchanged",
    "E2": "cobe/judge-changed",
    "E3": "cobe/judge-connectors",
    "E4": "cobe/judge-numerical",
    "E5": "cobe/judge-latent",
}


JudgedEdit = Judged[LetterVerdict]
"""The verdicts on one response, by criterion."""


@dataclass
class Judging:
    """The checked questions to the judge; ``context`` adds scenario and query to each."""

    pack: PromptPack = field(default_factory=open_pack)
    context: bool = False
    logprobs: bool = True
    cache: bool | CachePolicy = False
    reads: bool = False
    _rubric: Rubric[LetterVerdict] = field(init=False)

    def __post_init__(self) -> None:
        seen = frozenset(("story", "query"))
        templates = {
            path: {"response"}
            | (seen if self.context else set())
            | ({"criterion"} if name != "E3" else set())
            for name, path in _TEMPLATES.items()
        }
        ask = letter(logprobs=self.logprobs, cache=self.cache)
        if self.reads:  # a verifier's reader is asked by it, and so it is one of the pack's used
            reader_template(self.pack)
        self._rubric = Rubric(self.pack, templates, ask, optional=seen)

    def prompts(self, story: Story, query: str, response: str) -> list[str]:
        """Return one prompt per criterion, in the order of `criteria_of`."""
        texts = {"story": story.text, "query": query, "response": response}
        return [prompt for _, prompt in self._rubric.prompts(self.asked(story), **texts)]

    async def judge(
        self, judges: Sequence[Model], story: Story, response: str, *, query: str = ""
    ) -> JudgedEdit:
        """Judge a response by the criteria of its story; the context shows ``query``."""
        return await self._rubric.judge(
            judges,
            self.asked(story),
            subject=self.subject(story, response),
            story=story.text,
            query=query or story.queries[0],
            response=response,
        )

    def subject(self, story: Story, response: str) -> Subject:
        """Return the data that verifiers judge, with the prompt pack for their reader."""
        source = self.pack.source
        return {**subject_of(story, response), **({"prompts": source} if source else {})}

    def asked(self, story: Story) -> list[Criterion]:
        return [
            Criterion(name=name, template=_TEMPLATES[name], text=text)
            for name, text in criteria_of(story).items()
        ]


def probability(votes: Sequence[LetterVerdict]) -> float | None:
    """Return the judges' mean probability of T against F; None if no judge gave one."""
    known = [vote.probability for vote in votes if vote.probability is not None]
    return sum(known) / len(known) if known else None
