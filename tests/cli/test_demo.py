"""The demo: a real model, offline, and a report of all tasks at its end."""

import json

import pytest

TASKS = ("finforce", "rfc-detect", "rfc-diagnose", "cobe")


@pytest.mark.slow
def test_the_demo_ends_with_tables_and_a_report_that_warns_of_its_judge(quick_contrafact, tmp_path):
    arguments = ("demo", "--out", "here", "--headlines", "1", "--pairs", "2", "--stories", "1")
    result = quick_contrafact(*arguments)
    assert result.returncode == 0, result.stderr
    here = tmp_path / "here"
    assert "report: here/report.html" in result.stdout
    assert "All counterfactuals" in result.stdout
    assert "The judge is the embedded model" in result.stdout
    table = result.stdout.partition("All counterfactuals")[2]
    assert max(map(len, table.splitlines())) <= 80
    text = (here / "report.html").read_text(encoding="utf-8")
    assert "The judge is the embedded model" in text
    assert "://" not in text.replace("http://www.w3.org/", "")
    results = json.loads((here / "results.json").read_text())["tasks"]
    assert tuple(results) == TASKS
    systems = {row["system"] for row in results["finforce"]["figures"]}
    assert systems == {"embedded/smollm2-135m · few-shot (3)"}
    assert any(row["measure"] == "perplexity" for row in results["finforce"]["figures"])
    asked = {row["system"]: row["asked"] for row in results["rfc-detect"]["invalid"]}
    assert asked == {
        "embedded/smollm2-135m · plain": 4,
        "baseline · majority": 4,
        "baseline · surface": 4,
        "baseline · coherence": 4,
    }
    for task in TASKS:
        assert (here / task / "report.html").exists()
    again = quick_contrafact(*arguments)
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("no model was called") == 4
    assert again.stdout.endswith(result.stdout.partition("All counterfactuals")[2])
