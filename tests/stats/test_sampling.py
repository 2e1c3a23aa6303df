import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.sampling import (
    Draw,
    difference_estimate,
    even_allocation,
    expected_labels,
    horvitz_thompson_mean,
    inclusion_probabilities,
    pivotal_sample,
    proportional_allocation,
    split_cells,
    stratified_share,
    verdict_levels,
)


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


NAN = np.nan


def codes(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.intp)


def none(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.intp)


def test_expectations_by_hand():
    # Level 0: two labels, 1 and 0, and the guess 0.8 as four: (1 + 3.2) / 6 = 0.7.
    # Its cell in group 0 has both: (1 + 4 * 0.7) / 6; its cell in group 1 has none: 0.7.
    labels = np.array([1.0, 0.0, NAN, NAN])
    found = expected_labels(
        np.array([0.8, 0.8, 0.8, 0.2]), codes(0, 0, 0, 1), codes(0, 0, 1, 1), labels
    )
    assert found.mean == pytest.approx([3.8 / 6, 3.8 / 6, 0.7, 0.2])
    # A mean of 0.2 counts as five labels there: so many hold one of the rarer kind.
    assert found.variance[3] == pytest.approx(0.16 * 1.2)


def a_draw(p, drawn, labels) -> Draw:
    """A draw from the items that had no label then."""
    given_before = ~np.isnan(labels)
    return Draw(np.where(given_before, NAN, p), drawn, given_before)


def test_a_draw_by_hand():
    # Four items, of which one was drawn with probability 1/4 and found to be 1 where 0.5 was
    # expected: (4 * 0.5 + 0.5 / 0.25) / 4.
    draw = a_draw(np.full(4, 0.25), np.array([True, False, False, False]), np.full(4, NAN))
    labels = np.array([1.0, NAN, NAN, NAN])
    expected = expected_labels(np.full(4, 0.5), none(4), none(4), np.full(4, NAN))
    found = difference_estimate(labels, expected, draw)
    assert found.estimate == 1.0
    assert np.isnan(found.low)
    assert "fewer than 5" in found.method


def test_all_labels_give_the_plain_mean_and_leave_nothing_open():
    labels = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    draw = a_draw(np.ones(6), np.ones(6, dtype=bool), np.full(6, NAN))
    expected = expected_labels(np.full(6, 0.2), none(6), none(6), labels)
    found = difference_estimate(labels, expected, draw)
    assert (found.low, found.estimate, found.high) == pytest.approx((2 / 3,) * 3)


def test_labels_given_beforehand_are_known_and_stand_for_no_other():
    # Only failures had been labelled, not at random; the draw is from the rest, all of it 1.
    labels = np.full(200, NAN)
    labels[:50] = 0.0
    drawn = np.zeros(200, dtype=bool)
    drawn[50:80] = True
    draw = a_draw(np.full(200, 0.2), drawn, labels)
    labels[50:80] = 1.0
    expected = expected_labels(np.full(200, 0.5), none(200), none(200), labels)
    found = difference_estimate(labels, expected, draw)
    assert found.estimate == pytest.approx(0.75)
    assert found.n == 80


def test_what_was_drawn_and_not_labelled_is_taken_for_missing_at_random():
    labels = np.full(100, NAN)
    drawn = np.zeros(100, dtype=bool)
    drawn[:40] = True
    draw = a_draw(np.full(100, 0.4), drawn, labels)
    labels[:20] = 1.0
    expected = expected_labels(np.full(100, 0.5), none(100), none(100), np.full(100, NAN))
    assert difference_estimate(labels, expected, draw).estimate == pytest.approx(1.0)


def test_no_label_at_all_gives_no_figure():
    labels = np.full(3, NAN)
    draw = a_draw(np.full(3, 0.4), np.array([True, False, False]), labels)
    expected = expected_labels(np.full(3, 0.5), none(3), none(3), labels)
    found = difference_estimate(labels, expected, draw)
    assert np.isnan(found.estimate)
    assert found.method == "no interval: fewer than 5 of these items are labelled"


def population(source: np.random.Generator, n: int, rare: bool) -> tuple[np.ndarray, ...]:
    """Three groups and a judge that is right more or less often; 5% or about 60% are 1."""
    group = np.arange(n) % 3
    rate = np.array([0.02, 0.05, 0.08] if rare else [0.35, 0.6, 0.85])[group]
    y = (source.random(n) < rate).astype(float)
    right = source.random(n) < np.where(
        y == 1, 0.95 if not rare else 0.7, 0.75 if not rare else 0.97
    )
    level = np.where(right, y, 1 - y).astype(np.intp)
    return y, level, group.astype(np.intp), np.where(level == 1, 0.8, 0.2)


@pytest.mark.parametrize(("rare", "budget"), [(False, 90), (True, 100), (True, 400)])
def test_a_draw_is_right_on_average_and_covers_what_it_says(rare, budget):
    source = rng(7)
    y, level, group, guess = population(source, 1_200, rare)
    truth, rounds = y.mean(), 300
    errors, held, of_group = [], 0, 0
    for _ in range(rounds):
        unknown = np.full(len(y), NAN)
        spread = np.sqrt(expected_labels(guess, level, group, unknown).variance)
        p = inclusion_probabilities(spread, budget)
        draw = a_draw(p, pivotal_sample(p, source, strata=group * 2 + level), unknown)
        labels = np.where(draw.drawn, y, NAN)
        expected = expected_labels(guess, level, group, labels)
        found = difference_estimate(labels, expected, draw, parts=level)
        errors.append(found.estimate - truth)
        held += found.low <= truth <= found.high
        one = difference_estimate(labels, expected, draw, among=group == 1, parts=level)
        of_group += one.low <= y[group == 1].mean() <= one.high
    assert abs(np.mean(errors)) <= 3.5 * np.std(errors) / np.sqrt(rounds)
    # 95% of 300 is 285; 275 is two and a half standard errors less.
    assert held >= 275
    assert of_group >= 275


def test_misuse_of_an_estimate_is_refused():
    expected = expected_labels(np.full(2, 0.5), none(2), none(2), np.full(2, NAN))
    draw = a_draw(np.ones(2), np.ones(2, dtype=bool), np.full(2, NAN))
    with pytest.raises(ValueError, match="level"):
        difference_estimate(np.ones(2), expected, draw, level=1.5)
    with pytest.raises(ValueError, match="items"):
        difference_estimate(np.ones(2), expected, draw, among=np.zeros(2, dtype=bool))


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
