"""Figures of a single text that contradict each other, and those that only look so."""

import pytest

from contrafact.families.rfc.contracts import contradictions


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The bank revised its forecast for growth downward from 3.2 to 4.2 percent.", False),
        ("The bank revised its forecast for growth downward from 4.2 to 3.2 percent.", True),
        ("It revised the forecast upward from a previous 3.2 percent to 4.2 percent.", True),
        ("The index rises above 17,200-mark. It climbed 91 points, to 17,157.40.", False),
        ("The index slips below 17,200-mark. It fell 91 points, to 17,157.40.", True),
        ("The index slumps over 300 points in early trade.", True),
        ("Inflation climbs above 4% in May. Annual inflation climbed to 3.5% in May.", False),
        ("Inflation climbs above 4% in May. Annual inflation climbed to 4.5% in May.", True),
        ("Mortgage rates drop below 7%. They averaged 7.08% in the week.", False),
        ("Mortgage rates drop below 7%. They averaged 6.95% in the week.", True),
        ("Shares trade below 100 pence. They closed at 98, having opened at 104 pence.", True),
        ("Inflation is seen above 31% in May, falling to 24% by the end of the year.", True),
        ("Revenue of the chip maker fell 150% to $26.0 billion.", False),
        ("Revenue of the chip maker rose 150% to $26.0 billion.", True),
    ],
)
def test_a_level_lies_on_the_side_of_its_bound_that_it_is_said_to(text, holds):
    assert (not contradictions(text)) is holds
