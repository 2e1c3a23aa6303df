"""The demo: a real model, offline, and a report at its end."""

import json

import pytest


@pytest.mark.slow
def test_the_demo_ends_with_a_table_and_a_report_that_warns_of_its_judge(contrafact, tmp_path):
    result = contrafact("demo", "--out", "here", "--headlines", "2")
    assert result.returncode == 0, result.stderr
    page = tmp_path / "here" / "finforce" / "report.html"
    assert f"report: {page.relative_to(tmp_path)}" in result.stdout
    assert "All counterfactuals" in result.stdout
    assert "The judge is the embedded model" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert "The judge is the embedded model" in text
    assert "://" not in text.replace("http://www.w3.org/", "")
    results = json.loads((tmp_path / "here" / "finforce" / "results.json").read_text())
    systems = {row["system"] for row in results["figures"]}
    assert systems == {"embedded/smollm2-135m · few-shot (3)"}
    assert any(row["measure"] == "perplexity" for row in results["figures"])
    again = contrafact("demo", "--out", "here", "--headlines", "2")
    assert "no model was called" in again.stdout
