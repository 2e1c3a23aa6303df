"""Noise inferred in hindsight, for a text that was not sampled here."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contrafact.models.whitebox.noise.gumbel import DrawnNoise, truncated
from contrafact.models.whitebox.noise.sampling import CLOSE, Sampling, log_probabilities

if TYPE_CHECKING:
    import torch

__all__ = ["HindsightNoise"]


@dataclass(frozen=True, eq=False)
class HindsightNoise:
    """Noise under which a model writes a given text: one draw from the posterior.

    No token comes nearer to the text's own than ``CLOSE`` logits, so that the text comes back whole
    from another batch too; the posterior is exact but for that.

    It is made when asked for; what is kept is the model's logits along the text. Past the end of
    the text the noise is fresh, from the same counter.

    Attributes:
        drawn: The randomness it uses.
        tokens: The text.
        logits: The model's logits before each of its tokens, ``(tokens, vocabulary)``, on the
            CPU.
        sampling: The mechanism that the text is taken to have been sampled by.
    """

    drawn: DrawnNoise
    tokens: tuple[int, ...]
    logits: "torch.Tensor"
    sampling: Sampling

    def at(self, position: int, vocabulary: int) -> NDArray[np.float64]:
        """See `contrafact.models.whitebox.noise.gumbel.Noise`."""
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
