"""Ranks as intervals: shared where systems cannot be told apart."""

import numpy as np
import pytest

from contrafact.stats.paired import Difference, Rank, compare_all, rank_intervals


def test_a_chain_of_systems_of_which_only_the_ends_differ():
    pairs = [
        Difference("a", "b", 0.02, 0.4),
        Difference("b", "c", 0.02, 0.4),
        Difference("a", "c", 0.04, 0.01),
    ]
    ranks = rank_intervals(["a", "b", "c"], pairs)
    assert ranks == {"a": Rank(1, 2), "b": Rank(1, 3), "c": Rank(2, 3)}


def test_the_order_in_a_pair_does_not_matter_and_unknown_pairs_tell_nothing_apart():
    one = rank_intervals("ab", [Difference("a", "b", 0.5, 0.001)])
    other = rank_intervals("ba", [Difference("b", "a", -0.5, 0.001)])
    assert one["a"] == other["a"] == Rank(1, 1)
    apart = rank_intervals("ab", [Difference("a", "b", 0.5, float("nan"))])
    assert apart["a"] == apart["b"] == Rank(1, 2)
    with pytest.raises(ValueError, match="not both are ranked"):
        rank_intervals("a", [Difference("a", "z", 0.5, 0.1)])


def test_systems_that_differ_get_ranks_of_their_own_and_equals_share_theirs():
    rng = np.random.default_rng(4)
    hard = rng.random(400)
    values = {
        "good": (hard < 0.9).astype(float),
        "same": np.where(np.arange(400) < 3, 1.0 - (hard < 0.9), hard < 0.9),
        "bad": (hard < 0.4).astype(float),
    }
    values["bad"][:50] = np.nan  # items that it was not asked
    compared = compare_all(values, np.arange(400) // 2, rng=rng, resamples=2_000)
    ranks = rank_intervals(list(values), [pair for pair, _ in compared])
    assert (ranks["good"].best, ranks["good"].worst) == (1, 2)
    assert (ranks["same"].best, ranks["same"].worst) == (1, 2)
    assert (ranks["bad"].best, ranks["bad"].worst) == (3, 3)
    assert {result.n for _, result in compared} == {400, 350}


@pytest.mark.slow
def test_true_ranks_lie_in_all_intervals_together_as_often_as_promised():
    """With two equal systems and one worse: a false "better" anywhere is a miss."""
    rng = np.random.default_rng(8)
    misses, studies = 0, 400
    for _ in range(studies):
        values = {name: (rng.random(120) < rate).astype(float) for name, rate in RATES.items()}
        compared = compare_all(values, None, rng=rng, resamples=500)
        ranks = rank_intervals(list(values), [pair for pair, _ in compared])
        equal = (ranks["a"], ranks["b"])
        misses += any(rank.best > 1 or rank.worst < 2 for rank in equal) or ranks["c"].worst < 3
    assert misses / studies <= 0.08


RATES = {"a": 0.7, "b": 0.7, "c": 0.6}
