"""The two ways that the bench times give the same figures."""

import numpy as np

from bench import bootstrap


def test_a_loop_of_scikit_learn_gives_the_same_measures():
    rng = np.random.default_rng(0)
    gold, predicted = bootstrap.made_labels(rng)
    drawn = rng.integers(0, len(gold), size=(20, len(gold)))
    expected = bootstrap.loop(gold, predicted, drawn)
    assert np.abs(bootstrap.counted(gold, predicted, drawn) - expected).max() <= 1e-12


def test_the_bench_compares_what_it_times(monkeypatch):
    monkeypatch.setattr(bootstrap, "RESAMPLES", 100)
    monkeypatch.setattr(bootstrap, "_QUICK_LOOPED", 8)
    result = bootstrap.run(True, None)
    assert result.ratio > 0
    assert "on 8 identical resamples the two are equal to 1e-12" in result.notes[0]
