"""Files that are made to fill memory and time, read in a process that has little of either."""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest
from pyarrow import parquet

from contrafact.errors import InputError
from contrafact.files.apart import read_apart
from contrafact.files.config import read_config
from contrafact.files.limits import VARIABLE
from contrafact.files.tables import read_rows

LIMITS = {
    "size": 64 * 2**20,
    "unpacked": 64 * 2**20,
    "whole": 32 * 2**20,
    "row": 4 * 2**20,
    "rows": 200_000,
    "columns": 1_000,
    "cells": 1_000_000,
    "depth": 32,
}
TOLD = ",".join(f"{name}={number}" for name, number in LIMITS.items())
READER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from contrafact.errors import InputError
from contrafact.files.tables import read_rows
try:
    for _ in read_rows(sys.argv[1]):
        pass
except InputError as error:
    sys.exit(str(error))
"""
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
PARTS = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
CELL = '<c r="A{0}" t="inlineStr"><is><t>{1}</t></is></c>'
ROWS = f'<row r="1">{CELL.format(1, "headline")}</row><row r="2">{CELL.format(2, "Ore")}</row>'


def book(rows=ROWS, texts="", start="", more=None):
    """A workbook of one sheet, by its XML."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PARTS}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{SHEET}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{SHEET}.sharedStrings+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PARTS}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PARTS}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
        "xl/sharedStrings.xml": f"<sst {MAIN}>{texts}</sst>",
        "xl/worksheets/sheet1.xml": f"{start}<worksheet {MAIN}><sheetData>{rows}</sheetData>"
        "</worksheet>",
        **(more or {}),
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return sink.getvalue()


def columns(**named):
    sink = io.BytesIO()
    parquet.write_table(pa.table(named), sink, compression="zstd")
    return sink.getvalue()


def nulls(number):
    return pa.ListArray.from_arrays(pa.array([0, number], pa.int32()), pa.nulls(number))


def repeated(rows):
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array(["x" * 200_000]))


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return sink.getvalue().to_pybytes()


LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">' for n in range(9))
LAUGH = f'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{LAUGHS}]>'

