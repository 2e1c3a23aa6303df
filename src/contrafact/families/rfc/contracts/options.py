"""What a user may choose of a check."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Options", "Polarity"]

Polarity = Callable[[Sequence[str]], list[float]]
"""Gives each text its tone, from -1 (negative) to 1 (positive)."""


@dataclass(frozen=True)
class Options:
    """What a user may choose of a check.

    Attributes:
        polarity: A model of financial tone; the lexicons if none.
    """

    polarity: Polarity | None = None
