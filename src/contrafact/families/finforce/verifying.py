"""Choosing among drafts: what is no counterfactual is dropped, the rest is ranked, and all is kept.

Methods that write more than they return (``best-of``, ``repair``) share this. A text
that is degenerate is never preferred to one that is not. Sound texts are ranked by a *verifier*, a
model bound to the role of that name, which is never the judge of the evaluation; without one, by
how likely they were to the model that wrote them, where it says so, or else as they were written.

A verifier is asked about the two sides of a draft in one call, by the criteria of section 3.5 in
the words in which the judge is asked, and names the one that fails and why before it gives a score.
"""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import product
from typing import Any

from inspect_ai.model import GenerateConfig, ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.console import say_once
from contrafact.errors import InputError
from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.family.method import MethodContext
from contrafact.judges.replies import Reply, read_json_object
from contrafact.judges.rubric import JUDGE_CONFIG
from contrafact.models.asking import Ask, PlannedCall, Unanswered, no_answer
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import CRITERIA, SIDES, Headline, Side
from contrafact.text.degenerate import EQUAL_SIDES, Batch, equal
from contrafact.text.delimit import delimit, replace_surrogates

__all__ = [
    "DRAFTS",
    "LIKELIHOOD",
    "PAIR_TOKENS",
    "SCALE",
    "SENTENCES",
    "VERIFIER",
    "Candidate",
    "Drafting",
    "DraftingMethod",
    "Finding",
    "Verifier",
    "base_prompt",
    "choose",
    "draft_details",
    "draft_seed",
    "mean_log_probability",
    "option_in",
    "read_findings",
    "say_unranked",
    "with_likelihood",
]

VERIFIER = "verifier"
"""The role of the model that looks at drafts."""

DRAFTS = tuple(f"{side}_drafts" for side in SIDES)
"""The columns in which `generate` writes what was drafted, the chosen and the refused."""

LIKELIHOOD = "the writer's likelihood"
"""What ranked drafts where no verifier was named and the writer gave probabilities."""

AS_WRITTEN = "the order of writing"
"""What ranked drafts where neither is there."""

_DATA = tomllib.loads(
    (resources.files("contrafact.families.finforce") / "criteria.toml").read_text(encoding="utf-8")
)
SENTENCES: Mapping[str, str] = {
    key: text.format(**_DATA["words"]["both"])
    for criterion in CRITERIA
    for key, text in _DATA[criterion].items()
}
"""The criteria that a verifier names, in the words in which people are asked: those of forward
compatibility, then those of directionality."""

SCALE = 10
"""A verifier's highest score (FIN-FORCE, table 13, has ten points)."""

PAIR_TOKENS = 110
"""About how long a reply with two counterfactuals is."""

_NONE = "none"
_WHY_CHARACTERS = 400
_FINDING_TOKENS = 60


@dataclass(frozen=True)
class Finding:
    """What was found of one sound text.

    Attributes:
        score: More is better: 0 to `SCALE` of a verifier, a draft's mean log probability a token
            of the writer; None where the verifier's reply could not be read.
        failed: The criterion that it fails by; None where it fails by none.
        by: Who found it: the verifier's name, or `LIKELIHOOD`.
    """

    score: float | None
    failed: str | None
    why: str
    by: str


@dataclass(frozen=True)
class Candidate:
    """One side of one draft (from 1); ``problem`` says why its text is not sound, if it is not."""

    draft: int
    text: str | None
    problem: str | None = None
    finding: Finding | None = None

    @property
    def is_sound(self) -> bool:
        """Whether it can be read and is not degenerate."""
        return self.text is not None and self.problem is None

    def as_json(self, *, chosen: bool) -> dict[str, Any]:
        """Return it as the log keeps it."""
        found = self.finding
        return {
            "draft": self.draft,
            "text": self.text,
            "chosen": chosen,
            "problem": self.problem,
            **({} if found is None else vars(found)),
        }


