"""Judging what a pair means, which no rule can tell, by a language model or a panel of models.

RFC-BENCH, appendices Q, R.1 to R.4 and S. Facts are checked first (``contracts``); judges are not
asked about a pair that fails a fact. Each manipulation has its criteria, asked in one call or in a
call each; every verdict quotes the words that decide it (`contrafact.judges.quoted`). The rubric
comes first in the prompt and the texts last, so that prefix caches help.

Facts decide a numerical pair in which only figures differ: a judge's verdict on it is for a person
to see, and fails nothing unless it is to decide. One whose words are exchanged is judged as the
others are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from inspect_ai.model import Model

from contrafact.families.rfc.contracts import Check, Finding, fail, review
from contrafact.families.rfc.contracts.pair_check import NO_VERDICT
from contrafact.families.rfc.records import Manipulation
from contrafact.family.settings import check_verifiers, judge_names
from contrafact.judges.quoted import QuotedVerdict, find_words, judge_quoted
from contrafact.judges.rubric import Judged, Rubric
from contrafact.judges.verifier import Subject
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled
from contrafact.models.opening import call_config, open_model
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Criterion
from contrafact.redaction import without_secrets

_FAULTS: Mapping[Manipulation, Mapping[str, str]] = {
    "numerical": {
        "plausible": "a figure is not plausible",
        "only_figures": "something other than a figure is new",
    },
    "flipping": {
        "reversed": "a direction, an outlook or an evaluation is left unchanged",
        "coherent": "it contradicts itself",
        "nothing_added": "something is added",
    },
    "sentiment": {
        "stronger": "the tone is not stronger",
        "same_direction": "something points in the other direction",
        "nothing_added": "a fact is added",
    },
    "causal": {
        "cause_changed": "the cause is unchanged or impossible",
        "effect_kept": "what happened is told differently",
        "coherent": "it contradicts itself",
    },
}

CRITERIA: Mapping[Manipulation, tuple[Criterion, ...]] = {
    kind: tuple(Criterion(name=name, template=f"rfc/judge-{kind}") for name in faults)
    for kind, faults in _FAULTS.items()
}
"""The criteria of each manipulation; a pair passes if all are true."""

MEANING = "meaning-"
"""The prefix of a criterion's id among findings, as in ``meaning-nothing-added``."""

UNDECIDED = NO_VERDICT
"""The id of a finding that says why a criterion has no verdict."""


@dataclass
class Judging:
    """The questions to judges, with their prompt templates opened and checked."""

    pack: PromptPack = field(default_factory=open_pack)
    each: bool = False
    numerical: bool = False
    structured: bool = True
    _rubric: Rubric[QuotedVerdict] = field(init=False)

    def __post_init__(self) -> None:
        shown = ("original", "rewritten", *(("criteria",) if self.each else ()))
        templates = dict.fromkeys((own[0].template for own in CRITERIA.values()), shown)
        optional = frozenset({"criteria"})
        self._rubric = Rubric(self.pack, templates, self.ask, optional=optional, each=self.each)

    def asks(self, manipulation: Manipulation, facts: Check) -> bool:
        """Return whether a judge is asked about a pair, given its check by facts."""
        return facts.passed is None or (
            facts.passed and manipulation == "numerical" and self.numerical
        )

    async def ask(
        self,
        judge: Model,
        names: Sequence[str],
        prompt: str,
        subject: Subject | None,
        texts: Sequence[str],
    ) -> list[QuotedVerdict]:
        return await judge_quoted(judge, prompt, names, texts, structured=self.structured)

    def prompts(
        self, manipulation: Manipulation, original: str, rewritten: str
    ) -> list[tuple[tuple[str, ...], str]]:
        texts = {"original": original, "rewritten": rewritten}
        return self._rubric.prompts(CRITERIA[manipulation], **texts)

    async def judge(
        self, judges: Sequence[Model], manipulation: Manipulation, original: str, rewritten: str
    ) -> Judged[QuotedVerdict]:
        """Have one judge or a panel judge a pair by all criteria of its kind."""
        return await self._rubric.judge(
            judges, CRITERIA[manipulation], original=original, rewritten=rewritten
        )


