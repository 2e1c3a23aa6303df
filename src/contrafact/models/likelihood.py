"""What each label of a space is worth to a model right after a prompt, by any provider.

As harnesses for multiple choice do it (lm-eval): not what the model writes counts, but the
probability of each label as the beginning of its answer, all its spellings together (in lower case
or capitalised, after a space or not; among alternatives in any case).

- A model in this process is made to write each spelling of each label (`GUIDED_CHOICE`), a call for
  each, and the log-probabilities of its tokens are added up: that of the whole label.
- Of a model over HTTP the alternatives to the first token of its answer are read, in one call. The
  labels must not begin alike, and the probability is that of the label's beginning. A label that is
  not among the alternatives has at most the probability of the least of them, and what they leave.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from inspect_ai.model import GenerateConfig, Logprob, ModelOutput

from contrafact.errors import InputError
from contrafact.models.asking import Ask, Unanswered, failure_cause
from contrafact.models.opening import IN_PROCESS
from contrafact.models.requests import GUIDED_CHOICE

__all__ = [
    "ALTERNATIVES",
    "LabelLogprobs",
    "begun_label",
    "calls_for",
    "check_logprobs",
    "holds_to_choices",
    "label_logprobs",
    "reply_logprob",
    "spellings",
]

ALTERNATIVES = 20
"""How many alternatives to a token are asked for: the most that OpenAI gives."""

_FIRST_TOKENS = 16  # the least that some services let an answer have; the first word is read
_WHOLE_LABEL = 64  # more tokens than any label has


@dataclass(frozen=True)
class LabelLogprobs:
    """What each label is worth to a model after a prompt.

    Attributes:
        logprobs: By label, the natural logarithm of its probability, all spellings together.
        whole: Whether of the whole label; else of its first token.
        at_most: Labels that were not among the alternatives: theirs is an upper bound.
    """

    logprobs: Mapping[str, float]
    whole: bool
    at_most: tuple[str, ...] = ()

    def shares(self) -> dict[str, float]:
        """Return each label's probability against the others, adding up to 1."""
        most = max(self.logprobs.values())
        mass = {label: math.exp(value - most) for label, value in self.logprobs.items()}
        total = sum(mass.values())
        return {label: value / total for label, value in mass.items()}


def spellings(label: str) -> tuple[str, ...]:
    """Return how a label may begin an answer: as it is or capitalised, after a space or not."""
    written = product(("", " "), (label, label[:1].upper() + label[1:]))
    return tuple(dict.fromkeys("".join(parts) for parts in written))


def holds_to_choices(model: object) -> bool:
    """Return whether a model, by its Inspect name, can be held to a choice of replies."""
    return str(model).startswith(IN_PROCESS)


def calls_for(labels: Sequence[str], model: object) -> int:
    """Return how many calls of a model scoring labels after one prompt takes."""
    return sum(len(spellings(label)) for label in labels) if holds_to_choices(model) else 1


async def label_logprobs(
    ask: Ask, prompt: str, labels: Sequence[str], *, alternatives: int = ALTERNATIVES
) -> LabelLogprobs:
    """Return what each label is worth to a model after a prompt.

    The model's own settings of length, temperature and log-probabilities are not used.

    Raises:
        Unanswered: If the model gives no answer, or none that begins with a label.
        InputError: If it gives no log-probabilities.
        ValueError: If two labels begin with the same letter: the caller's mistake.
    """
    if len({label[:1].casefold() for label in labels}) < len(labels):
        raise ValueError(f"two labels of {labels} begin alike")
    if holds_to_choices(ask.model):
        return await _whole_labels(ask, prompt, labels)
    return await _first_tokens(ask, prompt, labels, alternatives)


async def check_logprobs(ask: Ask, *, alternatives: int = ALTERNATIVES) -> None:
    """Ask a model for a word with log-probabilities, unless it is known to give them.

    Raises:
        InputError: If it gives none, or cannot be asked.
    """
    if holds_to_choices(ask.model):
        return
    try:
        output = await _scored(ask, "Answer with one word: yes or no.", alternatives)
    except (InputError, Unanswered):
        raise
    except Exception as error:
        raise InputError(
            f"{ask.model} could not be asked for log-probabilities: "
            + failure_cause(error.__cause__ or error)
        ) from error
    _first_token(ask, output)


def begun_label(token: str, labels: Sequence[str]) -> str | None:
    """Return the first label that a token begins, in any case and after white space, if any."""
    plain = token.strip().casefold()
    if not plain:
        return None
    return next((label for label in labels if label.startswith(plain)), None)


