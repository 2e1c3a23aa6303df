import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.sampling import (
    even_allocation,
    proportional_allocation,
    split_cells,
    stratified_share,
    verdict_levels,
)

NAN = np.nan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def hajek_mean(values, probabilities, clusters=None, **how):
    """Return the mean of the population from which items were drawn with these probabilities."""
    return cluster_bootstrap(values, clusters, weights=1 / np.asarray(probabilities), **how)


def test_a_sample_by_hand():
    # Each item stands for 2, 4 and 10 of the population: (2 * 1 + 4 * 0 + 10 * 1) / 16.
    result = hajek_mean([1, 0, 1], [0.5, 0.25, 0.1], rng=rng())
    assert result.estimate == pytest.approx(12 / 16)
    assert np.isnan(result.low)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 1)), min_size=1, max_size=20))
def test_the_estimate_stays_within_the_values_and_ignores_the_scale_of_probabilities(rows):
    values, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    one = hajek_mean(values, probabilities, resamples=5, rng=rng())
    assert values.min() - 1e-9 <= one.estimate <= values.max() + 1e-9
    half = hajek_mean(values, probabilities / 2, resamples=5, rng=rng())
    assert half.estimate == pytest.approx(one.estimate, abs=1e-9)


def test_equal_probabilities_give_the_plain_clustered_interval():
    values = rng(1).random(80)
    labels = np.repeat(np.arange(40), 2)
    weighted = hajek_mean(values, np.full(80, 0.5), clusters=labels, rng=rng(2))
    plain = cluster_bootstrap(values, labels, rng=rng(2))
    assert weighted.estimate == pytest.approx(plain.estimate)
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high))
    assert (weighted.n, weighted.clusters) == (80, 40)


def test_the_average_over_all_samples_comes_close_to_the_population_mean():
    source = rng(3)
    population = source.gamma(2.0, size=500)
    probabilities = np.clip(population / 8, 0.05, 0.9)
    estimates, plain = [], []
    for _ in range(400):
        taken = source.random(500) < probabilities
        y, p = population[taken], probabilities[taken]
        estimates.append(hajek_mean(y, p, resamples=1, rng=source).estimate)
        plain.append(y.mean())
    assert np.mean(estimates) == pytest.approx(population.mean(), rel=0.02)
    assert np.mean(plain) > 1.2 * population.mean()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(0, 200))
def test_draws_are_shared_out_evenly_and_none_is_lost(sizes, n):
    given_out = even_allocation(sizes, n)
    assert sum(given_out) == min(n, sum(sizes))
    assert all(own <= size for own, size in zip(given_out, sizes, strict=True))
    # A stratum that still has items has at most one draw less than any other.
    open_ones = [own for own, size in zip(given_out, sizes, strict=True) if own < size]
    assert not open_ones or max(given_out) - min(open_ones) <= 1


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(0, 200), st.integers(0, 12)
)
def test_draws_in_proportion_leave_no_stratum_below_its_least(sizes, n, least):
    drawn = proportional_allocation(sizes, n, least=least)
    assert sum(drawn) == min(n, sum(sizes))
    assert all(own <= size for own, size in zip(drawn, sizes, strict=True))
    if n >= sum(min(size, least) for size in sizes):
        assert all(own >= min(size, least) for own, size in zip(drawn, sizes, strict=True))
    if n <= sum(sizes):
        # Nobody has more than one draw above its share, but for what it has at least.
        assert all(
            own <= max(min(size, least), n * size / max(1, sum(sizes))) + 1
            for own, size in zip(drawn, sizes, strict=True)
        )


