"""verifier: a detector that ``contrafact train verifier`` learned from rewrites and originals.

It reads one paragraph and says how likely it is as it was published (RFC-BENCH, section 2.1,
task 1). A paragraph that is longer than those it learned from has no answer. It knows the pairs
that it learned from: ask it of other ones.
"""

from collections.abc import Sequence

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.families.rfc.learning import ORIGINAL
from contrafact.family.learned import LearnedVerifier, learned_name, learned_verifier
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall

__all__ = ["OPTIONS", "Detector", "method"]

OPTIONS = {"folder": ""}
_QUESTION = f"rfc/{ORIGINAL}"


class Detector:
    """A learned verifier as a detector; its answer is the likelier label.

    Args:
        name: Its name with its options.
        verifier: The verifier.
    """

    shots = 0

    def __init__(self, name: str, verifier: LearnedVerifier):
        self.name = name
        self._verifier = verifier

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        return self.answer(item)

    def answer(self, item: Item) -> Answer:
        """Return the answer to one item."""
        found = self._verifier(ORIGINAL, {"family": "rfc", "shown": item.shown})
        if found.probability is None:
            return Answer(None, f"cannot be known: {found.reason}")
        p_true = found.probability
        return Answer(
            TRUE if p_true >= 0.5 else FALSE,
            probabilities={TRUE: p_true, FALSE: 1.0 - p_true},
        )

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """Return no calls."""
        return []


def method(context: MethodContext) -> Detector:
    """Return the method.

    Raises:
        InputError: The folder holds no verifier, or one that did not learn this.
    """
    folder = str(context.options["folder"])
    if not folder:
        raise InputError("which verifier?", hint="name its folder: --method verifier:folder=DIR")
    verifier = learned_verifier(learned_name(folder))
    if _QUESTION not in verifier.criteria:
        raise InputError(
            f"it judges {', '.join(verifier.criteria)}, and was not trained to detect",
            file=verifier.folder,
            hint=f"train one on {_QUESTION}",
        )
    return Detector(context.name, verifier)
