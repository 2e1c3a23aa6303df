"""Tables as people have them, through the command line: what an analyst expects, or one line."""

import csv
import datetime
import io
import json
import subprocess
from pathlib import Path

import openpyxl
import pytest

LONG = "Harbour insurer Pell & Strand warns again " * 72  # 3,024 characters
GREEK = "Η τράπεζα της Μέρροου κρατά αμετάβλητο το επιτόκιο"
JAPANESE = "メロウ中央銀行、金利を据え置き"
ARABIC = "البنك المركزي في ميرولاند يبقي سعر الفائدة"
GERMAN = "Kesselhersteller Brückner ruft Öfen zurück – „vorsorglich“"
FORMULA = "=HYPERLINK(0)+1 lenders back the Ostrava mill"
MINUS = "-5% at Brackwater Ferries after a poor summer"


@pytest.fixture
def call(quick_contrafact, service):
    def run(*arguments: str, **options):
        more = ("--model", service.model) if arguments[0] in ("generate", "run") else ()
        return quick_contrafact(*arguments, *more, env=service.environment, **options)

    return run


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def workbook(path: Path, rows: list[list], **sheets: list[list]) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "Feed"
    for name, cells in {"Feed": rows, **sheets}.items():
        sheet = book["Feed"] if name == "Feed" else book.create_sheet(name)
        for row in cells:
            sheet.append(row)
        for line in sheet.iter_rows():
            for cell in line:
                if cell.data_type == "f":
                    cell.data_type = "s"
    book.save(path)
    return path


def excel_csv(*rows: str) -> str:
    return "".join(f"{row}\r\n" for row in rows)


def read_csv(path: Path, delimiter: str) -> tuple[list[str], list[dict]]:
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")  # or Excel shows its umlauts wrong
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter)
    rows = list(reader)
    return list(reader.fieldnames or ()), rows


def test_german_excel_goes_in_and_comes_out_as_it_was(call, tmp_path):
    (tmp_path / "feed.csv").write_bytes(
        excel_csv(
            "sep=;",
            "Nr.;Schlagzeile;Gewicht;;",
            f"1;{GERMAN.replace('„', chr(34) * 2).replace('“', chr(34) * 2)};0,5;;".replace(
                "1;", '1;"'
            ).replace(";0,5", '";0,5'),
            "2;Ostrava mill reopens;1.234,5;;",
            ";;;;",
            "3;Ostrava mill reopens;2;;",
            f"4;{LONG};2;;",
        ).encode("cp1252")
    )
    done = call("generate", "feed.csv", "--columns", "headline=schlagzeile", "--out", "out.csv")
    assert done.returncode == 0, done.stderr
    assert "feed.csv: read as Windows-1252; if letters look wrong" in done.stderr
    assert "feed.csv:7: the headline is over 2,000 characters (3,024)" in done.stderr
    names, rows = read_csv(tmp_path / "out.csv", ";")
    assert names[:4] == ["Nr.", "Schlagzeile", "Gewicht", "id"]
    assert [row["Nr."] for row in rows] == ["1", "2", "3", "4"]  # the duplicate is kept
    assert [row["Gewicht"] for row in rows] == ["0,5", "1.234,5", "2", "2"]
    assert [row["valid"] for row in rows] == ["True", "True", "True", "False"]
    assert "Öfen zurück" in rows[0]["risk_counterfactual"]


