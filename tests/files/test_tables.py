import json
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.files.jsonl import read_rows
from contrafact.files.tables import render_csv, render_jsonl, write_frame
from contrafact.text.delimit import replace_surrogates

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
    expected = [
        (text, maybe, flag, _in_json(number), count) for text, maybe, flag, number, count in rows
    ]
    assert [_joined(row.values()) for row in found] == [_joined(row) for row in expected]
    assert [list(row) for row in found] == [COLUMNS] * len(rows)


@settings(max_examples=40, deadline=None)
@given(ROWS)
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


def _in_json(number: float) -> object:
    return {np.inf: "Infinity", -np.inf: "-Infinity"}.get(number, number)


def _joined(values) -> list[object]:
    """JSON joins two surrogate halves that stand side by side; so must what is compared."""
    return [
        value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if isinstance(value, str)
        else value
        for value in values
    ]


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


def test_floats_keep_every_digit():
    frame = pd.DataFrame({"x": [0.1 + 0.2, 1e-300]})
    assert render_csv(frame) == "x\n0.30000000000000004\n1e-300\n"


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
    with pytest.raises(InputError, match=r"name the file \.csv, \.jsonl or \.parquet"):
        write_frame(pd.DataFrame({"a": [1]}), tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []
