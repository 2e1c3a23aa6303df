"""Figures as people write them: each is read, may not change unseen, and may not stay unseen."""

import json
from importlib.resources import files

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.text.quantities import quantities, render

LINES = (files("contrafact.families.rfc") / "samples" / "notations.jsonl").read_text("utf-8")
ROWS = [json.loads(line) for line in LINES.splitlines()]
UNREAD = [("5万円", "8万円"), ("1.5e6 units", "2.4e6 units"), ("x5y7", "x5y8"), ("१०९अ", "१०८अ")]

TOLD = "Varden said on Monday that it had counted on {}, as firm orders came in from its shops."
EDITS = {
    "flipping": ("firm orders came", "weak orders came"),
    "sentiment": ("firm orders", "remarkably firm orders"),
    "causal": ("as firm orders came in from its shops", "as its new pump line opened on time"),
}


def found(manipulation, before, after):
    old, new = EDITS.get(manipulation, ("", ""))
    rewritten = TOLD.format(after).replace(old, new) if old else TOLD.format(after)
    check = check_pair(manipulation, TOLD.format(before), rewritten)
    return {finding.rule for finding in check.violations}


def test_there_are_forty_notations_at_least():
    assert len({row["written"] for row in ROWS}) == len(ROWS) >= 40


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["written"])
def test_a_notation_is_read_as_what_it_is_worth(row):
    (quantity,) = quantities(TOLD.format(row["written"]))
    assert quantity.text in row["written"]
    assert quantity.value == pytest.approx(row["value"]) and quantity.kind == row["kind"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["written"])
def test_a_figure_changes_in_numerical_perturbation_and_nowhere_else(row):
    before, after = row["written"], row["changed"]
    assert found("numerical", before, after) == set()
    assert found("numerical", before, before) == {"identical"}
    for manipulation in EDITS:
        assert found(manipulation, before, before) == set()
        assert found(manipulation, before, after) == {"number-changed"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["written"])
def test_a_figure_that_stays_beside_one_that_moved_is_found(row):
    both = f"{row['written']} and on 640 lorries"
    moved = f"{row['written']} and on 990 lorries"
    assert found("numerical", both, moved) == {"quantity-unchanged"}


@pytest.mark.parametrize(("before", "after"), UNREAD)
def test_digits_that_no_rule_reads_do_not_change_unseen(before, after):
    assert quantities(TOLD.format(before)) == []
    for manipulation in EDITS:
        assert found(manipulation, before, before) == set()
        assert found(manipulation, before, after) & {"number-changed", "identifier-changed"}
    check = check_pair("numerical", TOLD.format(before), TOLD.format(after))
    assert "number-changed" in {one.rule for one in (*check.violations, *check.review)}


SAME = [("¥13tn", "13 trillion yen"), ("(1.2)", "-1.2"), ("€(4.5) million", "-€4.5m")]


@pytest.mark.parametrize(("before", "after"), SAME)
def test_one_figure_in_two_notations_is_no_change(before, after):
    for manipulation in EDITS:
        assert found(manipulation, before, after) == set()
    assert found("numerical", before, after) == {"quantity-unchanged"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("growth in the mid-teens", "growth in the low teens"),
        ("growth in the mid- to high teens", "growth in the mid- to high twenties"),
        ("low double-digit growth", "high double-digit growth"),
        ("(1.2)", "1.2"),
    ],
)
def test_a_figure_in_words_or_brackets_does_not_change_unseen(before, after):
    for manipulation in EDITS:
        assert found(manipulation, before, after) == (
            set() if (manipulation, after) == ("flipping", "1.2") else {"number-changed"}
        )


@pytest.mark.parametrize(
    "text", ["It fell (4.5%) in May.", "It has (12) shops.", "First (1) costs and (2) orders."]
)
def test_an_aside_or_a_numbering_in_brackets_is_no_loss(text):
    assert all(quantity.value > 0 for quantity in quantities(text))


def test_another_value_of_a_loss_in_brackets_is_written_so():
    (loss,) = quantities("A result of $(0.12) in May.")
    assert render(loss, -0.21) == "$(0.21)"
    assert render(loss, 0.21) == "$0.21"
