"""Perplexity of texts under a causal language model (FIN-FORCE, appendix B.3).

The text's tokens are predicted one after the other after a start token
(``CausalModel.start_token``), which is not itself scored; the perplexity is the exponential of the
mean cross-entropy, per text.

To save time without changing the figure, texts of similar length share a batch, the last token is
never an input, since nothing is predicted from it, and padding is on the right, where causal
attention ignores it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.models.whitebox.weights import CausalModel, load_causal
from contrafact.text.delimit import tokenizable

__all__ = ["perplexities"]

# Tokens in a batch, padding included.
_ON_CPU = 384
_ON_GPU = 16_384
_PLACES = 64  # positions whose logits are reduced at once, in float64


@dataclass(frozen=True)
class TextPerplexity:
    """The perplexity of one text.

    Attributes:
        perplexity: At least 1; NaN, with a reason, if there is nothing to score.
        tokens: How many tokens were scored.
        windowed: Whether the text is longer than the model's context, so that its later tokens
            were predicted from only part of the text before them.
    """

    perplexity: float
    tokens: int
    windowed: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class _Row:
    """A text, or a window of it, as one input of the model."""

    text: int
    inputs: tuple[int, ...]
    """The input tokens: the start token and all but the last token."""
    targets: tuple[int, ...]
    """The predicted tokens, one per input token."""
    scored_from: int
    """The first scored position; earlier ones are only context."""


def perplexities(texts: Sequence[str], *, model: str | CausalModel) -> list[TextPerplexity]:
    """Return the perplexity of each text, in the order of the texts.

    The other texts change only the last digits of a figure, which as a rule is within a relative
    1e-5 of a computation in float64. A text longer than the model's context is scored in windows
    that overlap by half, each after a start token.

    Args:
        model: A loaded model, or a name for ``load_causal``.

    Raises:
        InputError: If the model cannot be loaded.
    """
    if not texts:
        return []
    causal = load_causal(model) if isinstance(model, str) else model
    tokens = causal.tokenizer(
        [tokenizable(text) for text in texts], add_special_tokens=False, verbose=False
    )
    ids: list[list[int]] = tokens["input_ids"]
    rows = [row for text, own in enumerate(ids) for row in _rows(text, own, causal)]
    surprise = np.zeros(len(texts))
    size = _ON_CPU if causal.device.type == "cpu" else _ON_GPU
    for part in _by_length([len(row.inputs) for row in rows], size):
        batch = [rows[number] for number in part]
        for row, total in zip(batch, _scored(causal, batch), strict=True):
            surprise[row.text] += total
    with np.errstate(over="ignore"):
        return [
            TextPerplexity(float(np.exp(total / len(own))), len(own), len(own) > causal.context)
            if own
            else TextPerplexity(math.nan, 0, reason="the text has no tokens")
            for total, own in zip(surprise, ids, strict=True)
        ]


def _by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield groups of row numbers, longest rows first, of at most ``most`` padded tokens each."""
    order = sorted(range(len(lengths)), key=lambda row: lengths[row], reverse=True)
    start = 0
    while start < len(order):
        count = max(1, most // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


def _rows(text: int, ids: Sequence[int], causal: CausalModel) -> Iterator[_Row]:
    """Yield the windows of the model's context into which a text is cut; nearly always one."""
    size, step = causal.context, max(1, causal.context // 2)
    done = 0
    while done < len(ids):
        end = min(len(ids), done + (size if done == 0 else step))
        begin = max(0, end - size)
        yield _Row(
            text=text,
            inputs=(causal.start_token, *ids[begin : end - 1]),
            targets=tuple(ids[begin:end]),
            scored_from=done - begin,
        )
        done = end


def _scored(causal: CausalModel, rows: Sequence[_Row]) -> list[float]:
    """Return each row's summed cross-entropy in nats over its scored positions."""
    import torch

    device = causal.device
    fed = torch.full((len(rows), len(rows[0].inputs)), causal.start_token, dtype=torch.long)
    for index, row in enumerate(rows):
        fed[index, : len(row.inputs)] = torch.tensor(row.inputs)
    fed = fed.to(device)
    counted = [
        (index, position, row.targets[position])
        for index, row in enumerate(rows)
        for position in range(row.scored_from, len(row.targets))
    ]
    owner, place, target = torch.tensor(counted, device=device).T
    with torch.inference_mode():
        logits = causal.model(input_ids=fed, use_cache=False).logits
        surprise = torch.cat(
            [
                torch.nn.functional.cross_entropy(
                    logits[owner[part], place[part]].double(), target[part], reduction="none"
                )
                for part in torch.arange(len(counted), device=device).split(_PLACES)  # type: ignore[no-untyped-call]
            ]
        )
        totals = torch.zeros(len(rows), dtype=torch.float64, device=device)
        totals.index_add_(0, owner, surprise)
    summed: list[float] = totals.tolist()
    return summed
