"""A baseline as a solver: it knows its answers beforehand and asks nobody."""

from collections.abc import Mapping, Sequence

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.models.asking import Ask, PlannedCall

__all__ = ["Baseline"]


class Baseline:
    """Answers by sample id.

    Args:
        name: The baseline's name.
        answers: The answer to every item of the data set.
    """

    shots = 0

    def __init__(self, name: str, answers: Mapping[str, Answer]):
        self.name = name
        self._answers = answers

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.families.rfc.answers.Answerer`."""
        return self.answer(item)

    def answer(self, item: Item) -> Answer:
        """Return the answer to one item.

        Raises:
            InputError: if the item is not of the data that the baseline was made with.
        """
        try:
            return self._answers[item.id]
        except KeyError:
            raise InputError(
                f"the baseline does not know the item '{item.id}'",
                hint="give task and solver the same data",
            ) from None

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """Return no calls."""
        return []
