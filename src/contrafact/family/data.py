"""What a family says of its data (in work)."""

from dataclasses import dataclass

__all__ = ["DataSpec"]


@dataclass(frozen=True)
class DataSpec:
    """What an engine needs of a family."""
