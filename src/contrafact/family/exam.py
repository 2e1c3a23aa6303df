"""What a family says of its exam (in work)."""

from dataclasses import dataclass

__all__ = ["ExamSpec"]


@dataclass(frozen=True)
class ExamSpec:
    """What an engine needs of a family."""
