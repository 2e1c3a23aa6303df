from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.paired import (
    EXACT_CLUSTERS,
    clusters_needed,
    holm,
    paired_comparison,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 7)),
        min_size=1,
        max_size=20,
    )
)
def test_few_clusters_get_the_p_value_of_every_pattern_of_signs(rows):
    a, b, labels = (np.array(column) for column in zip(*rows, strict=True))
    sums = [(a - b)[labels == label].sum() for label in np.unique(labels)]
    patterns = [np.dot(signs, sums) for signs in product([1, -1], repeat=len(sums))]
    by_hand = np.mean(np.abs(patterns) >= abs(sum(sums)))
    result = paired_comparison(a, b, labels, resamples=10, rng=rng())
    assert result.p_value == pytest.approx(by_hand)
    assert result.difference == pytest.approx((a - b).mean())


def test_singletons_agree_with_scipys_permutation_test():
    source = rng(3)
    a, b = source.normal(0.3, 1, size=(2, 12))
    theirs = scipy_stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert paired_comparison(a, b, None, rng=rng()).p_value == pytest.approx(theirs.pvalue)


def test_random_patterns_come_close_to_the_p_value_of_all():
    source = rng(4)
    a = source.normal(0.35, 1, size=EXACT_CLUSTERS)
    b = np.zeros_like(a)
    exact = paired_comparison(a, b, None, rng=rng())
    assert "exact" in exact.method
    # A seventeenth cluster with next to no difference forces random patterns.
    sampled = paired_comparison([*a, 1e-12], [*b, 0.0], None, resamples=40_000, rng=rng())
    assert "random" in sampled.method
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.01)


def test_a_binary_comparison_of_singletons_is_mcnemars_exact_test():
    a = np.array([1] * 13 + [0] * 3 + [1] * 9 + [0] * 7)
    b = np.array([0] * 13 + [1] * 3 + [1] * 9 + [0] * 7)
    result = paired_comparison(a, b, None, rng=rng())
    # Ties move no pattern: only the 16 items that differ are enumerated.
    assert "16 clusters" in result.method
    table = [[9, 13], [3, 7]]
    assert result.p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)


@settings(max_examples=40)
@given(st.data())
def test_the_order_of_rows_and_of_systems_does_not_matter(data):
    numbers = st.floats(-9, 9).map(lambda x: round(x, 2))
    rows = data.draw(
        st.lists(st.tuples(numbers, numbers, st.integers(0, 30)), min_size=1, max_size=60)
    )
    shuffled = data.draw(st.permutations(rows))
    results = []
    for table in (rows, shuffled):
        a, b, labels = zip(*table, strict=True)
        results.append(paired_comparison(a, b, labels, resamples=30, rng=rng(1)))
    assert repr(results[0]) == repr(results[1])
    a, b, labels = zip(*rows, strict=True)
    swapped = paired_comparison(b, a, labels, resamples=30, rng=rng(1))
    assert swapped.difference == pytest.approx(-results[0].difference, abs=1e-12)
    if "exact" in swapped.method:
        assert swapped.p_value == pytest.approx(results[0].p_value)


def test_the_interval_is_that_of_the_differences():
    source = rng(1)
    a, b = source.normal(size=(2, 80))
    labels = np.repeat(np.arange(40), 2)
    result = paired_comparison(a, b, labels, rng=rng(2))
    alone = cluster_bootstrap(a - b, labels, rng=rng(2))
    assert (result.low, result.high) == (alone.low, alone.high)
    assert (result.n, result.clusters) == (80, 40)


def test_a_paired_comparison_sees_what_two_intervals_cannot():
    source = rng(1)
    level = np.repeat(source.normal(0, 5, size=200), 2)
    labels = np.repeat(np.arange(200), 2)
    a = level + 0.3 + source.normal(size=400)
    b = level + source.normal(size=400)
    result = paired_comparison(a, b, labels, rng=rng(2))
    assert result.low > 0
    assert result.p_value < 0.01
    one, other = (cluster_bootstrap(x, labels, rng=rng(2)) for x in (a, b))
    assert one.low < other.high


@pytest.mark.parametrize("n", [17, 25, 50, 400])
def test_a_p_value_of_random_patterns_is_never_under_that_of_all(n):
    result = paired_comparison(np.ones(n), np.zeros(n), None, resamples=99, rng=rng())
    assert 2 * 0.5**n < result.p_value <= 1 / 100
    # As many comparisons as forty systems have tell such a difference all the same.
    if n >= 50:
        assert holm([result.p_value] + [1.0] * 779)[0] < 0.001