def test_a_workbook_goes_in_and_comes_out(call, tmp_path):
    day = datetime.date(2031, 3, 1)
    feed = workbook(
        tmp_path / "feed.xlsx",
        [
            ["When", "News Headline", "Weight", None],
            [day, GREEK, 0.5, None],
            [None, None, None, None],
            [day, JAPANESE, 7, None],
            [day, ARABIC, True, None],
            [day, FORMULA, None, None],
            [day, MINUS, None, None],
            [day, "NULL", None, None],
        ],
        Old=[["headline"], ["Grain ships leave Port Sable"]],
    )
    done = call("generate", feed.name, "--out", "out.xlsx", code=0)
    assert "sheet 'Feed' of 2 is read; another is feed.xlsx#Old" in done.stderr
    assert "feed.xlsx:8: there is no headline" in done.stderr
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    header, *rows = ([cell.value for cell in row] for row in sheet.iter_rows())
    assert header[:4] == ["When", "News Headline", "Weight", "id"]
    heads = [GREEK, JAPANESE, ARABIC, FORMULA, MINUS, "NULL"]
    assert [row[1] for row in rows] == heads
    assert [row[2] for row in rows] == [0.5, 7, True, None, None, None]
    assert {row[0] for row in rows} == {datetime.datetime(2031, 3, 1)}
    risk = header.index("risk_counterfactual")
    assert [row[risk] for row in rows[:5]] == [
        f"{head}, and lenders take fright" for head in heads[:5]
    ]
    # Nothing is a formula, and none becomes one when a person edits the cell.
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"s", "n", "b", "d"}
    assert [c.quotePrefix for c in cells if c.value in (FORMULA, MINUS)] == [True, True]
    again = call("generate", feed.name, "--out", "out.xlsx")
    assert "is finished: no model was called" in again.stdout
    call("generate", "feed.xlsx#old", "--out", "old.csv", code=0)
    assert read_csv(tmp_path / "old.csv", ",")[1][0]["headline"] == "Grain ships leave Port Sable"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_tabs_and_scripts_in_every_unicode(call, tmp_path, encoding):
    text = excel_csv("Ref\tTitle\tShare", f"a\t{GREEK}\t0,5", f"b\t{JAPANESE}\t1,5")
    (tmp_path / "feed.txt").write_bytes(text.encode(encoding))
    done = call("generate", "feed.txt", "--out", "out.jsonl", code=0)
    assert ("read as UTF-16" in done.stderr) == encoding.startswith("utf-16")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["Title"] for row in rows] == [GREEK, JAPANESE]
    assert [row["Share"] for row in rows] == ["0,5", "1,5"]


def test_a_pipe_may_be_windows_1252_and_say_its_delimiter(call, tmp_path):
    text = excel_csv("sep=;", "Datum;Title", f"1;{GERMAN}", "2;Ostrava mill, reopened")
    done = call("generate", "-", "--out", "-", input=text.encode("cp1252"), code=0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["Title"] for row in rows] == [GERMAN, "Ostrava mill, reopened"]
    assert done.stderr.count("standard input: read as Windows-1252") == 1


def test_a_run_takes_a_sheet_and_its_names_for_columns(call, tmp_path):
    rows = [["Überschrift", "Rubrik"], [GREEK, "Labor & employment"], [JAPANESE, "Sport"]]
    workbook(tmp_path / "feed.xlsx", [["nothing"], ["here"]], Daten=[*rows, rows[1]])
    common = ("run", "finforce", "--fluency-model", "none", "--out", "r")
    asked = ("--data", "feed.xlsx#Daten", "--columns", "headline=Überschrift,category=Rubrik")
    done = call(*common, *asked, code=0)
    assert "feed.xlsx#Daten: 1 row left out: the headline came before" in done.stderr
    assert "feed.xlsx#Daten: 1 row with the unknown category 'Sport'" in done.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["data"]["items"] == 2
    assert manifest["settings"]["columns"] == {"headline": "Überschrift", "category": "Rubrik"}
    assert "this run had finished" in call(*common, *asked).stdout
    other = one_line(call(*common, "--data", "feed.xlsx"))
    assert "feed.xlsx:2: no column 'headline' (found: nothing)" in other


def test_ratings_of_german_excel_agree(call, tmp_path):
    lines = excel_csv("Beispiel;Ann;Ben", "a;0,5;0,5", "b;1,0;0,5", "c;0;0", "d;NaN;0", "e;1,0;1,0")
    (tmp_path / "r.csv").write_bytes(lines.encode())
    done = call("agree", "r.csv", "--columns", "item=Beispiel", "--out", "r.json", code=0)
    assert "5 items, 2 raters, 9 ratings, 1 missing" in done.stdout
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["categories"] == [0.0, 0.5, 1.0]
    book = workbook(
        tmp_path / "r.xlsx",
        [["Item", "Ann", "Ben"], ["a", 1, 1], ["b", 0, "#N/A"], [3, 1, 0], [None, None, None]],
    )
    done = call("agree", book.name, code=0)
    assert "3 items, 2 raters, 5 ratings, 1 missing" in done.stdout
    assert "line 3 has Excel's error #N/A, read as empty" in done.stderr


def test_a_workbook_is_checked(call, tmp_path):
    book = workbook(tmp_path / "f.xlsx", [["Kopf"], [MINUS], [MINUS], [2031]])
    done = call("data", "check", book.name, "--columns", "headline=Kopf")
    assert done.returncode == 1, done.stderr
    assert "1 row with a headline that is not text (line 4)" in done.stdout
    assert "line 3: repeats the headline of line 2" in done.stdout


