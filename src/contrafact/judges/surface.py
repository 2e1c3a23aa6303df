"""Leak tests: how well verdicts can be predicted from the surface of texts alone.

Classifiers ("readers") are trained on items of known verdict and scored on groups (headlines,
graphs, scenes) that they have not seen: an AUROC above 0.5 is possible without the reasoning that
the items should test. Each reader sees one kind of feature: the text's words, how much it repeats
of its source and its question, its connectors, or its quotations and the changes of its numbers;
the last reader sees all of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError, require
from contrafact.stats.classification import auroc

__all__ = ["OVERALL", "READERS", "LeakItem", "LeakRow", "leak_rows", "unseen_folds"]

OVERALL = "overall"
OVERALL_LIMIT = 0.60
"""The highest AUROC over all answers that is not a leak: 0.10 above chance."""
CRITERION_LIMIT = 0.65
"""The same for one criterion, of which there are fewer items."""
READERS = ("words", "overlap", "connectors", "quotes", "all")
MOST_ITEMS = 24_000
"""The most items for training and scoring; of more, whole stories are drawn at random."""
LEAST_ITEMS = 40
_FOLDS = 5
_RESAMPLES = 400
_WORD_FEATURES = 1 << 15
_BOOSTED_WORDS = 120
_QUOTED = 4

_FOLLOWS = ("because", "since", "so", "therefore", "result", "reason", "due", "consequently", "why")
_AGAINST = (
    *("but", "yet", "although", "though", "despite", "spite", "nevertheless", "nonetheless"),
    *("however", "still", "even", "same"),
)
_NEUTRAL = ("and", "while", "meanwhile", "also", "whether", "when")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d[\d,]*")
_CLAUSE = re.compile(r"[.;!?\n]+")

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class LeakItem:
    """A text with its source, its verdicts and its groups.

    Attributes:
        about: The source and the question or supposition about it: a story and its query.
        asked: The text of each criterion; empty if it is the same for every item.
        verdicts: For every criterion, whether the text passes it.
        block: The label of items that share texts and are resampled together.
        groups: By name, the item's group: a reader is not scored on groups that it has seen.
    """

    text: str
    about: tuple[str, str]
    asked: Mapping[str, str]
    verdicts: Mapping[str, bool]
    block: str
    groups: Mapping[str, str]


@dataclass(frozen=True)
class LeakRow:
    """The result of one reader on one target, ``overall`` or a criterion.

    Attributes:
        model: "logistic" or "boosting".
        folds: The name of the groups that are kept apart, such as "template".
        wrong: The number of ``items`` whose text fails.
        auroc: The area under the ROC curve; 0.5 is chance.
        low: The lower end of its 95% interval, blocks resampled; ``high`` the upper.
        limit: The highest AUROC that is not a leak.
    """

    target: str
    reader: str
    model: str
    folds: str
    items: int
    wrong: int
    auroc: float
    low: float
    high: float
    limit: float

    @property
    def leaks(self) -> bool:
        """Whether the reader's AUROC is above the limit."""
        return self.auroc > self.limit


def leak_rows(
    items: Sequence[LeakItem],
    *,
    seed: int = 0,
    readers: Sequence[str] = READERS,
    models: Sequence[str] = ("logistic", "boosting"),
    folds_by: Sequence[str] = (),
    least: int = LEAST_ITEMS,
    step: Callable[[], None] = lambda: None,
) -> Iterator[LeakRow]:
    """Yield the result of each reader, overall and for each criterion.

    Args:
        seed: Seed of the folds, the resamples and the readers.
        folds_by: Names of the groups by which items are split into folds; all if not given.
        least: Right and wrong texts that a target needs; `InputError` if ``overall`` has fewer.
    """
    items = _drawn(items, seed)
    wrong = [not all(item.verdicts.values()) for item in items]
    right = len(wrong) - sum(wrong)
    if min(sum(wrong), right) < least:
        problem = f"{right:,} right and {sum(wrong):,} wrong texts are too few to measure a leak"
        raise InputError(problem, hint=f"give at least {least} of each")
    targets = [OVERALL, *sorted({name for item in items for name in item.verdicts})]
    for target in targets:
        asked = [i for i in items if target == OVERALL or target in i.verdicts]
        label = np.array([item.verdicts.get(target, all(item.verdicts.values())) for item in asked])
        if min(label.sum(), (~label).sum()) < least:
            continue
        features = _features(asked, target)
        blocks = [item.block for item in asked]
        limit = OVERALL_LIMIT if target == OVERALL else CRITERION_LIMIT
        for reader in readers:
            for model in models:
                for folds in folds_by or items[0].groups:
                    groups = [item.groups[folds] for item in asked]
                    scores = _scores(features, label, groups, reader, model, seed)
                    if scores is None:
                        continue
                    rng = np.random.default_rng([seed, 1])
                    area = auroc(label, scores, blocks, resamples=_RESAMPLES, rng=rng)
                    yield LeakRow(
                        target=target,
                        reader=reader,
                        model=model,
                        folds=folds,
                        items=len(asked),
                        wrong=int((~label).sum()),
                        auroc=area.estimate,
                        low=area.low,
                        high=area.high,
                        limit=limit,
                    )
                    step()


