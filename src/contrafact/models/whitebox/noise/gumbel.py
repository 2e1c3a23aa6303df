"""Gumbel noise that is never stored: a function of seed, sequence, position and token.

A categorical draw is the largest of log-probability plus standard Gumbel noise, one value per
token (the Gumbel-max trick). The noise here comes from Philox, a counter-based generator: the
key is made of seed and sequence, the counter of position and token, so that any part can be made
again, alone, in any order, on any machine.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["DrawnNoise", "Noise", "draw", "truncated"]

_BLOCK = 4  # numbers that one step of Philox's counter gives
_ONE = np.uint64(0x3FF0_0000_0000_0000)  # the bits of 1.0, its fraction zero
_FRACTION = np.uint64(12)  # the bits of a float64 that are not its fraction
_BELOW_ONE = 1.0 - 2.0**-53


class Noise(Protocol):
    """The noise of one sequence: a value for every position and token."""

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """Return the noise of the tokens ``0 … vocabulary - 1`` at a position.

        Args:
            position: Place in the continuation; 0 is the first token after the prompt.
            vocabulary: How many tokens the model chooses from. A token's noise does not depend
                on it.
        """
        ...


@dataclass(frozen=True)
class DrawnNoise:
    """Independent standard Gumbel noise of one sequence.

    Attributes:
        key: Philox's key, 128 bits; see `draw`.
    """

    key: int

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """See `Noise`."""
        return self.part(position, 0, vocabulary)

    def part(self, position: int, start: int, stop: int) -> NDArray[np.float64]:
        """Return the noise of the tokens ``start … stop - 1`` at a position."""
        first = start // _BLOCK
        philox = np.random.Philox(key=self.key, counter=[first, position, 0, 0])
        bits = philox.random_raw(stop - first * _BLOCK)[start - first * _BLOCK :]
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
    """Return the noise of a sequence under a seed.

    Args:
        seed: Seed of the study.
        sequence: What the noise belongs to, as an item's id. Equal seed and sequence are equal
            noise; anything else is independent of it.
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
