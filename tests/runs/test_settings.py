"""What a user asks of a model reaches it, is recorded, and keeps reasoning out of the answer."""

import json
from pathlib import Path

import pandas as pd
import pytest

import contrafact

SAMPLES = Path(contrafact.__file__).parent / "families/cobe/samples"


def test_generation_settings_reach_the_model_and_the_manifest(quick_contrafact, service, tmp_path):
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, "--judge", service.judge, "--limit", "1",
        "--out", "run", "--fluency-model", "none", "--temperature", "0.3", "--top-p", "0.9",
        "--max-tokens", "77", "--seed", "11", "--reasoning-effort", "low",
        "-M", "emulate_tools=false", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    seen = service.stats()["settings"]
    assert seen["writer: temperature"] == [0.3]
    assert seen["writer: top_p"] == [0.9]
    assert seen["writer: seed"] == [11]
    assert [77] in (seen.get("writer: max_tokens"), seen.get("writer: max_completion_tokens"))
    # The judge has settings of its own: it answers the same way every time.
    assert seen["judge: temperature"] == [0.0]
    assert "judge: reasoning_effort" not in seen
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["settings"]["generation"] == {
        "temperature": 0.3, "top_p": 0.9, "max_tokens": 77, "seed": 11, "reasoning_effort": "low",
    }  # fmt: skip
    texts = pd.read_parquet(tmp_path / "run" / "items.parquet")["text"]
    assert not texts.str.contains("decoy").any()


def test_a_panel_votes_and_its_members_verdicts_are_kept(quick_contrafact, service, tmp_path):
    judges = ["openai-api/fake/judge", "openai-api/fake/second", "openai-api/fake/third"]
    arguments = [word for judge in judges for word in ("--judge", judge)]
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, *arguments, "--limit", "6", "--out", "run",
        "--fluency-model", "none", "--judge-faults", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    votes = pd.read_parquet(tmp_path / "run" / "verdicts.parquet")
    assert set(votes["judge"]) == set(judges)
    assert len(votes) == 6 * 2 * 4 * 3
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    for (sample, side, criterion), group in votes.groupby(["sample_id", "side", "criterion"]):
        row = items[(items["sample_id"] == sample) & (items["side"] == side)]
        assert row[criterion].item() == float(group["passed"].sum() > 1.5)


@pytest.mark.slow
def test_a_grid_of_models_methods_and_draws(quick_contrafact, service, tmp_path):
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, "--model", "openai-api/fake/other",
        "--method", "zero-shot", "--method", "few-shot", "--shots", "2", "--draws", "3",
        "--limit", "4", "--out", "run", "--fluency-model", "none", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "no --judge" in result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    counts = items.groupby("system").size().to_dict()
    assert sorted(counts.values()) == [8, 8, 24, 24]
    few = items[items["method"] == "few-shot"]
    assert set(few["draw"]) == {1, 2, 3}
    assert set(few["shots"]) == {2}
    # The examples of a draw are the same for both models, and differ between draws.
    assert len(service.stats()["answered"]) == 4 + 3 * 4


@pytest.mark.slow
def test_an_estimate_calls_nobody_and_counts_what_the_run_then_calls(
    quick_contrafact, service, tmp_path
):
    arguments = (
        "run", "finforce", "--model", service.model, "--judge", service.judge,
        "--method", "least-to-most", "--method", "counterfactual-distil", "--limit", "5",
        "--out", "run", "--fluency-model", "none",
    )  # fmt: skip
    result = quick_contrafact(*arguments, "--estimate", env=service.environment)
    assert result.returncode == 0, result.stderr
    assert service.stats()["answered"] == {}
    assert not (tmp_path / "run").exists()
    calls = 5 * 3 + 5 * 2 + 2 * 5 * 4
    assert f"{calls} calls, {calls} of them paid" in result.stdout
    assert quick_contrafact(*arguments, env=service.environment).returncode == 0
    used = pd.read_csv(tmp_path / "run" / "usage.csv")
    assert used["calls"].sum() == calls
