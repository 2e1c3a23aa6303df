import io
import json
import sys

import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.files.jsonl import read_rows

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
        ("noname", '  [{"h": "ä"}, {"h": "b\u2028c"}]', [1, 1]),
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


@pytest.mark.parametrize("data", [b'{"h": 1}\n{"h": 2}\n', b'[{"h": 1},\n{"h": 2}]'])
def test_standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert list(read_rows("-")) == [(1, {"h": 1}), (2, {"h": 2})]


def test_standard_input_is_named_in_errors(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"h": 1}\n[2]\n')))
    with pytest.raises(InputError, match=r"^standard input:2: the row is a list, not an object"):
        list(read_rows("-"))


@pytest.mark.parametrize(
    ("name", "data", "line", "said"),
    [
        ("a.jsonl", '{"h": 1}\n{"h": \n', 2, "bad JSON: Expecting value at column"),
        ("a.jsonl", '{"h": 1}\n7\n', 2, "the row is a number, not an object"),
        ("a.jsonl", '{"h": 1}\n"x"\n', 2, "the row is a text, not an object"),
        ("a.jsonl", b'{"h": 1}\n\n{"h": "\xe4"}\n', 3, "is not UTF-8 (byte 0xe4)"),
        ("a.jsonl", '{"h": ' + "9" * 5000 + "}", 1, "bad JSON"),
        ("a.jsonl", '{"h": ' + "[" * 200_000, 1, "bad JSON: nested too deeply"),
        ("a.json", '[{"h": 1},\n {"h": 2}\n {"h": 3}]', 3, "',' or ']' was expected"),
        ("a.json", '[\n{"h": 1},\n\n{"h" 2}]', 4, "bad JSON: Expecting ':' delimiter"),
        ("a.json", '[\n{"h": 1},\n', 3, "bad JSON: Expecting value"),
        ("a.json", '[\n{"h": 1},\nnull]', 3, "the row is null, not an object"),
        ("a.json", '[{"h": 1}]\n{}', 2, "text after the end of the list"),
        ("a.json", '{\n "rows": []\n}\n', 1, "the file is one JSON object, not a list"),
        ("a.json", '"x"', 1, "a JSON list was expected"),
        ("a.json", b'[\n{"h": 1},\n{"h": "\xff"}]', 3, "is not UTF-8 (byte 0xff)"),
        ("a.csv", "h,c\na,b\nThe Fed cuts, markets rally, banks gain,x\n", 3, "4 cells"),
        ("a.csv", 'h,c\n"a\n\nb",c\n"x,y\n', 5, "bad CSV"),
        ("a.csv", "h,h\na,b\n", 1, "two columns are called 'h'"),
        ("a.csv", b"h\n\nok\n\xe4\n", 4, "is not UTF-8"),
        ("a.csv", b"\xff\xfeh\0\n\0", None, "is UTF-16"),
        ("a.csv", b"PK\x03\x04....", None, "is a spreadsheet or a zip file"),
        ("a.json", b"\x1f\x8b....", None, "is compressed"),
        ("a.parquet", b"PAR1 but no more", None, "is not Parquet, or is damaged"),
        ("a.csv", b"", None, "the file is empty"),
        ("a.json", BOM + b" \n", None, "the file is empty"),
        ("a.parquet", b"", None, "the file is empty"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, name, data, line, said):
    found = error(tmp_path, name, data)
    assert said in str(found)
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
