from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from contrafact.stats import intervals
from contrafact.stats.intervals import (
    MIN_CLUSTERS,
    cluster_bootstrap,
    cluster_codes,
    cluster_sums,
    interval_from_resamples,
    resampled_sums,
)

NUMBERS = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def bounds(interval) -> tuple[float, float]:
    return interval.low, interval.high


@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_estimates_are_those_of_numpy(values):
    mean = cluster_bootstrap(values, None, resamples=10, rng=rng())
    median = cluster_bootstrap(values, None, statistic="median", resamples=10, rng=rng())
    assert mean.estimate == pytest.approx(np.mean(values), abs=1e-9)
    assert median.estimate == pytest.approx(np.median(values), abs=1e-12)
    assert mean.n == mean.clusters == len(values)


@given(
    st.lists(st.tuples(NUMBERS, st.integers(1, 4)), min_size=1, max_size=20),
    st.floats(0.01, 100),
)
def test_a_weight_counts_like_copies_at_any_scale(rows, scale):
    values = [value for value, _ in rows]
    weights = [weight * scale for _, weight in rows]
    copies = np.repeat(values, [weight for _, weight in rows])
    weighted = cluster_bootstrap(values, None, weights=weights, resamples=5, rng=rng())
    copied = cluster_bootstrap(copies, None, resamples=5, rng=rng())
    assert weighted.estimate == pytest.approx(copied.estimate, abs=1e-9)


@settings(max_examples=40)
@given(st.data())
def test_the_order_of_rows_changes_nothing(data):
    rows = data.draw(
        st.lists(
            st.tuples(NUMBERS, st.sampled_from("abcdefgh"), st.floats(0.1, 9)),
            min_size=8,
            max_size=40,
        )
    )
    shuffled = data.draw(st.permutations(rows))
    for statistic in ("mean", "median"):
        for clustered in (True, False):
            intervals = []
            for table in (rows, shuffled):
                values, labels, weights = zip(*table, strict=True)
                intervals.append(
                    cluster_bootstrap(
                        values,
                        labels if clustered else None,
                        statistic=statistic,
                        weights=weights if statistic == "mean" else None,
                        resamples=20,
                        rng=rng(3),
                    )
                )
            assert repr(intervals[0]) == repr(intervals[1])


def test_names_of_clusters_do_not_matter_to_a_mean():
    values = rng().normal(size=60)
    numbers = np.repeat(np.arange(30), 2)
    names = [f"h{(n * 7) % 30}" for n in numbers]
    one = cluster_bootstrap(values, numbers, rng=rng(5))
    other = cluster_bootstrap(values, names, rng=rng(5))
    assert bounds(one) == bounds(other)


