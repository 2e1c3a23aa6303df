"""Counterfactuals under held noise: one batch against one item at a time.

An item is a headline's base continuation, its noise held, and a risk and an opportunity written
under it, 40 tokens each. Ours draws the noise, so that it is known, and writes all three at once,
16 items a batch, as a method's calls do. The baseline is the plain way: write the base text, run
the model over it once more to infer its noise in hindsight (NumPy, float64, kept for the whole
text), then write the two.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import BenchResult, Timing
from bench._clock import added
from bench._headlines import headlines
from bench._memory import Memory
from bench._plain import NAME, Apart, device_name, plain_causal
from contrafact.models.whitebox.completion import CompletionRequest, complete
from contrafact.models.whitebox.noise import Sampling, draw, prompt_tokens
from contrafact.models.whitebox.weights import CausalModel, load_causal

TARGET = 12.0
TOKENS = 40
BATCH = 16
_THEIRS = "one item at a time, noise inferred"

_ASKED = (
    "Here is a headline from the financial press: {text}\nGo on with what happened next.",
    "Here is a headline from the financial press: {text}\nGo on with what happened next, and let "
    "the market get worse for those who hold what it is about.",
    "Here is a headline from the financial press: {text}\nGo on with what happened next, and let "
    "the market get better for those who hold what it is about.",
)

Floats = NDArray[np.float64]
Pick = Callable[[int, Floats], int]


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time batches our way, and an item or two of each by the baseline, in turns."""
    texts, source = headlines(data)
    causal = load_causal(NAME)
    way = f"{BATCH} items a batch, noise drawn"
    items = [_prompts(causal, text) for text in texts[: BATCH * (1 if quick else 4)]]
    ours(causal, items[:BATCH], tokens=2)  # warms up

    memory = Memory()
    batched: list[Timing] = []
    single: list[Timing] = []
    with Apart(memory) as process:
        process.timed(_THEIRS, 1, _item, items[0], 0, tokens=2)  # warms up, too
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            alone = part[: 2 if quick else 1]
            single.append(process.timed(_THEIRS, 1, _item, alone[0], start)[1])
            batched.append(memory.timed(way, len(part), partial(ours, causal, part))[1])
            single += [process.timed(_THEIRS, 1, _item, item, start + 1)[1] for item in alone[1:]]
    return BenchResult(
        name="gumbel",
        unit="items",
        total_items=len(items),
        ours=added(batched),
        baseline=added(single),
        target=TARGET,
        data=f"{len(items)} of {source}",
        notes=[
            f"an item is three texts of {TOKENS} tokens; prompts have "
            f"{min(map(len, items[0]))} to {max(map(len, items[0]))} tokens for the first",
            "a text that was not written here needs hindsight our way too",
            memory.note(),
        ],
        device=device_name(causal),
    )


def _prompts(causal: CausalModel, text: str) -> list[list[int]]:
    return [prompt_tokens(causal, asked.format(text=text)) for asked in _ASKED]


def ours(
    causal: CausalModel, items: Sequence[Sequence[Sequence[int]]], tokens: int = TOKENS
) -> list[tuple[int, ...]]:
    """Write every item's texts under one noise, all in one batch."""
    requests = [
        CompletionRequest(
            tuple(prompt), tokens, sampling=Sampling(), noise=draw(0, f"item {number}")
        )
        for number, item in enumerate(items)
        for prompt in item
    ]
    return [one.tokens for one in complete(causal, requests, ends=(), rows=3 * BATCH)]


def _item(prompts: Sequence[Sequence[int]], seed: int, tokens: int = TOKENS) -> None:
    plain(plain_causal(), prompts, np.random.default_rng(seed), tokens)


def plain(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    rng: np.random.Generator,
    tokens: int = TOKENS,
) -> tuple[list[list[int]], Floats]:
    """Write one item's texts one after the other; return them and the noise between them."""
    base, *others = prompts

    def sampled(_: int, log_p: Floats) -> int:
        mass = np.exp(log_p).cumsum()
        return int(np.searchsorted(mass, rng.uniform(0, mass[-1]), side="right"))

    factual = _written(causal, base, tokens, sampled)
    noise = hindsight(_log_p_along(causal, base, factual), factual, rng)

    def held(position: int, log_p: Floats) -> int:
        return int((log_p + noise[position]).argmax())

    return [factual, *(_written(causal, prompt, tokens, held) for prompt in others)], noise


def hindsight(log_p: Floats, text: Sequence[int], rng: np.random.Generator) -> Floats:
    """Return noise under which each of the text's tokens is the argmax, ``(tokens, vocabulary)``.

    A token's perturbed log-probability is a Gumbel value at its log-probability, cut off at the
    largest, which is one at 0.
    """
    noise = np.empty_like(log_p)
    for position, token in enumerate(text):
        top = rng.gumbel()
        perturbed = log_p[position] + rng.gumbel(size=log_p.shape[1])
        perturbed = -np.logaddexp(-top, -perturbed)
        perturbed[token] = top
        noise[position] = perturbed - log_p[position]
    return noise


def _written(causal: CausalModel, prompt: Sequence[int], tokens: int, pick: Pick) -> list[int]:
    import torch

    text: list[int] = []
    cache: Any = None
    fed = torch.tensor([list(prompt)], device=causal.device)
    with torch.inference_mode():
        for position in range(tokens):
            output = causal.model(
                input_ids=fed, past_key_values=cache, use_cache=True, logits_to_keep=1
            )
            cache = output.past_key_values
            text.append(pick(position, _log_softmax(output.logits[0, -1:].cpu().numpy())[0]))
            fed = torch.tensor([text[-1:]], device=causal.device)
    return text


def _log_p_along(causal: CausalModel, prompt: Sequence[int], text: Sequence[int]) -> Floats:
    import torch

    with torch.inference_mode():
        fed = torch.tensor([[*prompt, *text[:-1]]], device=causal.device)
        logits = causal.model(input_ids=fed, use_cache=False, logits_to_keep=len(text)).logits
    return _log_softmax(logits[0].cpu().numpy())


def _log_softmax(logits: NDArray[Any]) -> Floats:
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result
