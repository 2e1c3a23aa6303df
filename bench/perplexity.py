"""Perplexity of headlines: our way against fixed batches padded to the longest text.

The baseline is what the metric in common use does: batches of 16 in the order given, every text
padded to the longest of the call, the start token in front and everything fed, the logits of all
places made and kept.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchResult, Timing
from bench._clock import added, timed
from bench._headlines import headlines
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel, load_causal

TARGET = 3.0
_BATCH = 16
_SLICES = 5
_QUICK_SLICE = 80


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time headlines our way in some slices, and two padded batches of each slice."""
    texts, source = headlines(data)
    causal = load_causal("smollm2-135m")
    longest = max(len(ids) for ids in causal.tokenizer(texts)["input_ids"])
    _padded(causal, texts[:_BATCH], longest)  # warms up
    perplexities(texts[:_BATCH], model=causal)

    order = np.random.default_rng(5).permutation(len(texts))
    job = order[: 2 * _QUICK_SLICE] if quick else order
    ours: list[Timing] = []
    baseline: list[Timing] = []
    apart = 0.0
    for slice_ in np.array_split(job, 2 if quick else _SLICES):
        part = [texts[index] for index in slice_]
        scores, timing = timed(
            "by length, in batches of tokens",
            len(part),
            partial(perplexities, part, model=causal),
        )
        ours.append(timing)
        few = part[: 2 * _BATCH]
        padded, timing = timed(
            f"batches of {_BATCH} padded to the longest text",
            len(few),
            partial(_padded, causal, few, longest),
        )
        baseline.append(timing)
        for one, score in zip(padded, scores, strict=False):
            apart = max(apart, abs(one / score.perplexity - 1))
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
        ],
    )


def _padded(causal: CausalModel, texts: list[str], longest: int) -> list[float]:
    import torch

    result = []
    for start in range(0, len(texts), _BATCH):
        ids: list[list[int]] = causal.tokenizer(texts[start : start + _BATCH])["input_ids"]
        fed = torch.full((len(ids), longest + 1), causal.start_token)
        mask = torch.zeros_like(fed)
        for row, own in enumerate(ids):
            fed[row, 1 : len(own) + 1] = torch.tensor(own)
            mask[row, : len(own) + 1] = 1
        with torch.inference_mode():
            logits: Any = causal.model(input_ids=fed, attention_mask=mask).logits
            losses = torch.nn.functional.cross_entropy(
                logits[:, :-1].transpose(1, 2), fed[:, 1:], reduction="none"
            )
            means = (losses * mask[:, 1:]).sum(1) / mask[:, 1:].sum(1)
        result += [math.exp(float(mean)) for mean in means]
    return result
