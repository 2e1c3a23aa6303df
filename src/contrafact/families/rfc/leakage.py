"""What pairs look like on the surface, and how well artefacts alone give a label away.

The five surface diagnostics (RFC-BENCH, appendix L, figures 14 to 18) say how far rewrites depart
from their originals. Whether that departure gives a label away is another question, which the
battery answers.

RFC-BENCH claims in appendix L that its rewrites carry no cheap cues, and shows distributions. Here
a classifier tries: for each kind of artefact, a logistic regression is fitted on some articles and
judged on others. What it is to tell is whether a text is an original or a rewrite, from that text
alone; a good data set leaves 0.5.
"""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError, require
from contrafact.families.rfc.baseline import (
    TEXT_FEATURES,
    cross_validated,
    text_features,
)
from contrafact.families.rfc.data import Item, items_of
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.files.atomic import write_bytes
from contrafact.records import MANIPULATIONS, Rewrite
from contrafact.stats.classification import auroc
from contrafact.stats.intervals import Interval
from contrafact.text.diff import surface

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DIAGNOSTICS",
    "FEWEST_ARTICLES",
    "Probe",
    "as_frame",
    "diagnostics",
    "draw_diagnostics",
    "leakage",
    "leaks",
    "summary",
]

FEWEST_ARTICLES = 10
"""A manipulation with fewer articles than this is not probed by itself."""

# Words, numbers and signs, one and two in a row; hashed, so that nothing is learnt from held-out
# texts, not even a vocabulary.
_NGRAMS = {"ngram_range": (1, 2), "token_pattern": r"\w+(?:[.,]\d+)*|[%$€£]", "n_features": 1 << 18}

_LENGTH = ("characters", "words", "characters_per_word", "distinct_words")
_PUNCTUATION = ("punctuation", "percent_signs", "capitals")
_NUMBERS = ("numbers", "digits")


@dataclass(frozen=True)
class Probe:
    """What one kind of artefact gives away.

    Attributes:
        manipulation: The pairs looked at: one of the four, or ``all``.
        artefact: What the classifier was given.
        figure: The AUROC, out of fold, with its interval over articles.
    """

    manipulation: str
    artefact: str
    figure: Interval


def leakage(
    pairs: Sequence[Rewrite],
    *,
    perplexity: Mapping[str, float] | None = None,
    seed: int = 0,
    level: float = 0.95,
    resamples: int = 2_000,
) -> list[Probe]:
    """Return every probe, of all pairs and of each manipulation.

    Args:
        pairs: Pairs; those without an original cannot be probed and are left out.
        perplexity: The perplexity of every text, original and rewritten; none leaves that probe
            out.
        seed: Seed of folds and resamples.
        level: Confidence level of the intervals.
        resamples: How many times articles are drawn.

    Raises:
        InputError: if fewer than two articles have pairs with originals.
    """
    whole = [pair for pair in pairs if pair.original]
    if not whole:
        raise InputError(
            "no pair has its original, so nothing can be probed",
            hint="give originals back with `contrafact rfc hydrate`",
        )
    settings: dict[str, Any] = {"seed": seed, "level": level, "resamples": resamples}
    found: list[Probe] = []
    for scope in ("all", *MANIPULATIONS):
        chosen = whole if scope == "all" else [p for p in whole if p.manipulation == scope]
        few = len({pair.article_id for pair in chosen}) < FEWEST_ARTICLES
        if few and scope != "all":
            continue
        items = items_of("rfc-detect", chosen)
        for name, features in _text_probes(items, perplexity).items():
            found.append(_detection(scope, name, features, items, **settings))
    return found


def leaks(probes: Sequence[Probe], most: float) -> list[Probe]:
    """Return the probes whose AUROC is above what is allowed."""
    return [probe for probe in probes if probe.figure.estimate > most]