FILES = {
    # name: what is in it, and what its one line says
    "empty-cells.csv": (lambda: b"a,b\n" + b"x,\n" * 600_000, "200,000 rows"),
    "wide-empty-cells.csv": (
        lambda: b",".join(b"%d" % n for n in range(60)) + (b"\nx" + b"," * 59) * 20_000,
        "1,000,000 cells",
    ),
    "one-row-of-commas.csv": (lambda: b"a" + b"," * 3_000_000 + b"\n1\n", "1,000,000 values"),
    "a-long-row-of-commas.csv": (lambda: b"a" + b"," * 9_000_000 + b"\n1\n", "4,194,304 bytes"),
    "an-open-quote.csv": (lambda: b'headline\n"' + b"x\n" * 5_000_000, "4,194,304 bytes"),
    "one-cell.csv": (lambda: b"headline\n" + b"x" * 9_000_000, "4,194,304 bytes"),
    "old-mac.csv": (lambda: b"headline\r" + b"x\r" * 20_000_000, "read whole"),
    "windows-1252.csv": (lambda: b"headline\n\xe9t\xe9\n" + b"x\n" * 20_000_000, "read whole"),
    "utf-16.csv": (lambda: ("headline\n" + "x\n" * 9_000_000).encode("utf-16"), "read whole"),
    "semicolons.csv": (lambda: b"a;b\n" + b"1,5;\n" * 600_000, "200,000 rows"),
    "nothing.csv": (lambda: b"\n" * 60_000_000, "empty"),
    "too-large.csv": (lambda: b"headline\n" + b"x" * 70_000_000, "67,108,864 bytes"),
    "tabs.tsv": (lambda: b"a\tb\n" + b"x\t\n" * 600_000, "200,000 rows"),
    "wide.tsv": (lambda: b"\t".join(b"c%d" % n for n in range(2_000)) + b"\n", "1,000 columns"),
    "empty.jsonl": (lambda: b'{"a":""}\n' * 600_000, "200,000 rows"),
    "objects.jsonl": (lambda: (b'{"a":[' + b"{}," * 99 + b"{}]}\n") * 20_000, "1,000,000 cells"),
    "one-row-of-objects.jsonl": (lambda: b'{"a":[' + b"{}," * 3_000_000, "4,194,304 bytes"),
    "keys.jsonl": (
        lambda: b"{" + b",".join(b'"%d":1' % n for n in range(9_000)) + b"}\n",
        "1,000 columns",
    ),
    "deep.jsonl": (lambda: b'{"a":' + b"[" * 900 + b"]" * 900 + b"}\n", "32 deep"),
    "without-end.jsonl": (lambda: b'{"a":' + b"[" * 900_000, "too deeply"),
    "digits.jsonl": (lambda: b'{"a":' + b"9" * 3_000_000 + b"}\n", "digits"),
    "nul.jsonl": (lambda: b"\0" * 9_000_000, "4,194,304 bytes"),
    "objects.ndjson": (lambda: (b"{" + b'"a":{}' + b"}\n") * 600_000, "200,000 rows"),
    "objects.json": (lambda: b"[" + b"{}," * 5_000_000 + b"{}]", "1,000,000 cells"),
    "rows.json": (lambda: b"[" + b"{}," * 400_000 + b"{}]", "200,000 rows"),
    "lists.json": (lambda: b"[" + b"[]," * 5_000_000 + b"[]]", "1,000,000 cells"),
    "deep.json": (lambda: b'[{"a":' + b"[" * 900_000 + b"]" * 900_000 + b"}]", "too deeply"),
    "one-text.json": (lambda: b'["' + b"x" * 40_000_000 + b'"]', "read whole"),
    "nulls.parquet": (lambda: columns(text=nulls(300_000_000)), "1,000,000 cells"),
    "one-text.parquet": (lambda: columns(text=repeated(2_000)), "67,108,864 bytes"),
    "rows.parquet": (lambda: columns(text=pa.array(["x"] * 200_001)), "200,000 rows"),
    "columns.parquet": (
        lambda: columns(**{f"c{n}": pa.array(["x"]) for n in range(2_000)}),
        "1,000 columns",
    ),
    "one-cell.parquet": (
        lambda: columns(text=pa.DictionaryArray.from_arrays(
            pa.array([0] * 64), pa.array(["x" * 20_000_000]))),
        "4,194,304 bytes",
    ),
    "damaged.parquet": (lambda: b"PAR1" + b"\xff" * 999 + b"\xff\xff\xff\x7fPAR1", "damaged"),
    "texts.xlsx": (lambda: book(texts="<si><t>a</t></si>" * 1_500_000), "1,000,000 cells"),
    "empty-texts.xlsx": (lambda: book(texts="<si/>" * 5_000_000), "1,000,000 cells"),
    "unused-texts.xlsx": (lambda: book(texts="<si><t>a</t></si>" * 200_000), "no cell uses"),
    "gap.xlsx": (lambda: book(ROWS.replace('r="2"', 'r="99999999"')), "below the 1,048,576"),
    "far.xlsx": (
        lambda: book("".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>'
                             for n in range(1, 9_000))),
        "1,000 columns",
    ),
    "entities.xlsx": (lambda: book(ROWS.replace("Ore", "&j;"), start=LAUGH), "damaged"),
    "deep.xlsx": (lambda: book("<a>" * 900_000), "damaged"),
    "spaces.xlsx": (lambda: book(more={"more.xml": " " * 90_000_000}), "67,108,864 bytes"),
    "one-cell.xlsx": (lambda: book(ROWS.replace("Ore", "x" * 20_000_000)), "4,194,304 bytes"),
    "one-row.xlsx": (lambda: book(ROWS + "<c/>" * 1_100_000), "a row of over 1,000,000 values"),
    "texts.xlsm": (lambda: book(texts="<si><t>a</t></si>" * 1_500_000), "1,000,000 cells"),
    "text.csv.gz": (lambda: gzip.compress(b"a\n" + b"x\n" * 90_000_000, 1), "67,108,864 bytes"),
    "noise.csv.gz": (lambda: b"\x1f\x8b" + bytes(range(256)) * 9, "damaged gzip"),
    "text.jsonl.zst": (lambda: zstd(b'{"a":1}\n' * 20_000_000), "67,108,864 bytes"),
}  # fmt: skip

NO_LIMIT = (
    *("empty", "too deeply", "digits", "damaged", "damaged gzip"),
    *("below the 1,048,576", "no cell uses"),
)


