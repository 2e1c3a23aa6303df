"""The mechanism that makes a token of logits and noise: temperature, top-p, argmax.

Temperature and top-p belong to the mechanism, not to the noise: a counterfactual under another
prompt has its own nucleus, and the noise is the same.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contrafact.errors import InputError

if TYPE_CHECKING:
    import torch

__all__ = ["CLOSE", "Sampling", "choose", "log_probabilities"]

CLOSE = 1e-3
"""Logits, at temperature 1: a lead below this may turn with the batch an item stands in."""

_FIRST_LOOK = 256  # tokens that nearly always hold the nucleus


@dataclass(frozen=True)
class Sampling:
    """How tokens are sampled.

    Attributes:
        temperature: Divides the logits; above 0. There is no noise to hold at 0.
        top_p: The smallest set of the likeliest tokens with at least this probability is sampled
            from (tokens as likely as the last of them included); 1 for all.
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(
                f"the temperature must be above 0, not {self.temperature:g}",
                hint="without noise there is nothing to hold; give a small one, as 0.1",
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top-p must be above 0 and at most 1, not {self.top_p:g}")


def log_probabilities(logits: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """Return the log-probabilities that tokens are sampled with, minus infinity outside top-p.

    Args:
        logits: ``(rows, vocabulary)``, of any size; minus infinity is a token of probability 0.
        sampling: The mechanism.

    Returns:
        ``(rows, vocabulary)``, float64. A constant added to a row's logits changes nothing.

    Raises:
        InputError: If a row's logits are not numbers.
    """
    log_p = _scaled(logits, sampling).log_softmax(-1)
    if sampling.top_p < 1:
        log_p = log_p.masked_fill(~_nucleus(log_p, sampling.top_p), -math.inf).log_softmax(-1)
    return log_p


def choose(
    logits: "torch.Tensor", noise: "torch.Tensor", sampling: Sampling
) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Return each row's token under given noise, and how clearly it was chosen.

    Args:
        logits: ``(rows, vocabulary)``.
        noise: The same shape, float64.
        sampling: The mechanism.

    Returns:
        The tokens, ``(rows,)``, and their lead over the runner-up in logits, ``(rows,)``
        (perturbed log-probabilities times the temperature). The lead is 0 where a change of the
        logits by ``CLOSE`` could move the edge of the nucleus and another token with it.

    Raises:
        InputError: If a row's logits are not numbers.
    """
    scaled = _scaled(logits, sampling)
    if sampling.top_p == 1:  # the normaliser is the same for all of a row's tokens
        scores = scaled + noise
    else:  # so is that of the nucleus
        log_p = scaled.log_softmax(-1)
        scores = log_p.masked_fill(~_nucleus(log_p, sampling.top_p), -math.inf) + noise
    first, second = scores.topk(2).values.T
    tokens = scores.argmax(-1)
    gaps = (first - second) * sampling.temperature
    if sampling.top_p < 1:
        near = CLOSE / sampling.temperature
        gaps = gaps.masked_fill(_on_edge(log_p, noise, tokens, sampling.top_p, near), 0)
    return tokens, gaps


def _scaled(logits: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """Return the logits over the temperature, float64, each row's largest at 0."""
    logits = logits.double()
    largest = logits.amax(-1, keepdim=True)
    if not largest.isfinite().all():
        raise InputError(
            "the model's logits are not finite numbers",
            hint="its weights may be damaged, or overflow at the precision they are loaded in",
        )
    return (logits - largest) / sampling.temperature


def _nucleus(log_p: "torch.Tensor", top_p: float) -> "torch.Tensor":
    """Tell which tokens of each row are in the nucleus; it never is empty."""
    count = min(_FIRST_LOOK, log_p.shape[-1])
    while True:
        likeliest = log_p.topk(count).values
        mass = likeliest.exp().cumsum(-1)
        if count == log_p.shape[-1] or bool((mass[:, -1] >= top_p).all()):
            break
        count = min(8 * count, log_p.shape[-1])
    last = (mass[:, :-1] < top_p).sum(-1, keepdim=True)
    # By the value at the edge, not by rank: the order of equals must not matter.
    return log_p >= likeliest.gather(-1, last)


def _on_edge(
    log_p: "torch.Tensor",
    noise: "torch.Tensor",
    tokens: "torch.Tensor",
    top_p: float,
    near: float,
) -> "torch.Tensor":
    """Tell in which rows a small change of the logits could bring a token in that would win.

    Args:
        log_p: Log-probabilities before top-p, ``(rows, vocabulary)``.
        noise: The noise.
        tokens: The chosen tokens, ``(rows,)``.
        top_p: The mass of the nucleus.
        near: How far a log-probability may move.
    """
    import torch

    p = log_p.exp()
    scores = log_p + noise
    index = tokens[:, None]

    def mass(likelier: torch.Tensor) -> torch.Tensor:
        return p.masked_fill(~likelier, 0).sum(-1)

    # The chosen token could fall out itself.
    own = log_p.gather(-1, index)
    edge = mass(log_p >= own - near) - p.gather(-1, index)[:, 0] >= top_p - near
    # A rival that would win, and neither surely stands inside (its lead tells then) nor outside.
    rivals = scores >= scores.gather(-1, index) - near
    rivals = rivals.scatter(-1, index, False)
    for row, rival in rivals.nonzero().tolist():
        if not edge[row]:
            here = log_p[row]
            surely_in = p[row][here >= here[rival] - near].sum() - p[row, rival] < top_p - near
            surely_out = p[row][here > here[rival] + near].sum() >= top_p + near
            edge[row] = not (surely_in or surely_out)
    return edge