@dataclass
class Drafting:
    """All that was drafted for one headline, side by side: one candidate of every draft.

    ``batch`` are the headlines that are worked on together, ``exchanges`` what the writer was asked
    and answered.
    """

    headline: Headline
    batch: Batch
    exchanges: Sequence[tuple[str, str]]
    candidates: dict[Side, list[Candidate]] = field(
        default_factory=lambda: {side: [] for side in SIDES}
    )
    drafts: int = 0

    def add(
        self, made: Generation, sides: Sequence[Side] = SIDES, likelihood: float | None = None
    ) -> int:
        """Take in the sides that were asked for of a draft, looked over; return its number."""
        self.drafts += 1
        likely = None if likelihood is None else Finding(likelihood, None, "", LIKELIHOOD)
        for side in sides:
            text = made.texts[side]
            problem = made.invalid.get(side, "no text") if text is None else self.reason(text)
            found = likely if problem is None else None
            self.candidates[side].append(Candidate(self.drafts, text, problem, found))
        return self.drafts

    def reason(self, text: str) -> str | None:
        """Return why a text is no counterfactual whatever the other side is, or None."""
        return self.batch.reason(text, self.headline.text, shown=self.exchanges)

    def sound(self, draft: int) -> dict[Side, str]:
        """Return the sound texts of a draft by side."""
        return {
            side: one.text
            for side in SIDES
            for one in self.candidates[side]
            if one.draft == draft and one.is_sound and one.text is not None
        }

    def note(self, draft: int, findings: Mapping[Side, Finding]) -> None:
        """Keep what was found of a draft."""
        for side, finding in findings.items():
            self.candidates[side] = [
                replace(one, finding=finding) if one.draft == draft else one
                for one in self.candidates[side]
            ]

    def result(self, trace: Mapping[str, Any] | None = None) -> Generation:
        """Return the best of what was drafted; the chosen and the refused are in its trace."""
        chosen = choose(self.candidates)
        texts: dict[Side, str | None] = {}
        invalid: dict[Side, str] = {}
        for side in SIDES:
            one = chosen[side]
            texts[side] = None if one is None else one.text
            if one is None:
                invalid[side] = f"every sound draft {EQUAL_SIDES}"
            elif one.text is None:
                invalid[side] = one.problem or "no text"
        drafts = {
            side: [one.as_json(chosen=one is chosen[side]) for one in self.candidates[side]]
            for side in SIDES
        }
        by = {one.finding.by for side in SIDES for one in self.candidates[side] if one.finding}
        kept = {**(trace or {}), "drafts": drafts, "ranked_by": ", ".join(sorted(by)) or AS_WRITTEN}
        return Generation(texts, invalid, trace=kept)


def draft_details(trace: Mapping[str, Any], side: Side) -> dict[str, str]:
    """Return what a reader is shown of the drafts of one side: each with what became of it."""
    found: dict[str, str] = {}
    for one in trace.get("drafts", {}).get(side, ()):
        fate = "kept" if one["chosen"] else "refused"
        stated = [f"{one['problem']}"] if one["problem"] else []
        if one.get("by"):
            score = (
                "no score" if one["score"] is None else f"score {round(one['score'], 3) + 0.0:.3g}"
            )
            fault = f", fails by {one['failed'].replace('_', ' ')}" if one["failed"] else ""
            stated = [f"{score}{fault} ({one['by']})", *([one["why"]] if one["why"] else [])]
        text = one["text"] or "(no text)"
        found[f"Draft {one['draft']}, {fate}"] = " — ".join([text, *stated])
    if found:
        found["Drafts ranked by"] = trace["ranked_by"]
    return found


