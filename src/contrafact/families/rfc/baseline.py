"""What baselines share: precomputed answers, surface features, folds by article.

A baseline is a method that asks no model. Features are those of RFC-BENCH, section 3.4, figure 4
and appendix L; cross-validation is by article, so that no item is judged by a model
fitted on its own article.
"""

import re
import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError, require
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.judges.surface import Indices, unseen_folds
from contrafact.models.asking import Ask, PlannedCall
from contrafact.text.diff import surface

FOLDS = 10
"""The number of folds; with fewer articles, one fold per article."""

PAIR_FEATURES: tuple[str, ...] = (
    *("length_ratio", "punctuation_difference", "numeric_difference", "jaccard"),
)
"""The features of figure 4's baseline: length, punctuation, numeric tokens, lexical overlap."""

TEXT_FEATURES: tuple[str, ...] = (
    *("characters", "words", "characters_per_word", "distinct_words", "punctuation", "numbers"),
    *("digits", "percent_signs", "capitals"),
)
"""The corresponding features of a single text: counts, except for two ratios."""

_WORD = re.compile(r"\w+(?:['’.,\-]\w+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Baseline:
    shots = 0

    def __init__(self, name: str, answers: Mapping[str, Answer]):
        self.name = name
        self._answers = answers

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        if item.id not in self._answers:
            problem = f"the baseline does not know the item '{item.id}'"
            raise InputError(problem, hint="give task and solver the same data")
        return self._answers[item.id]

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        return []


def pair_features(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return `PAIR_FEATURES` of (original, rewritten) pairs, shape (pairs, features)."""
    features = [surface(original, rewritten) for original, rewritten in pairs]
    rows = [[float(getattr(pair, name)) for name in PAIR_FEATURES] for pair in features]
    return np.array(rows, dtype=np.float64).reshape(len(pairs), len(PAIR_FEATURES))


def text_features(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return `TEXT_FEATURES` of texts, shape (texts, features)."""
    rows = []
    for text in texts:
        words = _WORD.findall(text)
        count = max(1, len(words))
        rows.append(
            (
                len(text),
                len(words),
                sum(map(len, words)) / count,
                len({word.casefold() for word in words}) / count,
                sum(unicodedata.category(c).startswith("P") for c in text),
                len(_NUMBER.findall(text)),
                sum(c.isdigit() for c in text),
                text.count("%"),
                sum(c.isupper() for c in text),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(texts), len(TEXT_FEATURES))


def article_folds(clusters: Sequence[Hashable], *, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield each fold's training and test rows; the rows of one article are never split."""
    codes = {cluster: code for code, cluster in enumerate(dict.fromkeys(clusters))}
    if len(codes) < 2:
        raise InputError(
            "cross-validation by article needs pairs of at least two articles",
            hint="give a larger file",
        )
    yield from unseen_folds([codes[cluster] for cluster in clusters], most=FOLDS, seed=seed)


def cross_validated(
    features: Any,
    gold: Sequence[str],
    labels: Sequence[str],
    clusters: Sequence[Hashable],
    *,
    seed: int,
) -> NDArray[np.float64]:
    """Return each item's label probabilities by a logistic regression fitted without its article.

    Shape (items, labels). A label absent from a fold's training rows has probability 0 there.
    """
    require("sklearn", "baselines")
    from scipy.sparse import issparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    column_of = {label: column for column, label in enumerate(labels)}
    y = np.array([column_of[label] for label in gold])
    probabilities = np.zeros((len(y), len(labels)))
    for train, test in article_folds(clusters, seed=seed):
        seen = np.unique(y[train])
        if len(seen) == 1:
            probabilities[np.ix_(test, seen)] = 1.0
            continue
        scaler = MaxAbsScaler() if issparse(features) else StandardScaler()
        # For two labels and many sparse columns this solver is several times as fast.
        fast = issparse(features) and len(seen) == 2
        solver = "liblinear" if fast else "lbfgs"
        model = make_pipeline(scaler, LogisticRegression(solver=solver, max_iter=2_000))
        model.fit(features[train], y[train])
        probabilities[np.ix_(test, seen)] = model.predict_proba(features[test])
    return probabilities