@settings(max_examples=60)
@given(
    st.lists(NUMBERS, min_size=MIN_CLUSTERS, max_size=30, unique=True),
    st.sampled_from(["mean", "median"]),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_bounds_are_in_order_and_within_the_data(values, statistic, level):
    interval = cluster_bootstrap(
        values, None, statistic=statistic, level=level, resamples=200, rng=rng()
    )
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - slack <= interval.low <= interval.high <= max(values) + slack
    wider = cluster_bootstrap(
        values, None, statistic=statistic, level=0.999, resamples=200, rng=rng()
    )
    assert wider.low <= interval.low + slack
    assert wider.high >= interval.high - slack


def test_a_mean_of_normal_values_has_the_t_interval_even_with_few_clusters():
    for n in (8, 20, 200):
        values = scipy_stats.norm.ppf((np.arange(n) + 0.5) / n)
        interval = cluster_bootstrap(values, None, resamples=200_000, rng=rng())
        error = values.std(ddof=1) / np.sqrt(n)
        t = scipy_stats.t.ppf(0.975, n - 1) * error
        # A plain percentile interval would fall short by 24% at n = 8.
        assert interval.high - interval.low == pytest.approx(2 * t, rel=0.06 if n == 8 else 0.02)


@pytest.mark.parametrize(
    ("statistic", "n", "resamples", "near"),
    [("mean", 400, 20_000, 0.03), ("median", 401, 4_000, 0.08)],
)
def test_many_clusters_agree_with_scipy(statistic, n, resamples, near):
    values = rng(1).lognormal(size=n)
    ours = cluster_bootstrap(values, None, statistic=statistic, resamples=20_000, rng=rng(2))
    theirs = scipy_stats.bootstrap(
        (values,), getattr(np, statistic), n_resamples=resamples, method="percentile", rng=rng(3)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=near * width)
    assert ours.high == pytest.approx(theirs.high, abs=near * width)


def test_medians_of_clusters_agree_with_a_loop_over_resamples():
    source = rng(4)
    labels = source.integers(0, 25, size=70)
    values = source.normal(size=70) + labels / 10
    members = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    loop = [
        np.median(
            values[
                np.concatenate(
                    [members[i] for i in source.integers(0, len(members), size=len(members))]
                )
            ]
        )
        for _ in range(4_000)
    ]
    ours = cluster_bootstrap(values, labels, statistic="median", level=0.8, rng=rng(6))
    plain = np.quantile(loop, [0.1, 0.9])
    assert ours.low == pytest.approx(plain[0], abs=0.1)
    assert ours.high == pytest.approx(plain[1], abs=0.1)
    assert ours.low <= ours.estimate <= ours.high


def test_clusters_that_repeat_a_value_widen_the_interval_by_the_root_of_their_size():
    once = rng(1).normal(size=300)
    twice = np.repeat(once, 2)
    alone = cluster_bootstrap(once, None, rng=rng(2))
    together = cluster_bootstrap(twice, np.repeat(np.arange(300), 2), rng=rng(2))
    apart = cluster_bootstrap(twice, None, rng=rng(2))
    width = alone.high - alone.low
    assert bounds(together) == pytest.approx(bounds(alone))
    assert (apart.high - apart.low) * np.sqrt(2) == pytest.approx(width, rel=0.05)


def test_too_few_clusters_give_an_estimate_without_bounds_and_say_so():
    interval = cluster_bootstrap([1, 2, 3, 4, 5, 6, 7, 8], list("aabbccdd"), rng=rng())
    assert interval.estimate == 4.5
    assert np.isnan(bounds(interval)).all()
    assert "4 of 5 needed" in interval.method
    assert (interval.n, interval.clusters) == (8, 4)
    none = cluster_bootstrap([], [], rng=rng())
    assert np.isnan([none.estimate, none.low, none.high]).all()
    assert none.method == "no values"


def test_a_perfect_score_gets_the_exact_bounds_of_its_clusters():
    labels = np.repeat(np.arange(20), 2)
    full = cluster_bootstrap(np.ones(40), labels, rng=rng())
    exact = scipy_stats.binomtest(20, 20).proportion_ci(0.95, method="exact")
    assert bounds(full) == pytest.approx((exact.low, exact.high))
    none = cluster_bootstrap(np.zeros(40), labels, rng=rng())
    assert bounds(none) == pytest.approx((0.0, 1.0 - exact.low))
    uneven = cluster_bootstrap(np.ones(40), labels, weights=[*[50.0] * 2, *[1.0] * 38], rng=rng())
    assert uneven.low < full.low


def highest(failed: np.ndarray, labels: np.ndarray) -> float:
    return cluster_bootstrap(failed, labels, rng=rng()).high


@pytest.mark.parametrize("items", [5, 12, 36, 80])
def test_of_independent_outcomes_more_failures_never_bound_the_rate_lower(items):
    labels = np.arange(items)
    tops = [highest(labels < k, labels) for k in range(items + 1)]
    assert all(low <= high + 1e-12 for low, high in pairwise(tops))


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 30), st.integers(1, 6), st.data())
def test_failures_never_bound_the_rate_lower_than_none_or_far_below_a_part_of_them(
    clusters, size, data
):
    labels = np.repeat(np.arange(clusters), size)
    order = np.arange(len(labels))  # whole clusters after each other, or outcomes anywhere
    if data.draw(st.booleans()):
        order = rng(data.draw(st.integers(0, 99))).permutation(order)
    fewer, more = sorted(data.draw(st.tuples(*[st.integers(1, len(labels))] * 2)))
    none, some, further = (highest(order < k, labels) for k in (0, fewer, more))
    assert none <= some + 1e-12 and none <= further + 1e-12
    assert some <= further + 0.04  # a failure in a cluster that had none shows less resemblance


def test_one_failure_of_36_in_12_stories_is_bounded_no_lower_than_none_of_36():
    labels = np.repeat(np.arange(12), 3)
    none, one = highest(np.zeros(36), labels), highest(np.arange(36) == 7, labels)
    assert none == pytest.approx(one) == pytest.approx(1 - 0.025 ** (1 / 12))
    shown = cluster_bootstrap(np.arange(36) != 7, labels, rng=rng())
    assert 0.7 < shown.low < 35 / 36 < shown.high < 1.0


