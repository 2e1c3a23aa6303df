"""One clause, three grammatical queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import condition_of, free_forms, queries


@pytest.mark.parametrize(
    ("clause", "after_had", "after_if"),
    [
        ("the brakes had failed", "the brakes failed", "the brakes had failed"),
        ("There had been no storm.", "there been no storm", "there had been no storm"),
        ("the brakes hadn't failed", "the brakes not failed", "the brakes had not failed"),
        ("If the vines had been pruned", "the vines been pruned", "the vines had been pruned"),
        ("Anna had taken the train", "Anna taken the train", "Anna had taken the train"),
        ("the nurse had had a map", "the nurse had a map", "the nurse had had a map"),
        (
            "the salt and the pepper had run out",
            "the salt and the pepper run out",
            "the salt and the pepper had run out",
        ),
        # Several things set at once: one "had" in front serves them all.
        (
            "the brakes had failed and the road had been dry",
            "the brakes failed and the road been dry",
            "the brakes had failed and the road had been dry",
        ),
        (
            ["the road had been wet", "the lamp had failed", "it had been night"],
            "the road been wet, the lamp failed and it been night",
            "the road had been wet, the lamp had failed and it had been night",
        ),
    ],
)
def test_a_clause_becomes_three_queries(clause, after_had, after_if):
    a, b, c = queries(clause)
    assert a.endswith(f"would have happened instead had {after_had}.")
    assert b.endswith(f"what happens if {after_if}.")
    assert c.endswith(f"would have occurred had {after_had}.")
    assert free_forms((a, b, c)) == []
    assert [condition_of(query) for query in (a, b, c)] == [after_had, after_if, after_had]


@pytest.mark.parametrize(
    "clause",
    [
        *("the brakes failed", "had", "", "the brakes had", [], "had the road been dry"),
        *("the crew had left before it had rained", "the car that he had bought had failed"),
    ],
)
def test_what_is_no_such_clause_is_reported(clause):
    with pytest.raises(InputError, match=r"intervention|'had'") as raised:
        queries(clause)
    assert "the brakes had failed" in str(raised.value)


def test_a_query_in_free_form_is_known_as_such():
    a, b, c = queries("the pump had held")
    assert free_forms((a, "What if the pump had held?", c)) == [1]
    assert free_forms((b, a, c)) == [0, 1], "each phrasing has its own form"
    assert condition_of("What if the pump had held?") is None


@given(
    st.sampled_from(["the bell", "Oda", "no ship", "both bakers", "it"]),
    st.sampled_from(["rung", "been seen", "not come back", "kept its place in the row"]),
)
def test_subject_and_rest_survive(subject, rest):
    a, b, _ = queries(f"{subject} had {rest}")
    assert condition_of(a) == f"{subject} {rest}"
    assert condition_of(b) == f"{subject} had {rest}"
