"""best-of: several drafts at a temperature, the soundest and likeliest of each side kept.

Not in the paper, whose methods each write once (FIN-FORCE, section 4). A draft that is degenerate
is never preferred to one that is not; of sound ones the one stays whose reply was likeliest to the
model that wrote it (mean log probability a token), or the first, where a service gives none. Sides
are chosen one by one: the best risk may come from another draft than the best opportunity. The
chosen and the refused are kept.
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
"""``n``: how many drafts. ``temperature``: of the drafts."""

SAMPLES_ITSELF = False
"""The temperature of a run becomes the drafts'; all else reaches the model as it is."""

_MOST = 64
_PAIR_TOKENS = 110  # about how long a reply with two counterfactuals is


@dataclass(frozen=True)
class _Candidate:
    """One side of one draft (from 1); ``problem`` says why its text is not sound, if it is not."""

    draft: int
    text: str | None
    problem: str | None
    likelihood: float | None

    @property
    def place(self) -> tuple[bool, float, int]:
        """Where it stands among others, least first: the likelier, then the earlier one."""
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
        self._batch = Batch([one.text for one in context.items]) if context.items else None
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
        for number, (made, likelihood) in enumerate(drafts, start=1):
            for side in SIDES:
                text = made.texts[side]
                if text is None:
                    problem: str | None = made.invalid.get(side, "no text")
                else:
                    problem = batch.reason(text, headline.text, shown=exchanges)
                candidates[side].append(_Candidate(number, text, problem, likelihood))
        return _result(candidates)

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        return [PlannedCall(self._prompt.prompt(headline), _PAIR_TOKENS)] * self._n


def method(context: MethodContext) -> BestOf:
    """Return the method."""
    return BestOf(context)


def draft_details(trace: Mapping[str, Any], side: Side) -> dict[str, str]:
    """Return what a reader is shown of the drafts of one side: each with what became of it."""
    found: dict[str, str] = {}
    for one in trace.get("drafts", {}).get(side, ()):
        fate = "kept" if one["chosen"] else "refused"
        parts = [one["text"] or "(no text)", *([one["problem"]] if one["problem"] else [])]
        if one["likelihood"] is not None:
            parts.append(f"mean log probability {round(one['likelihood'], 3) + 0.0:.3g}")
        found[f"Draft {one['draft']}, {fate}"] = " — ".join(parts)
    return found


def _mean_log_probability(output: ModelOutput) -> float | None:
    given = output.choices[0].logprobs if output.choices else None
    if given is None or not given.content:
        return None
    return sum(one.logprob for one in given.content) / len(given.content)


def _result(candidates: Mapping[Side, Sequence[_Candidate]]) -> Generation:
    chosen = _choose(candidates)
    texts: dict[Side, str | None] = {}
    invalid: dict[Side, str] = {}
    for side, one in chosen.items():
        texts[side] = None if one is None else one.text
        if one is None:
            invalid[side] = f"every sound draft {EQUAL_SIDES}"
        elif one.text is None:
            invalid[side] = one.problem or "no text"
    drafts = {
        side: [{**vars(one), "chosen": one is chosen[side]} for one in candidates[side]]
        for side in SIDES
    }
    return Generation(texts, invalid, trace={"drafts": drafts})


def _choose(candidates: Mapping[Side, Sequence[_Candidate]]) -> dict[Side, _Candidate | None]:
    """Return the best candidate of each side, such that the two are not the same text.

    Sound ones go first. Where the only sound text is the same, the side where it stands better has
    it, the other None. A side without one keeps its first text, or the reason for none.
    """
    sound = {
        side: sorted(
            (one for one in candidates[side] if one.problem is None), key=lambda one: one.place
        )
        for side in SIDES
    }
    held: dict[Side, list[_Candidate]] = {}
    for side in SIDES:
        readable = [one for one in candidates[side] if one.text is not None]
        held[side] = sound[side] or readable[:1] or list(candidates[side][:1])
    risk, opportunity = SIDES
    pairs = sorted(
        product(range(len(held[risk])), range(len(held[opportunity]))),
        key=lambda places: (sum(places), max(places), places),
    )
    for first, second in pairs:
        one, other = held[risk][first], held[opportunity][second]
        if one.text is None or other.text is None or not equal(one.text, other.text):
            return {risk: one, opportunity: other}
    with_sound = [side for side in SIDES if sound[side]]
    if not with_sound:
        return {side: held[side][0] for side in SIDES}
    better = min(with_sound, key=lambda side: sound[side][0].place)
    return {side: held[side][0] if side == better else None for side in SIDES}
