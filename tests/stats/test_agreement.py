import warnings
from functools import partial

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from contrafact.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    with_interval,
)

NOMINAL = [percent_agreement, cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha]
ALL = [*NOMINAL, partial(gwet_ac1, categories=[0, 1, 2, 3])]
IDS = ["percent", "cohen", "fleiss", "ac1", "alpha", "ac1 of four"]

# Krippendorff's own example: 12 units, four observers, categories 1 to 5, missing ratings.
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ],
    dtype=object,
).T


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def tables(raters: int | None = None, *, missing: bool = False):
    cell = st.integers(0, 3)
    if missing:
        cell = st.one_of(st.none(), cell, cell)

    def of(columns: int):
        row = st.lists(cell, min_size=columns, max_size=columns)
        return st.lists(row, min_size=1, max_size=15).map(lambda rows: np.array(rows, object))

    return of(raters) if raters else st.integers(2, 4).flatmap(of)


@given(tables(2))
def test_cohen_agrees_with_statsmodels_and_scikit_learn(table):
    confusion = np.zeros((4, 4))
    np.add.at(confusion, tuple(table.astype(int).T), 1)
    ours = cohen_kappa(table)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        first = statsmodels_cohen(confusion, return_results=False)
        second = cohen_kappa_score(*table.astype(int).T)
    assert ours == pytest.approx(first, nan_ok=True)
    assert ours == pytest.approx(second, nan_ok=True)


@given(tables())
def test_fleiss_agrees_with_statsmodels(table):
    assume(len(set(table.ravel())) > 1)
    counts, _ = aggregate_raters(table.astype(int))
    assert fleiss_kappa(table) == pytest.approx(statsmodels_fleiss(counts))


@given(tables(missing=True))
def test_alpha_agrees_with_the_krippendorff_package(table):
    data = np.array([[np.nan if x is None else float(x) for x in row] for row in table])
    pairable = data[(~np.isnan(data)).sum(axis=1) >= 2]
    assume(len(set(pairable[~np.isnan(pairable)])) > 1)
    theirs = krippendorff.alpha(reliability_data=data.T, level_of_measurement="nominal")
    assert krippendorff_alpha(table) == pytest.approx(theirs)
    assert krippendorff_alpha(data) == pytest.approx(theirs)


def test_ac1_of_two_raters_by_hand():
    # 100 items: both say true 80, only the first 5, only the second 9, both say false 6.
    table = [[True, True]] * 80 + [[True, False]] * 5 + [[False, True]] * 9 + [[False, False]] * 6
    observed = 86 / 100
    share = (85 + 89) / 200
    expected = 2 * share * (1 - share)
    assert expected == pytest.approx(0.2262)
    assert percent_agreement(table) == pytest.approx(observed)
    assert gwet_ac1(table) == pytest.approx((observed - expected) / (1 - expected))
    assert gwet_ac1(table) == pytest.approx(0.8190747, abs=1e-7)


def test_ac1_and_fleiss_of_missing_ratings_by_hand():
    table = [
        ["a", "a", "a"],
        ["a", "b", None],
        ["b", "b", "c"],
        ["c", None, None],
        [None, None, None],
    ]
    # Agreement over the three items with two ratings; shares over the four with any.
    observed = (1 + 0 + 1 / 3) / 3
    shares = [(1 + 1 / 2) / 4, (1 / 2 + 2 / 3) / 4, (1 / 3 + 1) / 4]
    ac1_chance = sum(share * (1 - share) for share in shares) / 2
    fleiss_chance = sum(share**2 for share in shares)
    assert percent_agreement(table) == pytest.approx(observed)
    assert gwet_ac1(table) == pytest.approx((observed - ac1_chance) / (1 - ac1_chance))
    assert fleiss_kappa(table) == pytest.approx((observed - fleiss_chance) / (1 - fleiss_chance))


def test_krippendorffs_published_example():
    assert krippendorff_alpha(FOUR_OBSERVERS) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize("function", ALL, ids=IDS)
@settings(max_examples=40)
@given(data=st.data())
def test_items_and_raters_may_be_shuffled_and_bounds_hold(function, data):
    table = data.draw(tables(2, missing=True))
    value = function(table)
    items = data.draw(st.permutations(range(len(table))))
    raters = data.draw(st.permutations(range(table.shape[1])))
    assert function(table[items][:, raters]) == pytest.approx(value, nan_ok=True)
    assert np.isnan(value) or value <= 1 + 1e-12
    # Missing ratings and near misses can take two of them lower.
    if function in (percent_agreement, cohen_kappa, gwet_ac1, krippendorff_alpha):
        assert np.isnan(value) or value >= (0 if function is percent_agreement else -1 - 1e-12)


@pytest.mark.parametrize("function", NOMINAL, ids=IDS[:-1])
@settings(max_examples=40)
@given(data=st.data())
def test_names_of_categories_do_not_matter(function, data):
    table = data.draw(tables(2, missing=True))
    names = data.draw(st.permutations(["up", ("a", 1), False, 7.5]))
    renamed = np.empty(table.shape, dtype=object)
    for place, code in np.ndenumerate(table):
        renamed[place] = None if code is None else names[code]
    assert function(renamed) == pytest.approx(function(table), nan_ok=True)


@pytest.mark.parametrize("function", ALL, ids=IDS)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=20))
def test_raters_who_always_agree_reach_one(function, ratings):
    assume(len(set(ratings)) > 1)
    assert function(np.array([ratings, ratings], object).T) == pytest.approx(1.0)


