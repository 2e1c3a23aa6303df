import numpy as np
import pytest

from contrafact.review.plan import DESIGNS, Frame, figures_of, gains, next_wave
from contrafact.stats.sampling import Waves

RATES = {"north": 0.50, "south": 0.55, "west": 0.95}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def study(source: np.random.Generator, n: int = 900) -> tuple[Frame, np.ndarray]:
    """Three systems and a judge that hardly ever fails a good item, and passes a third of bad."""
    names = list(RATES)
    group = [names[at % 3] for at in range(n)]
    y = (source.random(n) < np.array([RATES[one] for one in group])).astype(float)
    passed = source.random(n) < np.where(y == 1, 0.97, 0.35)
    level = tuple("passed" if one else "failed" for one in passed)
    items = tuple(f"i{at}" for at in range(n))
    return Frame(items, tuple(group), level, np.where(passed, 0.8, 0.2)), y


def labelled(frame: Frame, y: np.ndarray, budget: int, figures, source) -> tuple:
    waves, labels = Waves.none(len(y)), np.full(len(y), np.nan)
    for _ in range(2):
        waves = next_wave(frame, waves, labels, budget // 2, figures, rng=source)
        labels = np.where(waves.drawn_in == waves.count, y, labels)
    return waves, labels


def test_a_wave_draws_what_it_was_asked_for_and_nothing_twice():
    source = rng(1)
    frame, y = study(source)
    waves, _ = labelled(frame, y, 200, ["rate"], source)
    assert [(waves.drawn_in == wave).sum() for wave in (1, 2)] == [100, 100]
    first = waves.drawn_in == 1
    assert np.isnan(waves.probabilities[1, first]).all()
    assert waves.probabilities[1, ~first].sum() == pytest.approx(100)
    assert (waves.probabilities[1, ~first] >= 0.2 * 100 / 800 - 1e-9).all()


def test_the_second_wave_looks_where_the_judge_errs():
    source = rng(2)
    frame, y = study(source, 3_000)
    waves, _ = labelled(frame, y, 600, ["rate"], source)
    passed = np.array(frame.judge_level) == "passed"
    north = np.array(frame.group) == "north"
    own = waves.probabilities[1]
    # Where it passes, it is often wrong; where it fails, hardly ever.
    assert np.nanmean(own[passed & north]) > 1.4 * np.nanmean(own[~passed & north])


def test_a_ranking_asks_about_systems_that_are_not_told_apart_yet():
    source = rng(3)
    frame, y = study(source, 3_000)
    waves, _ = labelled(frame, y, 600, ["ranking"], source)
    drawn = {
        name: int((waves.drawn_in[np.array(frame.group) == name] == 2).sum()) for name in RATES
    }
    assert drawn["west"] < 0.6 * min(drawn["north"], drawn["south"])


def test_figures_give_every_group_and_the_ranks_that_the_labels_bear_out():
    source = rng(4)
    frame, y = study(source, 1_500)
    waves, labels = labelled(frame, y, 700, ["rate", "ranking"], source)
    found = figures_of(frame, waves, labels)
    assert list(found.by_group) == ["north", "south", "west"]
    for name, one in found.by_group.items():
        truth = y[np.array(frame.group) == name].mean()
        assert abs(one.estimate - truth) < 0.12
        assert one.low < one.estimate < one.high
    assert (found.ranks["west"].best, found.ranks["west"].worst) == (1, 1)
    assert found.pairs == 3
    assert found.apart >= 2


def test_one_group_has_no_ranks():
    frame = Frame(("a", "b", "c"), ("all",) * 3, ("",) * 3, np.full(3, 0.5))
    waves = next_wave(frame, Waves.none(3), np.full(3, np.nan), 3, ["rate"], rng=rng())
    found = figures_of(frame, waves, np.array([1.0, 0.0, 1.0]))
    assert found.overall.estimate == pytest.approx(2 / 3)
    assert (found.ranks, found.pairs) == ({}, 0)


def scored(source: np.random.Generator, n: int) -> tuple[Frame, np.ndarray]:
    """A judge whose scores are sure of four items in five, and right of nearly all of those."""
    unsure = source.random(n) < 0.2
    good = source.random(n) < 0.7
    y = np.where(unsure, source.random(n) < 0.5, good ^ (source.random(n) < 0.015)).astype(float)
    level = np.where(unsure, "score range 2", np.where(good, "score range 3", "score range 1"))
    group = np.where(np.arange(n) % 10 == 0, "small", "large")
    guess = np.where(unsure, 0.5, np.where(good, 0.75, 0.25))
    items = tuple(f"i{at}" for at in range(n))
    return Frame(items, tuple(group.tolist()), tuple(level.tolist()), guess), y


@pytest.mark.parametrize(
    ("figure", "shown", "ratio"), [("rate", "overall", 0.93), ("ranking", "groups", 0.6)]
)
def test_planning_gains_over_uniform_sampling_and_covers(figure, shown, ratio):
    source = rng(5)
    frame, y = scored(source, 1_500)
    made = gains(
        frame, Waves.none(1_500), np.full(1_500, np.nan), 300, [figure],
        truth=y, rounds=60, parts=3, rng=source,
    )  # fmt: skip
    found = {one.design: one for one in made if one.figure == shown}
    planned, uniform, blind = (found[design] for design in DESIGNS)
    assert planned.width < ratio * uniform.width < ratio * blind.width
    assert planned.rmse < uniform.rmse < blind.rmse
    for one in (planned, uniform, blind):
        # 95% of 60, less two and a half standard errors.
        assert one.coverage >= 0.88
    assert (planned.apart is None) == (shown == "overall")


def test_a_simulation_without_truth_labels_as_it_expects():
    source = rng(6)
    frame, y = study(source, 400)
    labels = np.where(source.random(400) < 0.3, y, np.nan)
    made = gains(frame, Waves.none(400), labels, 60, ["rate"], rounds=10, rng=source)
    assert {one.design for one in made} == set(DESIGNS)
    assert all(0.0 < one.width < 0.5 for one in made)
