"""What a family says of its study (in work)."""

from dataclasses import dataclass

__all__ = ["StudySpec"]


@dataclass(frozen=True)
class StudySpec:
    """What an engine needs of a family."""
