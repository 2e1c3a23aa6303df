"""self-contrast: is the paragraph likelier than what it would be if it were tampered with?

The rewriter by rules makes the paragraph's plausible counterparts (other figures, the opposite
direction, a firmer tone, another cause: RFC-BENCH, section 2.2.2); the model says which of all
versions it finds the likeliest. A manipulated paragraph has its own original, or something near it,
among its counterparts. Three ways to ask:

- ``likelihood``: the log-probability of each version as an answer. A model in this process.
- ``logprobs``: the versions are numbered, and the probability of each number as the answer is read.
- ``prompt``: the versions are numbered, and the answer is read. Any model.

Beside it stands what needs no model: a paragraph that contradicts itself, or the world, is
manipulated whatever the model finds likely. Of a paragraph without counterparts that contradicts
nothing, nothing can be known in this way: the answer is invalid and says so.
"""

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256

import numpy as np

from contrafact.errors import InputError, require
from contrafact.families.rfc.answers import Answer, reply_tokens
from contrafact.families.rfc.contracts.contradictions import Contradiction, contradictions
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE, strip_reasoning
from contrafact.families.rfc.pipeline.rules import RuleRewrite, rewrite_by_rules
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall
from contrafact.models.likelihood import (
    check_logprobs,
    holds_to_choices,
    label_logprobs,
    reply_logprob,
)
from contrafact.records import MANIPULATIONS
from contrafact.text.delimit import delimit

__all__ = ["OPTIONS", "WAYS", "SelfContrast", "counterparts", "method"]

WAYS = ("auto", "likelihood", "logprobs", "prompt")
"""How versions are compared; ``auto``: by likelihood of models in this process, else by prompt."""

OPTIONS: Mapping[str, Option] = {"by": "auto", "each": 1}

MOST_VERSIONS = 9
"""Versions that a prompt numbers, at most: the first token of an answer tells one digit."""

TOKENS_PER_CHARACTER = 1.0
"""More tokens than a text has, by its characters."""

SPREAD = 4.0
"""Nats of log-likelihood over which a preference goes from a guess to certain (ours)."""


def counterparts(text: str, *, each: int = 1, seed: int = 0) -> dict[str, str]:
    """Return the versions that the rules make of a paragraph, by manipulation and number.

    Args:
        text: The paragraph.
        each: How many of each manipulation, at most.
        seed: Which ones.

    Returns:
        By name (``numerical-1``), the version; those alike but once. Empty if the rules make none.
    """
    return dict(_counterparts(text, each, seed))


@lru_cache(maxsize=4096)
def _counterparts(text: str, each: int, seed: int) -> tuple[tuple[str, str], ...]:
    """Return the versions, kept: an estimate of the calls has made them before the calls do."""
    found: dict[str, str] = {}
    for manipulation in MANIPULATIONS:
        for number in range(each):
            made = rewrite_by_rules(text, manipulation, seed + number)
            if isinstance(made, RuleRewrite) and made.rewritten not in (text, *found.values()):
                found[f"{manipulation}-{number + 1}"] = made.rewritten
    return tuple(found.items())


