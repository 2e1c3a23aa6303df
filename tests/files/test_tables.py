import io
import json
import math
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from contrafact.errors import InputError
from contrafact.files.parquet import parquet_rows
from contrafact.files.tables import json_line, read_rows, render_csv, render_jsonl, write_frame
from contrafact.text.delimit import replace_surrogates

BOM = b"\xef\xbb\xbf"


def rows(tmp_path, name, data):
    file = tmp_path / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(read_rows(file))


def error(tmp_path, name, data):
    with pytest.raises(InputError) as caught:
        rows(tmp_path, name, data)
    assert caught.value.file == str(tmp_path / name)
    return caught.value


@pytest.mark.parametrize("start", [b"", BOM])
@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("a.jsonl", '{"h": "ä"}\n\n{"h": "b\u2028c"}\n', [1, 3]),
        ("a.json", '[\n {"h": "ä"},\n {\n  "h": "b\u2028c"}\n]\n', [2, 3]),
        ("a.json", '{"h": "ä"}\n{"h": "b\u2028c"}', [1, 2]),
        ("a.csv", 'h\r\nä\r\n\r\n"b\u2028c"\r\n', [2, 4]),
        ("a.tsv", "h\nä\nb\u2028c", [2, 3]),
        ("noname", '  [{"h": "ä"}, {"h": "b\u2028c"}]', [1, 2]),
        ("a.txt", '{"h": "ä"}\n{"h": "b\u2028c"}', [1, 2]),
        ("a.txt", "h\nä\nb\u2028c", [2, 3]),
    ],
)
def test_rows_and_their_lines(tmp_path, start, name, data, lines):
    assert rows(tmp_path, name, start + data.encode()) == list(
        zip(lines, [{"h": "ä"}, {"h": "b\u2028c"}], strict=True)
    )


@pytest.mark.parametrize("name", ["a.parquet", "a.bin"])
def test_parquet_counts_rows(tmp_path, name):
    pd.DataFrame({"h": ["a", None], "n": [1, 2]}).to_parquet(tmp_path / name)
    assert list(read_rows(tmp_path / name)) == [(1, {"h": "a", "n": 1}), (2, {"h": None, "n": 2})]
    pd.DataFrame({"h": [], "n": []}).to_parquet(tmp_path / name)
    assert list(read_rows(tmp_path / name)) == []  # a table of no rows is not damaged


@pytest.mark.parametrize("data", [b'{"h": 1}\n{"h": 2}\n', b'[{"h": 1},\n{"h": 2}]'])
def test_standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert list(read_rows("-")) == [(1, {"h": 1}), (2, {"h": 2})]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"h": 1}\n[2]\n')))
    with pytest.raises(InputError, match=r"^standard input:2: the row is a list, not an object"):
        list(read_rows("-"))


