"""surface: a logistic regression on surface features alone (RFC-BENCH, section 3.4, figure 4).

For diagnosis the features are the paper's features of a pair; for detection, which the paper leaves
out, features of the single text. Each answer comes from a model fitted without the item's article.
"""

from typing import cast

from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.baseline import Baseline, cross_validated, pair_features, text_features
from contrafact.families.rfc.data import items_of
from contrafact.families.rfc.labels import TaskName
from contrafact.family.method import MethodContext


def method(context: MethodContext) -> Baseline:
    items = items_of(cast(TaskName, context.settings.task), context.items)
    labels = items[0].labels
    features = (
        text_features([item.shown for item in items])
        if context.settings.task == "rfc-detect"
        else pair_features([(item.pair.original, item.pair.rewritten) for item in items])
    )
    probabilities = cross_validated(
        features,
        [item.gold for item in items],
        labels,
        [item.cluster for item in items],
        seed=context.settings.seed,
    )
    answers = {
        item.id: Answer(
            labels[int(row.argmax())], probabilities=dict(zip(labels, row.tolist(), strict=True))
        )
        for item, row in zip(items, probabilities, strict=True)
    }
    return Baseline("surface", answers)
