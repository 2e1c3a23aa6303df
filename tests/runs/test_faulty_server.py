"""A service that fails in every way: no sample is lost, none is scored twice."""

import json

import pandas as pd
import pytest

from contrafact.families.finforce.data import bundled_headlines


@pytest.mark.slow
def test_every_sample_ends_scored_or_listed_with_its_cause(
    quick_contrafact, start_service, tmp_path
):
    headlines = [headline.text for headline in bundled_headlines()[:9]]
    headlines[4] = "Doomed mill in Ostrava files for protection"  # the server never answers it
    headlines[4] = headlines[4].replace("Doomed", "The doomed")
    data = tmp_path / "news.jsonl"
    data.write_text("".join(json.dumps({"headline": h}) + "\n" for h in headlines))
    with start_service(
        "--faults", "429,500,reset,stall,truncated,notjson", "--stall", "30"
    ) as service:
        arguments = (
            "run", "finforce", "--data", str(data), "--model", service.model,
            "--judge", service.judge, "--out", "run", "--fluency-model", "none",
            "--attempt-timeout", "2", "--max-retries", "2", "--timeout", "60",
        )  # fmt: skip
        first = quick_contrafact(*arguments, env=service.environment)
        assert first.returncode == 1, first.stderr
        scored, failed = outcome(tmp_path / "run")
        # Every sample is scored once or listed once.
        assert len(scored) + len(failed) == len(scored | failed) == 9
        # A request is failed once; in the end only the sample that never is answered stays.
        for _ in range(3):
            again = quick_contrafact(*arguments, env=service.environment)
            if "1 of 9 samples failed" in again.stderr:
                break
        stats = service.stats()
    assert again.returncode == 1
    assert "1 of 9 samples failed" in again.stderr
    scored, failed = outcome(tmp_path / "run")
    assert (len(scored), len(failed)) == (8, 1)
    failures = pd.read_csv(tmp_path / "run" / "failures.csv")
    assert "engine is on fire" in failures["cause"].item()
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items[["forward_compatibility", "directionality"]].notna().all().all()
    # Every kind of failure was met, and nothing that had been answered was asked again.
    assert set(stats["met"]) == {"429", "500", "reset", "stall", "truncated", "notjson"}
    assert set(stats["answered"].values()) == {1}
    assert len(stats["answered"]) == 8 * 5
    text = first.stdout + first.stderr + (tmp_path / "run" / "manifest.json").read_text()
    assert service.environment["FAKE_API_KEY"] not in text


def outcome(run):
    items = pd.read_parquet(run / "items.parquet")
    assert not items.duplicated(["sample_id", "side"]).any()
    failures = run / "failures.csv"
    failed = set(pd.read_csv(failures)["sample_id"]) if failures.exists() else set()
    return set(items["sample_id"]), failed


@pytest.mark.slow
def test_a_service_that_is_not_there_is_a_failure_reported_in_one_line(
    quick_contrafact, service, tmp_path
):
    environment = {**service.environment, "FAKE_BASE_URL": "http://127.0.0.1:9/v1"}
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, "--limit", "2", "--out", "run",
        "--max-retries", "1", "--timeout", "20", "--fluency-model", "none", env=environment,
    )  # fmt: skip
    assert result.returncode == 1
    assert "2 of 2 samples failed" in result.stderr
    assert "Connect" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_missing_key_is_reported_before_the_first_call(quick_contrafact, service):
    environment = {k: v for k, v in service.environment.items() if k != "FAKE_API_KEY"}
    result = quick_contrafact("run", "finforce", "--model", service.model, env=environment)
    assert result.returncode == 2
    assert "FAKE_API_KEY" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
