"""Gumbel noise, the mechanism that turns it into tokens, and noise inferred from a text.

A categorical draw is the largest of log-probability plus standard Gumbel noise, one value per
token (the Gumbel-max trick). The noise is never stored: it comes from Philox, a counter-based
generator. Its key is made from seed and sequence, its counter from position and token, so that any
part can be generated again, alone, in any order, on any machine.

Temperature and top-p belong to the mechanism, not to the noise: a counterfactual under another
prompt has its own nucleus, but the same noise.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError

if TYPE_CHECKING:
    import torch

CLOSE = 1e-3
"""In logits, at temperature 1: with a lead below this another batch may choose another token."""

_ONE = np.uint64(0x3FF0_0000_0000_0000)  # the bits of 1.0, its fraction zero
_FRACTION = np.uint64(12)  # the bits of a float64 that are not its fraction
_BELOW_ONE = 1.0 - 2.0**-53
_LIKELIEST = 256  # this many tokens nearly always include the nucleus


class Noise(Protocol):
    """The noise of one sequence: a value for every position and token."""

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """Return the noise of the tokens ``0 … vocabulary - 1`` at a position."""
        ...


@dataclass(frozen=True)
class DrawnNoise:
    """Independent standard Gumbel noise of one sequence, from Philox's 128-bit key."""

    key: int

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """See `Noise`."""
        philox = np.random.Philox(key=self.key, counter=[0, position, 0, 0])
        bits = philox.random_raw(vocabulary)
        # 52 random bits as the fraction of a number in [1, 2), moved into the middle of its cell
        # in (0, 1): neither 0 nor 1 can come, and both logarithms are finite.
        bits >>= _FRACTION
        bits |= _ONE
        noise: NDArray[np.float64] = bits.view(np.float64)
        noise -= _BELOW_ONE
        for _ in range(2):
            np.log(noise, out=noise)
            np.negative(noise, out=noise)
        return noise


def draw(seed: int, sequence: str) -> DrawnNoise:
    """Return the noise of a sequence, such as an item's id, under a seed.

    The same seed and sequence give the same noise, any others independent noise.
    """
    digest = hashlib.sha256(f"{seed}:{sequence}".encode("utf-8", "surrogatepass")).digest()
    return DrawnNoise(int.from_bytes(digest[:16], "little"))


def truncated(
    log_p: NDArray[np.float64], token: int, prior: NDArray[np.float64], *, lead: float = 0.0
) -> NDArray[np.float64]:
    """Return noise from its posterior, given the token that was sampled.

    The top-down construction (Maddison et al. 2014, Oberst and Sontag 2019): the largest
    perturbed log-probability is itself a standard Gumbel value, whichever token has it; below
    it every other token's is a Gumbel value cut off at the largest. All in log space: for the
    token ``i``, ``noise_i = -logaddexp(log_p_i - top, -prior_i)``, which neither overflows nor
    cancels. A token that could not be sampled keeps its prior noise.

    Args:
        log_p: The mechanism's log-probabilities, ``(vocabulary,)``; minus infinity where a token
            cannot be sampled. They sum to one.
        token: The token that was sampled; its probability is not zero.
        prior: Independent standard Gumbel noise, the source of randomness.
        lead: The least distance that other tokens keep from the sampled one, so that rounding in
            the model cannot swap the two. With 0 the posterior is exact; otherwise about one token
            in ``1 / lead`` is moved, by at most ``lead``.

    Returns:
        ``(vocabulary,)``: standard Gumbel noise, such that the token is the argmax of
        ``log_p + noise``, strictly.
    """
    top = prior[token]
    noise: NDArray[np.float64] = -np.logaddexp(log_p - top, -prior)
    noise[token] = top - log_p[token]
    # Rounding here must not lift another token to the top or above it, either.
    reached = log_p[token] + noise[token]
    limit = reached - max(lead, 8 * np.spacing(max(abs(reached), abs(log_p[token]), 1.0)))
    close = np.flatnonzero(log_p + noise > limit)
    close = close[close != token]
    noise[close] = limit - log_p[close]
    return noise


