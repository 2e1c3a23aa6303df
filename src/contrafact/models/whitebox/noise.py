"""Sampling from a language model with the noise as an argument: draw it, infer it, generate.

After Ravfogel et al. (2024), as FIN-FORCE (section 4 and B.2) uses it: a text is what a model
makes of noise, so that under another prompt, or another model, the same noise gives the text
that would have been written instead.

A row of a batch is computed with other batch neighbours in another order of additions, so its
logits differ in the last digits (by up to 1e-4 in float32). An item therefore gives the same text
in every batch, or the first token that differs had a lead under ``CLOSE`` (1e-3 logits) over the
runner-up; every token's lead is returned.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contrafact.errors import InputError
from contrafact.models.whitebox.completion import Completer, CompletionRequest
from contrafact.models.whitebox.gumbel import (
    CLOSE,
    DrawnNoise,
    HindsightNoise,
    Noise,
    Sampling,
    draw,
    log_probabilities,
)
from contrafact.models.whitebox.kv_cache import PromptBatch, by_length
from contrafact.models.whitebox.tokens import continuation_text, prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = [
    "CLOSE",
    "Continuation",
    "CounterfactualText",
    "DrawnNoise",
    "HindsightNoise",
    "Noise",
    "Sampling",
    "continuation_text",
    "counterfactual_texts",
    "draw",
    "generate",
    "infer",
    "prompt_tokens",
    "text_tokens",
]

_READ_TOKENS = 512  # of texts whose logits are made at once when noise is inferred
_DEFAULT = Sampling()


@dataclass(frozen=True)
class Continuation:
    """What a model wrote under some noise.

    Attributes:
        tokens: The tokens; the end token is the last of them where the text ended.
        gaps: Each token's lead over the runner-up, in logits; 0 where the edge of the nucleus
            was too close to call.
        ended: Whether the model ended the text, or it was cut at the token limit.
    """

    tokens: tuple[int, ...]
    gaps: tuple[float, ...]
    ended: bool


def generate(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    noises: Sequence[Noise],
    *,
    max_tokens: int,
    sampling: Sampling = _DEFAULT,
    ends: Collection[int] | None = None,
    rows: int | None = None,
) -> list[Continuation]:
    """Continue each prompt under its noise; return a continuation for each, in order.

    The same prompt and noise give the same tokens; another prompt or model under the same noise
    gives the counterfactual.

    Args:
        prompts: Token ids, at least one each; see `prompt_tokens`.
        noises: The noise of each. Rows that share a noise share the work of making it.
        max_tokens: The most tokens to write, the end token included.
        ends: The tokens that end a text; the model's own if not given.
        rows: Prompts in one batch at the most; 48 on the CPU if not given.

    Raises:
        InputError: If a prompt and ``max_tokens`` do not fit the model's context together, a
            number is out of range, or the model's logits are not finite.
    """
    if max_tokens < 1 or (rows is not None and rows < 1):
        raise InputError("at least one token must be written, and one row make a batch")
    if len(prompts) != len(noises):
        raise ValueError(f"{len(prompts)} prompts and {len(noises)} noises")
    for prompt in prompts:
        _check_room(causal, len(prompt), max_tokens)
    requests = [
        CompletionRequest(tuple(prompt), max_tokens, sampling=sampling, noise=noise)
        for prompt, noise in zip(prompts, noises, strict=True)
    ]
    made = Completer(causal, ends=ends, rows=rows).complete(requests)
    return [Continuation(one.tokens, one.leads, one.stop == "stop") for one in made]


def infer(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    draws: Sequence[DrawnNoise],
    *,
    sampling: Sampling = _DEFAULT,
) -> list[HindsightNoise]:
    """Infer noise under which the model continues each prompt with its text.

    It is a draw from the posterior of the noise given the text: under it the text comes back,
    and over many draws it is distributed as noise that led to this text is. It keeps the
    model's logits along the text, four bytes per token and vocabulary entry in float32.
    Prompts and texts are token ids, an end token included where the text ends.

    Raises:
        InputError: If a text cannot have been sampled so (a token outside top-p), does not fit
            the model's context, or the model's logits are not finite.
    """
    if not len(prompts) == len(texts) == len(draws):
        raise ValueError(f"{len(prompts)} prompts, {len(texts)} texts, {len(draws)} draws")
    for prompt, text in zip(prompts, texts, strict=True):
        if not text:
            raise InputError("a text has no tokens, and says nothing of its noise")
        _check_room(causal, len(prompt), len(text))
    made: dict[int, HindsightNoise] = {}
    for part in by_length([len(text) for text in texts], _READ_TOKENS):
        along = _read(causal, [prompts[index] for index in part], [texts[index] for index in part])
        for index, logits in zip(part, along, strict=True):
            _check_possible(causal, texts[index], logits, sampling)
            made[index] = HindsightNoise(draws[index], tuple(texts[index]), logits, sampling)
    return [made[index] for index in range(len(prompts))]


@dataclass(frozen=True)
class CounterfactualText:
    """A text, and what it would have been under the intervention; ``ended`` within the limit."""

    factual: str
    counterfactual: str
    ended: bool


def counterfactual_texts(
    causal: CausalModel,
    factual_prompt: str,
    counterfactual_prompt: str,
    *,
    text: str | None = None,
    other: CausalModel | None = None,
    samples: int = 1,
    seed: int = 0,
    held: bool = True,
    sampling: Sampling = _DEFAULT,
    max_tokens: int = 128,
    chat: bool | None = None,
) -> list[CounterfactualText]:
    """Return what would have been written under another prompt, another model, or both, by sample.

    Args:
        text: The text that was written, whole; its noise is inferred. Without it the model
            writes one, whose noise is known.
        other: The model to write with instead, with the same tokens.
        samples: How many counterfactuals to draw, each under noise of its own.
        held: Whether the noise is kept; otherwise it is drawn anew, for comparison.
        max_tokens: The most tokens to write; a given text may have more.
        chat: How prompts are put; see `prompt_tokens`.

    Raises:
        InputError: If the models do not share their tokens, the text cannot have been sampled,
            or prompt and text do not fit the context.
    """
    if samples < 1:
        raise InputError(f"at least one sample must be drawn, not {samples}")
    writer = causal if other is None else other
    if writer.tokenizer.get_vocab() != causal.tokenizer.get_vocab():
        raise InputError(
            f"{writer.name} and {causal.name} do not share their tokens",
            hint="noise can be held only between models with one tokenizer",
        )
    before = prompt_tokens(causal, factual_prompt, chat=chat)
    after = prompt_tokens(writer, counterfactual_prompt, chat=chat)
    drawn = [draw(seed, f"sample {number}") for number in range(samples)]
    noises: Sequence[Noise] = drawn
    if text is None:
        written = generate(
            causal, [before] * samples, noises, max_tokens=max_tokens, sampling=sampling
        )
        facts = [continuation_text(causal, one.tokens) for one in written]
    else:
        tokens = text_tokens(causal, text)
        # One reading serves all samples: only the randomness differs.
        (first,) = infer(causal, [before], [tokens], drawn[:1], sampling=sampling)
        noises = [first.under(one) for one in drawn]
        facts = [text] * samples
    if not held:
        noises = [draw(seed, f"fresh {number}") for number in range(samples)]
    instead = generate(writer, [after] * samples, noises, max_tokens=max_tokens, sampling=sampling)
    return [
        CounterfactualText(fact, continuation_text(writer, one.tokens), one.ended)
        for fact, one in zip(facts, instead, strict=True)
    ]


def _read(
    causal: CausalModel, prompts: Sequence[Sequence[int]], texts: Sequence[Sequence[int]]
) -> "Iterator[torch.Tensor]":
    """Yield the logits before each token of each text, ``(tokens, vocabulary)``, on the CPU."""
    import torch

    longest = max(len(text) for text in texts)
    rows = [(*prompt, *text)[:-1] for prompt, text in zip(prompts, texts, strict=True)]
    with torch.inference_mode():
        logits = PromptBatch(causal, [(row, None, 0) for row in rows], positions=longest).along()
    for own, text in zip(logits, texts, strict=True):
        yield own[len(own) - len(text) :].cpu().clone()


def _check_room(causal: CausalModel, prompt: int, text: int) -> None:
    if prompt == 0:
        raise InputError("a prompt has no tokens")
    if prompt + text > causal.context:
        raise InputError(
            f"a prompt of {prompt:,} tokens and {text:,} more do not fit the context of "
            f"{causal.context:,} tokens that {causal.name} has",
            hint="shorten the prompt, or ask for fewer tokens",
        )


def _check_possible(
    causal: CausalModel, text: Sequence[int], logits: "torch.Tensor", sampling: Sampling
) -> None:
    for position, token in enumerate(text):
        log_p = log_probabilities(logits[position, None], sampling)[0]
        if not log_p[token].isfinite():
            named = repr(causal.tokenizer.decode([token]))
            raise InputError(
                f"the text cannot have been sampled so: its token {position + 1} ({named}, id "
                f"{token}) has no probability at top-p {sampling.top_p:g}",
                hint="use top-p 1",
            )
