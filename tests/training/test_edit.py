"""Editors taught by proof, from end to end, with a small model that has read stories."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.support.small_models import word_model
from tests.training.test_srlm import Quiet

from contrafact.errors import InputError
from contrafact.family import edit_specs
from contrafact.models.whitebox.weights import load_causal
from contrafact.prompts import open_pack
from contrafact.training.config import EditConfig, load_config
from contrafact.training.edit import Taught, train_edit

SPECS = edit_specs()
SPEC = SPECS["cobe"]
SPLITS = list(SPEC.splits)


@pytest.mark.parametrize("split", ["train", *SPLITS])
def test_answers_to_learn_are_proven_right_and_references_are_not(split):
    tasks = list(SPEC.tasks(open_pack(), split, 5, 16, "plain"))
    assert len({one.prompt for one in tasks}) == 16
    assert all(SPEC.passed(one.source, one.answer) is True for one in tasks)
    for kind in ("copy", "the wrong answer", "another story's answer"):
        given = [(one.source, one.wrong[kind]) for one in tasks if kind in one.wrong]
        assert len(given) >= 12
        assert not any(SPEC.passed(*pair) is True for pair in given)


@pytest.mark.slow
def test_no_split_has_what_it_holds_out_in_training():
    def told(split, number=24):
        rows = [
            json.loads(one.source) for one in SPEC.tasks(open_pack(), split, 3, number, "plain")
        ]
        clauses = {
            clause
            for row in rows
            for words in row["Proof"]["wordings"].values()
            if "amounts" not in words
            for value in ("false", "true")
            for clause in words[value]["clauses"]
        }
        return (
            {row["Graph type"] for row in rows},
            {row["Proof"]["template"] for row in rows},
            clauses,
        )

    graphs, scenes, clauses = told("train", 400)
    assert not told("graphs")[0] & graphs
    assert told("graphs")[1] <= scenes
    assert not told("scenes")[1] & scenes
    assert told("scenes")[0] <= graphs
    assert not told("all")[0] & graphs and not told("all")[1] & scenes
    assert told("rules")[0] <= graphs and told("rules")[1] <= scenes
    assert told("rules")[2] - clauses


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder: two layers that know the words of stories, and nothing of editing."""
    folder = tmp_path_factory.mktemp("reader") / "model"
    texts = [
        f"{one.prompt} {one.answer}" for one in SPEC.tasks(open_pack(), "train", 9, 120, "stated:1")
    ]
    template = "{% for message in messages %}<|user|>{{ message['content'] }}{% endfor %}<|user|>"
    model, tokenizer = word_model(texts, template, words=1500, width=48, context=512)
    model.eval().save_pretrained(folder)
    tokenizer.pad_token = "<|end|>"
    tokenizer.save_pretrained(folder)
    return folder


def written(folder: Path, model: Path, **changes: Any) -> Path:
    config: dict[str, Any] = {
        "model": str(model),
        "lora": {"r": 4, "alpha": 8, "dropout": 0.0},
        "supervised": {
            "examples": 96,
            "learning_rate": 0.01,
            "batch": 8,
            "effective_batch": 16,
            "evaluate_every": 2,
        },
        "held_out": {"each": 8},
        "max_tokens": 24,
    }
    path = folder / "edit.yaml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    return path


def run(config: Path, out: Path, kill: tuple[str, int] | None = None, **changes: Any) -> Taught:
    settings = load_config(EditConfig, str(config), SPECS, **changes)
    return train_edit(settings, SPEC, out, say=lambda _: None, progress=Quiet(kill))


@pytest.mark.slow
def test_a_training_that_was_killed_ends_as_one_that_was_not(tmp_path, reader):
    config = written(tmp_path, reader)
    whole = run(config, tmp_path / "whole")
    for kill in (("tasks", 40), ("supervised: steps", 3), ("supervised: answers", 1)):
        with pytest.raises(KeyboardInterrupt):
            run(config, tmp_path / "killed", kill)
    again = run(config, tmp_path / "killed")

    assert again.metrics == whole.metrics
    losses = pd.read_json(whole.adapter / "losses.jsonl", lines=True)
    resumed = pd.read_json(again.adapter / "losses.jsonl", lines=True)
    assert np.array_equal(losses["eval_loss"].dropna(), resumed["eval_loss"].dropna())
    assert losses["eval_loss"].dropna().iloc[-1] < losses["eval_loss"].iloc[0] - 0.05

    metrics = pd.read_csv(tmp_path / "whole/metrics.csv")
    references = ["reference", "copy", "the wrong answer", "another story's answer"]
    assert list(metrics["checkpoint"].unique()) == ["base", "supervised", *references]
    shares = metrics.groupby("checkpoint")["share"].max()
    assert shares["reference"] == 1 and shares["copy"] == 0
    card = (whole.adapter / "README.md").read_text()
    assert all(f"| {about} |" in card for about in SPEC.splits.values())
    assert "put as `stated:1`" in card


@pytest.mark.slow
def test_a_training_by_the_paper_s_request_is_one_of_before_framings(tmp_path, reader):
    config = written(tmp_path, reader)
    for framing, recorded in (("plain", None), ("stated", "stated:1"), (None, "stated:1")):
        out = tmp_path / f"{framing}"
        with pytest.raises(KeyboardInterrupt):
            run(config, out, ("tasks", 1), framing=framing)
        assert json.loads((out / "training.json").read_text())["facts"].get("framing") == recorded
    with pytest.raises(InputError, match="no framing 'stated:4'"):
        run(config, tmp_path / "none", framing="stated:4")


@pytest.mark.slow
def test_an_adapter_loads_by_its_folder_and_a_finished_training_is_left_alone(tmp_path, reader):
    config = written(tmp_path, reader, supervised={"examples": 16, "effective_batch": 8})
    taught = run(config, tmp_path / "out")
    assert load_causal(str(taught.adapter)).model is not None

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.safetensors")}
    assert run(config, tmp_path / "out") == taught
    assert before == {path: path.stat().st_mtime_ns for path in before}
    with pytest.raises(InputError, match=r"another training .*seed"):
        run(config, tmp_path / "out", seed=7)
    with pytest.raises(InputError, match=r"rewarded: .*remove it"):
        run(written(tmp_path, reader, rewarded={"steps": 2}), tmp_path / "other")
