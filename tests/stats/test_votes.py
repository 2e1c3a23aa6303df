import pytest

from contrafact.stats.votes import majority


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
