"""Sheets that people fill in: what a spreadsheet does to them changes nothing."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.files.fields import guarded, unguarded
from contrafact.files.sheets import (
    find_key,
    item_check,
    read_filled,
    write_sheet,
)


@given(st.text(max_size=20))
def test_no_cell_is_a_formula_and_guarding_can_be_undone(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_check_sees_words_and_not_spaces() -> None:
    assert item_check(("A  headline ", "risk", "b\nc")) == item_check(("A headline", "risk", "b c"))
    assert item_check(("A headline", "risk", "b")) != item_check(("A headline", "opportunity", "b"))


def test_a_sheet_is_csv_or_excel_and_reads_the_same(tmp_path):
    texts = ["=1+1", "ЦБ РФ повысил ставку", "one\ntwo", "'quoted", "-3%"]
    frame = pd.DataFrame({"item": [f"i{n}" for n in range(5)], "text": texts, "answer": [None] * 5})
    checks = {f"i{n}": item_check([text]) for n, text in enumerate(texts)}
    for name in ("a.csv", "b.xlsx"):
        path = tmp_path / name
        key, guidelines = write_sheet(path, frame, frame, "Read.")
        assert find_key([path]) == key and guidelines.read_text() == "Read."
        before = path.read_bytes()
        write_sheet(path, frame, frame, "Read.")  # the same again: nothing happens
        assert path.read_bytes() == before
        with pytest.raises(InputError, match="another study under this name"):
            write_sheet(path, frame.iloc[:3], frame, "Read.")
        problems: list[str] = []
        found = list(
            read_filled(
                [path], checks, shown=["text"], asked=["answer"], command="x", problems=problems
            )
        )
        assert [row.cells["text"] for row in found] == texts and not problems
        assert name.endswith(".xlsx") or before.startswith(b"\xef\xbb\xbf")
    with pytest.raises(InputError, match=r"name it \.csv or \.xlsx"):
        write_sheet(tmp_path / "c.txt", frame, frame, "Read.")
