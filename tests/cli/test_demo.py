"""The demo: a real model, offline, and a report of all tasks at its end."""

import json
import signal
import subprocess
from importlib.util import find_spec

import pytest

from contrafact.cli import demo
from contrafact.errors import EXTRAS
from contrafact.families.cobe.editing import compared_texts as cobe_texts
from contrafact.families.cobe.editing import write_held_out
from contrafact.families.finforce.compared import compared_texts as finforce_texts
from contrafact.runs.prepare import make_settings, prepare

TASKS = ("finforce", "rfc-detect", "rfc-diagnose", "cobe")


@pytest.mark.slow
def test_the_demo_goes_on_where_it_was_stopped_and_ends_with_a_report_of_examined_verifiers(
    start_contrafact, quick_contrafact, tmp_path
):
    arguments = ("demo", "--out", "here", "--headlines", "2", "--pairs", "2", "--stories", "1")
    here = tmp_path / "here"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start_contrafact(*arguments, **streams) as started:
        shown_pairs = 0
        for line in started.stdout:
            shown_pairs += line.startswith("  opportunity: ")
            if shown_pairs == 2:  # by then the first one has ended
                break
        assert not (here / "report.html").exists()
        started.send_signal(signal.SIGINT)
        _, shown = started.communicate()
    assert started.returncode == 130, shown
    assert "report so far: here/report.html" in shown
    results = json.loads((here / "finforce" / "results.json").read_text())
    # Two sides of each headline and method that had ended.
    assert sum(row["asked"] for row in results["invalid"]) in range(2, 12, 2)
    assert "not every sample is finished" in (here / "report.html").read_text(encoding="utf-8")

    result = quick_contrafact(*arguments)
    assert result.returncode == 0, result.stderr
    assert "report: here/report.html" in result.stdout
    # A headline and what became of it, before the first table.
    texts, _, table = result.stdout.partition("finforce: Forward counterfactuals")
    assert "headline: " in texts
    assert "risk: " in texts
    assert "opportunity: " in texts
    assert "The embedded model is among the systems" in result.stdout
    assert max(map(len, table.partition("2 of 4")[0].splitlines())) <= 80
    text = (here / "report.html").read_text(encoding="utf-8")
    assert "verifier/proof" in text and "not every sample is finished" not in text
    assert {path.name for path in here.glob("exam-*.json")} == {"exam-cobe.json"}
    assert "://" not in text.replace("http://www.w3.org/", "")
    results = json.loads((here / "results.json").read_text())["tasks"]
    assert tuple(results) == TASKS
    systems = {row["system"] for row in results["finforce"]["figures"]}
    written = {"few-shot (3)", "zero-shot"}
    assert systems == {
        *(f"embedded/smollm2-135m · {method}" for method in written),
        "reference (ours)",
        "control: headline said again",
    }
    assert {row["asked"] for row in results["finforce"]["invalid"]} == {4}
    asked = {row["system"]: row["asked"] for row in results["rfc-detect"]["invalid"]}
    assert asked == {
        "embedded/smollm2-135m · plain": 4,
        "baseline · majority": 4,
        "baseline · surface": 4,
    }
    for task in TASKS:
        assert (here / task / "report.html").exists()
    again = quick_contrafact(*arguments)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("no model was called") == 6
    assert again.stdout.count("%  invalid") == result.stdout.count("%  invalid")
    assert "report: here/report.html" in again.stdout


@pytest.mark.slow
def test_references_rank_above_controls_with_intervals_apart(quick_contrafact, tmp_path):
    """The texts that the demo compares with, judged as it judges them, without the model's rows."""
    for task, rows, judge in (
        ("finforce", finforce_texts(8), ()),
        ("cobe", cobe_texts(6), ("--judge", "proof")),
    ):
        file, data = tmp_path / f"{task}.jsonl", tmp_path / "stories.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        write_held_out(data, 6)
        given = ("--data", str(data)) if task == "cobe" else ("--fluency-model", "none")
        result = quick_contrafact("score", task, str(file), *judge, *given, "--out", task)
        assert result.returncode == 0, result.stderr
        results = json.loads((tmp_path / task / "results.json").read_text())
        measure, form = {"finforce": ("sound", "all"), "cobe": ("accuracy", "strict")}[task]
        own = {
            row["system"]: row
            for row in results["figures"]
            if (row["measure"], row["form"], row["scope"]) == (measure, form, "overall")
            and row.get("category") is None
        }
        (reference,) = (name for name in own if name.startswith("reference"))
        controls = {name: row for name, row in own.items() if name.startswith("control")}
        assert len(controls) == {"finforce": 1, "cobe": 3}[task]
        for name, row in controls.items():
            if task != "cobe":  # two blocks of stories have no interval
                assert row["high"] < own[reference]["low"], name
            assert row["estimate"] < own[reference]["estimate"], name


def test_the_demo_needs_no_more_than_it_is_installed_with(monkeypatch, tmp_path):
    """Its installation has figures and the embedded model; other extras must not be asked for."""
    missing = set(EXTRAS) - {"matplotlib"}
    monkeypatch.setattr(
        "contrafact.errors.find_spec", lambda name: None if name in missing else find_spec(name)
    )
    for part in demo._parts():
        given = {"models": (demo.DEMO_MODEL,), "methods": part.methods, "judges": part.judges}
        if part.data is not None:
            given["data"] = tmp_path / "data.jsonl"
            part.data.load()(given["data"], 1)
        assert prepare(make_settings(part.task, {**given, "limit": 1}, part.options)).methods
        assert set(part.extras) <= missing
