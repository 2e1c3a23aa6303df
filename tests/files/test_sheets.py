"""Sheets that people fill in: what a spreadsheet does to them changes nothing."""

from hypothesis import given
from hypothesis import strategies as st

from contrafact.files.sheets import guarded, item_check, unguarded


@given(st.text(max_size=20))
def test_no_cell_is_a_formula_and_guarding_can_be_undone(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_check_sees_words_and_not_spaces() -> None:
    assert item_check(("A  headline ", "risk", "b\nc")) == item_check(("A headline", "risk", "b c"))
    assert item_check(("A headline", "risk", "b")) != item_check(("A headline", "opportunity", "b"))
