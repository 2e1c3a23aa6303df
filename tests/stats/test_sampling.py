import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.sampling import horvitz_thompson_mean


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_sample_by_hand():
    # Each item stands for 2, 4 and 10 of the population: (2 * 1 + 4 * 0 + 10 * 1) / 16.
    result = horvitz_thompson_mean([1, 0, 1], [0.5, 0.25, 0.1], rng=rng())
    assert result.estimate == pytest.approx(12 / 16)
    assert result.method.startswith("Hajek ratio")
    assert np.isnan(result.low)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 1)), min_size=1, max_size=20))
def test_the_estimate_stays_within_the_values_and_ignores_the_scale_of_probabilities(rows):
    values, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    one = horvitz_thompson_mean(values, probabilities, resamples=5, rng=rng())
    assert values.min() - 1e-9 <= one.estimate <= values.max() + 1e-9
    half = horvitz_thompson_mean(values, probabilities / 2, resamples=5, rng=rng())
    assert half.estimate == pytest.approx(one.estimate, abs=1e-9)


def test_equal_probabilities_give_the_plain_clustered_interval():
    values = rng(1).random(80)
    labels = np.repeat(np.arange(40), 2)
    weighted = horvitz_thompson_mean(values, np.full(80, 0.5), clusters=labels, rng=rng(2))
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
        estimates.append(horvitz_thompson_mean(y, p, resamples=1, rng=source).estimate)
        plain.append(y.mean())
    assert np.mean(estimates) == pytest.approx(population.mean(), rel=0.02)
    assert np.mean(plain) > 1.2 * population.mean()


@pytest.mark.parametrize(
    ("values", "probabilities", "message"),
    [
        ([1.0, 2.0], [0.5, 0.0], "above 0 and at most 1"),
        ([1.0, 2.0], [0.5, 1.1], "above 0 and at most 1"),
        ([1.0, 2.0], [0.5], "one per value"),
        ([1.0, np.nan], [0.5, 0.5], "NaN"),
        ([1.0, 2.0], [0.5, np.nan], "probabilities hold NaN"),
    ],
)
def test_misuse_of_a_sample_is_refused(values, probabilities, message):
    with pytest.raises(ValueError, match=message):
        horvitz_thompson_mean(values, probabilities, rng=rng())