@dataclass(frozen=True)
class Sampling:
    """How tokens are sampled.

    Attributes:
        temperature: Divides the logits; above 0, since at 0 there is no noise.
        top_p: Tokens are sampled from the smallest set of the likeliest that has at least this
            probability (with all tokens as likely as its last); 1 for all.
    """

    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(
                f"the temperature must be above 0, not {self.temperature:g}",
                hint="there is no noise at temperature 0; use a small one, such as 0.1",
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top-p must be above 0 and at most 1, not {self.top_p:g}")


def log_probabilities(logits: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """Return the log-probabilities that tokens are sampled with, minus infinity outside top-p.

    Args:
        logits: ``(rows, vocabulary)``; minus infinity is a token of probability 0.

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
    """Return the token chosen for each row under given noise, and its lead.

    Args:
        logits: ``(rows, vocabulary)``.
        noise: The same shape, float64.

    Returns:
        The tokens, ``(rows,)``, and their lead over the runner-up in logits, ``(rows,)``
        (perturbed log-probabilities times the temperature).

    Raises:
        InputError: If a row's logits are not numbers.
    """
    scores = _scaled(logits, sampling)
    if sampling.top_p < 1:
        log_p = scores.log_softmax(-1)
        scores = log_p.masked_fill_(~_nucleus(log_p, sampling.top_p), -math.inf)
    scores += noise  # the normaliser is the same for all of a row's tokens
    (first, second), tokens = scores.topk(2).values.T, scores.argmax(-1)
    return tokens, (first - second) * sampling.temperature


def check_finite(logits: "torch.Tensor") -> "torch.Tensor":
    """Return each row's largest logit, ``(rows, 1)``; `InputError` if one is not finite."""
    largest = logits.amax(-1, keepdim=True)
    if not largest.isfinite().all():
        raise InputError(
            "the model's logits are not finite numbers",
            hint="its weights may be damaged, or overflow at the precision that was chosen",
        )
    return largest


def _scaled(logits: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """Return the logits over the temperature, float64, each row's largest at 0."""
    import torch

    largest = check_finite(logits)

    # In place: allocating memory of this size for each token is slow.
    scaled = logits.to(torch.float64, copy=True).sub_(largest)
    return scaled if sampling.temperature == 1 else scaled.div_(sampling.temperature)


def _nucleus(log_p: "torch.Tensor", top_p: float) -> "torch.Tensor":
    """Return which tokens of each row are in the nucleus, which is never empty."""
    count = min(_LIKELIEST, log_p.shape[-1])
    while True:
        likeliest = log_p.topk(count).values
        mass = likeliest.exp().cumsum(-1)
        if count == log_p.shape[-1] or bool((mass[:, -1] >= top_p).all()):
            break
        count = min(8 * count, log_p.shape[-1])
    last = (mass[:, :-1] < top_p).sum(-1, keepdim=True)
    # By the value at the edge, not by rank: the order of equal values must not matter.
    return log_p >= likeliest.gather(-1, last)


@dataclass(frozen=True, eq=False)
class HindsightNoise:
    """Noise under which a model writes a given text: one draw from the posterior.

    No other token comes nearer than ``CLOSE`` logits to the text's token, so that another batch
    reproduces the text as well; apart from that the posterior is exact. Past the end of the text
    the noise is new, from the same counter.

    Attributes:
        drawn: The noise that is its source of randomness.
        logits: The model's logits for each token of the text, ``(tokens, vocabulary)``, on the
            CPU.
        sampling: The settings with which the text is assumed to have been sampled.
    """

    drawn: DrawnNoise
    tokens: tuple[int, ...]
    logits: "torch.Tensor"
    sampling: Sampling

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """See `Noise`."""
        if position >= len(self.tokens):
            return self.drawn.at(position, vocabulary)
        own = self.logits.shape[-1]
        noise = self.drawn.at(position, max(own, vocabulary))
        log_p = log_probabilities(self.logits[position, None], self.sampling)[0].numpy()
        # With the lead, a batch or cache with other rounding reproduces the text, too.
        lead = CLOSE / self.sampling.temperature
        noise[:own] = truncated(log_p, self.tokens[position], noise[:own], lead=lead)
        return noise[:vocabulary]

    def under(self, drawn: DrawnNoise) -> "HindsightNoise":
        """Return another draw of noise from the posterior of the same text, using ``drawn``."""
        return replace(self, drawn=drawn)


def noise_of(
    noises: Sequence[Noise], position: int, vocabulary: int, device: "torch.device"
) -> "torch.Tensor":
    """Return the noise at a position, ``(rows, vocabulary)``, float64; equal rows share it."""
    import torch

    distinct = {one: row for row, one in enumerate(dict.fromkeys(noises))}
    made = torch.from_numpy(np.stack([one.at(position, vocabulary) for one in distinct]))
    return made[torch.tensor([distinct[one] for one in noises])].to(device)