def read_in_little(code, file):
    return subprocess.run(
        [sys.executable, "-c", code, str(file)],
        env={**os.environ, VARIABLE: TOLD},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_stands_for_more_than_it_may_is_refused_in_one_line(name, tmp_path):
    make, problem = FILES[name]
    file = tmp_path / name
    file.write_bytes(make())
    read = read_in_little(READER, file)
    (line,) = read.stderr.splitlines() or [""]
    assert line.startswith(str(file)) and problem in line, (read.returncode, read.stderr[-500:])
    assert (f"{VARIABLE}=" in line) == (problem not in NO_LIMIT)


BULK_READER = READER.replace(
    "from contrafact.files.tables import read_rows",
    "from contrafact_ray.fragments import fragments_of, read_fragment\n"
    "from contrafact_ray.places import Place",
).replace(
    "    for _ in read_rows(sys.argv[1]):\n        pass",
    "    for one in fragments_of(Place(sys.argv[1]), 500):\n"
    "        for _ in read_fragment(one):\n            pass",
)
REFUSED_IN_BULK = (
    *("one-row-of-objects.jsonl", "keys.jsonl", "deep.jsonl", "nul.jsonl"),
    *("nulls.parquet", "one-text.parquet", "rows.parquet", "columns.parquet", "one-cell.parquet"),
    "damaged.parquet",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in FILES if name.endswith((".parquet", "jsonl"))],
)
def test_a_file_read_in_pieces_is_bounded_by_the_piece(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(FILES[name][0]())
    read = read_in_little(BULK_READER, file)
    lines = read.stderr.splitlines()
    if name in REFUSED_IN_BULK:
        assert len(lines) == 1 and lines[0].startswith(str(file)), (read.returncode, lines[-3:])
    else:  # it has many rows, or rows that are no rows: each piece is small
        assert (read.returncode, lines) == (0, [])


def test_a_limit_is_raised_and_lowered_by_the_variable_that_the_message_names(
    tmp_path, monkeypatch
):
    file = tmp_path / "rows.csv"
    file.write_text("headline\n" + "Ore exports rise\n" * 3)
    monkeypatch.setenv(VARIABLE, "rows=2")
    with pytest.raises(
        InputError, match=r"rows\.csv:4: has over 2 rows; .*CONTRAFACT_LIMITS=rows="
    ):
        list(read_rows(file))
    monkeypatch.setenv(VARIABLE, "rows=3,cells=9")
    assert len(list(read_rows(file))) == 3
    monkeypatch.setenv(VARIABLE, "lines=3")
    with pytest.raises(InputError, match="'lines=3' is not a valid limit"):
        list(read_rows(file))


@pytest.mark.parametrize(
    ("text", "limits", "problem"),
    [
        (
            lambda: json.dumps([{"a": n} for n in range(2_000_000)]),
            {"memory": 4 * 2**30, "seconds": 1},
            "takes over 1 seconds of processor time",
        ),
        (
            lambda: f'[{{"a": [{"[]," * 8_000_000}0]}}]',
            {"memory": 600 * 2**20, "seconds": 60, "row": 10**9, "cells": 10**9, "values": 10**9},
            "takes over 629,145,600 bytes of memory",
        ),
    ],
    ids=["seconds", "memory"],
)
@pytest.mark.slow
def test_a_file_read_apart_ends_where_its_process_may_take_no_more(text, limits, problem, tmp_path):
    file = tmp_path / "list.json"
    file.write_text(text())
    with pytest.raises(InputError, match=problem) as raised:
        read_apart(file, limits, "OURS")
    assert "OURS=" in str(raised.value) and VARIABLE not in str(raised.value)


def nested(part, first="[1, 2, 3]"):
    names = zip("abcdef", "bcdefg", strict=True)
    return f"a: &a {first}\n" + "".join(f"{n}: &{n} {part(f'*{m}')}\n" for m, n in names)


@pytest.mark.parametrize(
    "text",
    [
        nested(lambda inner: f"[{(inner + ', ') * 9}]"),
        nested(lambda inner: "{" + ", ".join(f"{key}: {inner}" for key in range(9)) + "}"),
        "a: &a [*a]\n",
    ],
    ids=["lists", "objects", "itself"],
)
def test_settings_whose_aliases_stand_for_too_much_are_refused(text, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match="aliases"):
        read_config(file)
    file.write_text("a: &a {x: 1}\nb: *a\n")
    assert read_config(file).values == {"a": {"x": 1}, "b": {"x": 1}}


def test_a_small_file_does_not_fill_the_memory_without_any_variable(tmp_path):
    file = tmp_path / "t.parquet"
    file.write_bytes(columns(text=pa.DictionaryArray.from_arrays(
        pa.array([0] * 4_000), pa.array(["x" * 200_000]))))  # fmt: skip
    with pytest.raises(InputError, match="a thousand times its size"):
        for _ in read_rows(file):
            pass