def test_what_the_judge_said_of_the_whole_and_halves_of_its_probability():
    verdicts = np.array([[1, 1], [1, 0], [1, NAN], [0, NAN], [NAN, NAN]], dtype=float)
    chances = np.array([[0.9, 0.6], [0.9, 0.2], [0.8, NAN], [0.1, NAN], [NAN, NAN]])
    whole, half = verdict_levels(verdicts, chances)
    assert whole.tolist() == [1, 0, 1, 0, 0]
    assert half.tolist() == [0, 1, 1, 0, 0]  # of 0.6 and 0.8; of 0.2 and 0.1; none


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=60), st.integers(1, 10))
def test_cells_are_never_smaller_than_asked_and_hold_what_is_alike(rows, least):
    levels = list(np.array(rows).T)
    counted = np.arange(len(rows)) % 2 == 0
    cells = split_cells(levels, counted, least)
    sizes = np.bincount(cells, counted)
    assert len(sizes) == 1 or sizes.min() >= least
    for row in set(rows):
        assert len({cells[i] for i, one in enumerate(rows) if one == row}) == 1


# The audit of RFC-BENCH, table 2: population, sample and share of failures by category.
AUDIT_SIZES, AUDIT_DRAWN = np.array([557, 775, 315, 395]), np.array([55, 77, 47, 59])
AUDIT_RATES = np.array([2 / 55, 3 / 77, 9 / 47, 4 / 59])


def audit_coverage(sizes, drawn, rates, *, studies, rng):
    """How often intervals cover the rate of the process; equal samples are looked at once."""
    truth = float((sizes * rates).sum() / sizes.sum())
    found = rng.binomial(drawn, rates, size=(studies, len(drawn)))
    samples, times = np.unique(found, axis=0, return_counts=True)
    strata, weights = np.repeat(np.arange(len(drawn)), drawn), np.repeat(sizes / drawn, drawn)
    covered = 0
    for sample, count in zip(samples, times, strict=True):
        outcomes = np.concatenate([np.arange(n) < k for k, n in zip(sample, drawn, strict=True)])
        interval = stratified_share(outcomes, weights, strata)
        covered += count * (interval.low <= truth <= interval.high)
    return covered / studies


@pytest.mark.parametrize("category", range(4))
def test_intervals_of_an_audits_category_cover_its_rate(category):
    n, rate = int(AUDIT_DRAWN[category]), float(AUDIT_RATES[category])
    chances = binom.pmf(np.arange(n + 1), n, rate)  # of each sample: nothing is simulated
    covered = 0.0
    for faulty, chance in enumerate(chances):
        interval = stratified_share(np.arange(n) < faulty, np.full(n, 10.0))
        covered += chance * (interval.low <= rate <= interval.high)
    assert 0.93 <= covered <= 0.9705


@pytest.mark.parametrize(
    "rates",
    [AUDIT_RATES, AUDIT_RATES / 2, np.array([0.02, 0.02, 0.02, 0.25]), np.full(4, 0.01)],
    ids=["printed", "half", "one-bad", "rare"],
)
def test_intervals_of_a_stratified_audit_cover_its_rate(rates):
    rng = np.random.default_rng(2)
    found = audit_coverage(AUDIT_SIZES, AUDIT_DRAWN, rates, studies=1_500, rng=rng)
    assert 0.93 <= found <= 0.97


def test_a_share_of_pairs_from_few_clusters_is_wider_and_copies_tell_nothing():
    rng = np.random.default_rng(3)
    once = (rng.random(40) < 0.2).astype(float)
    alone = stratified_share(once, np.ones(40))
    copies = stratified_share(np.repeat(once, 3), np.ones(120), clusters=np.repeat(range(40), 3))
    assert copies.estimate == pytest.approx(alone.estimate)
    assert copies.high - copies.low == pytest.approx(alone.high - alone.low, rel=0.05)
    none = stratified_share(np.zeros(12), np.ones(12), clusters=np.repeat(range(3), 4))
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 3))


@given(st.lists(st.tuples(st.booleans(), st.floats(0.5, 20), st.integers(0, 4)), max_size=25))
def test_a_stratified_share_lies_within_its_bounds(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    found = stratified_share(columns[0], columns[1], list(columns[2]))
    if not rows:
        assert np.isnan(found.estimate)
        return
    assert 0.0 <= found.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.high <= 1.0
    assert found.high > found.low
    weights = np.array(columns[1])
    assert found.estimate == pytest.approx((weights * columns[0]).sum() / weights.sum())
    with pytest.raises(ValueError, match="weights"):
        stratified_share(columns[0], [0.0] * len(rows))
