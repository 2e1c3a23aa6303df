"""majority: always the label that is most frequent in the dataset.

If several labels are equally frequent, it gives the first in the label space. In detection, which
shows both members of every pair, it therefore always says ``true``: half of its answers are right,
but never both of a pair.
"""

from collections import Counter
from typing import cast

from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.baseline import Baseline
from contrafact.families.rfc.data import items_of
from contrafact.families.rfc.labels import TaskName
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Baseline:
    items = items_of(cast(TaskName, context.settings.task), context.items)
    counts = Counter(item.gold for item in items)
    shares = {label: counts[label] / len(items) for label in items[0].labels}
    answer = Answer(max(shares, key=lambda label: shares[label]), probabilities=shares)
    return Baseline("majority", {item.id: answer for item in items})
