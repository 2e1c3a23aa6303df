"""Figures of a single text that contradict each other, and those that only look so."""

import pytest

from contrafact.families.rfc.contracts import contradictions


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The bank revised its forecast for growth downward from 3.2 to 4.2 percent.", False),
        ("The bank revised its forecast for growth downward from 4.2 to 3.2 percent.", True),
        ("It revised the forecast upward from a previous 3.2 percent to 4.2 percent.", True),
    ],
)
def test_a_forecast_moves_the_way_that_it_is_said_to(text, holds):
    assert (not contradictions(text)) is holds
