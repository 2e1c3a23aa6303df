"""A run whose judge is a white-box model, through the command line."""

import json

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory, byte_model) -> str:
    folder = byte_model(tmp_path_factory.mktemp("judge"), context=8192, liked="TF")
    return f"whitebox/{folder}"


@pytest.mark.slow
def test_cobe_is_judged_by_the_next_tokens_probabilities(
    quick_contrafact, service, tmp_path, judge
):
    result = quick_contrafact(
        "run", "cobe", "--model", service.model, "--judge", judge, "--limit", "1", "--out", "run",
        "--judge-arg", "rows=2", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["settings"]["judge_args"] == {"rows": 2}
    verdicts = pd.read_parquet(tmp_path / "run" / "verdicts.parquet")
    assert len(verdicts) >= 3 and set(verdicts["judge"]) == {judge}
    shown = verdicts["probability"].notna()
    assert shown.any()
    assert verdicts.loc[shown, "probability"].between(0, 1).all()
    rows = pd.read_csv(tmp_path / "run" / "usage.csv")
    assert rows["model"].tolist() == [service.model, judge]
    assert rows["role"].tolist() == ["subject", "judge"]


def test_a_judges_provider_arguments_are_the_judges_alone(quick_contrafact, service, judge):
    for arguments, message in (
        (("--judge-arg", "rowz=2"), "rowz"),
        (("--judge-arg", "rows"), "--judge-arg rows is not KEY=VALUE"),
    ):
        refused = quick_contrafact(
            "run", "cobe", "--model", service.model, "--judge", judge, "--limit", "1", *arguments,
            env=service.environment,
        )  # fmt: skip
        assert refused.returncode == 2 and message in refused.stderr
        assert "Traceback" not in refused.stderr
