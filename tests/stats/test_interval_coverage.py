"""How often intervals cover the truth, and how often tests cry wolf, over many studies."""

import numpy as np
import pytest

from contrafact.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, with_interval
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.paired import paired_comparison

pytestmark = pytest.mark.slow

STUDIES = 1_000
MISSING = 300  # enough to see what is far off
RESAMPLES = 500


def pairs_of_normals(clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters of two values of mean and median 0 that correlate by 0.8."""
    shared = np.repeat(rng.normal(size=clusters), 2)
    return np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=2 * clusters)


def pairs_of_verdicts(clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Clusters of two 0/1 values, 70% ones, that correlate by 0.8."""
    first, second = rng.random((2, clusters)) < 0.7
    second = np.where(rng.random(clusters) < 0.8, first, second)
    return np.stack([first, second], axis=1).ravel().astype(float)


def coverage(draw, truth: float, *, clusters: int, clustered: bool, statistic: str) -> float:
    rng = np.random.default_rng(11)
    studies = STUDIES if clustered else MISSING
    labels = np.repeat(np.arange(clusters), 2) if clustered else None
    covered = 0
    for _ in range(studies):
        interval = cluster_bootstrap(
            draw(clusters, rng), labels, statistic=statistic, resamples=RESAMPLES, rng=rng
        )
        covered += interval.low <= truth <= interval.high
    return covered / studies


@pytest.mark.parametrize("clusters", [pytest.param(20, id="few"), pytest.param(120, id="many")])
def test_clustered_intervals_of_verdicts_cover_where_unclustered_ones_do_not(clusters):
    clustered = coverage(
        pairs_of_verdicts, 0.7, clusters=clusters, clustered=True, statistic="mean"
    )
    naive = coverage(pairs_of_verdicts, 0.7, clusters=clusters, clustered=False, statistic="mean")
    assert 0.93 <= clustered <= 0.98
    assert naive < 0.91


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_clustered_intervals_of_numbers_cover_where_unclustered_ones_do_not(statistic):
    clustered = coverage(pairs_of_normals, 0.0, clusters=120, clustered=True, statistic=statistic)
    naive = coverage(pairs_of_normals, 0.0, clusters=120, clustered=False, statistic=statistic)
    assert 0.93 <= clustered <= 0.97
    assert naive < 0.91


@pytest.mark.parametrize("clusters", [10, 40])
def test_sign_flips_of_clusters_reject_a_true_hypothesis_as_often_as_they_say(clusters):
    # 10 clusters are enumerated, 40 drawn at random; pairs within a cluster correlate by 0.8.
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(clusters), 2)
    rejected = covered = naive = 0
    for _ in range(STUDIES):
        a = pairs_of_normals(clusters, rng)
        b = np.zeros(2 * clusters)
        result = paired_comparison(a, b, labels, resamples=400, rng=rng)
        rejected += result.p_value <= 0.05
        covered += result.low <= 0 <= result.high
        naive += paired_comparison(a, b, None, resamples=400, rng=rng).p_value <= 0.05
    assert 0.033 <= rejected / STUDIES <= 0.067
    assert 0.92 <= covered / STUDIES <= 0.97
    assert naive / STUDIES > 0.1


@pytest.mark.parametrize("stories", [30, 60])
def test_rates_near_one_cover_with_few_stories(stories):
    # Three outcomes a story that correlate by one half, 95% ones: the percentile interval covers
    # 91.5% at 30 stories and 92.0% at 60.
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(stories), 3)
    covered = 0
    for _ in range(STUDIES):
        own = rng.beta(0.95, 0.05, stories)
        values = (rng.random((stories, 3)) < own[:, None]).ravel().astype(float)
        interval = cluster_bootstrap(values, labels, resamples=RESAMPLES, rng=rng)
        covered += interval.low <= 0.95 <= interval.high
    assert covered / STUDIES >= 0.93


@pytest.mark.parametrize(("prevalence", "items"), [(0.95, 60), (0.95, 120), (0.85, 30)])
def test_kappas_of_skewed_ratings_cover_where_they_have_bounds(prevalence, items):
    rng = np.random.default_rng(9)
    covered = bounded = 0
    for _ in range(STUDIES // 2):
        shared = rng.random(items) < prevalence
        own = rng.random((items, 3)) < prevalence
        ratings = np.where(rng.random((items, 3)) < np.sqrt(0.6), shared[:, None], own)
        interval = with_interval(fleiss_kappa, ratings, resamples=RESAMPLES, rng=rng)
        bounded += not np.isnan(interval.low)
        covered += interval.low <= 0.6 <= interval.high
    assert bounded > 20
    assert covered / bounded >= 0.93


def test_weighted_means_cover_the_population_that_unweighted_ones_miss():
    rng = np.random.default_rng(8)
    # Successes are drawn three times as often as failures.
    probability = np.array([0.15, 0.05])
    covered = missed = 0
    for _ in range(STUDIES):
        outcomes = (rng.random(2_000) < 0.4).astype(int)
        p = probability[1 - outcomes]
        taken = rng.random(2_000) < p
        y = outcomes[taken].astype(float)
        weighted = cluster_bootstrap(y, None, weights=1 / p[taken], resamples=RESAMPLES, rng=rng)
        plain = cluster_bootstrap(y, None, resamples=RESAMPLES, rng=rng)
        covered += weighted.low <= 0.4 <= weighted.high
        missed += not plain.low <= 0.4 <= plain.high
    assert 0.93 <= covered / STUDIES <= 0.97
    assert missed / STUDIES > 0.95


@pytest.mark.parametrize("function", [cohen_kappa, gwet_ac1])
def test_intervals_of_agreement_cover(function):
    # Each rater copies a shared verdict (15% positive) or, with the chance that leaves kappa at
    # 0.6, judges anew from the same marginals; the items of a cluster share it half of the time.
    rng = np.random.default_rng(2)
    clusters, share, prevalence = 150, np.sqrt(0.6), 0.15
    labels = np.repeat(np.arange(clusters), 2)
    chance = prevalence**2 + (1 - prevalence) ** 2
    observed = 0.6 + 0.4 * chance
    expected = chance if function is cohen_kappa else 2 * prevalence * (1 - prevalence)
    truth = (observed - expected) / (1 - expected)
    covered = 0
    for _ in range(STUDIES):
        first, second = rng.random((2, clusters)) < prevalence
        second = np.where(rng.random(clusters) < 0.5, first, second)
        shared = np.stack([first, second], axis=1).ravel()[:, None]
        own = rng.random((2 * clusters, 2)) < prevalence
        ratings = np.where(rng.random((2 * clusters, 2)) < share, shared, own)
        interval = with_interval(function, ratings, clusters=labels, resamples=RESAMPLES, rng=rng)
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / STUDIES <= 0.97
