"""Corrected rates: their intervals cover the truth where the raw rate's does not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.stats.correction import (
    ExamRate,
    correct_rate,
    correction_bounds,
    planned_half_width,
    ppi_share,
)

STUDIES = 2_000
# True rate, sensitivity, specificity, judged items, exam items in all.
REGIMES = [
    (0.5, 0.60, 0.60, 100, 50),
    (0.2, 0.60, 0.60, 2_000, 500),
    (0.8, 0.95, 0.25, 500, 200),
    (0.5, 0.90, 0.30, 2_000, 50),
    (0.3, 0.75, 0.75, 100, 200),
    (0.7, 0.75, 0.75, 2_000, 50),
    (0.5, 0.95, 0.60, 500, 500),
    (0.9, 0.90, 0.90, 500, 100),
    (0.1, 0.90, 0.90, 2_000, 500),
    (0.55, 0.69, 0.96, 1_000, 100),
]


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "se", "sp", "n", "exam"), REGIMES)
def test_the_interval_covers_the_truth_in_the_named_regimes(truth, se, sp, n, exam):
    rng = np.random.default_rng(11)
    raw_rate = truth * se + (1 - truth) * (1 - sp)
    raw = rng.binomial(n, raw_rate, STUDIES) / n
    half = exam // 2
    right = rng.binomial(half, (se, sp), (STUDIES, 2)) / half
    low, high = correction_bounds(raw, n, right[:, 0], half, right[:, 1], half)
    covered = np.mean((low <= truth) & (truth <= high))
    assert 0.93 <= covered <= 0.97
    reach = 1.96 * np.sqrt(raw * (1 - raw) / n)
    raw_covered = np.mean(np.abs(raw - truth) <= reach)
    if abs(raw_rate - truth) > 0.05:
        assert raw_covered < 0.93


def test_the_exam_of_a_useless_judge_leaves_the_rate_open():
    low, high = correction_bounds(0.5, 500, 26 / 50, 50, 27 / 50, 50)
    assert (low[0], high[0]) == (0.0, 1.0)


@given(
    st.floats(0.0, 1.0), st.floats(0.6, 1.0), st.floats(0.65, 1.0), st.integers(100, 2_000),
)  # fmt: skip
def test_a_perfect_measurement_gives_back_the_truth(truth, se, sp, n):
    """With endless items and exams, the interval shrinks onto the Rogan-Gladen estimate."""
    raw = truth * se + (1 - truth) * (1 - sp)
    many = 10**9
    low, high = (bound[0] for bound in correction_bounds(raw, many, se, many, sp, many))
    assert low - 2e-3 <= truth <= high + 2e-3
    assert high - low < 5e-3


@given(st.integers(0, 200), st.integers(30, 50), st.integers(30, 50))
def test_the_estimate_lies_inside_its_interval(passed, a, b):
    values = np.r_[np.ones(passed), np.zeros(200 - passed)]
    found = correct_rate(values, sensitivity=ExamRate(a, 50), specificity=ExamRate(b, 50))
    assert found.raw == passed / 200
    assert found.why is None or found.why.code in ("unlike", "barely-informative")
    if found.usable:
        assert 0 <= found.low <= found.estimate + 1e-6
        assert found.estimate <= found.high + 1e-6 <= 1 + 2e-6


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(3)
    base = np.repeat(rng.integers(0, 2, 100), 3).astype(float)
    exam = {"sensitivity": ExamRate(180, 200), "specificity": ExamRate(170, 200)}
    alone = correct_rate(base, **exam)
    clustered = correct_rate(base, np.repeat(np.arange(100), 3), **exam)
    assert clustered.estimate == alone.estimate
    assert clustered.high - clustered.low > 1.3 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("se", "sp", "n", "code"),
    [
        (ExamRate(50, 100), ExamRate(50, 100), 500, "uninformative"),
        (ExamRate(99, 100), ExamRate(1, 100), 500, "uninformative"),
        (ExamRate(60, 100), ExamRate(50, 100), 500, "barely-informative"),
        (ExamRate(20, 24), ExamRate(20, 24), 500, "few-exam-items"),
        (ExamRate(90, 100), ExamRate(90, 100), 99, "few-items"),
        (ExamRate(0, 0), ExamRate(90, 100), 500, "no-exam-items"),
        (ExamRate(9, 9), ExamRate(5, 5), 16, "few-items-and-exam-items"),
        (ExamRate(0, 0), ExamRate(90, 100), 16, "no-exam-items"),
    ],
)
def test_outside_the_tested_regimes_it_says_that_it_does_not_know(se, sp, n, code):
    values = np.arange(n) % 2
    found = correct_rate(values, sensitivity=se, specificity=sp)
    assert not found.usable and found.why is not None and found.why.code == code
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def a_run(rng, n=400, labelled=100, se=0.8, sp=0.7, truth=0.6):
    """Return labels of a random part, the judge's verdicts on all, and what is true."""
    y = (rng.random(n) < truth).astype(float)
    f = np.where(y == 1, rng.random(n) < se, rng.random(n) >= sp).astype(float)
    labels = np.full(n, np.nan)
    drawn = rng.choice(n, labelled, replace=False)
    labels[drawn] = y[drawn]
    return labels, f, y


@given(st.integers(0, 10**6), st.floats(0.5, 1.0), st.floats(0.5, 1.0), st.floats(0.05, 0.95))
def test_labels_speak_for_what_the_judge_said_alike(seed, se, sp, truth):
    """People's share among what the judge passed and failed, each by its part of the run."""
    labels, f, _ = a_run(np.random.default_rng(seed), se=se, sp=sp, truth=truth)
    found = ppi_share(labels, f)
    known = ~np.isnan(labels)
    parts = [labels[known & (f == v)] for v in (0, 1)]
    due = np.nanmean(labels)
    if min(map(len, parts)):
        due = sum((f == v).mean() * part.mean() for v, part in enumerate(parts))
    assert found.estimate == pytest.approx(due)
    assert found.low - 1e-9 <= found.estimate <= found.high + 1e-9
    assert (found.n, found.clusters) == (400, 400)
    again = ppi_share(labels[::-1], f[::-1])
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


