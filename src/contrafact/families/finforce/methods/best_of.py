"""best-of: several drafts at a temperature; the best text of each side is chosen.

Not in the paper, whose methods each write once (FIN-FORCE, section 4). Sound texts are preferred to
degenerate and invalid ones. Among sound texts, the text whose reply had the highest mean log
probability per token is chosen, or the first text if a service gives no probabilities. The two
sides may come from different drafts. All drafts are kept in the trace.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from inspect_ai.model import GenerateConfig, ModelOutput

from contrafact.errors import InputError
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.methods.few_shot import Prompted
from contrafact.families.finforce.records import SIDES, Headline, Side
from contrafact.family.method import MethodContext, Option
from contrafact.judges.rubric import gathered
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.text.degenerate import EQUAL_SIDES, Batch, equal

OPTIONS: Mapping[str, Option] = {"n": 4, "temperature": 0.8}
"""``n``: the number of drafts. ``temperature``: their sampling temperature."""

SAMPLES_ITSELF = False
"""A run's temperature becomes that of the drafts; its other settings reach the model unchanged."""

_MOST = 64
_PAIR_TOKENS = 110  # of a reply with two counterfactuals, roughly


@dataclass(frozen=True)
class _Candidate:
    """One side of one draft (from 1); ``problem`` says why it is not sound, None if it is."""

    draft: int
    text: str | None
    problem: str | None
    likelihood: float | None

    @property
    def order(self) -> tuple[bool, float, int]:
        """The sort key, best first: likelier drafts, then earlier drafts."""
        return (self.likelihood is None, -(self.likelihood or 0.0), self.draft)


class BestOf:
    shots = 0

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self.name = context.name or "best-of"
        self._n = int(options["n"])
        if not 2 <= self._n <= _MOST:
            raise InputError(f"the option n is 2 to {_MOST}, not {self._n}")
        self._temperature = float(options["temperature"])
        if not 0 < self._temperature <= 2:
            raise InputError(
                f"the temperature of drafts is above 0 and at most 2, not {self._temperature:g}: "
                "they would all be the same",
                hint="give it one of its own: --method best-of:temperature=0.8",
            )
        self._prompt = Prompted("zero-shot", context.pack)
        texts = [headline.text for headline in context.items]
        self._batch = Batch(texts) if texts else None
        self._seed = context.settings.seed

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        exchanges = [] if ask.exchanges is None else ask.exchanges
        config = ask.config.merge(GenerateConfig(logprobs=True))
        scored = replace(ask, exchanges=exchanges, config=config)
        prompt = self._prompt.prompt(headline, draw)
        schema = pair_schema("original_headline", nested=True)

        async def draft(number: int) -> tuple[Generation, float | None]:
            key = f"{self._seed} {headline.id} {draw} {number}"
            seed = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) >> 1
            try:
                output = await scored.sampled(seed, self._temperature)(prompt, schema)
            except Unanswered as reason:
                return Generation.none(str(reason)), None
            return read_pair(output), _mean_log_probability(output)

        drafts = await gathered(map(draft, range(1, self._n + 1)))
        batch = self._batch or Batch([headline.text])
        candidates: dict[Side, list[_Candidate]] = {side: [] for side in SIDES}
        for number, (generation, likelihood) in enumerate(drafts, start=1):
            for side, text in generation.texts.items():
                problem = generation.invalid.get(side)
                if text is not None:
                    problem = batch.reason(text, headline.text, shown=exchanges, directed=True)
                candidates[side].append(_Candidate(number, text, problem, likelihood))
        return _result(candidates)

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        return [PlannedCall(self._prompt.prompt(headline), _PAIR_TOKENS)] * self._n


def method(context: MethodContext) -> BestOf:
    return BestOf(context)


def draft_details(trace: Mapping[str, Any], side: Side) -> dict[str, str]:
    """Return the drafts of one side for readers: text, problem, likelihood, whether chosen."""
    details: dict[str, str] = {}
    for draft in trace.get("drafts", {}).get(side, ()):
        outcome = "kept" if draft["chosen"] else "refused"
        parts = [draft["text"] or "(no text)", *([draft["problem"]] if draft["problem"] else [])]
        if draft["likelihood"] is not None:
            parts.append(f"mean log probability {round(draft['likelihood'], 3) + 0.0:.3g}")
        details[f"Draft {draft['draft']}, {outcome}"] = " — ".join(parts)
    return details


def _mean_log_probability(output: ModelOutput) -> float | None:
    logprobs = output.choices[0].logprobs if output.choices else None
    if logprobs is None or not logprobs.content:
        return None
    return sum(token.logprob for token in logprobs.content) / len(logprobs.content)


def _result(candidates: Mapping[Side, Sequence[_Candidate]]) -> Generation:
    chosen = _choose(candidates)
    invalid = {
        side: f"every sound draft {EQUAL_SIDES}" if one is None else one.problem or "no text"
        for side, one in chosen.items()
        if one is None or one.text is None
    }
    drafts = {
        side: [{**vars(one), "chosen": one is chosen[side]} for one in candidates[side]]
        for side in SIDES
    }
    texts = {side: None if one is None else one.text for side, one in chosen.items()}
    return Generation(texts, invalid, trace={"drafts": drafts})


def _choose(candidates: Mapping[Side, Sequence[_Candidate]]) -> dict[Side, _Candidate | None]:
    """Return the best candidate of each side, such that the two are not the same text.

    A side without a sound candidate takes its first readable candidate, or else its first. If both
    sides have only the same sound text, the side where it ranks better takes it, the other None.
    """
    sound: dict[Side, list[_Candidate]] = {}
    eligible: dict[Side, list[_Candidate]] = {}
    for side in SIDES:
        of_side = candidates[side]
        sound[side] = sorted((c for c in of_side if c.problem is None), key=lambda c: c.order)
        readable = [c for c in of_side if c.text is not None]
        eligible[side] = sound[side] or readable[:1] or list(of_side[:1])
    risk, opportunity = SIDES
    pairs = sorted(
        product(range(len(eligible[risk])), range(len(eligible[opportunity]))),
        key=lambda pair: (sum(pair), max(pair), pair),
    )
    for i, j in pairs:
        a, b = eligible[risk][i], eligible[opportunity][j]
        if a.text is None or b.text is None or not equal(a.text, b.text):
            return {risk: a, opportunity: b}
    with_sound = [side for side in SIDES if sound[side]]
    if not with_sound:
        return {side: eligible[side][0] for side in SIDES}
    better = min(with_sound, key=lambda side: sound[side][0].order)
    return {side: eligible[side][0] if side == better else None for side in SIDES}
