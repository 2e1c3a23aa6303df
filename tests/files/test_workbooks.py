"""Workbooks as analysts keep them: a readme before the table, filters, formulas, long texts."""

import pandas as pd
import pytest
from openpyxl import Workbook, load_workbook

from contrafact import console
from contrafact.errors import InputError
from contrafact.files.tables import read_rows, write_frame


@pytest.fixture(autouse=True)
def nothing_said():
    console._printed.clear()


def book_of(path, sheets, hidden=(), filtered=()):
    """Write a workbook: rows by sheet, and which rows of the last sheet are hidden."""
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    for line in (*hidden, *filtered):
        sheet.row_dimensions[line].hidden = True
    if filtered:
        sheet.auto_filter.ref = sheet.dimensions
    book.save(path)
    return path


NEWS = [["headline", "ticker"], ["Tern rises", "TRN"], ["Vale falls", "VAL"], ["Fen waits", "FEN"]]


def headlines(path):
    return [(line, row["headline"]) for line, row in read_rows(path)]


@pytest.mark.parametrize("how", ["hidden", "filtered"])
def test_hidden_and_filtered_rows_are_left_out_and_said_unless_asked_for(tmp_path, capsys, how):
    path = book_of(tmp_path / "news.xlsx", {"March": NEWS}, **{how: (3,)})
    assert headlines(path) == [(2, "Tern rises"), (4, "Fen waits")]
    assert "1 hidden or filtered rows of 'March' are left out" in capsys.readouterr().err
    everything = [(2, "Tern rises"), (3, "Vale falls"), (4, "Fen waits")]
    for named in ("March+hidden", "+hidden", "march+hidden"):
        assert headlines(f"{path}#{named}") == everything
    assert capsys.readouterr().err == ""


def test_the_sheet_that_holds_the_table_is_found_behind_a_readme(tmp_path, capsys):
    readme = [["About this file"], ["Made by the desk"], [None, "ask before you change it"]]
    sheets = {"Read me": readme, "Empty": [["headline"]], "News": [["Week 12"], *NEWS]}
    path = book_of(tmp_path / "news.xlsx", sheets)
    assert [text for _, text in headlines(path)] == ["Tern rises", "Vale falls", "Fen waits"]
    assert "sheet 'News' of 3 is read" in capsys.readouterr().err
    with pytest.raises(InputError, match="there is no sheet 'Nws'"):
        headlines(f"{path}#Nws")


def test_a_column_that_only_columns_names_tells_the_table_too(tmp_path):
    path = book_of(tmp_path / "a.xlsx", {"Info": [["note", "by"]], "Feed": [["Zeile"], ["Tern"]]})
    assert [row for _, row in read_rows(path, {"headline": "Zeile"})] == [{"headline": "Tern"}]


def test_a_formula_that_was_never_worked_out_is_said(tmp_path, capsys):
    rows = [["headline", "change"], ["Tern rises", "=1+1"], ["Vale falls", "=A1&A2"]]
    path = book_of(tmp_path / "news.xlsx", {"News": rows})
    assert [row["change"] for _, row in read_rows(path)] == [None, None]
    said = capsys.readouterr().err
    assert "cell B2 has a formula without a value (and 1 more), read as empty" in said


def test_columns_are_as_wide_as_their_texts_and_long_ones_wrap(tmp_path):
    long = "A quarter that nobody expected. " * 12
    frame = pd.DataFrame({"id": ["a1", "a2"], "text": [long, "two\nlines"], "n": [1, 2]})
    write_frame(frame, tmp_path / "out.xlsx")
    sheet = load_workbook(tmp_path / "out.xlsx").active
    widths = {name: sheet.column_dimensions[name].width for name in "ABC"}
    assert widths["A"] < 8 and 40 < widths["B"] < 80 and widths["C"] < 8
    assert sheet["B2"].alignment.wrap_text and sheet["B3"].alignment.wrap_text
    assert not sheet["A2"].alignment.wrap_text
    assert sheet.auto_filter.ref == "A1:C3"
    pd.testing.assert_frame_equal(pd.read_excel(tmp_path / "out.xlsx"), frame)
