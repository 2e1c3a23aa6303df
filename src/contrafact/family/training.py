"""What a family says of its training (in work)."""

from dataclasses import dataclass

__all__ = ["TrainingSpec"]


@dataclass(frozen=True)
class TrainingSpec:
    """What an engine needs of a family."""
