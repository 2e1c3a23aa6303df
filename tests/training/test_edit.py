"""Editors taught by proof, from end to end, with a small model that has read stories."""

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.support.small_models import numbers_model, word_model
from tests.training.test_srlm import Quiet

from contrafact.errors import InputError
from contrafact.family import edit_specs
from contrafact.models.whitebox.weights import load_causal
from contrafact.prompts import open_pack
from contrafact.training.config import EditConfig, load_config
from contrafact.training.edit import MET, Taught, train_edit
from contrafact.training.learning import log_likelihoods

SPECS = edit_specs()
SPEC = SPECS["cobe"]
SPLITS = list(SPEC.splits)


@pytest.mark.parametrize("split", ["train", *SPLITS])
def test_answers_to_learn_are_proven_right_and_others_are_not(split):
    tasks = list(islice(SPEC.tasks(open_pack(), split, 5, 16, "plain"), 16))
    assert len({one.prompt for one in tasks}) == 16
    assert all(SPEC.passed(one.source, one.answer) is True for one in tasks)
    for one, other in zip(tasks, [*tasks[5:], *tasks[:5]], strict=True):
        row = json.loads(one.source)
        wrong = row["Variation text"], row["Wrong answers"][0]["text"], other.answer
        assert not any(SPEC.passed(one.source, text) is True for text in wrong)


@pytest.mark.slow
def test_no_split_has_what_it_holds_out_in_training():
    def told(split, number=24):
        tasks = islice(SPEC.tasks(open_pack(), split, 3, number, "plain"), number)
        rows = [json.loads(one.source) for one in tasks]
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