def test_labels_that_agree_with_the_judge_leave_what_it_said_of_all():
    """Of 36 outputs the judge failed two; 24 are labelled, one of the two among them."""
    verdicts = np.r_[np.ones(34), np.zeros(2)]
    labels = np.where([*[True] * 23, *[False] * 11, True, False], verdicts, np.nan)
    assert np.nanmean(labels) == 23 / 24
    found = ppi_share(labels, verdicts)
    assert found.estimate == pytest.approx(34 / 36)
    assert found.low < 34 / 36 < found.high


PLANS = [
    (rate, *right, *sizes)
    for right in ((0.9, 0.9), (0.8, 0.95), (0.95, 0.7), (0.75, 0.75))
    for rate, *sizes in (
        *((0.5, 400, 100), (0.8, 100, 50), (0.8, 1_000, 200), (0.9, 400, 100), (0.3, 200, 50)),
    )
]


@pytest.mark.parametrize(("rate", "se", "sp", "n", "asked"), PLANS)
def test_a_plan_says_how_wide_the_interval_will_be(rate, se, sp, n, asked):
    """Twenty settings: what is planned beside the intervals of simulated runs, exams and labels."""
    rng = np.random.default_rng(7)
    raw = rng.binomial(n, rate * se + (1 - rate) * (1 - sp), 1_000) / n
    exam = rng.binomial(asked, (se, sp), (1_000, 2)) / asked
    low, high = correction_bounds(raw, n, exam[:, 0], asked, exam[:, 1], asked)
    rates = {"rate": rate, "sensitivity": se, "specificity": sp}
    planned = planned_half_width(n, exam=(asked, asked), **rates)
    found = np.nanmean(high - low) / 2
    cut = not planned < rate < 1 - planned  # the interval ends at 0 or 1, and so is narrower
    assert 0.87 <= planned / found <= (2 if cut else 1.13)
    runs = [a_run(rng, n, asked, se, sp, rate) for _ in range(60)]
    found = np.mean([width(ppi_share(labels, f)) for labels, f, _ in runs]) / 2
    assert planned_half_width(n, labels=asked, **rates) == pytest.approx(found, rel=0.13)


def test_a_plan_shrinks_with_what_is_asked_and_never_below_what_the_run_allows():
    widths = [planned_half_width(200, exam=(k, k)) for k in (25, 100, 400, 10**9)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(planned_half_width(200, exam=(math.inf, math.inf)))
    wald = 1.959964 * math.sqrt(0.8 * 0.2 / 200)
    assert planned_half_width(200, labels=200) == pytest.approx(wald)


def test_a_good_judge_is_worth_labels_and_a_coin_is_worth_none():
    rng = np.random.default_rng(5)
    good, coin = (
        np.mean([width(ppi_share(*a_run(rng, se=p, sp=p)[:2])) for _ in range(60)])
        for p in (0.95, 0.5)
    )
    alone = width(ppi_share(a_run(rng)[0], np.ones(400)))
    assert good < 0.8 * alone
    assert coin == pytest.approx(alone, rel=0.05)


def width(found):
    return found.high - found.low


def test_outputs_drawn_with_unequal_probabilities_are_weighed_back():
    """Of what the judge failed, one part was drawn three times as often, and passes more."""
    part = np.repeat([0, 1], [200, 200])
    y = np.where(part == 1, 1.0, 0.0)
    p = np.where(part == 1, 0.3, 0.1)
    labels = np.full(400, np.nan)
    labels[[*range(20), *range(200, 260)]] = y[[*range(20), *range(200, 260)]]
    found = ppi_share(labels, np.zeros(400), probabilities=np.where(np.isnan(labels), np.nan, p))
    assert found.estimate == pytest.approx(0.5)
    assert np.nanmean(labels) == 0.75


def test_labels_of_one_cluster_say_less_than_as_many_of_their_own():
    rng = np.random.default_rng(1)
    y = np.repeat((rng.random(100) < 0.5).astype(float), 4)
    labels = np.where(np.arange(400) < 200, y, np.nan)
    clustered = ppi_share(labels, np.ones(400), clusters=np.repeat(np.arange(100), 4))
    assert width(clustered) > 1.6 * width(ppi_share(labels, np.ones(400)))


def test_nothing_found_among_labels_is_not_nothing_and_too_few_say_nothing():
    labels = np.where(np.arange(400) < 100, 1.0, np.nan)
    none = ppi_share(labels, np.ones(400))
    assert none.estimate == 1.0 and 0.96 < none.low < 0.97 and "exact" in none.method
    few = ppi_share(np.where(np.arange(400) < 4, 1.0, np.nan), np.ones(400))
    assert math.isnan(few.low) and "fewer than 5" in few.method


def test_what_makes_no_sense_is_refused():
    exam = {"sensitivity": ExamRate(9, 10), "specificity": ExamRate(9, 10)}
    with pytest.raises(ValueError, match="between 0 and 1"):
        correct_rate([2.0], **exam)
    with pytest.raises(ValueError, match="makes no sense"):
        correct_rate([1.0], sensitivity=ExamRate(11, 10), specificity=ExamRate(9, 10))
    with pytest.raises(ValueError, match="one label an item"):
        ppi_share([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="1, 0 or NaN"):
        ppi_share([0.5, 0], [1, 0])
