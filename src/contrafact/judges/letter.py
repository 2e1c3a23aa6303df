"""One judge's answer to one criterion in one character: T or F.

Where the provider gives the probabilities of the first token, the answer is the likelier of T and
F there, and their ratio is kept. Else the whole reply must be that one character. Anything else is
invalid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inspect_ai.model import CachePolicy, GenerateConfig, Logprob, Model, ModelOutput
from pydantic import Field

from contrafact.records import Verdict

__all__ = ["MIN_MASS", "TOP_LOGPROBS", "Letter", "LetterVerdict", "judge_letter", "read_letter"]

TOP_LOGPROBS = 20
"""How many alternatives to the first token are asked for: the most that OpenAI gives."""

MIN_MASS = 0.01
"""The least that T and F together must have of the first token's probability. With less, the
judge was about to say something else altogether, and the two numbers say nothing."""


class LetterVerdict(Verdict):
    """A verdict that may come with the probability it was read from."""

    probability: float | None = Field(
        default=None, description="Of T against F, 0 to 1; none where the provider gave none."
    )
    mass: float | None = Field(
        default=None, description="What T and F together have of the next token's probability."
    )


@dataclass(frozen=True)
class Letter:
    """What a reply says.

    Attributes:
        passed: True for T, false for F; none where it is neither.
        invalid: The reason, where it is neither.
        probability: Of T against F, where it was given.
        mass: What T and F have together, where it was given.
    """

    passed: bool | None
    invalid: str | None = None
    probability: float | None = None
    mass: float | None = None


def read_letter(reply: str, tokens: Sequence[Logprob] = ()) -> Letter:
    """Return the T or F of a reply.

    Args:
        reply: The reply's text.
        tokens: Its tokens with their alternatives, where the provider gave them.
    """
    probability = mass = None
    first = next((token for token in tokens if token.token.strip()), None)
    if first is not None and first.top_logprobs:
        alternatives = {one.token: one.logprob for one in first.top_logprobs}
        alternatives.setdefault(first.token, first.logprob)
        true, false = (
            sum(math.exp(value) for token, value in alternatives.items() if token.strip() == letter)
            for letter in ("T", "F")
        )
        mass = min(1.0, true + false)
        if mass > 0:
            probability = true / (true + false)
        if probability is not None and mass >= MIN_MASS and true != false:
            return Letter(true > false, None, probability, mass)
    text = reply.strip()
    if text in ("T", "F"):
        return Letter(text == "T", None, probability, mass)
    shown = " ".join(text.split())
    said = f"'{shown[:40]}{'…' if len(shown) > 40 else ''}'" if shown else "nothing"
    return Letter(None, f"neither T nor F: {said}", probability, mass)


async def judge_letter(
    model: Model,
    prompt: str,
    criterion: str,
    *,
    logprobs: bool = True,
    cache: bool | CachePolicy = False,
    config: GenerateConfig | None = None,
) -> LetterVerdict:
    """Ask one judge one criterion about one text, to be answered by T or F.

    A reply that is neither is an invalid verdict with its reason. A call that fails raises: a
    judge's failure is an error of the sample, never a "false".

    Args:
        model: The judge.
        prompt: The rendered question with the text to judge.
        criterion: The criterion's name.
        logprobs: Whether to ask for probabilities. A service that refuses the request for that
            reason is asked once more without.
        cache: Inspect's cache policy for the call.
        config: Settings on top of the model's own.
    """
    config = config or GenerateConfig()
    if logprobs:
        config = config.merge(GenerateConfig(logprobs=True, top_logprobs=TOP_LOGPROBS))
    if str(model).startswith(("embedded/", "whitebox/")):
        # It does not reason, so that its first token is all there is to read, and it would not
        # stop by itself. Others may need tokens to reason with before they answer.
        config = config.merge(GenerateConfig(max_tokens=1))
    try:
        output = await model.generate(prompt, config=config, cache=cache)
    except Exception as error:
        # Services that have no probabilities either leave them out or refuse the whole request.
        if not logprobs or "logprob" not in str(error).lower():
            raise
        config = config.model_copy(update={"logprobs": None, "top_logprobs": None})
        output = await model.generate(prompt, config=config, cache=cache)
    letter = _read(output)
    return LetterVerdict(
        criterion=criterion,
        passed=letter.passed,
        invalid=letter.invalid,
        judge=str(model),
        reply=output.completion,
        probability=letter.probability,
        mass=letter.mass,
    )


def _read(output: ModelOutput) -> Letter:
    if output.stop_reason == "model_length":
        return Letter(None, f"prompt too long for the judge: {output.error or output.completion}")
    if output.stop_reason == "content_filter":
        return Letter(None, "refused by the provider's content filter")
    given = output.choices[0].logprobs if output.choices else None
    return read_letter(output.completion, () if given is None else given.content)
