"""lm-counterfactuals through the command line: a grid of options, its tables, its report."""

import json

import pandas as pd
import pytest

from contrafact.families.finforce.data import bundled_headlines

MODEL = "embedded/smollm2-135m"
SHORT = "max-tokens=40,temperature=0.5"


@pytest.mark.slow
def test_a_grid_of_options_is_run_told_apart_reported_and_not_run_again(
    quick_contrafact, byte_model, short_prompts, tmp_path
):
    model = f"whitebox/{byte_model(tmp_path / 'bytes', context=600, seed=1, liked='ĊĠetaoinsrh')}"
    command = (
        "run", "finforce", "--model", model, "--limit", "2", "--fluency-model", "none",
        "--out", "run", "--method", "lm-counterfactuals", "--method",
        "lm-counterfactuals:noise=fresh", "--max-tokens", "40", "--temperature", "0.5",
        "--prompts", str(short_prompts),
    )  # fmt: skip
    first = quick_contrafact(*command)
    assert first.returncode == 0, first.stderr
    again = quick_contrafact(*command)
    assert "no model was called" in again.stdout
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["settings"]
    assert settings["methods"] == [
        "lm-counterfactuals:temperature=0.5,max-tokens=40",
        "lm-counterfactuals:noise=fresh,temperature=0.5,max-tokens=40",
    ]
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert set(items["system"]) == {f"{model} · {method}" for method in settings["methods"]}
    assert len(items) == 2 * 2 * 2
    used = pd.read_csv(tmp_path / "run" / "usage.csv")
    assert set(used["model"]) == {model}
    assert used["calls"].sum() == 2 * 2 * 3, "a base and two sides, though nobody was called"
    assert (used["input_tokens"] > used["calls"]).all()
    assert used["output_tokens"].between(1, 40 * used["calls"]).all()
    # One base per headline, whatever the noise of its counterfactuals.
    assert items.groupby("sample_id")["base"].nunique().tolist() == [1, 1]
    read = items["text"].notna()
    assert items.loc[read, "base_distance"].between(0, 1).all()
    assert items.loc[~read, "base_distance"].isna().all()
    assert items.loc[~read, "invalid_reason"].notna().all()
    table = tmp_path / "run" / "tables" / "base_distance.csv"
    assert table.exists() == bool(read.any())

    # In bulk the same headlines get the same texts: the noise is the seed's and the headline's.
    news = tmp_path / "news.jsonl"
    texts = [headline.text for headline in bundled_headlines()[:2]]
    news.write_text("".join(json.dumps({"headline": text}) + "\n" for text in texts))
    made = quick_contrafact(
        "generate", "news.jsonl", "--model", model, "--out", "out.jsonl",
        "--method", f"lm-counterfactuals:{SHORT}", "--prompts", str(short_prompts),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    shared = items[~items["method"].str.contains("fresh")].set_index(["sample_id", "side"])["text"]
    for row in rows:
        for side in ("risk", "opportunity"):
            known = shared[row["id"], side]
            assert row[f"{side}_counterfactual"] == (None if pd.isna(known) else known)


@pytest.mark.parametrize(
    "arguments", [("run", "finforce"), ("generate", "news.csv", "--out", "o.csv")]
)
def test_a_model_behind_a_service_is_refused_in_one_line(quick_contrafact, tmp_path, arguments):
    (tmp_path / "news.csv").write_text("headline\nTern & Vale raises its dividend\n")
    result = quick_contrafact(
        *arguments, "--model", "openai/gpt-4o", "--method", "lm-counterfactuals:noise=fresh"
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "openai/gpt-4o has none here; use embedded/smollm2-135m" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["news.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "lm-counterfactuals", "--temperature", "0"), "no noise to hold"),
        (("--method", "lm-counterfactuals", "--top-k", "4"), "--top-k does not reach"),
        (("--method", "lm-counterfactuals:noise=loud"), "noise is shared or fresh"),
    ],
)
def test_options_that_cannot_be_are_one_line(quick_contrafact, options, message):
    result = quick_contrafact("run", "finforce", "--model", MODEL, *options)
    assert result.returncode == 2
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_an_estimate_counts_the_three_texts_and_loads_nothing(quick_contrafact):
    result = quick_contrafact(
        "run", "finforce", "--model", MODEL, "--method", "lm-counterfactuals", "--estimate"
    )
    assert result.returncode == 0, result.stderr
    assert "90" in result.stdout
