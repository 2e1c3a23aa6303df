import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.stats.sampling_design import (
    even_allocation,
    inclusion_probabilities,
    pivotal_sample,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_probabilities_by_hand():
    # Half of the draw is uniform: 0.25 each; the other half goes 3 to 1.
    found = inclusion_probabilities([3.0, 1.0], 1, uniform=0.5)
    assert found == pytest.approx([0.5 * 0.75 + 0.25, 0.5 * 0.25 + 0.25])


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.integers(0, 35),
    st.floats(0.01, 1.0),
)
def test_probabilities_sum_to_the_draw_and_none_is_left_out(sizes, n, uniform):
    found = inclusion_probabilities(sizes, n, uniform=uniform)
    assert found.sum() == pytest.approx(min(n, len(sizes)))
    assert found.max(initial=0) <= 1 + 1e-12
    assert found.min() >= min(1.0, uniform * n / len(sizes)) - 1e-9
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(found[order]) >= -1e-9).all()


def test_items_that_come_to_one_are_certain_and_leave_the_rest_to_others():
    found = inclusion_probabilities([1000.0, 1.0, 1.0, 1.0], 2, uniform=0.01)
    assert found[0] == 1.0
    assert found[1:] == pytest.approx([1 / 3] * 3)


def test_sizes_that_say_nothing_give_a_uniform_draw():
    assert inclusion_probabilities([0.0] * 4, 2) == pytest.approx([0.5] * 4)


@pytest.mark.parametrize(
    ("sizes", "n", "uniform", "message"),
    [
        ([-1.0], 1, 0.2, "at least 0"),
        ([1.0], 1, 0.0, "uniform share"),
        ([1.0], -1, 0.2, "cannot be drawn"),
        ([np.nan], 1, 0.2, "NaN"),
    ],
)
def test_misuse_of_probabilities_is_refused(sizes, n, uniform, message):
    with pytest.raises(ValueError, match=message):
        inclusion_probabilities(sizes, n, uniform=uniform)


def test_every_item_is_drawn_with_its_probability():
    probabilities = np.array([0.05, 0.2, 0.5, 0.9, 1.0, 0.35, 0.0, 0.6, 0.4])
    strata = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    source, rounds = rng(1), 20_000
    counts = np.zeros(9)
    for _ in range(rounds):
        counts += pivotal_sample(probabilities, source, strata=strata)
    error = np.sqrt(probabilities * (1 - probabilities) / rounds)
    assert (np.abs(counts / rounds - probabilities) <= 4.5 * error).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 5), st.integers(0, 99))
def test_a_sample_has_its_size_and_so_has_every_stratum(probabilities, strata, seed):
    p = np.array(probabilities)
    codes = np.arange(len(p)) * (strata + 1) // len(p)
    drawn = pivotal_sample(p, rng(seed), strata=codes)
    assert abs(drawn.sum() - p.sum()) < 1
    for code in np.unique(codes):
        own = codes == code
        assert abs(drawn[own].sum() - p[own].sum()) < 2
    assert drawn[p == 1].all()
    assert not drawn[p == 0].any()


def test_whole_expectations_give_whole_strata():
    p = np.repeat([0.1, 0.3, 0.5], [20, 10, 4])
    for seed in range(20):
        drawn = pivotal_sample(p, rng(seed), strata=np.repeat([0, 1, 2], [20, 10, 4]))
        assert [int(drawn[:20].sum()), int(drawn[20:30].sum()), int(drawn[30:].sum())] == [2, 3, 2]


@pytest.mark.parametrize(
    ("probabilities", "strata", "message"),
    [([0.5, 1.2], None, "between 0 and 1"), ([0.5], [0, 1], "1 probabilities for 2 strata")],
)
def test_misuse_of_a_draw_is_refused(probabilities, strata, message):
    with pytest.raises(ValueError, match=message):
        pivotal_sample(probabilities, rng(), strata=strata)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(0, 200))
def test_draws_are_shared_out_evenly_and_none_is_lost(sizes, n):
    given_out = even_allocation(sizes, n)
    assert sum(given_out) == min(n, sum(sizes))
    assert all(own <= size for own, size in zip(given_out, sizes, strict=True))
    # A stratum that still has items has at most one draw less than any other.
    open_ones = [own for own, size in zip(given_out, sizes, strict=True) if own < size]
    assert not open_ones or max(given_out) - min(open_ones) <= 1
