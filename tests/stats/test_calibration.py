"""Brier's score is scikit-learn's, and the calibration error its definition's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from contrafact.stats.classification import brier, calibration_error

LABELS = ("numerical", "flipping", "sentiment", "causal")


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40))
def test_of_two_labels_it_is_scikit_learns_brier_score(items):
    gold = ["true" if y else "false" for y, _ in items]
    p = [[q, 1 - q] for _, q in items]
    found = brier(gold, p, ("true", "false"), None, rng=rng(), resamples=5).estimate
    expected = brier_score_loss([y for y, _ in items], [q for _, q in items], labels=[0, 1])
    assert found == pytest.approx(expected)


weighed = st.tuples(st.sampled_from(LABELS), st.lists(st.integers(1, 5), min_size=4, max_size=4))


@settings(max_examples=40)
@given(st.lists(weighed, min_size=1, max_size=40))
def test_brier_lies_between_0_and_1_and_is_0_for_certain_and_right(items):
    gold = [label for label, _ in items]
    p = np.array([np.array(row) / sum(row) for _, row in items])

    def score(p):
        return brier(gold, p, LABELS, None, rng=rng(), resamples=5).estimate

    assert 0 <= score(p) <= 1
    certain = [[float(label == name) for name in LABELS] for label in gold]
    assert score(certain) == 0
    assert score(np.roll(certain, 1, axis=1)) == 1


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=60))
def test_the_calibration_error_is_the_bins_mean_distance(items):
    y, p = zip(*items, strict=True)
    bins = {}
    for right, probability in items:
        bins.setdefault(min(int(probability * 10), 9), []).append(right - probability)
    expected = sum(abs(sum(apart)) for apart in bins.values()) / len(items)
    assert calibration_error(y, p, None, rng=rng(), resamples=5).estimate == pytest.approx(expected)


def test_what_says_what_is_so_has_a_small_error_and_an_overconfident_one_a_large():
    noise = np.random.default_rng(3)
    p = noise.uniform(0.3, 0.9, 4000)
    right = noise.random(4000) < p
    clusters = np.arange(4000) // 4
    honest = calibration_error(right, p, clusters, rng=rng(), resamples=500)
    assert honest.estimate < 0.03
    assert honest.low <= honest.estimate <= honest.high
    sure = calibration_error(right, np.full(4000, 0.99), clusters, rng=rng(), resamples=500)
    assert sure.estimate == pytest.approx(0.99 - right.mean())
    assert sure.low > honest.high


def test_the_interval_holds_the_error_of_the_population_about_as_often_as_it_says():
    noise = np.random.default_rng(11)
    held = 0
    for _ in range(200):
        p = noise.choice([0.55, 0.75, 0.95], 300)
        right = noise.random(300) < p - 0.2  # the error is 0.2 in every bin
        found = calibration_error(right, p, np.arange(300), rng=noise, resamples=300)
        held += found.low <= 0.2 <= found.high
    assert 0.90 <= held / 200 <= 1.0


def test_the_order_of_rows_changes_no_seeded_figure():
    noise = np.random.default_rng(5)
    y, p, c = noise.integers(0, 2, 80), noise.random(80), noise.integers(0, 20, 80)
    order = noise.permutation(80)
    assert calibration_error(y, p, c, rng=rng(), resamples=300) == calibration_error(
        y[order], p[order], c[order], rng=rng(), resamples=300
    )


def test_what_is_no_probability_is_refused():
    for y, p, message in (
        ([1], [1.2], "outside"),
        ([1], [math.nan], "NaN"),
        ([1, 0], [0.5], "for"),
    ):
        with pytest.raises(ValueError, match=message):
            calibration_error(y, p, None, rng=rng(), resamples=5)
    with pytest.raises(ValueError, match="not in the label space"):
        brier(["x"], [[0.5, 0.5]], ("a", "b"), None, rng=rng(), resamples=5)
    assert math.isnan(calibration_error([], [], None, rng=rng(), resamples=5).estimate)
