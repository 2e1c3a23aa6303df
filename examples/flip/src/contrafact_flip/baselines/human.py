"""human: the revision that came with the data, as a system next to the models."""

from typing import Any

from contrafact.family.method import MethodContext
from contrafact.records import Output
from contrafact_flip.data import Review

__all__ = ["Human", "method"]


class Human:
    """Answers with the review's own revision, and asks no model."""

    name = "human"
    shots = 0

    async def __call__(self, review: Review, ask: Any, *, draw: int = 1) -> Output:
        """Return the revision; invalid where the data has none."""
        reason = None if review.revision else "the data has no revision of it"
        return Output(text=review.revision, invalid=reason)

    def plan(self, review: Review) -> list[Any]:
        """Return no calls."""
        return []


def method(context: MethodContext) -> Human:
    """Return the system."""
    return Human()
