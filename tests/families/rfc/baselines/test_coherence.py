"""The coherence detector sees what arithmetic can decide, and leaves consistent text alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.contracts.contradictions import contradictions
from contrafact.families.rfc.data import bundled_pairs, bundled_shots


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Profit rose to $38 million from $41 million.", "direction"),
        ("Shares slipped from $20 to $24.", "direction"),
        ("Market share widened from 14% to 10%.", "direction"),
        ("Revenue rose 12% to $56 million from $40 million.", "percent change"),
        ("Its market share grew to 130%.", "over 100%"),
        ("Sales fell 120% in May.", "over 100%"),
        ("Services make up 70% of revenue and products make up 45% of revenue.", "parts"),
        ("Earnings per share of $1.15 beat the consensus of $1.30.", "expectation"),
        ("The firm missed estimates with EPS of $2.10 versus $1.90 expected.", "expectation"),
    ],
)
def test_a_contradiction_is_found_and_named(text, rule):
    (found,) = contradictions(text)
    assert found.rule == rule
    assert text[found.start : found.end].strip()


@pytest.mark.parametrize(
    "text",
    [
        "Profit rose to $41 million from $38 million.",
        "Shares slipped from $24 to $20.",
        "Revenue rose 40% to $56 million from $40 million.",
        "Revenue rose 11.8% to $9.5 million from $8.5 million.",
        "Sales rose 120% in May.",
        "Services make up 70% of revenue and products make up 30% of revenue.",
        "In a survey, 70% of shoppers named price and 45% named quality.",
        "Earnings per share of $1.30 beat the consensus of $1.15.",
        "Rates have risen by more than expected to 5% from 4.5%.",
        "The iPhone 17 ships in 2025.",
        "",
    ],
)
def test_consistent_text_passes(text):
    assert contradictions(text) == []


def test_no_published_paragraph_of_our_own_contradicts_itself():
    for pair in (*bundled_pairs(), *bundled_shots()):
        assert contradictions(pair.original) == []


@given(st.integers(10, 500), st.integers(10, 500), st.sampled_from(["rose", "fell"]))
def test_a_direction_is_right_exactly_when_its_figures_say_so(old, new, verb):
    found = contradictions(f"Revenue {verb} to ${new} million from ${old} million.")
    right = new > old if verb == "rose" else new < old
    assert bool(found) == (not right)
