"""Sampling from a language model with explicit noise, which is drawn or inferred from a text.

After Ravfogel et al. (2024), as FIN-FORCE (section 4 and B.2) uses it: a text is a function of
prompt, model and noise, so that under another prompt or model the same noise gives the text that
would have been written instead.

The other rows of a batch change the order of additions, so that a row's logits differ in the last
digits (by up to 1e-4 in float32). An item therefore gives the same text in every batch, unless a
token's lead over the runner-up is under ``CLOSE`` (1e-3 logits); every token's lead is returned.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contrafact.errors import InputError
from contrafact.models.whitebox.completion import Completion, CompletionRequest, complete
from contrafact.models.whitebox.gumbel import (
    DrawnNoise,
    HindsightNoise,
    Noise,
    Sampling,
    draw,
    log_probabilities,
)
from contrafact.models.whitebox.tokens import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal

if TYPE_CHECKING:
    import torch

__all__ = [
    "Sampling",
    "counterfactual_texts",
    "draw",
    "generate",
    "infer",
    "prompt_tokens",
    "text_tokens",
]

_DEFAULT = Sampling()


def generate(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    noises: Sequence[Noise],
    *,
    max_tokens: int,
    sampling: Sampling = _DEFAULT,
    ends: Collection[int] | None = None,
    rows: int = 48,
) -> list[Completion]:
    """Continue each prompt under its noise; return the completions, in order.

    The same prompt and noise give the same tokens; another prompt or model under the same noise
    gives the counterfactual.

    Args:
        prompts: Token ids, at least one each; see `prompt_tokens`.
        noises: The noise of each prompt; equal noise is computed once.
        max_tokens: The most tokens to write, the end token included.
        ends: The tokens that end a text; the model's own if not given.
        rows: The most prompts in one batch.

    Raises:
        InputError: If a prompt and ``max_tokens`` together exceed the model's context, a number
            is out of range, or the model's logits are not finite.
    """
    if max_tokens < 1 or rows < 1:
        raise InputError("at least one token must be written, and one row make a batch")
    if len(prompts) != len(noises):
        raise ValueError(f"{len(prompts)} prompts and {len(noises)} noises")
    for prompt in prompts:
        _check_room(causal, len(prompt), max_tokens)
    requests = [
        CompletionRequest(tuple(prompt), max_tokens, sampling=sampling, noise=noise)
        for prompt, noise in zip(prompts, noises, strict=True)
    ]
    return complete(causal, requests, ends=ends, rows=rows)


def infer(
    causal: CausalModel,
    prompt: Sequence[int],
    text: Sequence[int],
    drawn: DrawnNoise,
    *,
    sampling: Sampling = _DEFAULT,
) -> HindsightNoise:
    """Infer noise under which the model continues a prompt with a text.

    It is a draw from the posterior of the noise given the text: it reproduces the text, and many
    draws are distributed like the noise that led to this text. It stores the model's logits along
    the text, four bytes per token and vocabulary entry in float32. Prompt and text are token ids,
    with an end token where the text ends.

    Raises:
        InputError: If the text cannot have been sampled (a token outside top-p), does not fit the
            model's context, or the model's logits are not finite.
    """
    import torch

    if not text:
        raise InputError("a text has no tokens, and says nothing of its noise")
    _check_room(causal, len(prompt), len(text))
    fed = torch.tensor([[*prompt, *text[:-1]]], device=causal.device)
    with torch.inference_mode():
        logits = causal.model(input_ids=fed, use_cache=False).logits[0, -len(text) :].cpu()
    logits = logits.clone()  # without the logits of the prompt
    _check_possible(causal, text, logits, sampling)
    return HindsightNoise(drawn, tuple(text), logits, sampling)


@dataclass(frozen=True)
class CounterfactualText:
    """A text, and the text under the intervention; ``ended`` says whether within the limit."""

    factual: str
    counterfactual: str
    ended: bool


def counterfactual_texts(
    model: str | CausalModel,
    factual_prompt: str,
    counterfactual_prompt: str | None = None,
    *,
    text: str | None = None,
    other: str | CausalModel | None = None,
    samples: int = 1,
    seed: int = 0,
    held: bool = True,
    sampling: Sampling = _DEFAULT,
    max_tokens: int = 128,
    chat: bool | None = None,
) -> list[CounterfactualText]:
    """Return the texts that would have been written under another prompt, another model, or both.

    Args:
        model: The model of the factual text: a loaded model, or a name for `load_causal`.
        text: The whole factual text, from which the noise is inferred. Without it the model
            writes one, whose noise is known.
        other: The model that writes the counterfactual text, with the same tokenizer.
        samples: How many counterfactuals to draw, each under its own noise.
        held: Whether the noise is kept; otherwise it is drawn anew, for comparison.
        max_tokens: The most tokens to write; a given text may have more.
        chat: Whether prompts are chat messages; see `prompt_tokens`.

    Raises:
        InputError: If neither prompt nor model changes, the text is empty or cannot have been
            sampled, a model is not available, the models have different tokenizers, or prompt and
            text do not fit the context.
    """
    if counterfactual_prompt is None and other is None:
        raise InputError(
            "nothing is to be changed",
            hint="give --counterfactual-prompt, --counterfactual-model or both",
        )
    if text is not None and not text.strip():
        raise InputError("the text is empty", hint="leave it out to let the model write one")
    causal = load_causal(model) if isinstance(model, str) else model
    writer = causal if other is None else load_causal(other) if isinstance(other, str) else other
    if writer.tokenizer.get_vocab() != causal.tokenizer.get_vocab():
        raise InputError(
            f"{writer.name} and {causal.name} have different tokenizers",
            hint="noise can be kept only between models with the same tokenizer",
        )
    instead_of = factual_prompt if counterfactual_prompt is None else counterfactual_prompt
    before = prompt_tokens(causal, factual_prompt, chat=chat)
    after = prompt_tokens(writer, instead_of, chat=chat)
    drawn = [draw(seed, f"sample {number}") for number in range(samples)]
    noises: Sequence[Noise] = drawn
    if text is None:
        written = generate(
            causal, [before] * samples, noises, max_tokens=max_tokens, sampling=sampling
        )
        facts = [one.text for one in written]
    else:
        tokens = text_tokens(causal, text)
        # The logits are computed once for all samples: only the randomness differs.
        first = infer(causal, before, tokens, drawn[0], sampling=sampling)
        noises = [first.under(one) for one in drawn]
        facts = [text] * samples
    if not held:
        noises = [draw(seed, f"fresh {number}") for number in range(samples)]
    instead = generate(writer, [after] * samples, noises, max_tokens=max_tokens, sampling=sampling)
    return [
        CounterfactualText(fact, one.text, one.ended)
        for fact, one in zip(facts, instead, strict=True)
    ]


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
                f"the text cannot have been sampled: its token {position + 1} ({named}, id "
                f"{token}) has no probability at top-p {sampling.top_p:g}",
                hint="use top-p 1",
            )