_VERDICT_TOKENS = 40  # of a reply, for one criterion


Numerical = Literal["review", "decide"]
"""What verdicts on numerical pairs that facts pass are for: a person to see, or to count."""


@dataclass(frozen=True)
class JudgeSettings:
    """Who judges, what is asked and how calls are made."""

    judges: tuple[str, ...]
    each: bool = False
    numerical: Numerical | None = None
    structured: bool = True
    prompts: str | None = None
    judge_args: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)

    def judging(self) -> Judging:
        return Judging(open_pack(self.prompts), self.each, bool(self.numerical), self.structured)

    def models(self) -> list[Model]:
        config = call_config(self.max_connections, **self.bounds)
        return [open_model(name, config=config, **self.judge_args) for name in self.judges]

    def asked(self) -> dict[str, Any]:
        """Return the settings that an exam of the judge must share."""
        arguments = without_secrets(dict(self.judge_args))
        settings = {"each": self.each, "structured": self.structured}
        return {**settings, "judge_args": arguments} if arguments else settings

    def estimates(
        self, pairs: Sequence[tuple[Manipulation, str, str]], *, tokens: bool
    ) -> list[CallEstimate]:
        """Return the estimated cost of verdicts on pairs, if judges are asked about all of them."""
        judging, some = self.judging(), sampled(pairs)
        prompts = [prompt for pair in some for _, prompt in judging.prompts(*pair)]
        reply = _VERDICT_TOKENS if self.each else 3 * _VERDICT_TOKENS
        times = len(pairs) / max(1, len(some))
        return judge_estimates(self.judges, prompts, times, reply_tokens=reply, tokens=tokens)

    def facts(self) -> dict[str, Any]:
        """Return the settings that decide verdicts, without secrets."""
        prompts = self.judging().pack.used_hash
        settings = {"judge": list(self.judges), "numerical": self.numerical, "prompts": prompts}
        return {**settings, **self.asked()}


def settled(
    facts: Check,
    judged: Judged[QuotedVerdict],
    manipulation: Manipulation,
    original: str,
    rewritten: str,
    *,
    decide: bool = False,
) -> Check:
    """Return the check of a pair by its facts and the judges' verdicts.

    A pair passes if all criteria are true and fails if one is false; otherwise an invalid verdict
    or a tie leaves it undecided, with the reason for review. A numerical pair that facts pass stays
    passed, unless the judges ``decide`` and find a criterion false; one whose words are exchanged
    is decided as the others are.
    """
    counts = decide or facts.passed is None
    findings: list[Finding] = []
    for name, panel in judged.panel.items():
        members = judged.members[name]
        if panel.passed is None:
            why = "; ".join(f"{one.invalid or one.passed} ({one.judge})" for one in members)
            what = f"{panel.invalid}: {why}" if len(members) > 1 else why
            findings.append(review(UNDECIDED, f"no verdict on {name}: {what}"))
        if panel.passed is False:
            says = fail if counts else review
            votes = [one for one in members if one.passed is False]
            words = votes[0].words
            findings.append(
                says(
                    MEANING + name.replace("_", "-"),
                    f"{_FAULTS[manipulation][name]}, says {', '.join(v.judge for v in votes)}: "
                    f"'{words}'",
                    find_words(words, original),
                    find_words(words, rewritten),
                )
            )
    passed = judged.passed if facts.passed is None else facts.passed
    if counts and judged.passed is False:
        passed = False
    return Check(
        passed,
        (*facts.violations, *(one for one in findings if not one.for_review)),
        (*facts.review, *(one for one in findings if one.for_review)),
        tuple(judged.panel[one.name].passed for one in CRITERIA[manipulation]),
    )


def check_judges(judges: Sequence[str]) -> tuple[str, ...]:
    """Return judges' names as Inspect knows them; a verifier, which reads no text, is refused."""
    names = judge_names(judges)
    check_verifiers("rfc", names)
    return names