class SelfContrast:
    """The model's preference between a paragraph and its counterparts.

    Args:
        context: What it is made from.

    Raises:
        InputError: If the options are not in order, or a model cannot be asked in this way.
    """

    shots = 0

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self.name = context.name or "self-contrast"
        self._by, self._each = str(options["by"]), int(options["each"])
        if self._by not in WAYS:
            raise InputError(f"there is no way '{self._by}'", hint=f"use one of {', '.join(WAYS)}")
        if not 1 <= self._each <= 2:
            raise InputError("the option each is 1 or 2")
        if self._by == "likelihood":
            for model in context.models:
                if not holds_to_choices(model):
                    raise InputError(
                        f"{model} gives no likelihood of a whole text",
                        hint="use self-contrast:by=logprobs or by=prompt",
                    )
        require("spacy", "counterparts by rule")
        self._models = context.models
        self._seed = context.seed
        self._opening = context.pack.template("rfc/detect-self-contrast", required=set())
        self._choice = context.pack.template(
            "rfc/detect-self-contrast-choice", required={"versions"}
        )

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        denied = contradictions(item.shown)
        made = counterparts(item.shown, each=self._each, seed=self._seed)
        trace: dict[str, object] = {"contradictions": [asdict(one) for one in denied]}
        if not made:
            if denied:
                return _answer(0.5, denied, None, trace)
            return Answer(None, "cannot be known: the rules make no counterpart of it", trace=trace)
        trace["counterparts"] = dict(made)
        if self._way(ask.model) == "likelihood":
            return await self._by_likelihood(item, ask, made, denied, trace)
        return await self._by_choice(item, ask, list(made.values()), denied, trace)

    async def check(self, ask: Ask) -> None:
        """See `contrafact.family.method.ChecksModels`."""
        if self._way(ask.model) == "logprobs":
            await check_logprobs(ask)

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        made = counterparts(item.shown, each=self._each, seed=self._seed)
        if not made:
            return []
        if all(self._way(model) == "likelihood" for model in self._models or ("",)):
            prompt = self._opening.render()
            return [PlannedCall(prompt, len(t) // 4) for t in (item.shown, *made.values())]
        versions, _ = self._versions(item, list(made.values()))
        return [PlannedCall(self._choice.render(versions=versions), reply_tokens(reasons=False))]

    def _way(self, model: object) -> str:
        if self._by != "auto":
            return self._by
        return "likelihood" if holds_to_choices(model) else "prompt"

    async def _by_likelihood(
        self,
        item: Item,
        ask: Ask,
        made: Mapping[str, str],
        denied: Sequence[Contradiction],
        trace: dict[str, object],
    ) -> Answer:
        prompt = self._opening.render()
        texts = [" ".join(text.split()) for text in (item.shown, *made.values())]
        own, *others = await asyncio.gather(
            *(
                reply_logprob(ask, prompt, text, most=int(TOKENS_PER_CHARACTER * len(text)) + 8)
                for text in texts
            )
        )
        margins = {name: own - other for name, other in zip(made, others, strict=True)}
        preferred = [1 / (1 + math.exp(-margin / SPREAD)) for margin in margins.values()]
        trace |= {"logprob": own, "margins": margins}
        return _answer(sum(preferred) / len(preferred), denied, None, trace)

    async def _by_choice(
        self,
        item: Item,
        ask: Ask,
        made: list[str],
        denied: Sequence[Contradiction],
        trace: dict[str, object],
    ) -> Answer:
        versions, place = self._versions(item, made)
        prompt = self._choice.render(versions=versions)
        trace["place"] = place
        numbers = [str(n + 1) for n in range(len(versions))]
        if self._way(ask.model) == "logprobs":
            shares = (await label_logprobs(ask, prompt, numbers)).shares()
            mine = shares[str(place)]
            # Against what it would be if all versions were equally likely.
            odds = mine * (len(versions) - 1) / max(1 - mine, 1e-9)
            return _answer(odds / (1 + odds), denied, None, trace)
        output = await ask(prompt)
        text, problem = strip_reasoning(output.completion)
        named = set(re.findall(r"(?<![\w.])\d+(?![\w]|\.\d)", text))
        if problem or len(named) != 1 or not named <= set(numbers):
            fault = problem or "names no version" * (not named) or "names several versions, or none"
            return Answer(None, fault, reply=output.completion, trace=trace)
        return _answer(float(named == {str(place)}), denied, output.completion, trace)

    def _versions(self, item: Item, made: list[str]) -> tuple[list[str], int]:
        """Return all versions in an order that tells nothing, and the paragraph's place from 1."""
        every = [item.shown, *made][:MOST_VERSIONS]
        digest = sha256(f"{self._seed} {item.id}".encode()).digest()
        order = np.random.default_rng(list(digest[:8])).permutation(len(every))
        return [delimit(every[int(at)]) for at in order], int(np.argmin(order)) + 1


def _answer(
    p_true: float, denied: Sequence[Contradiction], reply: str | None, trace: Mapping[str, object]
) -> Answer:
    """Return the answer, given how the model prefers the paragraph and what contradicts itself."""
    if denied:
        p_true = min(p_true, 0.5) / (1 + len(denied))
    reasons = "; ".join(one.message for one in denied) or None
    return Answer(
        TRUE if p_true >= 0.5 else FALSE,
        reply=reply,
        rationale=reasons,
        probabilities={TRUE: p_true, FALSE: 1.0 - p_true},
        trace=trace,
    )


def method(context: MethodContext) -> SelfContrast:
    """Return the method."""
    return SelfContrast(context)
