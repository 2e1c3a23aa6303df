import numpy as np
import pytest

from contrafact.review.plan import Frame, draw_items, figures_of

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


def labelled(frame: Frame, y: np.ndarray, budget: int, source, uniform: float = 0.2) -> tuple:
    draw = draw_items(frame, np.full(len(y), np.nan), budget, uniform=uniform, rng=source)
    return draw, np.where(draw.drawn, y, np.nan)


def test_a_draw_has_what_it_was_asked_for_of_what_has_no_label():
    source = rng(1)
    frame, y = study(source)
    known = np.where(np.arange(900) < 100, y, np.nan)
    draw = draw_items(frame, known, 100, rng=source)
    assert draw.drawn.sum() == 100
    assert draw.given[:100].all() and not draw.drawn[:100].any()
    assert np.isnan(draw.probabilities[:100]).all()
    assert draw.probabilities[100:].sum() == pytest.approx(100)
    assert (draw.probabilities[100:] >= 0.2 * 100 / 800 - 1e-9).all()


def test_it_looks_where_the_judge_has_erred():
    source = rng(2)
    frame, y = study(source, 3_000)
    known = np.where(source.random(3_000) < 0.1, y, np.nan)
    own = draw_items(frame, known, 300, rng=source).probabilities
    passed = np.array(frame.judge_level) == "passed"
    north = np.array(frame.group) == "north"
    # Where it passes, it is often wrong; where it fails, hardly ever.
    assert np.nanmean(own[passed & north]) > 1.4 * np.nanmean(own[~passed & north])


def test_figures_give_every_group():
    source = rng(4)
    frame, y = study(source, 1_500)
    draw, labels = labelled(frame, y, 700, source)
    found = figures_of(frame, draw, labels)
    assert list(found.by_group) == ["north", "south", "west"]
    for name, one in found.by_group.items():
        truth = y[np.array(frame.group) == name].mean()
        assert abs(one.estimate - truth) < 0.12
        assert one.low < one.estimate < one.high


def test_one_group_is_all():
    frame = Frame(("a", "b", "c"), ("all",) * 3, ("",) * 3, np.full(3, 0.5))
    draw = draw_items(frame, np.full(3, np.nan), 3, rng=rng())
    found = figures_of(frame, draw, np.array([1.0, 0.0, 1.0]))
    assert found.overall.estimate == pytest.approx(2 / 3)
    assert found.by_group == {"all": found.overall}


def scored(source: np.random.Generator, n: int) -> tuple[Frame, np.ndarray]:
    """A judge whose scores are sure of four items in five, and right of nearly all of those."""
    unsure = source.random(n) < 0.2
    good = source.random(n) < 0.7
    y = np.where(unsure, source.random(n) < 0.5, good ^ (source.random(n) < 0.015)).astype(float)
    level = np.where(unsure, "score range 2", np.where(good, "score range 3", "score range 1"))
    group = np.where(np.arange(n) % 10 == 0, "small", "large")
    guess = np.where(unsure, 0.5, np.where(good, 0.98, 0.02))
    items = tuple(f"i{at}" for at in range(n))
    return Frame(items, tuple(group.tolist()), tuple(level.tolist()), guess), y


def test_planning_gains_over_a_uniform_draw_and_covers():
    source = rng(5)
    frame, y = scored(source, 1_500)
    widths, errors, covered = {0.2: [], 1.0: []}, {0.2: [], 1.0: []}, 0
    # Scores in the middle are a coin, and known to be one.
    for _ in range(60):
        for uniform in widths:
            draw, labels = labelled(frame, y, 300, source, uniform)
            found = figures_of(frame, draw, labels).overall
            widths[uniform].append(found.high - found.low)
            errors[uniform].append((found.estimate - y.mean()) ** 2)
            covered += bool(uniform == 0.2 and found.low <= y.mean() <= found.high)
    assert np.mean(widths[0.2]) < np.mean(widths[1.0])
    assert np.mean(errors[0.2]) < np.mean(errors[1.0])
    # 95% of 60, less two and a half standard errors.
    assert covered >= 53