@pytest.mark.parametrize("clusters", [12, 30])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rate", [0.5, 0.9, 0.97])
def test_intervals_of_shares_cover_whatever_the_clusters_are_worth(clusters, correlation, rate):
    source, labels = rng(3), np.repeat(np.arange(clusters), 3)
    known: dict[tuple[int, ...], bool] = {}
    covered, studies = 0, 600
    for _ in range(studies):
        own = np.full(clusters, rate)
        if correlation == 0.5:
            own = source.beta(rate, 1 - rate, clusters)
        elif correlation == 1.0:
            own = (source.random(clusters) < rate).astype(float)
        values = source.random((clusters, 3)) < own[:, None]
        layout = tuple(np.bincount(values.sum(axis=1), minlength=4))
        if layout not in known:
            interval = cluster_bootstrap(values.ravel(), labels, rng=source)
            known[layout] = interval.low <= rate <= interval.high
        covered += known[layout]
    assert covered / studies >= 0.94


def test_a_mean_of_equal_values_claims_no_certainty_but_their_median_may():
    mean = cluster_bootstrap([0.1] * 30, None, rng=rng())
    assert mean.estimate == pytest.approx(0.1)
    assert np.isnan(bounds(mean)).all()
    assert "equal" in mean.method
    median = cluster_bootstrap([0.1] * 30, None, statistic="median", rng=rng())
    assert bounds(median) == (0.1, 0.1)


def test_undefined_resamples_are_left_out_and_counted_until_there_are_too_many():
    draws = rng().normal(size=1_000)
    draws[:20] = np.nan
    some = interval_from_resamples(0.0, draws, n=50, clusters=50, level=0.95)
    assert some.low < 0 < some.high
    assert "2.0%" in some.method
    draws[:60] = np.nan
    many = interval_from_resamples(0.0, draws, n=50, clusters=50, level=0.95)
    assert np.isnan(many.low)
    assert "6%" in many.method


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [1.0, float("nan"), 2.0]}, "NaN"),
        ({"values": [[1.0, 2.0, 3.0]]}, "one-dimensional"),
        ({"clusters": ["a", "b"]}, "2 cluster labels for 3 values"),
        ({"clusters": ["a", None, "b"]}, "label is missing"),
        ({"clusters": np.array([1.0, np.nan, 2.0])}, "label is missing"),
        ({"weights": [1.0, 0.0, 1.0]}, "positive"),
        ({"weights": [1.0, 1.0]}, "one per value"),
        ({"weights": [1.0, 1.0, 1.0], "statistic": "median"}, "of a mean"),
        ({"level": 95}, "between 0 and 1"),
        ({"resamples": 0}, "at least 1"),
        ({"statistic": "mode"}, "'mean' or 'median'"),
    ],
)
def test_misuse_is_refused(change, message):
    arguments = {"values": [1.0, 2.0, 3.0], "clusters": None, "rng": rng(), **change}
    with pytest.raises(ValueError, match=message):
        cluster_bootstrap(**arguments)


def test_both_ways_of_drawing_clusters_have_one_distribution(monkeypatch):
    kinds = np.array([[0.0, 2.0], [1.0, 2.0], [2.0, 2.0], [1.0, 1.0]])
    sums = kinds[rng(1).integers(0, 4, size=200)]
    by_kind = resampled_sums(sums, 20_000, rng(2))
    monkeypatch.setattr(intervals, "_BINOMIAL_COST", 1_000)
    by_index = resampled_sums(sums, 20_000, rng(3))
    np.testing.assert_allclose(by_kind.mean(axis=0), by_index.mean(axis=0), rtol=0.005)
    np.testing.assert_allclose(np.cov(by_kind.T), np.cov(by_index.T), rtol=0.08, atol=2)
    test = scipy_stats.ks_2samp(by_kind[:, 0], by_index[:, 0])
    assert test.pvalue > 1e-3


def test_chunks_are_invisible_and_bound_the_memory(monkeypatch):
    values = rng(1).normal(size=300)
    labels = np.repeat(np.arange(150), 2)
    sizes = []
    drawn = intervals.resampled_counts

    def watched(*arguments, **options):
        for counts in drawn(*arguments, **options):
            sizes.append(counts.shape)
            yield counts

    monkeypatch.setattr(intervals, "resampled_counts", watched)
    whole = resampled_sums(_sums(values, labels), 1_000, rng(2))
    monkeypatch.setattr(intervals, "_CHUNK_CELLS", 1_500)
    chunked = resampled_sums(_sums(values, labels), 1_000, rng(2))
    np.testing.assert_allclose(whole, chunked)
    assert sizes[0] == (1_000, 150)
    assert set(sizes[1:]) == {(10, 150)}


def _sums(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    codes, clusters = cluster_codes(labels, len(values))
    return cluster_sums(np.stack([values, np.ones_like(values)], axis=1), codes, clusters)