def _best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the sound candidates, best first.

    What fails by no criterion comes before what fails, then the higher score, then the earlier
    draft. One that a verifier's unreadable reply leaves open comes last.
    """

    return sorted((one for one in candidates if one.is_sound), key=_place)


def _place(one: Candidate) -> tuple[bool, bool, float, int]:
    found = one.finding
    score = None if found is None else found.score
    return (score is None, bool(found and found.failed), -(score or 0.0), one.draft)


def choose(candidates: Mapping[Side, Sequence[Candidate]]) -> dict[Side, Candidate | None]:
    """Return the best candidate of each side, such that the two are not the same text.

    A side that has a sound candidate never gets a degenerate one. Where the only sound texts of
    both sides are one and the same, the side where it stands better has it, and the other has None.
    A side without a sound candidate keeps its first text, so that it is counted for what it is, or
    else the first reason why there is none.
    """
    ranked: dict[Side, list[Candidate]] = {side: _best_first(candidates[side]) for side in SIDES}
    held: dict[Side, list[Candidate]] = {}
    for side in SIDES:
        readable = [one for one in candidates[side] if one.text is not None]
        held[side] = ranked[side] or readable[:1] or list(candidates[side][:1])
    risk, opportunity = SIDES
    pairs = sorted(
        product(range(len(held[risk])), range(len(held[opportunity]))),
        key=lambda places: (sum(places), max(places), places),
    )
    for first, second in pairs:
        one, other = held[risk][first], held[opportunity][second]
        if one.text is None or other.text is None or not equal(one.text, other.text):
            return {risk: one, opportunity: other}
    sound = [side for side in SIDES if ranked[side]]
    if not sound:
        return {side: held[side][0] for side in SIDES}
    better = min(sound, key=lambda side: _place(ranked[side][0]))
    return {side: held[side][0] if side == better else None for side in SIDES}


@dataclass(frozen=True)
class Verifier:
    """Looks at sound texts, where a model has the role."""

    template: PromptTemplate

    @classmethod
    def of(cls, pack: PromptPack) -> "Verifier":
        """Return the verifier, its template opened and checked."""
        return cls(pack.template("finforce/verify", required={"headline", "texts"}))

    def prompt(self, headline: Headline, texts: Mapping[Side, str]) -> str:
        """Return what a verifier is asked about the texts of a draft."""
        shown = {side: delimit(texts[side]) for side in SIDES if side in texts}
        return self.template.render(headline=delimit(headline.text), texts=shown)

    async def assess(
        self, ask: Ask, headline: Headline, texts: Mapping[Side, str]
    ) -> dict[Side, Finding]:
        """Return what is found of the sound texts of a draft, by side, if there are any."""
        asked = ask.helper(VERIFIER)
        if not texts or asked is None:
            return {}
        asked = replace(asked, config=JUDGE_CONFIG)
        try:
            output = await asked(self.prompt(headline, texts), _schema(tuple(texts)))
        except Unanswered as reason:
            return {side: Finding(None, None, str(reason), str(asked.model)) for side in texts}
        return read_findings(output, tuple(texts), str(asked.model))

    def plan(self, headline: Headline) -> PlannedCall:
        """Return the call that one draft takes."""
        prompt = self.prompt(headline, dict.fromkeys(SIDES, headline.text))
        return PlannedCall(prompt, 2 * _FINDING_TOKENS, VERIFIER)


def read_findings(output: ModelOutput, sides: Sequence[Side], verifier: str) -> dict[Side, Finding]:
    """Return what a verifier's reply says of each side; what cannot be read has no score."""
    stopped = no_answer(output)
    reply = Reply(None, (), stopped) if stopped else read_json_object(output.completion)
    found: dict[Side, Finding] = {}
    for side in sides:
        stated = (reply.value or {}).get(side)
        if not isinstance(stated, dict):
            why = reply.invalid or f"the reply says nothing of the {side} counterfactual"
            found[side] = Finding(None, None, why, verifier)
            continue
        score, failed = stated.get("score"), stated.get("failed")
        why = " ".join(replace_surrogates(str(stated.get("why") or "")).split())[:_WHY_CHARACTERS]
        if isinstance(score, bool) or not isinstance(score, int | float):
            found[side] = Finding(None, None, "the reply has no score", verifier)
        elif not 0 <= score <= SCALE or failed not in (*SENTENCES, _NONE):
            found[side] = Finding(None, None, "the score or the criterion is none", verifier)
        else:
            found[side] = Finding(float(score), None if failed == _NONE else failed, why, verifier)
    return found


