"""The verifier ``rules``: what it decides, what it leaves open, and never by its own headline."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.finforce.exam import finforce_items
from contrafact.families.finforce.judging import subject_of
from contrafact.families.finforce.verifier import balance, rules

HEADLINE = "Korvan Mills reports higher quarterly sales in Europe"


def decided(criterion, text, side="risk", headline=HEADLINE):
    return rules(criterion, subject_of(headline, side, text)).passed


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Korvan Mills warns of layoffs as European demand collapses", "risk"),
        ("Korvan Mills does not recover in Europe and its costs soar", "risk"),
        ("Inflation rises again in Europe, squeezing Korvan Mills", "risk"),
        ("Korvan Mills wins record orders in Europe, boosting profit", "opportunity"),
        ("Korvan Mills avoids layoffs as costs fall in Europe", "opportunity"),
        ("Korvan Mills resolves its dispute and resumes shipments", "opportunity"),
    ],
)
def test_the_side_is_read_off_what_is_new(text, side):
    other = "opportunity" if side == "risk" else "risk"
    assert decided("directionality", text, side) is True
    assert decided("directionality", text, other) is False


def test_a_text_that_says_nothing_new_has_no_side():
    assert decided("directionality", HEADLINE) is False
    assert (
        decided("directionality", "KORVAN MILLS reports higher quarterly sales in Europe.") is False
    )


def test_what_balances_is_undecided():
    decision = rules(
        "directionality", subject_of(HEADLINE, "risk", "Korvan Mills grows in Europe amid layoffs")
    )
    assert decision.passed is None and "balance" in decision.reason


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Korvan Mills cuts jobs after its sales in Europe slow", True),
        ("A choir from Ostrava sings at the harbour", False),
        ("Korvan Mills did not report higher quarterly sales in Europe", False),
        ("Korvan Mills keeps its quarterly sales in Europe", None),
    ],
)
def test_forward_compatibility(text, passed):
    assert decided("forward_compatibility", text) is passed


def test_no_rule_decides_another_criterion():
    assert decided("trivial_consequences", "Korvan Mills cuts jobs") is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_gets_a_decision_and_sides_oppose(headline, text):
    assert balance(headline, headline) == 0
    risk = decided("directionality", text, "risk", headline)
    gain = decided("directionality", text, "opportunity", headline)
    same = risk is gain
    assert not same or risk in (None, False)
    assert decided("forward_compatibility", text, headline=headline) in (True, False, None)


def test_which_side_news_is_of_is_told_far_better_than_by_chance():
    """The items were written before the rules were; the bounds are what was measured, less 5%."""
    right: dict[str, list[bool]] = {}
    for item in finforce_items():
        for criterion, known in item.known.items():
            found = rules(criterion, subject_of(item.about, item.facts["side"], item.text)).passed
            if found is not None:
                right.setdefault(item.kind, []).append(found is known)
    shares = {kind: sum(own) / len(own) for kind, own in right.items()}
    assert shares["pass"] > 0.83 and shares["wrong-side"] > 0.8 and shares["turned"] > 0.8
