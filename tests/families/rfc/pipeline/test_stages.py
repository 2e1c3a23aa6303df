"""Rows of a stage, checked by line."""

import json

import pytest
from tests.support.lines import write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.stages import read_stage
from contrafact.files.tables import write_rows

GOOD = {"id": "a", "manipulation": "flipping", "original": "It rose.", "rewritten": "It fell."}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({**GOOD, "id": "a"}, "id 'a' is there twice (first on line 1)"),
        ({k: v for k, v in GOOD.items() if k != "original"}, "no field 'original'"),
        ({**GOOD, "id": "b", "original": "  "}, "the field 'original' is empty"),
        ({**GOOD, "id": "b", "original": None}, "the field 'original' is empty"),
        ({**GOOD, "id": "b", "rewritten": ["It fell."]}, "the field 'rewritten' is not text"),
        ({**GOOD, "id": "b", "manipulation": "flip-flop"}, "'flip-flop' is not a manipulation"),
        ({**GOOD, "id": [7]}, "the field 'id' is not text"),
    ],
)
def test_a_bad_row_is_reported_by_its_line(tmp_path, second, message):
    path = write_lines(tmp_path / "pairs.jsonl", [GOOD, second])
    with pytest.raises(InputError, match=r"pairs\.jsonl:2: ") as caught:
        read_stage(path, ("original", "rewritten"), manipulated=True)
    assert message in str(caught.value)
    assert caught.value.hint


def test_unknown_fields_and_long_paragraphs_pass_through_unchanged(tmp_path):
    row = {**GOOD, "original": "It rose. " * 120_000, "desk": {"name": "Übersee", "n": [1, 2]}}
    path = write_lines(tmp_path / "in.jsonl", [row])
    rows = read_stage(path, ("original",), manipulated=True)
    write_rows(tmp_path / "out.jsonl", [r.fields for r in rows])
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8")) == row


def test_labels_are_read_in_any_case_and_half_characters_replaced(tmp_path):
    row = {**GOOD, "manipulation": " Flipping ", "original": "It rose \ud83d."}
    (read,) = read_stage(write_lines(tmp_path / "in.jsonl", [row]), ("original",), manipulated=True)
    assert read.fields["manipulation"] == "flipping"
    assert read.fields["original"] == "It rose \ufffd."


def test_a_stage_that_kept_nothing_is_readable_where_that_is_fine(tmp_path):
    write_rows(tmp_path / "none.jsonl", [])
    assert read_stage(tmp_path / "none.jsonl", allow_empty=True) == []
    with pytest.raises(InputError, match="the file is empty"):
        read_stage(tmp_path / "none.jsonl")
