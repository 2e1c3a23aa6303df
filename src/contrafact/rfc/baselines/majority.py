"""majority: always the label that is most frequent in the data set.

Of labels that are equally frequent it says the first of the label space, so that in detection,
which shows both members of every pair, it always says ``true``: half of its answers are right, and
of no pair both.
"""

from collections import Counter

from contrafact.rfc.answers import Answer
from contrafact.rfc.baselines.model import Baseline
from contrafact.rfc.data import items_of
from contrafact.rfc.labels import TRUE, labels_of
from contrafact.rfc.solvers.lookup import SolverContext

__all__ = ["answerer"]


def answerer(context: SolverContext) -> Baseline:
    """Return the baseline."""
    items = items_of(context.task, context.pairs)
    counts = Counter(item.gold for item in items)
    label = max(labels_of(context.task), key=lambda one: counts[one])
    p_true = counts[TRUE] / len(items) if context.task == "rfc-detect" else None
    return Baseline("majority", {item.id: Answer(label, p_true=p_true) for item in items})