def test_training_visits_every_training_scene_in_turn_and_easy_stories_come_first():
    tasks = islice(SPEC.tasks(open_pack(), "train", 3, 21 * 4 * 4, "plain"), 21 * 4 * 2)
    rows = [json.loads(one.source) for one in tasks]
    scenes = [row["Proof"]["template"] for row in rows]
    assert len(set(scenes)) == 21 and set(Counter(scenes).values()) == {8}
    told = [len(row["Proof"]["told"]) for row in rows]
    assert max(told[:24]) <= 4 and np.mean(told[:24]) < np.mean(told[84:])


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder: two layers that know the words of stories, and nothing of editing."""
    folder = tmp_path_factory.mktemp("reader") / "model"
    tasks = islice(SPEC.tasks(open_pack(), "train", 9, 120, "stated:1"), 120)
    texts = [f"{one.prompt} {one.answer}" for one in tasks]
    template = "{% for message in messages %}<|user|>{{ message['content'] }}{% endfor %}<|user|>"
    model, tokenizer = word_model(texts, template, words=1500, width=48, context=1024)
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


def test_what_prompts_begin_with_is_computed_once_and_the_loss_and_gradient_are_the_same():
    import torch

    model = numbers_model().model
    batch = [
        ([1, 5, 6, 7, *more], answer)
        for more, answer in (([8, 9], [10, 0]), ([8], [11, 12, 13, 0]), ([14, 15, 16], [17, 0]))
    ]
    losses, slopes = [], []
    for shared in (True, False):
        model.zero_grad()
        loss = -log_likelihoods(model, batch, shared=shared).sum()
        loss.backward()
        losses.append(loss.item())
        slopes.append(torch.cat([one.grad.flatten() for one in model.parameters()]))
    plain = 0.0
    with torch.no_grad():
        for prompt, answer in batch:
            ids = torch.tensor([[*prompt, *answer]])
            labels = torch.full_like(ids, -100)
            labels[0, len(prompt) :] = ids[0, len(prompt) :]
            plain += model(ids, labels=labels).loss.item() * len(answer)
    assert losses == pytest.approx([plain, plain], rel=1e-5)
    assert torch.allclose(*slopes, rtol=1e-3, atol=1e-4) and slopes[0].abs().max() > 0.1


@pytest.mark.slow
def test_two_pieces_teach_what_one_piece_does_and_no_story_twice(tmp_path, reader):
    from safetensors.torch import load_file

    config = written(tmp_path, reader, lora={"r": 4, "alpha": 8, "dropout": 0.2})

    def piece(name: str, examples: int, begin: Path | None = None) -> Path:
        learning = {"examples": examples, "total": 192, "batch": 4, "evaluate_every": 5}
        kill = ("before: answers" if begin else "base: answers", 1)  # after it has learned
        with pytest.raises(KeyboardInterrupt):
            run(
                config, tmp_path / name, kill, supervised=learning, **{"from": begin and str(begin)}
            )
        return tmp_path / name / "supervised" / "model"

    def losses(folder: Path) -> list[dict[str, float]]:
        rows = map(json.loads, (folder / "losses.jsonl").read_text().splitlines())
        return [row for row in rows if "loss" in row]

    whole, first = piece("whole", 192), piece("first", 96)
    second = piece("second", 96, first)
    weights = [load_file(folder / "adapter_model.safetensors") for folder in (whole, second, first)]
    for key, expected in weights[0].items():
        assert np.allclose(expected, weights[1][key], atol=1e-6), key
    assert any(not np.allclose(weights[0][key], weights[2][key], atol=1e-3) for key in weights[0])
    assert losses(whole) == [*losses(first), *losses(second)]

    met = [json.loads((folder / MET).read_text()) for folder in (whole, second)]
    assert met[0]["stories"] == met[1]["stories"] and len(met[0]["stories"]) == 192
    assert [one["answers"] for one in met[1]["pieces"]] == [96, 96]

    (first / "state.pt").unlink()
    (first / "adapter_model.safetensors").unlink()  # as it ships
    warmed = losses(piece("warmed", 16, first))[0]
    assert warmed["learning_rate"] <= losses(second)[0]["learning_rate"]
    assert warmed["loss"] == pytest.approx(losses(second)[0]["loss"], rel=0.05)


def test_an_adapter_that_does_not_fit_is_refused_in_a_line(tmp_path, reader):
    config = written(tmp_path, reader)
    folder = tmp_path / "adapter"

    def refused(message: str, **changes: Any) -> None:
        with pytest.raises(InputError, match=message):
            run(config, tmp_path / "out", **{"from": str(folder)} | changes)

    refused("is not an adapter's folder")
    folder.mkdir()
    refused("is not an adapter's folder")
    stated = {"base_model_name_or_path": str(reader), "r": 4, "lora_alpha": 8}
    for file, text, message in (
        ("adapter_config.json", "[]", "does not say what it has learned"),
        ("adapter_config.json", json.dumps(stated | {"r": 8}), r"alpha \(8, 8\); .* \(4, 8\)"),
        ("adapter_config.json", json.dumps(stated), "has no weights"),
        (MET, "{", "is damaged"),
        (MET, '{"pieces": [3]}', "does not say what it has learned"),
    ):
        (folder / file).write_text(text)
        refused(message)
    (folder / "adapter.gguf").write_bytes(b"GGUF")
    (folder / MET).write_text('{"pieces": [{"answers": 64}]}')
    refused(
        "ends at 160 answers with this piece; total is 100",
        supervised={"examples": 96, "total": 100},
    )
    refused("is an adapter of smollm2-135m, not of", **{"from": "smollm2-135m-cobe"})
    assert not (tmp_path / "out/data").exists()


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
    assert list(metrics["checkpoint"].unique()) == ["base", "supervised"]
    card = (whole.adapter / "README.md").read_text()
    assert all(f"| {about} |" in card for about in SPEC.splits.values())
    assert "put as `stated:1`" in card


@pytest.mark.slow
def test_a_training_records_how_requests_are_put(tmp_path, reader):
    config = written(tmp_path, reader)
    for framing, recorded in (("plain", "plain"), ("stated", "stated:1"), (None, "stated:1")):
        out = tmp_path / f"{framing}"
        with pytest.raises(KeyboardInterrupt):
            run(config, out, ("tasks", 1), framing=framing)
        assert json.loads((out / "training.json").read_text())["facts"]["framing"] == recorded
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