def test_a_sheet_of_a_study_is_scored_as_excel_saved_it(call, tmp_path):
    pairs = Path(__file__).parents[2] / "src/contrafact/families/rfc/samples/pairs.jsonl"
    call("rfc", "study", "sample", str(pairs), "--n", "6", "--out", "study.csv", code=0)
    header, *rows = csv.reader(io.StringIO((tmp_path / "study.csv").read_text("utf-8-sig")))
    for number, row in enumerate(rows):
        row[header.index("category_correct")] = "yes"
        row[header.index("rewrite_valid")] = ("yes", "no")[number % 2]
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=";").writerows([header, *rows])
    (tmp_path / "ann.csv").write_bytes(sink.getvalue().encode("utf-16"))
    renamed = ["Gültig" if name == "rewrite_valid" else name for name in header]
    workbook(tmp_path / "ben.xlsx", [renamed, *rows])
    score = ("rfc", "study", "score", "--key", "study.key.csv")
    assert "pass --columns rewrite_valid=NAME" in one_line(call(*score, "ben.xlsx"))
    found = call(*score, "ann.csv", "ben.xlsx", "--columns", "rewrite_valid=gültig", code=0)
    assert "ann.csv: read as UTF-16\n" in found.stderr
    assert "100.0%" in found.stdout  # they agree in all


def test_items_of_a_review_come_from_a_workbook(call, tmp_path):
    book = workbook(tmp_path / "n.xlsx", [["Title", "Nr"], [GREEK, 1], [JAPANESE, 2]])
    made = ("review", "import", book.name, "--project", "headline-screening")
    done = call(*made, "--columns", "headline=TITLE", code=0)
    assert "2 of 2 items are new" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "f.csv", "--out", "o.ods"), "name it .csv, .tsv, .jsonl, .parquet, .xlsx"),
        (("generate", "f.xlsx#No", "--out", "o.csv"), "there is no sheet 'No' (found: 'Feed')"),
        (("generate", "f.csv", "--out", "o.csv"), "no column 'headline' (found: Kopf, Nr); name"),
        (("generate", "f.csv", "--out", "o.csv", "--columns", "Kopf"), "not of the form WANTED="),
        (
            ("generate", "f.csv", "--out", "o.csv", "--columns", "head=Kopf"),
            "'head' is not a field",
        ),
        (
            ("generate", "f.csv", "--out", "o.csv", "--columns", "headline=Kof"),
            "f.csv: there is no column 'Kof' for 'headline' (found: Kopf, Nr)",
        ),
        (
            ("generate", "f.csv", "--out", "o.csv", "--columns", "headline=Kopf,headline=Nr"),
            "--columns names 'headline' twice",
        ),
        (("generate", "long.jsonl", "--out", "o.xlsx"), "a cell of Excel holds 32,767"),
        (("generate", "old.xls", "--out", "o.csv"), "is an old Excel file (.xls)"),
        (("generate", "broken.xlsx", "--out", "o.csv"), "is not an Excel workbook, or is damaged"),
        (
            ("run", "finforce", "--columns", "headline=Kopf"),
            "--columns has no effect here: no file",
        ),
        (
            ("run", "finforce", "--data", "f.csv", "--columns", "headline=Kof"),
            "f.csv: there is no column 'Kof' for 'headline' (found: Kopf, Nr)",
        ),
        (("run", "cobe", "--data", "f.xlsx"), "--columns 'Variation text=NAME'"),
        (("run", "rfc-detect", "--data", "f.csv"), "the manipulation is missing (found: Kopf, Nr)"),
        (("agree", "f.csv", "--columns", "item=Kof"), "there is no column 'Kof' for 'item'"),
        (("data", "check", "cyrillic.csv"), "is neither UTF-8 nor Windows-1252"),
        (("data", "check", "f.csv", "--columns", "=Kopf"), "not of the form WANTED=FOUND"),
        (("data", "check", "f.csv"), "no column 'headline' (found: Kopf, Nr)"),
    ],
)
def test_what_is_wrong_is_one_line_with_what_to_do(call, tmp_path, arguments, message):
    (tmp_path / "f.csv").write_bytes("Kopf;Nr\r\nÖl steigt;1\r\n".encode("cp1252"))
    (tmp_path / "cyrillic.csv").write_bytes("заголовок\nставка не изменилась\n".encode("cp1251"))
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and more")
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "long.jsonl").write_text(json.dumps({"headline": "A", "body": "x" * 40_000}))
    workbook(tmp_path / "f.xlsx", [["Kopf", "Nr"], ["Öl steigt", 1]])
    line = one_line(call(*arguments))
    assert line.startswith("contrafact: ")
    assert message in line
