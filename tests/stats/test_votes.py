import numpy as np
import pytest

from contrafact.stats.votes import latent_truth, majority


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
    found = latent_truth(votes, np.zeros(60, dtype=np.intp), rng=rng())
    risk = found.risk()
    assert risk[:20].min() > 0.97
    assert risk[20:].max() < 0.03
    assert found.rhat < 1.05
    assert (found.wrong(np.arange(60) >= 0) >= 18).mean() > 0.95


def test_people_come_out_as_good_as_they_are():
    right, group, votes = dual_review(rng(3), 4_000)
    found = latent_truth(votes, group, rng=rng(4))
    assert found.sensitivity.mean(axis=0)[:2] == pytest.approx([0.94, 0.92], abs=0.02)
    assert found.specificity.mean(axis=0)[:2] == pytest.approx([0.85, 0.9], abs=0.05)
    assert found.right.sum(axis=1).mean() == pytest.approx(right.sum(), rel=0.02)


def test_the_error_that_stays_is_covered():
    source, held, rounds, median, true = rng(5), 0, 30, [], []
    for _ in range(rounds):
        right, group, votes = dual_review(source, 300)
        final = kept(votes)
        found = latent_truth(votes, group, final.astype(np.intp), draws=250, burn=150, rng=source)
        low, middle, high = np.quantile(found.wrong(final), [0.025, 0.5, 0.975])
        true.append((~right[final]).sum())
        median.append(middle)
        held += low <= true[-1] <= high
    # 95% of 30 is 28.5; 26 is two standard errors less.
    assert held >= 26
    # Cautious, since votes alone tell little of rare errors, and yet far from the eighth that the
    # items had before anybody looked.
    assert np.mean(true) <= np.mean(median) <= np.mean(true) + 3


def test_kinds_tell_items_apart_whose_votes_are_the_same():
    votes = np.ones((10, 2), dtype=np.int8)
    first = np.arange(10) < 4
    group = np.zeros(10, dtype=np.intp)
    apart = latent_truth(votes, group, first.astype(np.intp), draws=50, burn=10, rng=rng())
    assert (apart.wrong(first) + apart.wrong(~first) == apart.wrong(first | ~first)).all()
    with pytest.raises(ValueError, match="cannot be told apart"):
        latent_truth(votes, group, draws=5, burn=1, rng=rng()).wrong(first)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="there must be items"):
        latent_truth(np.empty((0, 2), dtype=np.int8), np.empty(0, dtype=np.intp), rng=rng())
