"""Tables of Excel's making: encodings, workbooks, headers, names; whatever the texts are."""

import importlib
import io
import tempfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.files.delimited import Dialect, dialect_of, utf8_stream
from contrafact.files.fields import is_absent, named_columns, rename_row
from contrafact.files.tables import open_table, read_rows, write_frame
from contrafact.files.workbooks import _ERRORS, MAX_CELL, split_sheet
from contrafact.text.delimit import replace_surrogates

TEXTS = st.text(st.characters(), max_size=20)  # surrogates, NULs and line ends among them
WESTERN = st.text(st.characters(codec="cp1252", exclude_characters="\0\r\n"), max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.integers(-(10**18), 10**18), st.booleans()), min_size=1))
def test_a_workbook_keeps_every_character_and_every_digit(rows):
    frame = pd.DataFrame(rows, columns=["=text", "n", "b"], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.xlsx"
        write_frame(frame, file)
        found = [row for _, row in read_rows(file)]
        types = {
            cell.data_type
            for row in openpyxl.load_workbook(file).active.iter_rows()
            for cell in row
        }
    assert [row["=text"] or "" for row in found] == [
        "" if text in _ERRORS else replace_surrogates(text)
        for text, _, _ in rows  # as is said
    ]
    assert [int(row["n"]) for row in found] == [number for _, number, _ in rows]
    assert [row["b"] for row in found] == [flag for _, _, flag in rows]
    assert "f" not in types


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(WESTERN, WESTERN, st.integers(0, 99)), min_size=1, max_size=8),
    st.sampled_from([";", "\t", ","]),
    st.sampled_from(["cp1252", "utf-16", "utf-8-sig"]),
)
def test_what_excel_writes_is_read_as_it_was(rows, delimiter, encoding):
    assume(any(ord(c) > 127 for row in rows for text in row[:2] for c in text))
    frame = pd.DataFrame(rows, columns=["headline", "more", "n"], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.csv"
        write_frame(frame, file, Dialect(delimiter))
        data = file.read_text("utf-8").encode(encoding)
        high = sum(byte > 127 for byte in data)
        letters = sum(byte > 127 or chr(byte).isalpha() for byte in data)
        assume(encoding != "cp1252" or high < 0.3 * letters)
        odd = [c for c in data.decode("utf-8", "surrogateescape") if ord(c) > 127]
        wrong = sum("\udc80" <= c <= "\udcff" for c in odd)
        assume(encoding != "cp1252" or 2 * wrong > len(odd))  # half may be UTF-8 by chance
        file.write_bytes(data)
        table = open_table(file, decimals=False)
        found = [tuple(row.values()) for _, row in table.rows]
    wanted = [(text, more, str(n)) for text, more, n in rows]
    assert found == wanted
    assert table.dialect == Dialect(delimiter, mark=True)


# Sentences of real languages, by people who know nothing of this program.
@pytest.mark.parametrize("language", ["de", "es", "fr", "pt", "sv"])
@pytest.mark.slow
def test_western_text_of_others_is_told_from_utf_8(language):
    for text in sentences(language):
        if text.isascii():
            continue
        for encoding, foreign in (("cp1252", True), ("utf-8", False)):
            stream, found = utf8_stream(io.BytesIO(text.encode(encoding)), "it", legacy=True)
            assert (stream.read().decode(), found) == (text, foreign)


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *[("ru", "cp1251"), ("el", "cp1253"), ("he", "cp1255"), ("ar", "cp1256")],
        *[("ja", "shift_jis"), ("zh", "gbk")],
    ],
)
def test_other_scripts_of_others_are_refused_and_not_guessed(language, encoding):
    for text in sentences(language):
        data = ("headline,n\n" + text).encode(encoding, "ignore")
        with pytest.raises(InputError, match="is neither UTF-8 nor Windows-1252"):
            utf8_stream(io.BytesIO(data), "it", legacy=True)


def sentences(language: str) -> list[str]:
    found = importlib.import_module(f"spacy.lang.{language}.examples").sentences
    assert found
    return list(found)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(min_codepoint=0xA1, max_codepoint=0x2FFF), min_size=3), st.data())
def test_damaged_utf_8_is_never_read_as_something_else(text, data):
    assume(text.isprintable())
    place = data.draw(st.integers(0, len(text)))
    broken = text[:place].encode() + b"\xff" + text[place:].encode()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.csv"
        file.write_bytes(b"headline\n" + broken + b"\n")
        with pytest.raises(InputError, match=r":2: is not UTF-8 \(byte 0xff\)"):
            list(read_rows(file))


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b, c\n1;2\n3;4, 5\n", ";"),
        ("headline,note; more\nA; b,c; d\nA; b,c; d\n", ","),
        ("headline\nA; b\nC; d\n", ","),
        ("Kopf\nA;b\nC;d\nE;f\n", ","),  # a single column whose texts hold semicolons
        ('sep=|\n"a, b"|c\n', "|"),
        ('"a;b";c\n1;2\n', ";"),
        ("a\tb, c\n1\t2, 3\n", "\t"),
        ("\ufeffDatum;Titel\n", ";"),
    ],
)
def test_what_divides_a_table(head, delimiter):
    assert dialect_of(head) == delimiter