def _drawn(items: Sequence[LeakItem], seed: int) -> list[LeakItem]:
    """Return the items, or if they are too many those of blocks drawn at random."""
    if len(items) <= MOST_ITEMS:
        return list(items)
    blocks = sorted({item.block for item in items})
    rng = np.random.default_rng([seed, 0])
    rank = dict(zip(blocks, rng.permutation(len(blocks)).tolist(), strict=True))
    most = MOST_ITEMS * len(blocks) / len(items)
    return [item for item in items if rank[item.block] < most]


def _features(items: Sequence[LeakItem], target: str) -> Mapping[str, Any]:
    """Return what each reader sees of the items: words as a sparse matrix, the rest as arrays."""
    require("sklearn", "tests for leaks")
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        n_features=_WORD_FEATURES, ngram_range=(1, 2), alternate_sign=False, norm="l2"
    )
    texts = cache(_parts)  # parse each text once
    rows: dict[str, list[list[float]]] = {"overlap": [], "connectors": [], "quotes": []}
    for item in items:
        criterion = item.asked.get(target, "")
        if target == OVERALL:
            criterion = " ".join(item.asked.values())
        rows["overlap"].append(_overlaps(texts, item, criterion))
        rows["connectors"].append(_connectors(texts, item))
        rows["quotes"].append(_quotes(texts, item, criterion))
    words = vectorizer.transform([item.text for item in items])
    return {"words": words, **{name: np.array(row, np.float64) for name, row in rows.items()}}


_Parts = tuple[list[str], list[set[tuple[str, ...]]], list[str]]
_Taker = Callable[[str], _Parts]


def _parts(text: str) -> _Parts:
    """Return a text's words, its sets of one, two, three and four words, and its clauses."""
    words = _WORD.findall(text.lower())
    grams = [{tuple(words[i : i + n]) for i in range(len(words) - n + 1)} for n in (1, 2, 3, 4)]
    return words, grams, [part.strip().lower() for part in _CLAUSE.split(text) if part.strip()]


def _overlaps(texts: _Taker, item: LeakItem, criterion: str) -> list[float]:
    """Return the lengths of an answer, and its overlaps with story, query and criterion."""
    words, grams, clauses = texts(item.text)
    row = [
        float(len(item.text)),
        float(len(words)),
        float(len(clauses)),
        len(grams[0]) / max(1, len(words)),
    ]
    for other in (*item.about, criterion):
        there, sets, parts = texts(other)
        row += [len(words) - len(there), len(clauses) - len(parts)]
        for mine, theirs in zip(grams, sets, strict=True):
            both = len(mine & theirs)
            row += [both / max(1, len(mine)), both / max(1, len(theirs)), float(both)]
    return row


def _connectors(texts: _Taker, item: LeakItem) -> list[float]:
    """Return counts of connectors (consequence, contrast, neutral), punctuation and negations."""
    words = texts(item.text)[0]
    there = texts(item.about[0])[0]
    row: list[float] = []
    for cues in (_FOLLOWS, _AGAINST, _NEUTRAL):
        here, before = (sum(word in cues for word in some) for some in (words, there))
        row += [here, before, here - before]
    row += [item.text.count(mark) for mark in ",;:"]
    negated = ("no", "not", "never", "nobody", "nothing", "without", "only")
    row += [sum(word in negated for word in some) for some in (words, there)]
    return row