def as_frame(probes: Sequence[Probe]) -> "pd.DataFrame":
    """Return probes as a table: a row each, the interval in ``low`` and ``high``."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "manipulation": probe.manipulation,
                "artefact": probe.artefact,
                "auroc": probe.figure.estimate,
                "auroc_low": probe.figure.low,
                "auroc_high": probe.figure.high,
                "texts": probe.figure.n,
                "articles": probe.figure.clusters,
            }
            for probe in probes
        ]
    )


def _text_probes(items: Sequence[Item], perplexity: Mapping[str, float] | None) -> dict[str, Any]:
    texts = [item.shown for item in items]
    table = text_features(texts)
    probes: dict[str, Any] = {
        "length": table[:, [TEXT_FEATURES.index(name) for name in _LENGTH]],
        "punctuation": table[:, [TEXT_FEATURES.index(name) for name in _PUNCTUATION]],
        "numbers": table[:, [TEXT_FEATURES.index(name) for name in _NUMBERS]],
    }
    if perplexity is not None:
        probes["perplexity"] = _surprise(texts, perplexity)
    return probes | {"n-grams": _ngrams(texts)}


def _surprise(texts: Sequence[str], perplexity: Mapping[str, float]) -> NDArray[np.float64]:
    # Perplexities are skewed; their logarithms are not.
    return np.array([[math.log(perplexity[text])] for text in texts])


def _ngrams(texts: Sequence[str]) -> Any:
    require("sklearn", "tests for leaks")
    from sklearn.feature_extraction.text import HashingVectorizer

    counted = HashingVectorizer(**_NGRAMS).transform(texts)
    # Columns that no text of this set has tell nothing, and would cost most of the time.
    return counted[:, np.flatnonzero(counted.getnnz(axis=0))]


def _detection(
    scope: str,
    name: str,
    features: Any,
    items: Sequence[Item],
    *,
    seed: int,
    level: float,
    resamples: int,
) -> Probe:
    clusters = [item.cluster for item in items]
    gold = [item.gold for item in items]
    found = cross_validated(features, gold, (FALSE, TRUE), clusters, seed=seed)
    area = auroc(
        [label == FALSE for label in gold],
        found[:, 0],
        clusters,
        level=level,
        resamples=resamples,
        rng=np.random.default_rng(seed),
    )
    return Probe(scope, name, area)


DIAGNOSTICS: Mapping[str, str] = {
    "length_ratio": "length of the rewritten text over the original's (characters)",
    "jaccard": "words in common over all words (Jaccard)",
    "edit_distance": "character edits over the longer length",
    "punctuation_difference": "punctuation marks, rewritten less original",
    "numeric_difference": "numbers, rewritten less original",
}
"""What is measured of every pair, and in which unit."""

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
    """Return the measures' distribution by manipulation, in the table's long form.

    Returns:
        Columns ``diagnostic``, ``manipulation`` ("all" besides the four), ``pairs``, ``mean``,
        ``sd`` (NaN for one pair), ``p5``, ``median``, ``p95``.
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


def draw_diagnostics(measured: "pd.DataFrame", folder: Path) -> list[Path]:
    """Draw each diagnostic as boxes by manipulation, as PNG and SVG, and return the files.

    Boxes reach from the first to the third quartile, whiskers from 5% to 95%; the dashed line is
    where a rewrite like its original would lie.
    """
    require("matplotlib", "figures")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    neutral = {"length_ratio": 1.0, "jaccard": 1.0}
    present = [name for name in MANIPULATIONS if (measured["manipulation"] == name).any()]
    written = []
    for name, meaning in DIAGNOSTICS.items():
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.add_subplot()
        values = [measured.loc[measured["manipulation"] == kind, name] for kind in present]
        axes.axhline(neutral.get(name, 0.0), color="#8a929c", linewidth=1.0, linestyle="--")
        axes.boxplot(values, tick_labels=present, whis=(5, 95), widths=0.5, showfliers=False)
        axes.set_ylabel(meaning, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        for kind in ("png", "svg"):
            sink = io.BytesIO()
            # Without a date and with a fixed salt, the same data draw the same bytes.
            with mpl.rc_context({"svg.hashsalt": "contrafact"}):
                metadata = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(sink, format=kind, dpi=150, metadata=metadata)
            path = folder / f"{name}.{kind}"
            write_bytes(path, sink.getvalue())
            written.append(path)
    return written
