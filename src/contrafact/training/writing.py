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
    Sampling,
    continuation_text,
    draw,
    generate,
    prompt_tokens,
)
from contrafact.models.whitebox.prefixes import common_length
from contrafact.models.whitebox.reading import Prefix, read_prefix
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
            hint="use a model with a longer context, or fewer max_tokens",
        )
    known: tuple[Prefix | None, int] | None = None
    replies: dict[str, Reply] = {}
    for start in range(0, len(keys), _ROWS):
        batch = keys[start : start + _ROWS]
        name = content_id(*batch, prefix="b")
        if name not in journal:
            if known is None:
                prefix = _shared(causal, list(tokens.values()))
                known = prefix, len(prefix.tokens) if prefix else 0
            made = generate(
                causal,
                [tokens[key] for key in batch],
                [draw(seed, key) for key in batch],
                max_tokens=max_tokens,
                sampling=sampling,
                known=[known] * len(batch),
            )
            journal.keep(name, [[continuation_text(causal, m.tokens), m.ended] for m in made])
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
            hint="use a model with a longer context, a shorter prompt pack, or fewer max_tokens",
        )


def _shared(causal: CausalModel, prompts: Sequence[tuple[int, ...]]) -> Prefix | None:
    """Return what the model makes of the beginning that all prompts share, if it can be kept."""
    import torch

    # What the first and the last in order share, all do; each feeds something of its own.
    first, last = min(prompts), max(prompts)
    tokens = first[: min(common_length(first, last), min(map(len, prompts)) - 1)]
    with torch.inference_mode():
        return read_prefix(causal, tokens, None, 0) if tokens else None
