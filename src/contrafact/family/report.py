"""What a family says of its reports (in work)."""

from dataclasses import dataclass

__all__ = ["ReportSpec"]


@dataclass(frozen=True)
class ReportSpec:
    """What a chapter of a report shows."""
