"""Rates of clustered outcomes: their intervals, what they are worth, and differences of groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from contrafact.stats.intervals import (
    clustered_proportion,
    difference_between_groups,
    effective_number,
    standard_error,
)


@given(st.integers(0, 80), st.integers(5, 80))
def test_independent_outcomes_have_the_wilson_interval_of_statsmodels(k, n):
    k = min(k, n)
    found = clustered_proportion(np.r_[np.ones(k), np.zeros(n - k)])
    low, high = proportion_confint(k, n, method="wilson")
    assert (found.k, found.n, found.clusters) == (k, n, n)
    if 0 < k < n:  # the usual variance divides by n - 1: one outcome less in effect
        assert found.n_effective == pytest.approx(n - 1)
        low, high = proportion_confint(k * (n - 1) / n, n - 1, method="wilson")
    assert (found.low, found.high) == pytest.approx((max(0, low), min(1, high)), abs=1e-9)


def test_copies_of_an_outcome_are_worth_one():
    once = np.r_[np.ones(30), np.zeros(10)]
    copies = np.repeat(once, 3)
    labels = np.repeat(np.arange(40), 3)
    assert effective_number(copies, labels) == pytest.approx(39)
    assert effective_number(copies) == pytest.approx(119)
    one, three = clustered_proportion(once), clustered_proportion(copies, labels)
    assert three.estimate == one.estimate
    assert three.high - three.low >= one.high - one.low


def test_all_right_has_an_upper_bound_of_one_and_counts_clusters():
    found = clustered_proportion(np.ones(60), np.repeat(np.arange(20), 3))
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(proportion_confint(19, 19, method="wilson")[0], abs=0.02)


def test_few_clusters_have_no_bounds_and_none_no_estimate():
    assert np.isnan(clustered_proportion([1, 0, 1, 1]).low)
    assert np.isnan(clustered_proportion([]).estimate)
    with pytest.raises(ValueError, match="0 or 1"):
        clustered_proportion([0.5])


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("clusters", [20, 80])
def test_the_interval_of_clustered_outcomes_covers_the_rate(rate, clusters):
    rng = np.random.default_rng(1)
    covered, studies = 0, 2_000
    for _ in range(studies):
        shared = rng.random((clusters, 1)) < rate
        alike = rng.random((clusters, 2)) < np.sqrt(0.5)
        own = rng.random((clusters, 2)) < rate
        outcomes = np.where(alike, shared, own).astype(float).ravel()
        found = clustered_proportion(outcomes, np.repeat(np.arange(clusters), 2))
        covered += found.low <= rate <= found.high
    assert 0.93 <= covered / studies <= 0.985


def test_a_difference_of_groups_is_that_of_their_means_and_resamples_clusters():
    rng = np.random.default_rng(0)
    values, group = rng.random(200), np.arange(200) % 2
    found = difference_between_groups(values, group, None, rng=rng)
    expected = values[group == 1].mean() - values[group == 0].mean()
    assert found.estimate == pytest.approx(expected)
    assert found.low < expected < found.high
    shared = np.repeat(rng.random(40), 5)
    groups = np.repeat(np.arange(40) % 2, 5)
    alone = difference_between_groups(shared, groups, None, rng=rng)
    whole = difference_between_groups(shared, groups, np.repeat(np.arange(40), 5), rng=rng)
    assert whole.high - whole.low > 1.8 * (alone.high - alone.low)


def test_a_difference_from_an_empty_group_is_undefined():
    found = difference_between_groups([1.0] * 6, [1] * 6, None, rng=np.random.default_rng(0))
    assert np.isnan(found.estimate)
    assert np.isnan(found.low)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6)), min_size=2, max_size=40))
def test_a_clustered_standard_error_is_that_of_the_clusters_sums(rows):
    values, clusters = (list(column) for column in zip(*rows, strict=True))
    found = standard_error(values, clusters)
    # Every value once more in its cluster tells nothing new.
    again = standard_error(values * 2, clusters * 2)
    assert np.isnan(found) == (len(set(clusters)) < 2)
    if not np.isnan(found):
        assert again == pytest.approx(found, abs=1e-12)
        alone = standard_error([*values, np.nan], [*clusters, 99])
        assert alone == pytest.approx(found, abs=1e-12)
    own = standard_error(values)
    assert own == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(values)), abs=1e-9)