def test_the_bound_of_random_patterns_is_for_none_as_far_out_alone():
    a = [1.0] * 14 + [-1.0] * 6  # of all patterns 11.5% are as far out
    result = paired_comparison(a, np.zeros(20), None, resamples=20_000, rng=rng())
    assert "Hoeffding" not in result.method and result.p_value == pytest.approx(0.115, abs=0.01)


def test_systems_that_agree_everywhere_get_a_p_value_of_one_and_no_bounds():
    values = rng().random(30)
    result = paired_comparison(values, values, None, rng=rng())
    assert (result.difference, result.p_value) == (0.0, 1.0)
    assert np.isnan([result.low, result.high]).all()
    assert "same value" in result.method


def test_few_clusters_and_none():
    few = paired_comparison([1, 1, 1], [0, 0, 0], list("abc"), rng=rng())
    assert few.p_value == 2 / 8
    assert np.isnan(few.low)
    assert "3 of 5 needed" in few.method
    none = paired_comparison([], [], [], rng=rng())
    assert np.isnan([none.difference, none.p_value]).all()


@pytest.mark.parametrize(
    ("a", "b", "clusters", "message"),
    [
        ([1.0, 2.0], [1.0], None, "pair up"),
        ([1.0, np.nan], [1.0, 1.0], None, "NaN"),
        ([1.0, 2.0], [1.0, 1.0], ["a"], "cluster labels"),
    ],
)
def test_misuse_of_a_comparison_is_refused(a, b, clusters, message):
    with pytest.raises(ValueError, match=message):
        paired_comparison(a, b, clusters, rng=rng())


@settings(max_examples=15)  # statsmodels collects garbage at each call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@pytest.mark.slow
def test_holm_agrees_with_statsmodels(pvalues):
    expected = multipletests(pvalues, method="holm")[1]
    np.testing.assert_allclose(holm(pvalues), expected, atol=1e-12)


def test_holm_leaves_out_tests_that_could_not_be_made():
    adjusted = holm([0.04, float("nan"), 0.01])
    np.testing.assert_allclose(adjusted, [0.04, np.nan, 0.02])
    assert len(holm([])) == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])


def exact_power(sums: list[int], clusters: int, planned: int, level: float) -> float:
    """Return how many studies drawn from these clusters are significant, by all patterns."""
    values, seen = np.unique([*sums, *[0] * (clusters - len(sums))], return_counts=True)
    drawn = rng(1).multinomial(planned, seen / clusters, size=1_500)
    rows, often = np.unique(drawn, axis=0, return_counts=True)
    found = 0
    for row, times in zip(rows, often, strict=True):
        flipped = np.ones(1)
        for value, number in zip(values, row, strict=True):
            if value:
                step = np.zeros(2 * abs(value) * number + 1)
                step[:: 2 * abs(value)] = scipy_stats.binom.pmf(np.arange(number + 1), number, 0.5)
                flipped = np.convolve(flipped, step)
        middle, reached = len(flipped) // 2, abs(int(values @ row))
        p = flipped[middle + reached :].sum() + flipped[: middle + 1 - reached].sum()
        found += times * (p <= level + 1e-12)
    return found / drawn.shape[0]


@pytest.mark.parametrize(
    ("sums", "clusters", "tests"),
    [
        ([1, 1, 1, -1], 12, 2),
        ([1, 1, 1], 12, 1),
        ([1] * 6 + [2] * 3 + [-1] * 3 + [-2], 30, 1),
        ([1] * 9 + [3] * 4 + [-1] * 6, 40, 4),
        ([1, 1, 4], 20, 1),
        ([-1, -2, -3, -4, 1, 2], 14, 1),
    ],
)
def test_so_many_clusters_find_the_difference_in_four_of_five_studies(sums, clusters, tests):
    wanted = clusters_needed(sums, clusters, tests=tests, rng=rng())
    level = 0.05 / tests
    assert exact_power(sums, clusters, wanted, level) == pytest.approx(0.8, abs=0.03)
    assert exact_power(sums, clusters, wanted * 8 // 10, level) < 0.78


def test_how_many_clusters_are_needed_of_all_that_differ_and_of_none():
    assert clusters_needed([1] * 6, 6, tests=1, rng=rng()) == 6
    assert clusters_needed([1] * 8, 8, tests=10, rng=rng()) == 9
    assert clusters_needed([], 9, tests=1, rng=rng()) == 0
    assert clusters_needed([2, -1, -1], 9, tests=1, rng=rng()) == 0
    a, b, labels = [1, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 1], list("aabbcc")
    assert paired_comparison(a, b, labels, rng=rng()).sums == (-1.0, 2.0)
    assert paired_comparison(b, a, labels, rng=rng()).sums == (-2.0, 1.0)
