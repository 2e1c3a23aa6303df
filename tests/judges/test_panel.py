"""A panel: majority of valid members, ties invalid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.judges.panel import PANEL, majority
from contrafact.records import Verdict


def vote(passed, name="j"):
    invalid = None if passed is not None else "unreadable"
    return Verdict(criterion="c", passed=passed, invalid=invalid, judge=name)


def test_a_panel_of_one_is_its_member():
    assert majority([vote(True, "solo")]).judge == "solo"


@given(st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=9), st.randoms())
def test_majority_of_the_valid_votes_in_any_order(votes, random):
    verdict = majority([vote(v) for v in votes])
    yes, no = votes.count(True), votes.count(False)
    assert verdict.judge == PANEL
    assert verdict.passed == (None if yes == no else yes > no)
    assert verdict.invalid == (None if yes != no else "tie" if yes else "no valid verdict")
    random.shuffle(votes)
    assert majority([vote(v) for v in votes]) == verdict


def test_votes_on_different_criteria_do_not_mix():
    other = Verdict(criterion="d", passed=True, judge="j")
    with pytest.raises(ValueError, match="one criterion"):
        majority([vote(True), other])
    with pytest.raises(ValueError, match="at least one"):
        majority([])
