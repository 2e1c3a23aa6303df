"""Surface diagnostics of pairs, and how well artefacts alone give a label away.

The five surface diagnostics (RFC-BENCH, appendix L, figures 14 to 18) measure how far rewrites
depart from their originals. `leakage` measures whether that departure gives a label away.

RFC-BENCH claims in appendix L that its rewrites carry no cheap cues, and shows distributions. Here
a classifier tests the claim: for each kind of artefact, a logistic regression is fitted on some
articles and judged on others. It must tell from a text alone whether it is an original or a
rewrite; on a good dataset its AUROC is 0.5.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrafact.errors import InputError, require
from contrafact.families.rfc.baseline import TEXT_FEATURES, cross_validated, text_features
from contrafact.families.rfc.data import items_of
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.families.rfc.records import MANIPULATIONS, Rewrite
from contrafact.stats.classification import auroc
from contrafact.text.diff import surface

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ARTICLES = 10
"""A manipulation with fewer articles than this is not tested by itself."""

# Words, numbers and signs, one and two in a row; hashed, so that nothing is learnt from held-out
# texts, not even a vocabulary.
_NGRAMS = {"ngram_range": (1, 2), "token_pattern": r"\w+(?:[.,]\d+)*|[%$€£]", "n_features": 1 << 18}

_ARTEFACTS = {
    "length": ("characters", "words", "characters_per_word", "distinct_words"),
    "punctuation": ("punctuation", "percent_signs", "capitals"),
    "numbers": ("numbers", "digits"),
}


def leakage(pairs: Sequence[Rewrite], *, seed: int = 0, resamples: int = 2_000) -> "pd.DataFrame":
    """Return how well each kind of artefact tells rewrites apart, in all and per manipulation.

    Columns: ``manipulation`` (one of the four, or ``all``), ``artefact``, ``auroc`` (out of fold)
    with ``auroc_low`` and ``auroc_high`` (articles are clusters), ``texts``, ``articles``.
    """
    import pandas as pd

    whole = [pair for pair in pairs if pair.original]
    if not whole:
        raise InputError(
            "no pair has its original, so no leak can be measured",
            hint="give originals back with `contrafact rfc hydrate`",
        )
    rows: list[dict[str, object]] = []
    for scope in ("all", *MANIPULATIONS):
        chosen = whole if scope == "all" else [p for p in whole if p.manipulation == scope]
        if scope != "all" and len({pair.article_id for pair in chosen}) < FEWEST_ARTICLES:
            continue
        items = items_of("rfc-detect", chosen)
        clusters, gold = [item.cluster for item in items], [item.gold for item in items]
        for artefact, features in _features([item.shown for item in items]).items():
            probabilities = cross_validated(features, gold, (FALSE, TRUE), clusters, seed=seed)
            area = auroc(
                [label == FALSE for label in gold],
                probabilities[:, 0],
                clusters,
                resamples=resamples,
                rng=np.random.default_rng(seed),
            )
            counts = {"texts": area.n, "articles": area.clusters}
            row = {"manipulation": scope, "artefact": artefact, **area.columns("auroc")}
            rows.append(row | counts)
    return pd.DataFrame(rows)


def _features(texts: Sequence[str]) -> dict[str, Any]:
    require("sklearn", "tests for leaks")
    from sklearn.feature_extraction.text import HashingVectorizer

    table = text_features(texts)
    counted = HashingVectorizer(**_NGRAMS).transform(texts)
    return {
        **{
            artefact: table[:, [TEXT_FEATURES.index(name) for name in names]]
            for artefact, names in _ARTEFACTS.items()
        },
        # Columns of n-grams that no text has tell nothing, and would take most of the time.
        "n-grams": counted[:, np.flatnonzero(counted.getnnz(axis=0))],
    }


DIAGNOSTICS: Mapping[str, str] = {
    "length_ratio": "length of the rewritten text over the original's (characters)",
    "jaccard": "words in common over all words (Jaccard)",
    "edit_distance": "character edits over the longer length",
    "punctuation_difference": "punctuation marks, rewritten less original",
    "numeric_difference": "numbers, rewritten less original",
}
"""The measures of every pair, with their units."""

_QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95}


def diagnostics(pairs: Sequence[Rewrite]) -> "pd.DataFrame":
    """Return one row per pair that has its original: its id, manipulation and five measures."""
    import pandas as pd

    rows = []
    for pair in pairs:
        if not pair.original:
            continue
        measured = surface(pair.original, pair.rewritten)
        row: dict[str, object] = {"id": pair.id, "manipulation": pair.manipulation}
        rows.append(row | {name: float(getattr(measured, name)) for name in DIAGNOSTICS})
    return pd.DataFrame(rows, columns=["id", "manipulation", *DIAGNOSTICS])


def summary(measured: "pd.DataFrame") -> "pd.DataFrame":
    """Return the measures' distribution by manipulation, in long form.

    Columns ``diagnostic``, ``manipulation`` ("all" besides the four), ``pairs``, ``mean``, ``sd``
    (NaN for one pair), ``p5``, ``median``, ``p95``.
    """
    import pandas as pd

    rows = []
    for name in DIAGNOSTICS:
        for scope in ("all", *MANIPULATIONS):
            chosen = measured if scope == "all" else measured[measured["manipulation"] == scope]
            if chosen.empty:
                continue
            values = chosen[name]
            row = {"diagnostic": name, "manipulation": scope, "pairs": len(values)}
            row |= {"mean": float(values.mean()), "sd": float(values.std())}
            row |= {key: float(values.quantile(q)) for key, q in _QUANTILES.items()}
            rows.append(row)
    columns = ["diagnostic", "manipulation", "pairs", "mean", "sd", *_QUANTILES]
    return pd.DataFrame(rows, columns=columns)
