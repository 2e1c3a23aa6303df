"""Workbooks as analysts keep them: several sheets, hidden rows, long texts."""

import zipfile

import pandas as pd
import pytest
from openpyxl import Workbook, load_workbook

from contrafact import console
from contrafact.errors import InputError
from contrafact.files.tables import read_rows, write_frame


@pytest.fixture(autouse=True)
def nothing_said():
    console._printed.clear()


def test_the_first_visible_sheet_is_read_with_its_hidden_rows_and_others_are_named(
    tmp_path, capsys
):
    book = Workbook()
    for title, rows in {
        "News": [["headline"], ["Tern rises"], ["Vale falls"]],
        "Old": [["headline"], ["Fen waits"]],
    }.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book["News"].row_dimensions[3].hidden = True
    book.active.sheet_state = "hidden"
    path = tmp_path / "news.xlsx"
    book.save(path)

    def headlines(named):
        return [(line, row["headline"]) for line, row in read_rows(named)]

    assert headlines(path) == [(2, "Tern rises"), (3, "Vale falls")]
    said = f"sheet 'News' of 2 is read; another is {path}#Old"
    assert said in capsys.readouterr().err
    assert headlines(f"{path}#old") == [(2, "Fen waits")]
    with pytest.raises(InputError, match="there is no sheet 'Nws'"):
        headlines(f"{path}#Nws")


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


def test_only_what_is_called_so_is_said_to_be_an_archive(tmp_path):
    for name, hint in (("not.xlsx", "save it again as .xlsx"), ("news.zip", "unpack it")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("news.csv", "headline\nTern rises\n")
        with pytest.raises(InputError, match=hint) as caught:
            list(read_rows(tmp_path / name))
        assert ("unpack" in str(caught.value)) == name.endswith(".zip")
