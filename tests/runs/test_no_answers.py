"""Outputs that cannot be read, or are no answer: counted, shown, wrong in the strict form."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inspect_ai.log import EvalError, EvalSample

from contrafact.family.published import published_table
from contrafact.runs.items import failure_of
from contrafact.runs.prepare import load_preset
from contrafact.text.degenerate import EQUAL_SIDES, FOREIGN, OF_INPUT, OF_OTHER


@pytest.mark.slow
def test_a_system_without_a_valid_output_stands_in_every_table(
    quick_contrafact: Any, service: Any, chance_path: str, tmp_path: Path
) -> None:
    environment = {**service.environment, "PYTHONPATH": chance_path}
    small = "embedded/smollm2-135m"
    done = quick_contrafact(
        "run", "finforce", "--model", small, "--model", service.model, "--judge", service.judge,
        "--max-tokens", "5", "--limit", "6", "--fluency-model", "none", "--out", "run",
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items.loc[items["model"].eq(small), "text"].isna().all()
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    (system,) = {name for name in items["system"] if small in name}
    strict = [
        row
        for row in found["figures"]
        if row["system"] == system and row["form"] == "strict" and row["measure"] == "average"
    ]
    assert strict and all(row["estimate"] == 0 for row in strict)
    assert any(system in (r["first"], r["second"]) for r in found["paired"])
    for name in ("overall", "paired", "invalid"):
        (table,) = (tmp_path / "run" / "tables").rglob(f"{name}.md")
        text = table.read_text(encoding="utf-8")
        assert system in text, name
    alone = quick_contrafact(
        "run", "finforce", "--model", small, "--judge", service.judge, "--max-tokens", "5",
        "--limit", "6", "--fluency-model", "none", "--out", "alone", env=environment,
    )  # fmt: skip
    assert alone.returncode == 0, alone.stderr
    for text in ((tmp_path / "alone" / "report.html").read_text(encoding="utf-8"), alone.stderr):
        assert "No judge was named" not in text


@pytest.mark.slow
def test_what_is_no_answer_counts_as_wrong_and_is_shown(
    quick_contrafact: Any, service: Any, tmp_path: Path
) -> None:
    headlines = [
        "Brackwater Ferries books fewest passengers in a decade",
        "Ostrava mill reopens under new owners after the winter",
        "Tallow & Finch recalls its kettles",
        "Grain ships leave Port Sable after the strike",
        "Central bank of Merrowland leaves its rate where it was",
    ]
    sides = [
        (headlines[0].upper(), f"{headlines[0]}, and lenders take heart"),
        ("The mill will close", "the mill will close."),
        (f"{headlines[2]}, and lenders take fright", headlines[3]),
        ("Los barcos se van del puerto y el mercado se hunde", f"{headlines[3]}, a relief"),
        (f"{headlines[4]}, to the dismay of lenders", f"{headlines[4]}, to the joy of lenders"),
    ]
    expected = [OF_INPUT, None, EQUAL_SIDES, EQUAL_SIDES, None, OF_OTHER, FOREIGN, None, None, None]
    (tmp_path / "made.jsonl").write_text(
        "".join(
            json.dumps({"headline": headline, "risk": risk, "opportunity": opportunity}) + "\n"
            for headline, (risk, opportunity) in zip(headlines, sides, strict=True)
        )
    )
    done = quick_contrafact(
        "score", "finforce", "made.jsonl", "--system", "copier", "--judge", service.judge,
        "--fluency-model", "none", "--out", "run", env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert [None if pd.isna(why) else why for why in items["degenerate"]] == expected
    assert items["text"].notna().all() and items["invalid_reason"].isna().all()
    figures = json.loads((tmp_path / "run" / "results.json").read_text())
    strict, valid = (
        row["estimate"]
        for form in ("strict", "valid")
        for row in figures["figures"]
        if (row["measure"], row["form"], row["scope"], row.get("category"))
        == ("directionality", form, "overall", None)
    )
    sound = items["directionality"].where(items["degenerate"].isna(), 0.0)
    assert abs(strict - sound.mean()) < 1e-9
    assert abs(valid - items["directionality"].mean()) < 1e-9
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Of these, degenerate" in page
    reasons = pd.read_csv(tmp_path / "run" / "tables" / "invalid_reasons.csv")
    shown = dict(zip(reasons["invalid_reason"], reasons["count"], strict=True))
    assert shown == items["degenerate"].dropna().value_counts().to_dict()
    again = quick_contrafact(
        "score", "run", "--judge", service.judge, "--out", "again", env=service.environment
    )
    assert again.returncode == 0, again.stderr
    kept = pd.read_parquet(tmp_path / "again" / "items.parquet")["degenerate"]
    assert [None if pd.isna(why) else why for why in kept] == expected


def test_the_papers_preset_needs_data_and_is_overridden_freely(
    quick_contrafact: Any, service: Any, tmp_path: Path
) -> None:
    asked = ("run", "finforce", "--preset", "finforce-paper", "--model", service.model,
             "--judge", service.judge, "--fluency-model", "none")  # fmt: skip
    without = quick_contrafact(*asked, env=service.environment)
    assert without.returncode == 2
    assert "needs --data" in without.stderr and "data fetch fin-force" in without.stderr
    (tmp_path / "mine.jsonl").write_text('{"headline": "Ostrava mill reopens under new owners"}\n')
    # Before anything is asked all notes stand there, first; fewer examples are no error.
    notes = load_preset("finforce-paper")["notes"]
    told = quick_contrafact(
        *asked, "--data", "mine.jsonl", "--shots", "3", "--draws", "2", "--estimate",
        env=service.environment,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    said = told.stderr.splitlines()
    assert [line.removeprefix("finforce-paper: ") for line in said[: len(notes)]] == [*notes]
    assert not service.stats()["answered"]
    assert "26 calls" in told.stdout  # 1, 2, 1, 2 of the methods; 4 of the judge for each of 5
    done = quick_contrafact(
        *asked, "--data", "mine.jsonl", "--method", "zero-shot", "--out", "run",
        env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "LM-Counterfactuals and SRLM need the weights" in done.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert list(items["method"].unique()) == ["zero-shot"]


def test_the_papers_preset_names_all_of_table_2_and_table_9s_examples() -> None:
    preset = load_preset("finforce-paper")
    elsewhere = {"lm-counterfactuals", "srlm"}  # they need weights, which the notes say
    assert {*preset["methods"], *elsewhere} == {
        *published_table("contrafact.families.finforce", "overall")["method"]
    }
    notes = " ".join(preset["notes"])
    assert "lm-counterfactuals:prompts=one" in notes and "train srlm" in notes
    assert (preset["shots"], preset["draws"], len(preset["models"])) == (5, 5, 5)


def test_a_failed_sample_is_told_by_what_the_service_said():
    lines = (
        "openai.RateLimitError: Error code: 429 - slow down",
        "contrafact.models.service.NoAnswer: the service asks to wait 3,600 s; "
        "a call's limit is 20 s",
        "tenacity.RetryError: RetryError[<Future at 0x7f raised NoAnswer>]",
    )
    error = EvalError(message="RetryError", traceback="\n\n".join(lines), traceback_ansi="")
    sample = EvalSample(id="a", epoch=1, input="", target="", error=error)
    assert failure_of("s", sample).cause == lines[1].removeprefix("contrafact.models.service.")
