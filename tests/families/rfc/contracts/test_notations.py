"""Figures as people write them: each is read, may not change unseen, and may not stay unseen."""

import json
from importlib.resources import files

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.text.quantities import quantities

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