@pytest.mark.parametrize(
    ("name", "data", "line", "message"),
    [
        ("a.jsonl", '{"h": 1}\n{"h": \n', 2, "bad JSON: expecting value at column"),
        ("a.jsonl", '{"h": 1}\n7\n', 2, "the row is a number, not an object"),
        ("a.jsonl", '{"h": 1}\n"x"\n', 2, "the row is a text, not an object"),
        ("a.jsonl", b'{"h": 1}\n\n{"h": "\xe4"}\n', 3, "is not UTF-8 (byte 0xe4)"),
        ("a.jsonl", '{"h": ' + "9" * 5000 + "}", 1, "bad JSON"),
        ("a.jsonl", '{"h": ' + "[" * 200_000, 1, "bad JSON: nested too deeply"),
        ("a.json", '[{"h": 1},\n {"h": 2}\n {"h": 3}]', 3, "',' or ']' was expected"),
        ("a.json", '[\n{"h": 1},\n\n{"h" 2}]', 4, "bad JSON: expecting ':' delimiter"),
        ("a.json", '[\n{"h": 1},\n', 3, "bad JSON: expecting value"),
        ("a.json", '[{"h": 1}, {"h": 2}, 3]', 3, "the row is a number"),
        ("a.json", '[\n{"h": 1},\nnull]', 3, "the row is null, not an object"),
        ("a.json", '[{"h": 1}]\n{}', 2, "text after the end of the list"),
        (
            "a.json",
            '{\n "rows": []\n}\n',
            1,
            "a JSON object extends over several lines; write a list",
        ),
        ("a.json", '"x"', 1, "a JSON list was expected"),
        ("a.json", b'[\n{"h": 1},\n{"h": "\xff"}]', 3, "is not UTF-8 (byte 0xff)"),
        ("a.csv", "h,c\na,b\nThe Fed cuts, markets rally, banks gain,x\n", 3, "4 cells"),
        ("a.csv", 'h,c\n"a\n\nb",c\n"x,y\n', 5, "bad CSV"),
        ("a.csv", "h,h\na,b\n", 1, "two columns are called 'h'"),
        ("a.csv", "h\n\näöü\n".encode() + b"\xe4\n", 4, "is not UTF-8"),
        ("a.csv", b"h\n\nok\n\x81\n", 4, "is neither UTF-8 nor Windows-1252 (byte 0x81)"),
        ("a.csv", "h\nФРС\n".encode("cp1251"), None, "is neither UTF-8 nor Windows-1252"),
        ("a.csv", b"\xff\xfeh\0\n\0\0", None, "is damaged UTF-16"),
        ("a.csv", b"\xff\xfe\0\0h\0\0\0", None, "is UTF-32"),
        ("a.csv", b"h\0\n\0", None, "is UTF-16 without a byte-order mark"),
        ("a.csv", b"PK\x03\x04....", None, "is not an Excel workbook, or is damaged"),
        ("a.xls", b"\xd0\xcf\x11\xe0....", None, "is an old Excel file (.xls)"),
        ("a.json", b"\x1f\x8b....", None, "is damaged gzip"),
        ("a.parquet", b"PAR1 but no more", None, "is not Parquet, or is damaged"),
        ("a.csv", b"", None, "the file is empty"),
        ("a.json", BOM + b" \n", None, "the file is empty"),
        ("a.parquet", b"", None, "the file is empty"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, name, data, line, message):
    found = error(tmp_path, name, data)
    assert message in str(found)
    assert found.line == line
    assert found.hint
    assert "\n" not in str(found)


def test_good_rows_before_a_bad_one_are_given(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"h": 1}\n{"h": 2}\nbad\n')
    reader = read_rows(file)
    assert [next(reader), next(reader)] == [(1, {"h": 1}), (2, {"h": 2})]


def test_missing_file_and_folder_raise_at_once(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_rows(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_rows(tmp_path)
    with pytest.raises(InputError, match="is not a path"):
        read_rows("a\0.csv")


def test_short_csv_rows_have_empty_cells_and_semicolons_divide(tmp_path):
    assert rows(tmp_path, "a.csv", "h;c\na, b;d\nx\n") == [
        (2, {"h": "a, b", "c": "d"}),
        (3, {"h": "x", "c": ""}),
    ]


def test_hostile_text_comes_through_unchanged(tmp_path):
    text = "</news>\0\u202e\u200b{{x}}\r\n" + "ß" * 200_000
    quoted = '"' + text + '"'
    assert rows(tmp_path, "a.csv", f"h,c\n{quoted},1\nb,2\n") == [
        (2, {"h": text, "c": "1"}),
        (4, {"h": "b", "c": "2"}),
    ]
    assert rows(tmp_path, "a.jsonl", json.dumps({"h": text})) == [(1, {"h": text})]
    assert rows(tmp_path, "a.json", json.dumps([{"h": "\ud800"}])) == [(1, {"h": "\ud800"})]


TEXTS = st.text(st.characters(), max_size=30)  # surrogates, NULs and line ends among them
NUMBERS = st.floats(allow_nan=False)
ROWS = st.lists(
    st.tuples(TEXTS, st.none() | TEXTS, st.none() | st.booleans(), NUMBERS, st.integers(-5, 5)),
    min_size=1,
    max_size=8,
)
COLUMNS = ["text", "maybe, text", "flag", "number", "count"]


def table(rows, columns) -> pd.DataFrame:
    """Return a table of objects: pandas' own text type cannot hold a lone surrogate."""
    return pd.DataFrame(
        {
            name: pd.Series([row[place] for row in rows], dtype=object)
            for place, name in enumerate(columns)
        }
    )


def back(frame: pd.DataFrame, suffix: str) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"t{suffix}"
        write_frame(frame, file)
        return [row for _, row in read_rows(file)]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_csv_round_trip(rows):
    found = back(table(rows, COLUMNS), ".csv")
    assert len(found) == len(rows)
    for row, (text, maybe, flag, number, count) in zip(found, rows, strict=True):
        assert row["text"] == replace_surrogates(text)
        assert row["maybe, text"] == replace_surrogates(maybe or "")
        assert row["flag"] == ("" if flag is None else str(flag))
        assert float(row["number"].replace("Infinity", "inf")) == number
        assert int(row["count"]) == count


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_jsonl_round_trip(rows):
    found = back(table(rows, COLUMNS), ".jsonl")
    assert [tuple(row.values()) for row in found] == [
        (
            replace_surrogates(text),
            None if maybe is None else replace_surrogates(maybe),
            flag,
            _in_json(number),
            count,
        )
        for text, maybe, flag, number, count in rows
    ]
    assert [list(row) for row in found] == [COLUMNS] * len(rows)


@settings(max_examples=40, deadline=None)
@given(ROWS)
@example([("", None, None, 0.0, 0), ("\ud800", "a\udfff", None, 0.0, 0)])
def test_parquet_round_trip(rows):
    found = back(table(rows, COLUMNS), ".parquet")
    assert [tuple(row.values()) for row in found] == [
        (
            replace_surrogates(text),
            None if maybe is None else replace_surrogates(maybe),
            flag,
            number,
            count,
        )
        for text, maybe, flag, number, count in rows
    ]


@pytest.mark.parametrize("nan", [math.nan, np.float64("nan"), np.array([math.nan, 1.0])])
def test_a_line_of_json_is_json_whatever_the_numbers(nan):
    row = {"a": nan, "b": [math.inf, {"c": -math.inf}], "when": pd.Timestamp("2031-02-01"), 3: 0.5}

    def no_json(text):
        raise AssertionError(text)

    found = json.loads(json_line(row), parse_constant=no_json)
    assert found["a"] in (None, [None, 1.0])
    assert found["b"] == ["Infinity", {"c": "-Infinity"}]
    assert found["when"].startswith("2031-02-01") and found["3"] == 0.5


def _in_json(number: float) -> object:
    return {np.inf: "Infinity", -np.inf: "-Infinity"}.get(number, number)


@given(st.lists(TEXTS, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_single_column_loses_no_row(texts):
    found = back(table([(text,) for text in texts], ["only"]), ".csv")
    assert [row["only"] for row in found] == [replace_surrogates(text) for text in texts]


def test_missing_values_of_every_kind():
    frame = pd.DataFrame(
        {"f": [1.5, np.nan], "o": [True, None], "d": [pd.Timestamp("2024-05-01"), pd.NaT]}
    )
    assert render_csv(frame) == "f,o,d\n1.5,True,2024-05-01T00:00:00\n,,\n"
    assert [json.loads(line) for line in render_jsonl(frame).splitlines()] == [
        {"f": 1.5, "o": True, "d": "2024-05-01T00:00:00"},
        {"f": None, "o": None, "d": None},
    ]
    whole = back(pd.DataFrame({"n": [1, None]}, dtype=object), ".parquet")
    assert [str(row["n"]) for row in whole] == ["1", "None"]


def test_lists_objects_and_dates_in_cells():
    frame = pd.DataFrame(
        {
            "l": [["ä", 1]],
            "d": [{"k": np.float64(0.5)}],
            "n": [np.arange(2)],
            "t": [date(2024, 5, 1)],
        }
    )
    assert json.loads(render_jsonl(frame)) == {
        "l": ["ä", 1],
        "d": {"k": 0.5},
        "n": [0, 1],
        "t": "2024-05-01",
    }
    assert render_csv(frame) == 'l,d,n,t\n"[""ä"", 1]","{""k"": 0.5}","[0, 1]",2024-05-01\n'
    floats = pd.DataFrame({"x": [0.1 + 0.2, 1e-300]})
    assert render_csv(floats) == "x\n0.30000000000000004\n1e-300\n"


def test_an_empty_table_keeps_its_header(tmp_path):
    write_frame(pd.DataFrame({"a": [], "b": []}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,b\n"
    assert list(read_rows(tmp_path / "t.csv")) == []


def test_the_same_table_is_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"a": ["x", None], "n": [1.0, 2.0]})
    for suffix in (".csv", ".jsonl", ".parquet"):
        write_frame(frame, tmp_path / f"1{suffix}")
        write_frame(frame, tmp_path / f"2{suffix}")
        assert (tmp_path / f"1{suffix}").read_bytes() == (tmp_path / f"2{suffix}").read_bytes()


def test_another_suffix_is_refused_before_writing(tmp_path):
    with pytest.raises(InputError, match=r"name the file \.csv, .*\.parquet or \.xlsx"):
        write_frame(pd.DataFrame({"a": [1]}), tmp_path / "t.ods")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("suffix", "codec"), [(".gz", "gzip"), (".zst", "zstd"), ("", "gzip")])
def test_compressed_tables_are_read_whatever_their_name(tmp_path, suffix, codec):
    import pyarrow

    for name, text in (
        ("a.csv", "headline,n\nUp,1\n"),
        ("a.jsonl", '{"headline": "Up", "n": "1"}\n'),
    ):
        file = tmp_path / f"{name}{suffix}"
        with pyarrow.CompressedOutputStream(str(file), codec) as sink:
            sink.write(text.encode())
        assert [row for _, row in read_rows(file)] == [{"headline": "Up", "n": "1"}]


def test_lines_that_old_macs_end_are_lines(tmp_path):
    file = tmp_path / "mac.csv"
    file.write_bytes(b'headline,side\rUp,risk\r"a\rb",risk\r')
    assert [row["headline"] for _, row in read_rows(file)] == ["Up", "a\nb"]
    file.write_bytes(b"headline,side\nUp\rDown,risk\n")
    with pytest.raises(InputError, match="bad CSV: a line break within a row") as error:
        list(read_rows(file))
    assert "universal" not in str(error.value)


@pytest.mark.slow
def test_a_long_list_is_read_as_it_stands(tmp_path):
    text = 'é, "5" \\ {['
    rows = [{"text": text * (n % 7), "n": n, "more": [1.5, {"a": {}}]} for n in range(60_000)]
    rows[30_000]["text"] = "long, " * 600_000
    file = tmp_path / "list.json"
    lines = [json.dumps(row, ensure_ascii=bool(row["n"] % 2)) for row in rows]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    found = list(read_rows(file))
    assert [row for _, row in found] == rows
    assert [line for line, _ in found] == [*range(2, 60_002)]
    for wrong, problem in (("3", "a number"), ('{"a" 1}', "bad JSON"), ('{"a": "x', "bad JSON")):
        file.write_text("[\n" + ",\n".join([*lines[:50_000], wrong, *lines[:9]]) + "\n]\n")
        with pytest.raises(InputError, match=rf"list.json:50002: .*{problem}"):
            list(read_rows(file))


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.json"])
def test_a_key_that_is_null_in_an_object_is_absent(tmp_path, name):
    rows = [{"a": None, "b": [{"x": 1, "y": None}, {"y": {"z": None}}]}]
    file = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text(json.dumps(rows if name.endswith(".json") else rows[0]))
    assert list(read_rows(file)) == [(1, {"a": None, "b": [{"x": 1}, {"y": {}}]})]


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=3),
        min_size=1,
        max_size=60,
    )
)
@settings(max_examples=20, deadline=None)
def test_texts_in_lists_and_objects_come_back_from_parquet(texts):
    rows = [{"n": at, "deep": [{"t": text} for text in own]} for at, own in enumerate(texts)]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), sink, row_group_size=7)
    sink.seek(0)
    assert [row for _, row in parquet_rows(sink, "t")] == rows
