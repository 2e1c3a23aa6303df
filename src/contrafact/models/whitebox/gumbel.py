"""Gumbel noise, the mechanism that makes tokens of it, and noise inferred in hindsight.

A categorical draw is the largest of log-probability plus standard Gumbel noise, one value per
token (the Gumbel-max trick). The noise is never stored: it comes from Philox, a counter-based
generator, whose key is made of seed and sequence and whose counter of position and token, so that
any part can be made again, alone, in any order, on any machine.

Temperature and top-p belong to the mechanism, not to the noise: a counterfactual under another
prompt has its own nucleus, and the noise is the same.
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
"""Logits, at temperature 1: a lead below this may turn with the batch an item stands in."""

_ONE = np.uint64(0x3FF0_0000_0000_0000)  # the bits of 1.0, its fraction zero
_FRACTION = np.uint64(12)  # the bits of a float64 that are not its fraction
_BELOW_ONE = 1.0 - 2.0**-53
_LIKELIEST = 256  # tokens that nearly always hold the nucleus


class Noise(Protocol):
    """The noise of one sequence: a value for every position and token."""

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """Return the noise of tokens ``0 … vocabulary - 1`` at a position, however many."""
        ...


@dataclass(frozen=True)
class DrawnNoise:
    """Independent standard Gumbel noise of one sequence; the key is Philox's, of 128 bits."""

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

    Equal seed and sequence are equal noise; anything else is independent of it.
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
    cancels. A token that could not be sampled keeps its prior, as nothing was learnt of it.

    Args:
        log_p: The mechanism's log-probabilities, ``(vocabulary,)``; minus infinity where a token
            cannot be sampled. They sum to one.
        token: The token that was sampled; its probability is not zero.
        prior: Independent standard Gumbel noise: the randomness that this uses.
        lead: A token that would come nearer to the sampled one than this is kept at this
            distance, so that rounding in the model cannot turn the two. With 0 the posterior is
            exact; otherwise about one token in ``1 / lead`` is moved, by at most ``lead``.

    Returns:
        ``(vocabulary,)``: standard Gumbel noise, such that the token is the argmax of
        ``log_p + noise``, strictly.
    """
    top = prior[token]
    noise: NDArray[np.float64] = -np.logaddexp(log_p - top, -prior)
    noise[token] = top - log_p[token]
    # Nor must rounding here lift another token to the top or over it.
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
    """Return each row's token under given noise, and how clearly it was chosen.

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
            hint="its weights may be damaged, or overflow at the precision they are loaded in",
        )
    return largest


def _scaled(logits: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """Return the logits over the temperature, float64, each row's largest at 0."""
    import torch

    largest = check_finite(logits)

    # In place: memory of this size is slow to get anew for each token.
    scaled = logits.to(torch.float64, copy=True).sub_(largest)
    return scaled if sampling.temperature == 1 else scaled.div_(sampling.temperature)


def _nucleus(log_p: "torch.Tensor", top_p: float) -> "torch.Tensor":
    """Tell which tokens of each row are in the nucleus; it never is empty."""
    count = min(_LIKELIEST, log_p.shape[-1])
    while True:
        likeliest = log_p.topk(count).values
        mass = likeliest.exp().cumsum(-1)
        if count == log_p.shape[-1] or bool((mass[:, -1] >= top_p).all()):
            break
        count = min(8 * count, log_p.shape[-1])
    last = (mass[:, :-1] < top_p).sum(-1, keepdim=True)
    # By the value at the edge, not by rank: the order of equals must not matter.
    return log_p >= likeliest.gather(-1, last)


@dataclass(frozen=True, eq=False)
class HindsightNoise:
    """Noise under which a model writes a given text: one draw from the posterior.

    No token comes nearer to the text's own than ``CLOSE`` logits, so that the text comes back whole
    from another batch too; the posterior is exact but for that. Past the end of the text the noise
    is fresh, from the same counter.

    Attributes:
        drawn: The randomness it uses.
        logits: The model's logits before each of its tokens, ``(tokens, vocabulary)``, on the
            CPU.
        sampling: The mechanism that the text is taken to have been sampled by.
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
        # The lead lets the text come back from a batch or a cache with other rounding.
        lead = CLOSE / self.sampling.temperature
        noise[:own] = truncated(log_p, self.tokens[position], noise[:own], lead=lead)
        return noise[:vocabulary]

    def under(self, drawn: DrawnNoise) -> "HindsightNoise":
        """Return another draw from the same posterior."""
        return replace(self, drawn=drawn)


def noise_of(
    noises: Sequence[Noise], position: int, vocabulary: int, device: "torch.device"
) -> "torch.Tensor":
    """Return a position's noise, ``(rows, vocabulary)``, float64; shared noise is made once."""
    import torch

    distinct = {one: row for row, one in enumerate(dict.fromkeys(noises))}
    made = torch.from_numpy(np.stack([one.at(position, vocabulary) for one in distinct]))
    return made[torch.tensor([distinct[one] for one in noises])].to(device)
