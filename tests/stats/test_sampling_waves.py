import numpy as np
import pytest

from contrafact.stats.sampling_design import inclusion_probabilities, pivotal_sample
from contrafact.stats.sampling_waves import Waves, expected_labels, wave_estimate

NAN = np.nan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


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


def test_one_wave_by_hand():
    # Four items, of which one was drawn with probability 1/4 and found to be 1 where 0.5 was
    # expected: (4 * 0.5 + 0.5 / 0.25) / 4.
    waves = Waves.none(4).after(
        np.full(4, 0.25), np.array([True, False, False, False]), np.full(4, NAN)
    )
    labels = np.array([1.0, NAN, NAN, NAN])
    expected = expected_labels(np.full(4, 0.5), none(4), none(4), np.full(4, NAN))
    found = wave_estimate(labels, expected, waves)
    assert found.estimate == 1.0
    assert np.isnan(found.low)
    assert "fewer than 5" in found.method


def test_all_labels_give_the_plain_mean_and_leave_nothing_open():
    labels = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    waves = Waves.none(6).after(np.ones(6), np.ones(6, dtype=bool), np.full(6, NAN))
    found = wave_estimate(labels, expected_labels(np.full(6, 0.2), none(6), none(6), labels), waves)
    assert (found.low, found.estimate, found.high) == pytest.approx((2 / 3,) * 3)


def test_labels_given_beforehand_are_known_and_stand_for_no_other():
    # Only failures had been labelled, not at random; the wave draws from the rest, all of it 1.
    labels = np.full(200, NAN)
    labels[:50] = 0.0
    waves = Waves.none(200)
    assert waves.open(labels).sum() == 150
    p = np.full(200, 0.2)
    drawn = np.zeros(200, dtype=bool)
    drawn[50:80] = True
    waves = waves.after(p, drawn, labels)
    assert (waves.given_before[:50] == 1).all()
    assert np.isnan(waves.probabilities[0, :50]).all()
    labels[50:80] = 1.0
    expected = expected_labels(np.full(200, 0.5), none(200), none(200), labels)
    found = wave_estimate(labels, expected, waves)
    assert found.estimate == pytest.approx(0.75)
    assert found.n == 80


def test_what_was_drawn_and_not_labelled_is_taken_for_missing_at_random():
    labels = np.full(100, NAN)
    drawn = np.zeros(100, dtype=bool)
    drawn[:40] = True
    waves = Waves.none(100).after(np.full(100, 0.4), drawn, labels)
    labels[:20] = 1.0
    expected = expected_labels(np.full(100, 0.5), none(100), none(100), np.full(100, NAN))
    assert wave_estimate(labels, expected, waves).estimate == pytest.approx(1.0)


def test_no_label_at_all_gives_no_figure():
    waves = Waves.none(3).after(np.full(3, 0.4), np.array([True, False, False]), np.full(3, NAN))
    labels = np.full(3, NAN)
    found = wave_estimate(labels, expected_labels(np.full(3, 0.5), none(3), none(3), labels), waves)
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


def two_waves(source, y, level, group, guess, budget: int) -> tuple[Waves, np.ndarray]:
    waves, labels = Waves.none(len(y)), np.full(len(y), NAN)
    for _ in range(2):
        open_ = waves.open(labels)
        spread = np.sqrt(expected_labels(guess, level, group, labels).variance)
        p = np.zeros(len(y))
        p[open_] = inclusion_probabilities(spread[open_], budget // 2)
        drawn = pivotal_sample(p, source, strata=group * 2 + level)
        waves = waves.after(p, drawn, labels)
        labels = np.where(waves.drawn_in == waves.count, y, labels)
    return waves, labels


@pytest.mark.parametrize(("rare", "budget"), [(False, 90), (True, 100), (True, 400)])
def test_two_waves_are_right_on_average_and_cover_what_they_say(rare, budget):
    source = rng(7)
    y, level, group, guess = population(source, 1_200, rare)
    truth, rounds = y.mean(), 300
    errors, held, of_group = [], 0, 0
    for _ in range(rounds):
        waves, labels = two_waves(source, y, level, group, guess, budget)
        expected = expected_labels(guess, level, group, labels)
        found = wave_estimate(labels, expected, waves, parts=level)
        errors.append(found.estimate - truth)
        held += found.low <= truth <= found.high
        one = wave_estimate(labels, expected, waves, among=group == 1, parts=level)
        of_group += one.low <= y[group == 1].mean() <= one.high
    assert abs(np.mean(errors)) <= 3.5 * np.std(errors) / np.sqrt(rounds)
    # 95% of 300 is 285; 275 is two and a half standard errors less.
    assert held >= 275
    assert of_group >= 275


def test_a_plain_mean_over_adaptive_waves_would_be_biased_and_this_is_not():
    """A plan that goes back only where it has seen errors, as an unwary one would."""
    source = rng(11)
    y = (source.random(2_000) < 0.06).astype(float)
    level, group = none(2_000), (np.arange(2_000) % 20).astype(np.intp)
    guess, plain, ours = np.full(2_000, 0.1), [], []
    for _ in range(250):
        labels, p = np.full(2_000, NAN), np.full(2_000, 0.05)
        waves = Waves.none(2_000).after(p, pivotal_sample(p, source, strata=group), labels)
        labels = np.where(waves.drawn_in == 1, y, labels)
        seen = np.array([np.nanmax(labels[group == one]) for one in range(20)])
        p = inclusion_probabilities(np.where(waves.open(labels), seen[group], 0.0), 140)
        p = np.where(waves.open(labels), p, 0.0)
        waves = waves.after(p, pivotal_sample(p, source, strata=group), labels)
        labels = np.where(waves.drawn_in == 2, y, labels)
        plain.append(np.mean([np.nanmean(labels[group == one]) for one in range(20)]))
        ours.append(
            wave_estimate(labels, expected_labels(guess, level, group, labels), waves).estimate
        )
    assert abs(np.mean(ours) - y.mean()) <= 3.5 * np.std(ours) / np.sqrt(250)
    assert abs(np.mean(plain) - y.mean()) > 5 * np.std(plain) / np.sqrt(250)


def test_misuse_of_an_estimate_is_refused():
    expected = expected_labels(np.full(2, 0.5), none(2), none(2), np.full(2, NAN))
    with pytest.raises(ValueError, match="a wave"):
        wave_estimate(np.full(2, NAN), expected, Waves.none(2))
    waves = Waves.none(2).after(np.ones(2), np.ones(2, dtype=bool), np.full(2, NAN))
    with pytest.raises(ValueError, match="level"):
        wave_estimate(np.ones(2), expected, waves, level=1.5)
