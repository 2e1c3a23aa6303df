"""Texts that the model writes for a stage: in batches, seeded one by one, kept as they come.

Each text is written under noise of its own, which its key and the seed give. So it is the same in
every batch but for near ties (see `noise.decoding`), and batches are cut the same way after a
restart, so that a killed stage goes on to the very result it was going to. The beginning that all
prompts of a stage share, which is most of them, goes through the model once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.models.whitebox.noise import (
    Noise,
    Sampling,
    continuation_text,
    draw,
    end_tokens,
    prompt_tokens,
)
from contrafact.models.whitebox.noise.sampling import choose
from contrafact.models.whitebox.prefixes import common_length
from contrafact.models.whitebox.reading import Prefix, PromptBatch
from contrafact.models.whitebox.weights import CausalModel
from contrafact.records import content_id
from contrafact.training.stages import Journal

__all__ = ["Reply", "Said", "check_room", "write_replies"]

_ROWS = 48  # on two cores the best measured; few rows cost nearly as much as many

Said = Callable[[int], None]
"""Called with how many more pieces of work are done."""


@dataclass(frozen=True)
class Reply:
    """A text that the model wrote, and whether it came to its end within the token limit."""

    text: str
    ended: bool


def write_replies(
    causal: CausalModel,
    prompts: Mapping[str, str],
    *,
    seed: int,
    sampling: Sampling,
    max_tokens: int,
    journal: Journal,
    said: Said = lambda _: None,
) -> dict[str, Reply]:
    """Return a reply to each prompt.

    Args:
        causal: The model.
        prompts: By a key that says what the reply is for, and gives it its noise.
        seed: Seed of the noise.
        sampling: Temperature and top-p.
        max_tokens: The most tokens of a reply.
        journal: Where batches are kept and looked up.
        said: Called after each batch.

    Raises:
        InputError: A prompt is too long for the model, or its logits are not numbers.
    """
    keys = sorted(prompts, key=lambda key: (len(prompts[key]), key))
    tokens = {key: tuple(prompt_tokens(causal, prompts[key])) for key in keys}
    longest = max(map(len, tokens.values()), default=0)
    if longest + max_tokens > causal.context:
        raise InputError(
            f"a prompt of {longest:,} tokens and {max_tokens:,} more do not fit the context of "
            f"{causal.context:,} tokens that {causal.name} has",
            mend="use a model with a longer context, or fewer max_tokens",
        )
    prefix: Prefix | None = None
    replies: dict[str, Reply] = {}
    for start in range(0, len(keys), _ROWS):
        batch = keys[start : start + _ROWS]
        name = content_id(*batch, prefix="b")
        if name not in journal:
            prefix = prefix or _shared(causal, list(tokens.values()))
            made = _written(
                causal,
                [tokens[key] for key in batch],
                prefix,
                [draw(seed, key) for key in batch],
                sampling,
                max_tokens,
            )
            journal.keep(name, [[one.text, one.ended] for one in made])
        for key, (text, ended) in zip(batch, journal[name], strict=True):
            replies[key] = Reply(text, ended)
        said(len(batch))
    return replies


def check_room(causal: CausalModel, prompt: str, max_tokens: int, *, what: str) -> None:
    """Check that a prompt and its reply fit the model's context.

    Args:
        causal: The model.
        prompt: The longest prompt of its kind, or one like them.
        max_tokens: The most tokens of the reply.
        what: What is asked for, for the message.

    Raises:
        InputError: They do not.
    """
    tokens = len(prompt_tokens(causal, prompt))
    if tokens + max_tokens > causal.context:
        raise InputError(
            f"the context of {causal.name} is too short: {causal.context:,} tokens, and {what} "
            f"takes {tokens:,} to ask and up to {max_tokens:,} to answer",
            mend="use a model with a longer context, a shorter prompt pack, or fewer max_tokens",
        )


def _shared(causal: CausalModel, prompts: Sequence[tuple[int, ...]]) -> Prefix:
    """Return what the model makes of the beginning that all prompts share."""
    import torch

    # What the first and the last in order share, all do; each feeds something of its own.
    first, last = min(prompts), max(prompts)
    tokens = first[: min(common_length(first, last), min(map(len, prompts)) - 1)]
    if not tokens:
        return Prefix((), ())
    batch = PromptBatch(causal, [(tokens, None, 0)])
    with torch.inference_mode():
        batch.logits()
    return Prefix(tokens, [(layer.keys, layer.values) for layer in batch.cache.layers])


def _written(
    causal: CausalModel,
    prompts: Sequence[tuple[int, ...]],
    prefix: Prefix,
    noises: Sequence[Noise],
    sampling: Sampling,
    max_tokens: int,
) -> list[Reply]:
    """Return a batch of texts, each under its noise; as `noise.generate`, after a prefix."""
    import numpy as np
    import torch

    ends = end_tokens(causal)
    length = len(prefix.tokens)
    batch = PromptBatch(
        causal, [(prompt, prefix if length else None, length) for prompt in prompts]
    )
    own: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    with torch.inference_mode():
        for position in range(max_tokens):
            logits = batch.logits()
            noise = np.zeros(logits.shape)
            for row, done in enumerate(ended):
                if not done:
                    noise[row] = noises[row].at(position, logits.shape[-1])
            chosen, _ = choose(logits, torch.from_numpy(noise).to(logits.device), sampling)
            for row, token in enumerate(chosen.tolist()):
                if not ended[row]:
                    own[row].append(token)
                    ended[row] = token in ends
            if all(ended):
                break
            batch.feed(chosen)
    return [
        Reply(continuation_text(causal, tokens), end)
        for tokens, end in zip(own, ended, strict=True)
    ]
