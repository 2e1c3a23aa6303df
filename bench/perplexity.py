"""Perplexity of headlines: our way against fixed batches padded to the longest text.

The baseline is what the metric in common use does: batches of 16 in the order given, every text
padded to the longest of the call, the start token in front and everything fed, the logits of all
places made and kept.

How near ours comes to the machine's limit is shown too: the multiplications and additions that the
texts' tokens need in the model's weights, none for padding or attention, at the rate of one large
matrix product, measured between the slices.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchResult, Timing
from bench._clock import added, timed
from bench._headlines import headlines
from bench._memory import Memory
from bench._plain import NAME, Apart, device_name, plain_causal
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel, load_causal

TARGET = 4.0
_BATCH = 16
_SLICES = 5
_QUICK_SLICE = 80
_OURS = "by length, in batches of tokens"
_THEIRS = f"batches of {_BATCH} padded to the longest text"
_SIDE = 2048  # of the matrices whose product is timed


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time headlines our way in some slices, and two padded batches of each slice."""
    texts, source = headlines(data)
    causal = load_causal(NAME)
    longest = max(len(ids) for ids in causal.tokenizer(texts)["input_ids"])
    perplexities(texts[: 2 * _BATCH], model=causal)  # warms up

    order = np.random.default_rng(5).permutation(len(texts))
    job = order[: 2 * _QUICK_SLICE] if quick else order
    ours: list[Timing] = []
    baseline: list[Timing] = []
    products: list[Timing] = []
    memory = Memory()
    apart, tokens = 0.0, 0
    with Apart(memory) as process:
        process.timed(_THEIRS, 1, _padded, texts[:_BATCH], longest)  # warms up
        for slice_ in np.array_split(job, 2 if quick else _SLICES):
            part = [texts[index] for index in slice_]
            products.append(_product(causal))
            work = partial(perplexities, part, model=causal)
            scores, timing = memory.timed(_OURS, len(part), work)
            ours.append(timing)
            tokens += sum(score.tokens for score in scores)
            few = part[: 2 * _BATCH]
            padded, timing = process.timed(_THEIRS, len(few), _padded, few, longest)
            baseline.append(timing)
            for one, score in zip(padded, scores, strict=False):
                apart = max(apart, abs(one / score.perplexity - 1))
    seconds = added(products).seconds
    rate = 2 * _SIDE**3 * len(products) / seconds
    least = 2 * _weights(causal) * tokens / rate
    return BenchResult(
        name="perplexity",
        unit="texts",
        total_items=len(texts),
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=source,
        notes=[
            f"the longest text has {longest} tokens",
            f"the two ways differ by at most {apart:.1e}, relative, on the texts both scored",
            f"a product of matrices of side {_SIDE:,} ran at {rate / 1e9:.0f} GFLOP/s; at that "
            f"rate the texts' {tokens:,} tokens would take {least:.1f} s, and ours took "
            f"{added(ours).seconds:.1f}: {least / added(ours).seconds:.0%} of the limit",
            memory.note(),
        ],
        device=device_name(causal),
    )


def _product(causal: CausalModel) -> Timing:
    """Time the product of two large matrices, once it is warm."""
    import torch

    one = torch.rand(_SIDE, _SIDE, device=causal.device)
    float((one @ one)[0, 0])
    # A figure of it is there when all of it is, on a GPU too.
    return timed("a matrix product", 1, lambda: float((one @ one)[0, 0]))[1]


def _weights(causal: CausalModel) -> int:
    """Return how many multiplications a token takes: the weights of all linear layers."""
    import torch

    layers = (one for one in causal.model.modules() if isinstance(one, torch.nn.Linear))
    return sum(layer.weight.numel() for layer in layers)


def _padded(texts: list[str], longest: int) -> list[float]:
    import torch

    causal = plain_causal()
    result = []
    for start in range(0, len(texts), _BATCH):
        ids: list[list[int]] = causal.tokenizer(texts[start : start + _BATCH])["input_ids"]
        fed = torch.full((len(ids), longest + 1), causal.start_token)
        mask = torch.zeros_like(fed)
        for row, own in enumerate(ids):
            fed[row, 1 : len(own) + 1] = torch.tensor(own)
            mask[row, : len(own) + 1] = 1
        fed, mask = fed.to(causal.device), mask.to(causal.device)
        with torch.inference_mode():
            logits: Any = causal.model(input_ids=fed, attention_mask=mask).logits
            losses = torch.nn.functional.cross_entropy(
                logits[:, :-1].transpose(1, 2), fed[:, 1:], reduction="none"
            )
            means = (losses * mask[:, 1:]).sum(1) / mask[:, 1:].sum(1)
        result += [math.exp(float(mean)) for mean in means]
    return result
