"""coherence: a paragraph that contradicts itself was manipulated.

It asks the one reader of contradictions (`contrafact.families.rfc.contracts.contradictions`), which
the validators ask as well: a direction against its from–to figures, a percent change against them,
a share or a decline over 100%, parts that exceed the whole, a beat or a miss against its figures, a
level on the wrong side of its bound, a headline that the story denies. Where nothing is found, the
paragraph passes for unmanipulated: a consistent manipulation is not seen, and an original that is
itself badly worded is flagged.
"""

from collections.abc import Sequence
from dataclasses import asdict

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.contracts.contradictions import contradictions
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall

__all__ = ["Coherence", "method"]


class Coherence:
    """The detector as a solver; what it found is the answer's rationale."""

    name = "coherence"
    shots = 0

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        return self.answer(item)

    def answer(self, item: Item) -> Answer:
        """Return the answer to one item; its score falls with every contradiction."""
        found = contradictions(item.shown)
        p_true = 1.0 / (1.0 + len(found))
        return Answer(
            FALSE if found else TRUE,
            rationale="; ".join(f"{one.rule}: {one.message}" for one in found) or None,
            probabilities={TRUE: p_true, FALSE: 1.0 - p_true},
            trace={"contradictions": [asdict(one) for one in found]},
        )

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """Return no calls."""
        return []


def method(context: MethodContext) -> Coherence:
    """Return the method.

    Raises:
        InputError: for diagnosis, where nothing has to be detected.
    """
    if context.task != "rfc-detect":
        raise InputError(
            "the coherence detector reads one text and knows no kinds of manipulation",
            hint="use it with rfc-detect",
        )
    return Coherence()