def _quotes(texts: _Taker, item: LeakItem, criterion: str) -> list[float]:
    """Return features of quoted clauses and numbers, and of the format of an answer."""
    text = item.text.lower()
    row: list[float] = []
    others = [criterion, item.about[0], *item.asked.values(), *[""] * _QUOTED][:_QUOTED]
    for other in others:
        clauses = texts(other)[2]
        here = sum(clause in text for clause in clauses)
        row += [here / max(1, len(clauses)), float(len(clauses) - here)]
        parts = [part.strip() for part in re.split(r"[.;,]", other.lower()) if len(part) > 12]
        row.append(sum(part in text for part in parts) / max(1, len(parts)))
    numbers, before, due = (
        {word for word in texts(one)[0] if word[0].isdigit()}
        for one in (text, item.about[0], criterion)
    )
    row += [float(len(numbers & before)), float(len(numbers & due)), float(len(numbers))]
    row += _moved(texts, item)
    near = 0
    words = texts(item.text)[0]
    for place, word in enumerate(words):
        if word[0].isdigit():
            near += any(one in _AGAINST for one in words[max(0, place - 12) : place + 6])
    frames = ("option 1" in text, "**" in text, "\n" in text, "!" in text, ":" in text)
    return [*row, float(near), *map(float, frames)]


def _moved(texts: _Taker, item: LeakItem) -> list[float]:
    """Return features that compare the last number of a text with the last number of its source."""
    here, there = (
        [int(digits) for word in texts(one)[0] if (digits := word.replace(",", "")).isdigit()]
        for one in (item.text, item.about[0])
    )
    if not here or not there:
        return [0.0] * 6
    now, before = here[-1], there[-1]
    apart = float(now - before)
    share = apart / max(1, before)
    return [float(now), apart, abs(apart), share, abs(share), float(gcd(now, before))]


def unseen_folds(
    groups: Sequence[Any], *, most: int = _FOLDS, seed: int
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the training rows and the scored rows of each fold; a group is never split.

    There are ``most`` folds, or as many as groups if these are fewer; at least two are needed.
    """
    from sklearn.model_selection import GroupKFold

    folds = GroupKFold(n_splits=min(most, len(set(groups))), shuffle=True, random_state=seed)
    yield from folds.split(groups, groups=groups)


def _scores(
    features: Mapping[str, Any],
    label: NDArray[np.bool_],
    groups: Sequence[str],
    reader: str,
    model: str,
    seed: int,
) -> Floats | None:
    """Return each item's score by a reader that has seen no item of its group."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if len(set(groups)) < 2:
        return None
    scores = np.zeros(len(label))
    for train, test in unseen_folds(groups, seed=seed):
        if label[train].all() or not label[train].any():
            return None
        # On a busy machine, threads that wait for each other cost more than they gain.
        with threadpool_limits(1):
            raw = _fitted(features, label, train, reader, model, seed)(test)
        # Folds are put on one scale: only the order within each counts.
        scores[test] = (raw - raw.mean()) / (raw.std() + 1e-12)
    return scores


def _fitted(
    features: Mapping[str, Any],
    label: NDArray[np.bool_],
    train: Indices,
    reader: str,
    model: str,
    seed: int,
) -> Callable[[Indices], Floats]:
    from scipy.sparse import csr_matrix, hstack
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_selection import chi2
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.preprocessing import StandardScaler

    words, wordy = features["words"], reader in ("words", "all")
    dense = np.hstack([features[name] for name in (READERS[1:-1] if wordy else [reader])])
    if model == "logistic":
        seen = StandardScaler().fit(dense[train]).transform(dense)
        fitted: Any = LogisticRegression(max_iter=300)
        if wordy:
            seen = hstack([words, csr_matrix(seen / 10.0)]).tocsr() if reader == "all" else words
            fitted = SGDClassifier(
                loss="log_loss", alpha=1e-5, max_iter=12, tol=None, random_state=seed
            )
        fitted.fit(seen[train], label[train])
        return lambda test: np.asarray(fitted.decision_function(seen[test]))
    if wordy:
        # The words most correlated with either label in the training rows.
        strength = np.nan_to_num(chi2(words[train], label[train])[0])
        best = words[:, np.argsort(strength)[-_BOOSTED_WORDS:]].toarray()
        dense = best if reader == "words" else np.hstack([best, dense])
    boosted = HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.2, max_leaf_nodes=15, max_bins=63, random_state=seed
    ).fit(dense[train], label[train])
    return lambda test: np.asarray(boosted.predict_proba(dense[test])[:, 1])
