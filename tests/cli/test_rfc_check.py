"""``contrafact rfc check`` as a user calls it."""

import json
import os
from pathlib import Path

import pytest
from tests.support.hidden import EXTRAS, hide
from tests.support.lines import write_lines

ROOT = Path(__file__).parents[2]
SOUND = {
    "id": "p1",
    "manipulation": "flipping",
    "original": "Norrick Steel shares rose 5% on Tuesday after it beat Q2 estimates.",
    "rewritten": "Norrick Steel shares fell 5% on Tuesday after it missed Q2 estimates.",
}
FAULTY = SOUND | {"id": "p2", "rewritten": SOUND["rewritten"].replace("Tuesday", "Friday")}


def lines(path, *rows):
    return str(write_lines(path, rows))


def read(text):
    return [json.loads(line) for line in text.splitlines()]


def test_no_failure_is_0_and_rows_go_to_standard_output(quick_contrafact, tmp_path):
    done = quick_contrafact("rfc", "check", lines(tmp_path / "pairs.jsonl", SOUND), code=0)
    assert read(done.stdout) == [
        {"id": "p1", "manipulation": "flipping", "passed": None, "violations": [], "review": []}
    ]


def test_rows_are_utf_8_whatever_the_locale(contrafact, tmp_path):
    pairs = lines(tmp_path / "pairs.jsonl", SOUND | {"id": "é📈"})
    done = contrafact("rfc", "check", pairs, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert read(done.stdout)[0]["id"] == "é📈"


def test_a_failure_is_1_with_rule_message_and_spans(quick_contrafact, tmp_path):
    out = tmp_path / "checks.jsonl"
    pairs = lines(tmp_path / "pairs.jsonl", SOUND, FAULTY)
    done = quick_contrafact("rfc", "check", pairs, "--out", str(out))
    assert done.returncode == 1
    good, bad = read(out.read_text(encoding="utf-8"))
    assert good["passed"] is None and bad["passed"] is False
    (violation,) = bad["violations"]
    assert violation["rule"] == "date-changed" and "'Tuesday'" in violation["message"]
    start, end = violation["original_span"]
    assert FAULTY["original"][start:end] == "Tuesday"
    start, end = violation["rewritten_span"]
    assert FAULTY["rewritten"][start:end] == "Friday"
    assert "date-changed 1" in done.stderr and "flipping" in done.stderr


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({k: v for k, v in SOUND.items() if k != "rewritten"} | {"id": "x"}, "no 'rewritten'"),
        (SOUND | {"id": "x", "manipulation": "tilted"}, "no manipulation 'tilted'"),
        (SOUND | {"id": "x", "original": 5}, "'original' is not text"),
        (SOUND | {"id": "x", "original": " "}, "'original' is blank"),
        (SOUND | {"id": "p1"}, "'p1' came before, on line 1"),
        (SOUND | {"id": "x", "rewritten": "Shares fell. " * 80_000}, "1,040,000 characters"),
    ],
)
def test_a_bad_row_is_2_and_named_by_line_and_no_other_row_is_lost(
    quick_contrafact, tmp_path, row, problem
):
    out = tmp_path / "checks.jsonl"
    pairs = lines(tmp_path / "pairs.jsonl", SOUND, row, SOUND | {"id": "p3"})
    done = quick_contrafact("rfc", "check", pairs, "--out", str(out))
    assert done.returncode == 2
    assert "pairs.jsonl:2:" in done.stderr and problem in done.stderr
    first, second, third = read(out.read_text(encoding="utf-8"))
    assert first["passed"] is third["passed"] is None and third["id"] == "p3"
    assert [v["rule"] for v in second["violations"]] == ["bad-row"] and second["passed"] is False


@pytest.mark.parametrize(
    ("line", "problem"), [('{"id": "Café"}'.encode("latin1"), "UTF-8"), (b"{oops", "JSON")]
)
def test_a_line_that_cannot_be_read_is_named(quick_contrafact, tmp_path, line, problem):
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(b"\n".join([json.dumps(SOUND).encode(), line]) + b"\n")
    done = quick_contrafact("rfc", "check", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "pairs.jsonl:2: " in done.stderr and problem in done.stderr


def test_a_blank_rewrite_is_a_violation_and_no_bad_row(quick_contrafact, tmp_path):
    done = quick_contrafact(
        "rfc", "check", lines(tmp_path / "pairs.jsonl", SOUND | {"rewritten": ""})
    )
    assert done.returncode == 1
    assert read(done.stdout)[0]["violations"][0]["rule"] == "blank"


def test_a_missing_file_and_a_folder_without_a_model_are_one_line(quick_contrafact, tmp_path):
    pairs = lines(tmp_path / "pairs.jsonl", SOUND)
    for arguments in (("none.jsonl",), (pairs, "--polarity-model", str(tmp_path))):
        done = quick_contrafact("rfc", "check", *arguments)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1


def test_a_file_that_breaks_off_leaves_the_old_checks(quick_contrafact, tmp_path):
    out, pairs = tmp_path / "checks.jsonl", tmp_path / "pairs.json"
    out.write_text("old\n", encoding="utf-8")
    pairs.write_text(f"[{json.dumps(SOUND)}, {json.dumps(FAULTY)[:60]}", encoding="utf-8")
    for options in (["--out", str(out)], []):
        done = quick_contrafact("rfc", "check", str(pairs), *options)
        assert done.returncode == 2
        assert str(pairs) in done.stderr and len(done.stderr.splitlines()) == 1
        assert done.stdout == ""
    assert out.read_text(encoding="utf-8") == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checks.jsonl", "pairs.json"]


def test_what_needs_a_missing_extra_is_undecided_and_ends_nothing(contrafact, tmp_path):
    ann = {"id": 1, "original": "Ann Brook of Tern & Vale said shares rose 5% on Monday."}
    ann |= {"rewritten": "Eve Hall of Tern & Vale said shares fell 5% on Monday."}
    plain = {"id": 2, "original": "Tern & Vale shares rose 5% on Monday."}
    plain |= {"rewritten": "Tern & Vale shares rose 9% on Monday.", "manipulation": "numerical"}
    rows = [{**ann, "manipulation": "flipping"}, plain]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for hidden, open_, passed in (
        (("spacy",), {"nlp"}, [None, True]),
        (("bpe_openai",), {"tokens"}, [False, None]),
        (EXTRAS, {"nlp", "tokens"}, [None, None]),
    ):
        path = os.pathsep.join((hide(tmp_path / "hidden", *hidden), str(ROOT / "src")))
        environment = {**os.environ, "PYTHONPATH": path}
        done = contrafact("rfc", "check", "in.jsonl", "--out", "c.jsonl", env=environment)
        assert done.returncode == int(False in passed), done.stderr
        checks = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
        assert [check["passed"] for check in checks] == passed
        said = {one["message"] for check in checks for one in check["review"]}
        for extra in open_:
            assert any(
                f"is not checked without pip install 'contrafact[{extra}]'" in one for one in said
            )
            assert f"contrafact[{extra}]" in done.stderr
