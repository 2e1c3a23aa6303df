"""Quantiles and tails, held against SciPy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.stats.distributions import (
    beta_quantile,
    normal_cdf,
    normal_quantile,
    t_quantile,
    t_tail,
)

special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

PROBABILITIES = st.floats(min_value=1e-9, max_value=1.0 - 1e-9)


@given(PROBABILITIES)
def test_normal_quantiles_are_scipys(probability):
    assert normal_quantile(probability) == pytest.approx(special.ndtri(probability), abs=1e-12)


@given(st.floats(min_value=-30.0, max_value=30.0))
def test_normal_probabilities_are_scipys_into_the_tails(z):
    assert normal_cdf(z) == pytest.approx(special.ndtr(z), rel=1e-12)


@given(st.integers(min_value=1, max_value=20_000), st.floats(min_value=1e-4, max_value=0.9999))
def test_t_quantiles_are_scipys(freedom, probability):
    assert t_quantile(freedom, probability) == pytest.approx(
        special.stdtrit(freedom, probability), rel=1e-7, abs=1e-7
    )


@given(st.integers(min_value=1, max_value=5_000), st.floats(min_value=-40.0, max_value=40.0))
def test_t_tails_are_scipys(freedom, t):
    assert t_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-8, abs=1e-15)


def test_probabilities_outside_are_refused():
    for freedom, probability in ((0, 0.5), (3, 0.0), (3, 1.0), (3, math.nan)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            t_quantile(freedom, probability)


@given(st.floats(0.05, 300.0), st.floats(0.05, 300.0), st.floats(1e-4, 1.0 - 1e-4))
def test_quantiles_of_beta_are_scipys(a, b, probability):
    # Back through SciPy's distribution: near the ends a quantile may be too close to them to tell.
    found = beta_quantile(a, b, probability)
    assert 0.0 <= found <= 1.0
    expected = special.betaincinv(a, b, probability)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
    for wrong in ((0.0, 1.0, 0.5), (1.0, -1.0, 0.5), (1.0, 1.0, 1.0)):
        with pytest.raises(ValueError, match="shapes"):
            beta_quantile(*wrong)
