"""rfc-detect and rfc-diagnose through the command line: grids, baselines, refusals, resuming."""

import json
import time

import pandas as pd
import pytest

from contrafact.runs.prepare import make_settings, prepare


def test_models_and_baselines_answer_the_same_items_side_by_side(
    quick_contrafact, service, tmp_path
):
    result = quick_contrafact(
        "run", "rfc-detect", "--model", service.model, "--model", "openai-api/fake/other",
        "--method", "plain", "--method", "majority", "--method", "surface", "--limit", "5",
        "--out", "run", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    # Every pair enters with both members; a baseline is run once, not once for each model.
    assert items.groupby("system").size().to_dict() == {
        "openai-api/fake/writer · plain": 10,
        "openai-api/fake/other · plain": 10,
        "baseline · majority": 10,
        "baseline · surface": 10,
    }
    assert items.groupby(["system", "pair_id"])["gold"].nunique().eq(2).all()
    assert len(service.stats()["answered"]) == 10
    assert "Pairwise %" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["task"] == "rfc-detect"
    again = quick_contrafact(
        "run", "rfc-detect", "--model", service.model, "--model", "openai-api/fake/other",
        "--method", "plain", "--method", "majority", "--method", "surface", "--limit", "5",
        "--out", "run", env=service.environment,
    )  # fmt: skip
    assert "no model was called" in again.stdout
    assert "baseline · surface" in again.stdout


def test_probabilities_are_read_where_the_label_begins(quick_contrafact, service, tmp_path):
    result = quick_contrafact(
        "run", "rfc-detect", "--model", "openai-api/fake/scored", "--logprobs", "--limit", "6",
        "--out", "run", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    answered = items[items["predicted"].notna()]
    # "true" has a half and " True" a fifth, "fal" a tenth: 0.7 of 0.8 for what is said.
    sure = answered["p_true"].where(answered["predicted"] == "true", 1 - answered["p_true"])
    assert len(sure) >= 6 and sure.tolist() == pytest.approx([0.875] * len(sure))
    assert "auroc" in (tmp_path / "run" / "results.json").read_text()


def test_baselines_alone_need_no_model(quick_contrafact, tmp_path):
    result = quick_contrafact(
        "run", "rfc-diagnose", "--method", "majority", "--method", "surface", "--out", "run"
    )
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "name a model (--model) to compare with the baselines" in page
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert set(items["model"]) == {"none/none"}
    named = quick_contrafact(
        "run", "rfc-diagnose", "--method", "majority", "--method", "surface", "--out", "run",
        "--model", "none/none",
    )  # fmt: skip
    assert "no model was called" in named.stdout


def test_shots_draws_and_reasons(quick_contrafact, service, tmp_path):
    result = quick_contrafact(
        "run", "rfc-detect", "--model", service.model, "--rationale", "--shots", "2",
        "--draws", "2", "--limit", "3", "--out", "run", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert set(items["draw"]) == {1, 2}
    assert set(items["shots"]) == {2}
    valid = items[items["predicted"].notna()]
    assert valid["rationale"].eq("The figures stand as they are.").all()


def test_several_numbers_of_examples_are_a_grid(quick_contrafact, service, tmp_path):
    asked = ("run", "rfc-detect", "--model", service.model, "--method", "plain", "--limit", "2")
    shots = ("--shots", "0", "--shots", "2", "--shots", "8", "--shots", "2")
    done = quick_contrafact(
        *asked, *shots, "--method", "majority", "--out", "run", env=service.environment, code=0
    )
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    of_model = items[items["model"].ne("none/none")]
    assert of_model.groupby("shots").size().to_dict() == {0: 4, 2: 4, 8: 4}
    assert len(items) == 16 and of_model["system"].nunique() == 3
    again = quick_contrafact(*asked, *shots, "--method", "majority", "--out", "run", code=0)
    assert "no model was called" in again.stdout, done.stdout
    table = pd.read_csv(tmp_path / "run" / "tables" / "shots.csv")
    assert {"valid_0", "valid_2", "valid_8"} <= {*table.columns}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rfc-detect", "--model", "x/y", "--shots", "0", "--shots", "-2"), "give 0 or more"),
        (("rfc-detect",), "no model is named"),
        (("rfc-detect", "--model", "x/y", "--fluency-model", "gpt2"), "--fluency-model"),
        (("rfc-detect", "--model", "x/y", "--judge-faults"), "--judge-faults"),
        (("rfc-detect", "--model", "x/y", "--shots", "3"), "3-shot"),
        (("rfc-detect", "--model", "x/y", "--draws", "3"), "--draws"),
        (("rfc-detect", "--model", "x/y", "--judge", "x/y"), "--judge has no effect"),
        (("rfc-detect", "--model", "x/y", "--method", "majority"), "--model has no effect"),
        (("rfc-detect", "--model", "x/y", "--method", "plainly"), "no method 'plainly'"),
        (("rfc-diagnose", "--model", "x/y", "--shots", "2"), "--shots"),
        (("rfc-diagnose", "--method", "majority", "--logprobs"), "--logprobs"),
        (("finforce", "--model", "x/y", "--rationale"), "--rationale"),
        (("finforce",), "no model is named"),
    ],
)
def test_what_would_change_nothing_is_refused_before_anything_is_written(
    quick_contrafact, tmp_path, words, message
):
    result = quick_contrafact("run", *words, "--out", "run")
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert message in result.stderr
    assert not (tmp_path / "run").exists()


def test_no_number_of_examples_lets_the_method_decide(quick_contrafact):
    asked = ("run", "finforce", "--model", "mockllm/model", "--method", "few-shot", "--limit", "1")
    usual, none = (
        quick_contrafact(*asked, *shots, "--estimate") for shots in ((), ("--shots", "0"))
    )
    assert none.returncode == 0 and none.stdout == usual.stdout


def test_a_folder_of_another_task_is_not_touched(quick_contrafact, tmp_path):
    assert (
        quick_contrafact("run", "rfc-detect", "--method", "majority", "--out", "run").returncode
        == 0
    )
    other = quick_contrafact("run", "rfc-diagnose", "--method", "majority", "--out", "run")
    assert other.returncode == 2
    assert "holds another run (it differs in task)" in other.stderr


@pytest.mark.slow
def test_a_killed_run_of_models_and_baselines_goes_on(
    quick_contrafact, start_contrafact, start_service, tmp_path
):
    with start_service("--latency", "0.3") as service:
        command = (
            "run", "rfc-detect", "--model", service.model, "--method", "plain",
            "--method", "majority", "--out", "run", "--max-connections", "4",
        )  # fmt: skip
        with start_contrafact(*command, env=service.environment) as process:
            deadline = time.monotonic() + 600
            while len(service.stats()["answered"]) < 12:
                assert process.poll() is None, "the run ended before it could be killed"
                assert time.monotonic() < deadline, "the run never came as far as to be killed"
                time.sleep(0.05)
            process.kill()
        second = quick_contrafact(*command, env=service.environment)
        stats = service.stats()["answered"]
    assert second.returncode == 0, second.stderr
    assert "resuming: " in second.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert len(items) == 2 * 48
    assert not items.duplicated(["system", "sample_id"]).any()
    # What was on its way when the process died may be asked again, nothing else.
    assert len(stats) == 48
    assert sum(count > 1 for count in stats.values()) <= 4


def test_an_option_counts_for_the_identity_only_where_it_is_used():
    given = {"models": ("m/n",)}
    one = prepare(make_settings("rfc-detect", given, {}))
    same = prepare(make_settings("rfc-detect", given, {"rationale": False}))
    other = prepare(make_settings("rfc-detect", given, {"rationale": True}))
    assert one.identity == same.identity != other.identity
    assert one.samples == other.samples == 2 * one.manifest.data.items
