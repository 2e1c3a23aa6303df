"""Cross-validation by article: no item is judged by what was learnt from its own article."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError

__all__ = ["FOLDS", "article_folds", "cross_validated"]

FOLDS = 10
"""Folds, or as many as there are articles if these are fewer."""

Indices = NDArray[np.intp]


def article_folds(clusters: Sequence[Hashable], *, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield the rows to learn from and the rows to judge, fold by fold; articles are never split.

    Raises:
        InputError: if there are fewer than two articles.
    """
    from sklearn.model_selection import GroupKFold

    codes = {cluster: code for code, cluster in enumerate(dict.fromkeys(clusters))}
    if len(codes) < 2:
        raise InputError(
            "cross-validation by article needs pairs of at least two articles",
            hint="give a larger file",
        )
    groups = np.array([codes[cluster] for cluster in clusters])
    folds = GroupKFold(n_splits=min(FOLDS, len(codes)), shuffle=True, random_state=seed)
    for train, test in folds.split(groups, groups=groups):
        yield np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)


def cross_validated(
    features: Any,
    gold: Sequence[str],
    labels: Sequence[str],
    clusters: Sequence[Hashable],
    *,
    seed: int,
) -> NDArray[np.float64]:
    """Return each item's label probabilities by a logistic regression fitted without its article.

    Args:
        features: Numbers, shape (items, features), dense or sparse; brought to unit scale within
            each fold.
        gold: The gold labels.
        labels: The label space, the order of the columns returned.
        clusters: The articles.
        seed: Seed of the folds.

    Returns:
        Shape (items, labels). A label that a fold has not seen has probability 0 there.

    Raises:
        InputError: if there are fewer than two articles.
    """
    from scipy.sparse import issparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    column_of = {label: column for column, label in enumerate(labels)}
    y = np.array([column_of[label] for label in gold])
    found = np.zeros((len(y), len(labels)))
    for train, test in article_folds(clusters, seed=seed):
        seen = np.unique(y[train])
        if len(seen) == 1:
            found[np.ix_(test, seen)] = 1.0
            continue
        scaler = MaxAbsScaler() if issparse(features) else StandardScaler()
        # For two labels and many sparse columns this solver is several times as fast.
        fast = issparse(features) and len(seen) == 2
        solver = "liblinear" if fast else "lbfgs"
        model = make_pipeline(scaler, LogisticRegression(solver=solver, max_iter=2_000))
        model.fit(features[train], y[train])
        found[np.ix_(test, seen)] = model.predict_proba(features[test])
    return found
