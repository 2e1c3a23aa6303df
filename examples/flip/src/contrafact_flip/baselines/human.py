"""human: the revision that came with the data, as a system next to the models."""

from collections.abc import Sequence

from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Output
from contrafact_flip.data import Review

__all__ = ["Human", "method"]


class Human:
    """Answers with the review's own revision."""

    name = "human"
    shots = 0

    async def __call__(self, review: Review, ask: Ask, *, draw: int = 1) -> Output:
        """Return the revision; invalid where the data has none."""
        if review.revision is None:
            return Output(text=None, invalid="the data has no revision of it")
        return Output(text=review.revision)

    def plan(self, review: Review) -> Sequence[PlannedCall]:
        """Return no calls."""
        return []


def method(context: MethodContext) -> Human:
    """Return the system."""
    return Human()
