"""The demo: what it shows without a model, and runs whose report is made as they end."""

import json
import re
import signal
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import contrafact as cf
from contrafact.cli import demo
from contrafact.errors import EXTRAS, InputError
from contrafact.exams.recorded import examine_recorded, prepare_recorded
from contrafact.families.cobe.exam import recorded_exam
from contrafact.families.cobe.write.answers import check_written
from contrafact.families.cobe.write.shown import written_example
from contrafact.families.rfc.pipeline.shown import SENTENCE, rewriting_example
from contrafact.family import DemoPart, ShownTable, ShownText, family_named
from contrafact.report.html import page_environment
from contrafact.runs.prepare import make_settings, prepare

TASKS = ("finforce", "rfc-detect", "cobe")
DOCS = Path(__file__).parents[2] / "docs"
COBE = Path(cf.__file__).parent / "families" / "cobe"


def test_the_page_of_the_demo_records_what_is_shown_without_a_model(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    for title, shown in demo._examples(tmp_path):
        print(f"\n{title}\n")
        for one in shown:
            demo._printed(one)
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
    page = (DOCS / "demo.md").read_text(encoding="utf-8")
    assert printed.strip() in page
    # The exams that it names are files as `contrafact exam` writes them.
    assert [path.name for path in sorted(tmp_path.glob("*.json"))] == [
        "exam-cobe-1.json",
        "exam-cobe-2.json",
    ]


def test_the_sentence_is_rewritten_as_in_python_and_the_check_tells_it_from_a_spoiled_one():
    _, rewritten, spoiled, _ = rewriting_example()
    assert rewritten.after == cf.rewrite([SENTENCE], seed=7).items["rewritten"][0]
    assert rewritten.note == "passes"
    assert spoiled.note.startswith("fails: ")


def test_the_written_story_is_proven_and_its_wrong_edit_fails_by_what_has_to_stay():
    row = json.loads((COBE / "samples" / "written.jsonl").read_text(encoding="utf-8"))
    assert check_written(row) == []
    assert row["Proof"]["basis"] == "structure"
    texts = [one for one in written_example() if isinstance(one, ShownText)]
    right, wrong = texts[2:]
    assert right.note.startswith("passes E1 (what has to stay), E2 ")
    gate = "'Ivor forgot to shut the allotment gate on Friday evening' does not stay"
    assert wrong.note == f"fails E1 (what has to stay): {gate}"


def test_recorded_replies_answer_todays_prompts_and_no_others():
    exam = recorded_exam()
    assert len(exam.replies) == 2
    for judge, replies in exam.replies.items():
        asked = prepare_recorded(family_named("cobe"), exam, judge, [*exam.items, *exam.sample])
        assert {call.prompt_hash for call in asked.questions} == replies.keys(), judge
        assert exam.templates == {name: asked.pack.used[name] for name in exam.templates}


def test_replies_to_another_wording_are_refused(tmp_path):
    exam = recorded_exam()
    stale = {judge: dict(list(replies.items())[1:]) for judge, replies in exam.replies.items()}
    with pytest.raises(InputError, match="answer other prompts"):
        list(examine_recorded(family_named("cobe"), replace(exam, replies=stale), tmp_path))


def test_a_strong_judge_corrects_the_rate_and_the_embedded_one_does_not(tmp_path):
    exam = recorded_exam()
    shown = list(examine_recorded(family_named("cobe"), exam, tmp_path))
    examined, rated = [one for one in shown if isinstance(one, ShownTable)]
    assert [row[0] for row in rated.rows] == [row[0] for row in examined.rows] == [*exam.replies]
    strong, embedded = (row[-1] for row in rated.rows)
    assert embedded.startswith("no: ")
    low, high = map(float, strong.rpartition("(")[2].strip(")").split("–"))
    truth = 100 * sum(item.known[exam.criterion] for item in exam.sample) / len(exam.sample)
    assert low <= truth <= high


@pytest.mark.slow
def test_the_demo_goes_on_where_it_was_stopped_and_a_second_run_calls_no_model(
    start_contrafact, quick_contrafact, tmp_path
):
    arguments = ("demo", "--out", "here", "--headlines", "4", "--pairs", "1", "--stories", "1")
    here = tmp_path / "here"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start_contrafact(*arguments, **streams) as started:
        for line in started.stderr:
            if line.startswith("samples: "):
                break
        assert not (here / "report.html").exists()
        started.send_signal(signal.SIGINT)
        _, shown = started.communicate()
    assert started.returncode == 130, shown
    assert "report so far: here/report.html" in shown
    results = json.loads((here / "finforce" / "results.json").read_text())
    assert 0 < sum(row["asked"] for row in results["invalid"]) < 8  # of two sides each
    assert "not every sample is finished" in (here / "report.html").read_text(encoding="utf-8")

    result = quick_contrafact(*arguments)
    assert result.returncode == 0, result.stderr
    assert "report: here/report.html" in result.stdout
    assert "The embedded model is among the systems" in result.stdout
    assert max(map(len, result.stdout.partition("4 of 4")[2].splitlines())) <= 80
    text = (here / "report.html").read_text(encoding="utf-8")
    assert "1 of 4: " in text and "not every sample is finished" not in text
    assert "://" not in text.replace("http://www.w3.org/", "")
    results = json.loads((here / "results.json").read_text())["tasks"]
    assert tuple(results) == TASKS
    for task in TASKS:
        assert (here / task / "report.html").exists()
    again = quick_contrafact(*arguments)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("no model was called") == len(TASKS)
    assert "report: here/report.html" in again.stdout


def test_the_demo_needs_no_more_than_it_is_installed_with(monkeypatch, tmp_path):
    """Its installation has figures, counts of tokens and the embedded model, and no other extra."""
    missing = set(EXTRAS) - {"matplotlib", "bpe_openai"}
    monkeypatch.setattr(
        "contrafact.errors.find_spec", lambda name: None if name in missing else find_spec(name)
    )
    _, rewritten, *_ = rewriting_example()
    assert rewritten.note == "passes"
    for part in demo._of_kind(DemoPart):
        given = {"models": (demo.DEMO_MODEL,), "methods": part.methods, "judges": part.judges}
        if part.data is not None:
            given["data"] = tmp_path / "data.jsonl"
            part.data.load()(given["data"], 1)
        assert prepare(make_settings(part.task, {**given, "limit": 1}, part.options)).methods


def test_on_the_page_a_text_is_escaped_and_its_changes_are_marked():
    shown = [
        "Say `cf.rewrite` & <b>more</b>.",
        ShownText("edit", "Two goats <i>came</i>.", "No goats <i>came</i>.", note="<u>passes</u>"),
        ShownTable("Exam", ("judge", "unread"), [("<s>one</s>", "0 of 2")]),
    ]
    page = page_environment().get_template("macros.html.jinja").module.example("1 < 2", shown)
    assert "<del>Two</del> <ins>No</ins> goats" in page
    assert "<code>cf.rewrite</code>" in page
    assert not set(re.findall(r"<(?:i|u|s|b>more)\b", page))
    assert "1 &lt; 2" in page