@pytest.mark.parametrize(
    "text",
    [
        "Bericht, März;;\nDatum;Titel;Wert\n1;a;0,5\n",
        "Week 12\nDate,Headline\n1,a\n",
        '"Week 12",\nDate,Headline,n\n1,a,2\n',
    ],
)
def test_titles_above_the_header_are_refused_with_what_to_do(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=r"t\.csv:2: .* remove titles above the header"):
        list(read_rows(tmp_path / "t.csv"))


def test_a_workbooks_errors_escapes_and_sheets(tmp_path, capsys):
    book = openpyxl.Workbook()
    book.active.title = "Hidden"
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet("Feed")
    for row in (["headline", "", "n"], ["a_x000D_\nb", None, 0.5], ["#NAME?", None, 1], [None] * 3):
        sheet.append(row)
    sheet["A9"] = " "
    book.save(tmp_path / "f.xlsx")
    assert list(read_rows(tmp_path / "f.xlsx")) == [
        (2, {"headline": "a\r\nb", "": None, "n": 0.5}),
        (3, {"headline": None, "": None, "n": 1}),
    ]
    assert "line 3 has Excel's error #NAME?, read as empty" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"no sheet 'Fed' \(found: 'Hidden', 'Feed'\)"):
        list(read_rows(f"{tmp_path / 'f.xlsx'}#Fed"))
    assert split_sheet("a.xlsx#B") == ("a.xlsx", "B")
    assert split_sheet("a#b.csv") == ("a#b.csv", None)
    with pytest.raises(InputError, match=f"a cell of Excel holds {MAX_CELL:,}"):
        write_frame(pd.DataFrame({"t": ["x" * (MAX_CELL + 1)]}), tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()


def test_decimal_commas_are_turned_by_column(tmp_path):
    (tmp_path / "t.csv").write_text("headline;a;b;c\nx;0,5;1,2;1.000\ny;1.234,5;1;2\nz;NaN;x;3\n")
    rows = [row for _, row in read_rows(tmp_path / "t.csv")]
    assert [row["a"] for row in rows] == ["0.5", "1234.5", "NaN"]
    assert [row["b"] for row in rows] == ["1,2", "1", "x"]
    assert [row["c"] for row in rows] == ["1.000", "2", "3"]  # no comma says what the point is


def test_what_programs_write_for_nothing_is_no_value_and_words_are_values():
    assert all(map(is_absent, ("NULL", "nan", " NaN ", "<NA>", "NaT", "#N/A", " ", "")))
    assert not any(map(is_absent, ("NA", "None", "null and void", "N/A", "0", "-")))


def test_columns_are_named_as_the_file_or_as_anyone_spells_them():
    assert named_columns(["a=B, c,d = E"]) == {"a": "B, c", "d": "E"}
    assert named_columns(["a=B", "c=D"]) == {"a": "B", "c": "D"}
    row = {"News Head": 1, "headline": 2, "x": 3}
    assert rename_row(row, {"headline": "news_head"}) == ({"headline": 1, "x": 3}, ("headline",))
    assert rename_row(row, {"y": "nothing"}) == (row, ())
    assert rename_row({"a": 1}, {"x": "a", "y": "a"})[0] == {"x": 1, "y": 1}
    for bad in ("a", "=b", "a=", "a=b,a=c"):
        with pytest.raises(InputError, match="--columns"):
            named_columns([bad])


@pytest.mark.parametrize("name", ["news.txt", "news.csv", "news"])
def test_excels_unicode_text_goes_out_as_excel_reads_it(tmp_path, name):
    text = "Headline\tRisk\r\nЦБ повысил ставку\tДефолты\r\n"
    (tmp_path / name).write_bytes(text.encode("utf-16"))
    table = open_table(tmp_path / name)
    assert table.dialect == Dialect("\t", mark=True)
    assert [row for _, row in table.rows] == [{"Headline": "ЦБ повысил ставку", "Risk": "Дефолты"}]


@pytest.mark.parametrize(("start", "by"), [(b"BZh91AY&SY", "bzip2"), (b"\xfd7zXZ\0", "xz")])
def test_what_else_packs_a_table_is_named(start, by, tmp_path):
    file = tmp_path / f"rows.csv.{by}"
    file.write_bytes(start + bytes(range(128, 256)))
    with pytest.raises(InputError, match=f"is packed by {by}; unpack it"):
        list(read_rows(file))