def _schema(sides: Sequence[Side]) -> ResponseSchema:
    one = JSONSchema(
        type="object",
        properties={
            "why": JSONSchema(type="string"),
            "failed": JSONSchema(type="string", enum=[_NONE, *SENTENCES]),
            "score": JSONSchema(type="integer", minimum=0, maximum=SCALE),
        },
        required=["why", "failed", "score"],
        additionalProperties=False,
    )
    both = JSONSchema(
        type="object",
        properties=dict.fromkeys(sides, one),
        required=list(sides),
        additionalProperties=False,
    )
    return ResponseSchema(name="verdicts", json_schema=both, strict=True)


class DraftingMethod:
    """What methods that write several drafts share: prompt, verifier, and a headline's drafts."""

    shots = 0
    roles = (VERIFIER,)
    added = DRAFTS

    def __init__(self, context: MethodContext, name: str, base: str):
        self.name = context.name or name
        self._prompt = base_prompt(context, base)
        self._verifier = Verifier.of(context.pack)
        self._batch = Batch([one.text for one in context.items]) if context.items else None
        self._context = context

    def _begin(self, headline: Headline, ask: Ask) -> tuple[Drafting, Ask]:
        """Return where a headline's drafts are kept, and the writer that tells what it is asked."""
        exchanges = [] if ask.exchanges is None else ask.exchanges
        batch = self._batch or Batch([headline.text])
        return Drafting(headline, batch, exchanges), replace(ask, exchanges=exchanges)


def say_unranked(specs: Iterable[str]) -> None:
    """Say by what drafts are ranked where no verifier is named and a method has any to rank."""
    if any(spec.partition(":")[0] == "best-of" for spec in specs):
        say_once(
            "drafts are ranked by their likelihood to the model that wrote them, or as they were "
            "written where it gives none: no model is named with --verifier"
        )


def base_prompt(context: MethodContext, base: str) -> Prompted:
    """Return the one prompt that drafts are written by: ``zero-shot`` or ``guided``."""
    templates = {"zero-shot": "finforce/generate", "guided": "finforce/guided"}
    if base not in templates:
        raise InputError(f"the option base is {' or '.join(templates)}, not {base}")
    return Prompted(base, context.pack, template=templates[base])


async def with_likelihood(
    ask: Ask, prompt: str, schema: ResponseSchema
) -> tuple[ModelOutput, float | None]:
    """Ask for a draft and, where no verifier will rank it, how likely the model finds it.

    A service that refuses a request for probabilities is asked again without.
    """
    if VERIFIER in ask.helpers:
        return await ask(prompt, schema), None
    scored = replace(ask, config=ask.config.merge(GenerateConfig(logprobs=True)))
    try:
        output = await scored(prompt, schema)
    except Exception as error:
        if isinstance(error, Unanswered) or "logprob" not in str(error).lower():
            raise
        output = await ask(prompt, schema)
    return output, mean_log_probability(output)


def mean_log_probability(output: ModelOutput) -> float | None:
    """Return the mean log probability of a reply's tokens; None where it came without."""
    given = output.choices[0].logprobs if output.choices else None
    if given is None or not given.content:
        return None
    return sum(one.logprob for one in given.content) / len(given.content)


def draft_seed(context: MethodContext, headline: Headline, draw: int, number: int) -> int:
    """Return a seed that tells a call from others of the same prompt: 31 bits of a hash."""
    key = f"{context.settings.seed} {headline.id} {draw} {number}"
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) >> 1


def option_in(options: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """Return an option that is a whole number; `InputError` if it is out of bounds."""
    value = int(options[name])
    if not least <= value <= most:
        raise InputError(f"the option {name} is {least} to {most}, not {value}")
    return value