async def _whole_labels(ask: Ask, prompt: str, labels: Sequence[str]) -> LabelLogprobs:
    written = [(label, spelling) for label in labels for spelling in spellings(label)]
    # All at once, so that they stand in the model's queue one after the other: it then reads the
    # prompt once, and not again after every call about another item.
    calls = [reply_logprob(ask, prompt, spelling) for _, spelling in written]
    values = await asyncio.gather(*calls, return_exceptions=True)
    by_label: dict[str, list[float]] = {label: [] for label in labels}
    for (label, _), value in zip(written, values, strict=True):
        if isinstance(value, BaseException):
            raise value
        by_label[label].append(value)
    return LabelLogprobs({label: _log_sum(own) for label, own in by_label.items()}, whole=True)


def _log_sum(logprobs: Sequence[float]) -> float:
    most = max(logprobs)
    return most + math.log(sum(math.exp(value - most) for value in logprobs))


async def reply_logprob(ask: Ask, prompt: str, reply: str, *, most: int = _WHOLE_LABEL) -> float:
    """Return the natural logarithm of the probability that an answer begins with exactly this.

    ``most`` is more tokens than the reply has.

    Raises:
        InputError: If the model cannot be held to a reply, being none of this process.
    """
    if not holds_to_choices(ask.model):
        raise InputError(
            f"{ask.model} cannot be made to write a given reply",
            hint=f"use one of {', '.join(f'{name}…' for name in IN_PROCESS)}",
        )
    config = _settings(1, most, extra_body={GUIDED_CHOICE: [reply]})
    output = await replace(ask, config=ask.config.merge(config))(prompt)
    written, total = "", 0.0
    for token in _tokens(output):
        written, total = written + token.token, total + token.logprob
        # What follows is the answer's end. Some tokenizers put the space apart, or leave it out.
        if written.strip() == reply.strip():
            return total
    raise RuntimeError(f"{ask.model} was held to '{reply}' and wrote '{output.completion}'")


async def _first_tokens(
    ask: Ask, prompt: str, labels: Sequence[str], alternatives: int
) -> LabelLogprobs:
    token = _first_token(ask, await _scored(ask, prompt, alternatives))
    listed = {one.token: one.logprob for one in token.top_logprobs or ()}
    listed.setdefault(token.token, token.logprob)
    mass = dict.fromkeys(labels, 0.0)
    for text, logprob in listed.items():
        if (label := begun_label(text, labels)) is not None:
            mass[label] += math.exp(logprob)
    if not any(mass.values()):
        raise Unanswered(f"no label among the {len(listed)} likeliest first tokens")
    left = 1.0 - sum(math.exp(value) for value in listed.values())
    # Rounding may leave nothing, or less; a token that is not listed has some probability.
    ceiling = min(min(listed.values()), math.log(max(left, 1e-12)))
    return LabelLogprobs(
        {label: math.log(value) if value > 0 else ceiling for label, value in mass.items()},
        whole=False,
        at_most=tuple(label for label, value in mass.items() if value == 0),
    )


async def _scored(ask: Ask, prompt: str, alternatives: int) -> ModelOutput:
    config = ask.config.merge(_settings(alternatives, _FIRST_TOKENS))
    try:
        return await replace(ask, config=config)(prompt)
    except Exception as error:
        # Services that have none either leave them out or refuse the whole request. What the
        # service says is looked at; Inspect's own words quote the request, which names them.
        message = failure_cause(error.__cause__ or error)
        if "logprob" not in message.lower():
            raise
        raise _without(ask, f": {message}") from error


def _settings(alternatives: int, tokens: int, **more: Any) -> GenerateConfig:
    return GenerateConfig(
        temperature=0.0, max_tokens=tokens, logprobs=True, top_logprobs=alternatives, **more
    )


def _first_token(ask: Ask, output: ModelOutput) -> Logprob:
    """Return the first token of an answer that is not white space, with its alternatives."""
    token = next((one for one in _tokens(output) if one.token.strip()), None)
    if token is None and output.completion.strip():
        raise _without(ask)
    if token is None:
        raise Unanswered("empty reply")
    if not token.top_logprobs:
        raise _without(ask)
    return token


def _tokens(output: ModelOutput) -> Sequence[Logprob]:
    if not output.choices or output.choices[0].logprobs is None:
        return ()
    return output.choices[0].logprobs.content


def _without(ask: Ask, cause: str = "") -> InputError:
    return InputError(
        f"{ask.model} gives no log-probabilities, which labels are scored by{cause}",
        hint="use another method (plain), or a model that gives them",
    )
