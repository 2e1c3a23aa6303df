"""likelihood: the label that the model gives the highest probability after plain's prompt.

Multiple choice by log-likelihood, as lm-eval scores it; nothing the model writes is read.
"""

from collections.abc import Mapping, Sequence

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.methods import asks_for_reasons
from contrafact.families.rfc.prompting import OneCall
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall
from contrafact.models.likelihood import ALTERNATIVES, calls_for, check_logprobs, label_logprobs

__all__ = ["OPTIONS", "Likelihood", "method"]

OPTIONS: Mapping[str, Option] = {"alternatives": ALTERNATIVES}


class Likelihood:
    """The label's log-probability after the prompt."""

    def __init__(self, context: MethodContext):
        if asks_for_reasons(context):
            raise InputError(
                "likelihood writes nothing, and gives no reasons",
                hint="leave --rationale out, or run likelihood in a run of its own",
            )
        options = {**OPTIONS, **context.options}
        self.name = context.name or "likelihood"
        self._alternatives = int(options["alternatives"])
        if self._alternatives < 2:
            raise InputError("the option alternatives is a number from 2")
        self._models = context.settings.models
        self._prompts = OneCall("likelihood", context)
        self.shots = self._prompts.shots

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
        best = max(shares.values())
        first = [label for label, share in shares.items() if share == best]
        if len(first) > 1:
            return Answer(None, f"equally likely: {', '.join(first)}", trace=trace)
        return Answer(first[0], probabilities=shares, trace=trace)

    async def check(self, ask: Ask) -> None:
        """See `contrafact.family.method.ChecksModels`."""
        await check_logprobs(ask, alternatives=self._alternatives)

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        each = max((calls_for(item.labels, model) for model in self._models), default=1)
        return [PlannedCall(self._prompts.prompt(item), 1)] * each


def method(context: MethodContext) -> Likelihood:
    """Return the method."""
    return Likelihood(context)
