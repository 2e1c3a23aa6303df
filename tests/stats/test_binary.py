"""A rater against a reference: the counts of CoBe's appendix C.3, and scikit-learn's figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from contrafact.stats.binary import binary_figures


def figures(reference, rater, **options):
    return binary_figures(reference, rater, resamples=500, rng=np.random.default_rng(0), **options)


def test_the_counts_of_cobes_study_give_its_figures():
    reference = np.repeat([1, 0, 1, 0], [46, 2, 21, 31])
    rater = np.repeat([1, 1, 0, 0], [46, 2, 21, 31])
    found = figures(reference, rater)
    assert (found.both, found.only_rater, found.only_reference, found.neither) == (46, 2, 21, 31)
    assert found.accuracy.estimate == 0.77
    assert round(found.precision.estimate, 3) == 0.958
    assert round(found.recall.estimate, 3) == 0.687
    assert round(found.f1.estimate, 2) == 0.80
    assert found.f1.low < 0.80 < found.f1.high


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_estimates_are_those_of_scikit_learn(pairs):
    reference, rater = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = figures(reference, rater)
    expected = metrics.precision_recall_fscore_support(
        reference, rater, average="binary", zero_division=np.nan
    )
    got = (found.precision.estimate, found.recall.estimate, found.f1.estimate)
    np.testing.assert_allclose(got, expected[:3])
    assert found.accuracy.estimate == pytest.approx(metrics.accuracy_score(reference, rater))


def test_clusters_widen_and_misuse_is_refused():
    reference = np.tile([1, 1, 0, 0, 1], 20)
    rater = np.tile([1, 0, 0, 1, 1], 20)
    rater[::7] = 1 - rater[::7]
    order = np.argsort(rater == reference, kind="stable")
    labels = np.arange(100) // 5
    alone = figures(reference[order], rater[order]).f1
    whole = figures(reference[order], rater[order], clusters=labels).f1
    assert whole.high - whole.low > 1.4 * (alone.high - alone.low)
    with pytest.raises(ValueError, match="pair up"):
        figures([1, 0], [1])
    with pytest.raises(ValueError, match="0 or 1"):
        figures([2.0], [1.0])
