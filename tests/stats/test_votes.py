import numpy as np
import pytest

from contrafact.stats.votes import error_risk, majority


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([], None),
        (["yes"], "yes"),
        (["yes", "no"], None),
        (["yes", "no", "yes"], "yes"),
        (["a", "a", "b", "c"], None),
        ([True, False, False], False),
    ],
)
def test_a_majority_is_more_than_half_of_the_votes(votes, expected):
    assert majority(votes) == expected


def dual_review(source: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, groups and votes: two annotators, some audits, an adjudicator."""
    group = np.arange(n) % 4
    right = source.random(n) < np.array([0.95, 0.9, 0.8, 0.7])[group]
    rates = [(0.94, 0.85), (0.92, 0.9), (0.97, 0.95), (0.95, 0.9)]
    votes = np.full((n, 4), -1, dtype=np.int8)
    for person, (se, sp) in enumerate(rates):
        votes[:, person] = source.random(n) < np.where(right, se, 1 - sp)
    votes[source.random(n) >= 0.12, 2] = -1
    votes[votes[:, 0] == votes[:, 1], 3] = -1
    return right, group, votes


def kept(votes: np.ndarray) -> np.ndarray:
    """Items that both passed, or the adjudicator did."""
    return ((votes[:, :2] == 1).all(axis=1)) | (votes[:, 3] == 1)


def test_items_that_all_judge_alike_are_as_sure_as_the_votes_make_them():
    votes = np.ones((60, 3), dtype=np.int8)
    votes[:20] = 0
    risk = error_risk(votes, np.zeros(60, dtype=np.intp), rng=rng())
    assert risk[:20].min() > 0.97
    assert risk[20:].max() < 0.03


def test_risks_come_out_as_large_as_they_are():
    right, group, votes = dual_review(rng(3), 4_000)
    risk = error_risk(votes, group, rng=rng(4))
    assert risk.sum() == pytest.approx((~right).sum(), rel=0.05)
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        among = (low <= risk) & (risk < high)
        assert risk[among].mean() == pytest.approx((~right[among]).mean(), abs=0.02)


def test_the_errors_that_stay_are_cautiously_many():
    source, expected, true = rng(5), [], []
    for _ in range(20):
        right, group, votes = dual_review(source, 300)
        final = kept(votes)
        expected.append(error_risk(votes, group, draws=250, rng=source)[final].sum())
        true.append((~right[final]).sum())
    # Cautious, since votes alone tell little of rare errors, and yet far from the eighth that the
    # items had before anybody looked.
    assert np.mean(true) <= np.mean(expected) <= np.mean(true) + 3


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="there must be items"):
        error_risk(np.empty((0, 2), dtype=np.int8), np.empty(0, dtype=np.intp), rng=rng())