def test_skewed_prevalence_breaks_kappa_and_alpha_but_not_ac1():
    table = [[True, True]] * 118 + [[True, False]] * 5 + [[False, True]] * 2
    assert percent_agreement(table) == pytest.approx(0.944)
    for function in (cohen_kappa, fleiss_kappa, krippendorff_alpha):
        assert function(table) < 0.0
    assert gwet_ac1(table) > 0.93


def test_what_cannot_be_computed_is_nan():
    for function in (fleiss_kappa, cohen_kappa, krippendorff_alpha, gwet_ac1):
        assert np.isnan(function([[1, 1], [1, 1]]))
    assert percent_agreement([[1, 1], [1, 1]]) == 1.0
    # A category that could have been chosen and never was still defines Gwet's coefficient.
    assert gwet_ac1([[True, True]] * 3, categories=[True, False]) == 1.0
    lonely = [[1, None], [None, 2], [None, None]]
    for table in (lonely, [[None, None]], np.empty((0, 2), dtype=object)):
        for function in ALL:
            assert np.isnan(function(table))


@pytest.mark.parametrize("function", ALL, ids=IDS)
def test_intervals_agree_with_scipys_bca(function):
    source = rng(1)
    truth = source.integers(0, 4, size=60)
    table = np.stack([np.where(source.random(60) < 0.7, truth, source.integers(0, 4, 60))] * 2, 1)
    table[:, 1] = np.where(source.random(60) < 0.8, table[:, 1], source.integers(0, 4, 60))
    table = table.astype(object)
    table[::9, 1] = None
    labels = np.repeat(np.arange(30), 2)
    interval = with_interval(
        function, table, clusters=labels, level=0.8, resamples=4_000, rng=rng(2)
    )

    def of_clusters(drawn):
        rows = (2 * np.asarray(drawn, int)[:, None] + [0, 1]).ravel()
        return function(table[rows])

    known = bootstrap(
        (np.arange(30),), of_clusters, vectorized=False, n_resamples=1_500, method="BCa",
        confidence_level=0.8, rng=np.random.default_rng(3),
    ).confidence_interval  # fmt: skip
    width = interval.high - interval.low
    assert interval.estimate == pytest.approx(function(table))
    assert interval.low == pytest.approx(known.low, abs=0.15 * width)
    assert interval.high == pytest.approx(known.high, abs=0.15 * width)
    assert interval.clusters == 30


def test_an_interval_counts_only_what_the_coefficient_rests_on():
    table = np.array([[1, 1], [1, 2], [2, 2], [1, None], [None, None]] * 4, object)
    cohen = with_interval(cohen_kappa, table, rng=rng())
    assert (cohen.n, cohen.clusters) == (12, 12)
    by_pair = with_interval(cohen_kappa, table, clusters=np.arange(20) // 5, rng=rng())
    assert (by_pair.n, by_pair.clusters) == (12, 4)
    assert np.isnan(by_pair.low)
    nothing = with_interval(cohen_kappa, [[None, None]] * 9, rng=rng())
    assert np.isnan([nothing.estimate, nothing.low]).all()
    assert nothing.n == 0


def test_an_interval_says_when_it_has_no_bounds():
    perfect = with_interval(gwet_ac1, [[True, True], [False, False]] * 20, rng=rng())
    assert perfect.estimate == 1.0
    assert np.isnan(perfect.low)
    assert "same value" in perfect.method
    rare = with_interval(fleiss_kappa, [[1, 1]] * 40 + [[2, 2]], rng=rng())
    assert rare.estimate == 1.0
    assert np.isnan(rare.low)
    assert "1 of 8 clusters needed with a rarer rating" in rare.method


def test_the_order_of_items_does_not_change_a_seeded_interval():
    table = rng(1).integers(0, 3, size=(40, 3)).astype(object)
    labels = np.arange(40) // 3
    order = rng(2).permutation(40)
    for function in (fleiss_kappa, gwet_ac1, krippendorff_alpha):
        one = with_interval(function, table, clusters=labels, resamples=200, rng=rng(3))
        other = with_interval(
            function, table[order], clusters=labels[order], resamples=200, rng=rng(3)
        )
        assert one == other


def test_options_of_a_coefficient_reach_its_interval():
    table = rng(1).choice(["poor", "fair", "good"], size=(50, 2)).astype(object)
    of_four = partial(gwet_ac1, categories=["poor", "fair", "good", "best"])
    interval = with_interval(of_four, table, rng=rng())
    assert interval.estimate == of_four(table)
    assert interval.low < interval.estimate < interval.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fleiss_kappa([1, 2, 3]), "table"),
        (lambda: cohen_kappa([[1, 2, 3]]), "two raters, not 3"),
        (lambda: gwet_ac1([[1, 2]], categories=[1]), "not among the categories: 2"),
        (lambda: with_interval(np.mean, [[1, 2]], rng=rng()), "coefficient"),
        (lambda: with_interval(partial(gwet_ac1, [[1, 2]]), [[1, 2]], rng=rng()), "coefficient"),
        (lambda: with_interval(gwet_ac1, [[1, 2]], clusters=[1, 2], rng=rng()), "labels"),
        (lambda: with_interval(gwet_ac1, [[1, 2]], level=2, rng=rng()), "between 0 and 1"),
    ],
)
def test_misuse_of_ratings_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
