"""The method likelihood through the command line, with a service that speaks OpenAI's protocol."""

import json

import pandas as pd
import pytest

DETECT = ("p_true",)
DIAGNOSE = ("p_numerical", "p_flipping", "p_sentiment", "p_causal")
SCORED = "openai-api/fake/scored"


def run(command, service, *words, task="rfc-detect", model=SCORED, limit=4):
    return command(
        "run", task, "--model", model, *words, "--limit", str(limit), "--out", "run",
        env=service.environment,
    )  # fmt: skip


def test_labels_are_scored_by_all_spellings_among_the_alternatives(
    quick_contrafact, service, tmp_path
):
    result = run(quick_contrafact, service, "--method", "likelihood", limit=12)
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert len(items) == 24
    answered = items[items["predicted"].notna()]
    # "true" has a half and " True" a fifth, "fal" a tenth: 0.7 of 0.8 for what is said first.
    sure = answered["p_true"].where(answered["predicted"] == "true", 1 - answered["p_true"])
    assert sure.tolist() == pytest.approx([0.875] * len(answered))
    assert set(answered["predicted"]) == {"true", "false"}
    # Where no alternative begins a label, nothing is guessed.
    others = items[items["predicted"].isna()]
    assert others["invalid_reason"].eq("no label among the 3 likeliest first tokens").all()
    assert others["p_true"].isna().all()
    # One call an item, and one to find out whether there are log-probabilities at all.
    assert len(service.stats()["answered"]) == 24 + 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert "auroc" in json.dumps(results)
    again = run(quick_contrafact, service, "--method", "likelihood", limit=12)
    assert "no model was called" in again.stdout
    assert sum(service.stats()["answered"].values()) == 25


def test_a_label_beyond_the_alternatives_gets_at_most_what_they_leave(
    quick_contrafact, service, tmp_path
):
    result = run(quick_contrafact, service, "--method", "likelihood", task="rfc-diagnose", limit=8)
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    shares = items.loc[items["predicted"].notna(), list(DIAGNOSE)]
    # 0.5 and 0.2 for one, 0.1 for the next; 0.05 is left, which is less than any listed.
    expected = [0.05 / 0.9, 0.05 / 0.9, 0.1 / 0.9, 0.7 / 0.9]
    assert len(shares) >= 4
    for row in shares.itertuples(index=False):
        assert sorted(row) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("openai-api/fake/writer", "fake/writer gives no log-probabilities"),
        ("openai-api/fake/refusing", "logprobs is not supported"),
    ],
)
def test_a_model_without_log_probabilities_is_refused_after_one_call(
    quick_contrafact, service, tmp_path, model, message
):
    result = run(quick_contrafact, service, "--method", "likelihood", model=model)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert message in result.stderr
    assert sum(service.stats()["answered"].values()) <= 1
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_a_service_that_is_too_busy_is_asked_again(quick_contrafact, start_service, tmp_path):
    with start_service("--faults", "429") as busy:
        result = run(quick_contrafact, busy, "--method", "likelihood", limit=2)
        assert result.returncode == 0, result.stderr
        assert busy.stats()["met"]["429"] == 4 + 1
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert len(items) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "likelihood", "--rationale"), "gives no reasons"),
        (("--method", "likelihood:alternatives=1"), "a number from 2"),
        (("--method", "plain:constrained=false"), "holds no model to the labels"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_a_call(quick_contrafact, service, words, message):
    result = run(quick_contrafact, service, *words)
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert message in result.stderr
    assert service.stats()["answered"] == {}


def test_shown_examples_are_part_of_what_labels_are_scored_after(
    quick_contrafact, service, tmp_path
):
    result = run(quick_contrafact, service, "--method", "likelihood", "--shots", "2", limit=2)
    assert result.returncode == 0, result.stderr
    assert set(pd.read_parquet(tmp_path / "run" / "items.parquet")["shots"]) == {2}
