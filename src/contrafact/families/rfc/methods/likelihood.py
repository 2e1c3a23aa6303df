"""likelihood: the label that the model gives the highest probability after plain's prompt.

Multiple choice by log-likelihood, as lm-eval scores it; nothing the model writes is read. With
``calibrate=true``, contextual calibration (Zhao et al. 2021, "Calibrate Before Use"): the prompt is
asked with texts that say nothing in the place of the item's, and each label's probability is
divided by what it has there on average, which takes out the model's bias towards a word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.methods import asks_for_reasons
from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.models.likelihood import (
    ALTERNATIVES,
    calls_for,
    check_logprobs,
    label_logprobs,
)

__all__ = ["CONTENT_FREE", "OPTIONS", "Likelihood", "method"]

OPTIONS: Mapping[str, Option] = {"calibrate": False, "alternatives": ALTERNATIVES}

CONTENT_FREE = ("N/A", "[MASK]", "")
"""What stands in the place of an item's texts where they shall say nothing: the paper's three."""


class Likelihood:
    """The label's log-probability after the prompt.

    Args:
        context: What it is made from.

    Raises:
        InputError: If reasons are asked for, or the options are not in order.
    """

    def __init__(self, context: MethodContext):
        if asks_for_reasons(context):
            raise InputError(
                "likelihood writes nothing, and gives no reasons",
                hint="leave --rationale out, or run likelihood in a run of its own",
            )
        options = {**OPTIONS, **context.options}
        self.name = context.name or "likelihood"
        self._calibrate = bool(options["calibrate"])
        self._alternatives = int(options["alternatives"])
        if self._alternatives < 2:
            raise InputError("the option alternatives is a number from 2")
        self._models = context.settings.models
        self._prompts = OneCall("likelihood", context)
        self.shots = self._prompts.shots
        self._priors: dict[tuple[str, str], dict[str, float]] = {}
        self._lock = anyio.Lock()

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        found = await label_logprobs(
            ask, self._prompts.prompt(item, draw), item.labels, alternatives=self._alternatives
        )
        shares = found.shares()
        trace = {
            "logprobs": dict(found.logprobs),
            "whole_labels": found.whole,
            "at_most": list(found.at_most),
        }
        if self._calibrate:
            prior = await self._prior(item, ask, draw)
            weighed = {label: share / prior[label] for label, share in shares.items()}
            total = sum(weighed.values())
            shares = {label: value / total for label, value in weighed.items()}
            trace["content_free"] = prior
        best = max(shares.values())
        first = [label for label, share in shares.items() if share == best]
        if len(first) > 1:
            return Answer(None, f"equally likely: {', '.join(first)}", trace=trace)
        return Answer(first[0], probabilities=shares, trace=trace)

    async def check(self, ask: Ask) -> None:
        """See `contrafact.family.method.ChecksModels`."""
        await check_logprobs(ask, alternatives=self._alternatives)

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`; the few content-free calls are not counted."""
        each = max((calls_for(item.labels, model) for model in self._models), default=1)
        return [PlannedCall(self._prompts.prompt(item), 1)] * each

    async def _prior(self, item: Item, ask: Ask, draw: int) -> dict[str, float]:
        """Return the labels' average shares where the prompt's texts say nothing."""
        found = []
        for text in CONTENT_FREE:
            prompt = self._prompts.prompt(_saying(item, text), draw)
            key = str(ask.model), prompt
            # The same for most items: whoever comes first asks, the others wait for the answer.
            async with self._lock:
                if key not in self._priors:
                    try:
                        scored = await label_logprobs(
                            ask, prompt, item.labels, alternatives=self._alternatives
                        )
                    except Unanswered as reason:
                        raise Unanswered(f"not to be calibrated: {reason}") from None
                    self._priors[key] = scored.shares()
            found.append(self._priors[key])
        return {label: sum(one[label] for one in found) / len(found) for label in item.labels}


def method(context: MethodContext) -> Likelihood:
    """Return the method."""
    return Likelihood(context)


def _saying(item: Item, text: str) -> Item:
    """Return an item that shows this text alone, and for which the same examples are chosen."""
    if item.task == "rfc-detect":
        return replace(item, shown=text)
    pair = item.pair.model_copy(update={"original": text, "rewritten": text})
    return replace(item, pair=pair)
