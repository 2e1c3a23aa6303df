"""Self-rewarding training from end to end, with a small model that was taught its form."""

import dataclasses
import json
import math
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.family import training_specs
from contrafact.files.journal import Journal
from contrafact.models.whitebox.weights import load_causal
from contrafact.training import context
from contrafact.training.config import Dpo, NewItems, TrainConfig, load_config
from contrafact.training.context import TrainingContext
from contrafact.training.generation import Candidate, write_candidates
from contrafact.training.learning import STATE, TokenizedExample, learn, log_likelihoods
from contrafact.training.run import train

pytestmark = pytest.mark.slow

SPECS = training_specs()


class Quiet:
    """Counts steps, and is killed at one of them if asked to."""

    def __init__(self, kill: tuple[str, int] | None = None):
        self.kill = kill
        self.counted: dict[str, int] = {}

    @contextmanager
    def __call__(self, what: str, total: int) -> Iterator["Quiet"]:
        self.what = what
        yield self

    def step(self, number: int = 1) -> None:
        done = self.counted[self.what] = self.counted.get(self.what, 0) + number
        if self.kill is not None and self.what == self.kill[0] and done >= self.kill[1]:
            raise KeyboardInterrupt


def run(config: Path, out: Path, **options: Any) -> tuple[Any, list[str]]:
    lines: list[str] = []
    progress = Quiet(options.pop("kill", None))
    settings = load_config(TrainConfig, str(config), SPECS, **options)
    spec = SPECS[settings.family]
    outcome = train(settings, spec, out, say=lines.append, progress=progress)
    return outcome, lines


def losses(out: Path, step: str) -> list[dict[str, float]]:
    text = (out / step / "model" / "losses.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def stamps(out: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in out.glob("*/*/*")}


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As on a disk that is full: what grows past this many bytes cannot be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def config(write_config, tmp_path_factory) -> Path:
    return write_config(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory) -> tuple[Path, Any]:
    """A training that went through, and how it ended."""
    out = tmp_path_factory.mktemp("srlm") / "out"
    return out, run(config, out)[0]


def test_its_checkpoints_are_models_and_its_tables_are_there(finished):
    out, outcome = finished
    assert outcome.saturated is None
    assert [path.relative_to(out).as_posix() for path in outcome.checkpoints] == [
        "warm-up/model",
        "iteration-1/model",
    ]
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (outcome.checkpoints[-1] / name).is_file()
    assert [row["checkpoint"] for row in outcome.metrics] == ["base", "warm-up", "iteration-1"]
    assert all(row["valid_low"] <= row["valid"] <= row["valid_high"] for row in outcome.metrics)
    for name in ("metrics", "saturation"):
        assert len(pd.read_csv(out / f"{name}.csv"))
    assert set(pd.read_csv(out / "losses.csv")["stage"]) == {"warm-up", "iteration-1"}
    assert not [*out.rglob(".*.part"), *out.rglob(STATE)]


def test_what_is_learned_can_be_seen_in_the_losses(finished):
    out, _ = finished
    supervised = [row["eval_loss"] for row in losses(out, "warm-up") if "eval_loss" in row]
    assert supervised[-1] < supervised[0]
    preferred = losses(out, "iteration-1")
    first = next(row for row in preferred if "eval_rewards/margins" in row)
    assert first["eval_rewards/margins"] == pytest.approx(0, abs=1e-4)  # nothing learned yet
    margins = [row["rewards/margins"] for row in preferred if "rewards/margins" in row]
    assert fmean(margins[-4:]) > fmean(margins[:4])
    assert fmean(margins[-4:]) > 0.05


def test_the_preference_loss_is_that_of_dpo_and_early_stopping_keeps_the_best(
    small_model, tmp_path
):
    import torch

    causal = load_causal(str(small_model), packed=False)
    pairs = [
        TokenizedExample([5, 6, 7, 8][: 2 + n % 3], [9 + n, 10, 11], [12, 13 + n][: 1 + n % 2])
        for n in range(12)
    ]
    config = TrainConfig(family="finforce", model=str(small_model), items=NewItems(count=1))
    learning = Dpo(learning_rate=0.05, effective_batch=4, batch=2, evaluate_every=1, epochs=9)
    before = [told(causal, one) for one in pairs]
    losses = learn(causal, pairs, pairs, config, learning, tmp_path)
    validated = [row for row in losses if "eval_loss" in row]
    assert validated[0]["eval_loss"] == pytest.approx(math.log(2), abs=1e-5)
    after = [told(load_causal(str(tmp_path), packed=False), one) for one in pairs]
    margins = 0.1 * (torch.tensor(after) - torch.tensor(before))
    best = min(validated, key=lambda row: row["eval_loss"])
    assert best["eval_rewards/margins"] == pytest.approx(float(margins.mean()), abs=1e-3)
    loss = -torch.nn.functional.logsigmoid(margins).mean()
    assert best["eval_loss"] == pytest.approx(float(loss), abs=1e-3) and best["eval_loss"] < 0.6
    stopped = len(validated) - 1 - validated.index(best)
    assert stopped == learning.patience or validated[-1]["step"] == 27


def told(causal: Any, pair: TokenizedExample) -> float:
    """How much likelier the better reply is than the worse one, each read alone."""
    replies = [(pair.prompt, pair.chosen), (pair.prompt, pair.rejected)]
    better, worse = (float(log_likelihoods(causal.model, [one]).detach()) for one in replies)
    return better - worse


def test_new_headlines_are_new_and_those_rejected_have_a_reason(finished):
    out, _ = finished
    kept = pd.read_json(out / "iteration-1" / "headlines" / "headlines.jsonl", lines=True)
    held_out = pd.read_json(out / "data" / "held-out.jsonl", lines=True)
    train = pd.read_json(out / "data" / "train.jsonl", lines=True)
    assert kept["headline"].is_unique
    assert not set(kept["headline"]) & {*held_out["headline"], *train["headline"]}
    rejected = pd.read_json(out / "iteration-1" / "headlines" / "rejected.jsonl", lines=True)
    assert rejected["reason"].str.len().min() > 0


def test_the_same_command_again_does_nothing_without_a_model(finished, config, monkeypatch):
    out, outcome = finished
    before = stamps(out)
    monkeypatch.setattr(context, "load_causal", None)  # would be called
    again, lines = run(config, out)
    assert again == outcome
    assert lines == []
    assert stamps(out) == before


def test_another_training_is_refused_in_its_folder(finished, config):
    out, _ = finished
    with pytest.raises(InputError, match=r"holds another training \(it differs in seed\)"):
        run(config, out, seed=9)


def test_killed_in_any_stage_it_goes_on_and_comes_to_the_same(finished, config, tmp_path):
    whole, _ = finished
    killed = tmp_path / "killed"
    for kill in (
        ("warm-up: steps", 4),
        ("warm-up: held-out headlines", 1),
        ("iteration-1: new headlines", 1),
        ("iteration-1: candidates", 1),
        ("iteration-1: scores", 1),
        ("iteration-1: steps", 5),
    ):
        with pytest.raises(KeyboardInterrupt):
            run(config, killed, kill=kill)
    part = killed / "iteration-1" / ".model.part"
    assert (part / STATE).is_file()
    (part / "state.part").write_bytes(b"half")  # the kill came while this was being written
    run(config, killed)
    for step in ("warm-up", "iteration-1"):
        assert losses(killed, step) == losses(whole, step)
    for name in ("headlines/headlines", "candidates/candidates", "preferences/preferences"):
        path = f"iteration-1/{name}.jsonl"
        assert (killed / path).read_text() == (whole / path).read_text()


def test_a_full_disk_is_one_line_and_earlier_checkpoints_stay(finished, config, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    for name in ("model", "evaluation"):
        shutil.rmtree(out / "iteration-1" / name)
    before = (out / "warm-up" / "model" / "model.safetensors").read_bytes()
    with largest_file(300_000), pytest.raises(InputError) as caught:
        run(config, out)
    assert "iteration-1/model: the stage cannot be written" in str(caught.value)
    assert "free some space" in str(caught.value)
    assert (out / "warm-up" / "model" / "model.safetensors").read_bytes() == before
    assert not (out / "iteration-1" / "model").exists()
    assert run(config, out)[0] == replaced(finished[1], finished[0], out)  # with room again


def replaced(outcome: Any, old: Path, new: Path) -> Any:
    moved = tuple(new / path.relative_to(old) for path in outcome.checkpoints)
    return dataclasses.replace(outcome, checkpoints=moved)


def test_an_iteration_with_too_few_pairs_is_saturated_and_says_its_figures(write_config, tmp_path):
    config = write_config(
        tmp_path,
        held_out=5,
        warm_up={"examples": 12},
        headlines={"count": 4},
        judge={"by": "self", "samples": 2, "max_tokens": 12},
        preferences={"margin": 9.5},
    )
    for _ in range(2):  # again says it again
        outcome, lines = run(config, tmp_path / "out")
        assert outcome.saturated == 1
        assert "saturated: 0 preference pairs of 4 headlines" in lines[-1]
        assert "ties" in lines[-1]
    assert not (tmp_path / "out" / "iteration-1" / "model").exists()
    scores = pd.read_json(tmp_path / "out" / "iteration-1" / "scores" / "scores.jsonl", lines=True)
    judged = scores[scores["valid"]]
    assert len(judged)
    assert ((judged["samples"].map(len) + judged["unreadable"]) == 2).all()
    assert (scores.loc[~scores["valid"], "score"] == 0).all()


def test_another_family_is_trained_in_its_own_words(write_config, tmp_path):
    spec = dataclasses.replace(SPECS["finforce"], item="review", items="reviews")
    config = write_config(tmp_path, held_out=5, warm_up={"examples": 12})
    config.write_text(
        config.read_text()
        .replace("headlines:\n  count: 10", "reviews:\n  count: 2")
        .replace("per_headline", "per_review")
        .replace("min_pairs: 4", "min_pairs: 9")
    )
    settings = load_config(TrainConfig, str(config), {"reviews": spec})
    assert (settings.family, settings.items.count, settings.candidates.per_item) == (
        "reviews",
        2,
        4,
    )
    out, lines = tmp_path / "out", []
    outcome = train(settings, spec, out, say=lines.append, progress=Quiet())
    assert outcome.saturated == 1
    assert "preference pairs of 2 reviews" in lines[-1]
    assert "reviews" in json.loads((out / "training.json").read_text())["facts"]
    for path in (
        "data/held-out",
        "iteration-1/reviews/reviews",
        "iteration-1/candidates/candidates",
        "iteration-1/scores/scores",
    ):
        rows = pd.read_json(out / f"{path}.jsonl", lines=True)
        assert rows["review"].str.len().min() > 0
    assert pd.read_csv(out / "metrics.csv")["reviews"].tolist() == [5, 5]
    assert pd.read_csv(out / "saturation.csv")["reviews"].tolist() == [2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "no/such/folder"}, "there is no such file or folder"),
        ({"candidates": {"max_tokens": 300}}, "the context of .* is too short: 256 tokens"),
        ({"lora": {"targets": ["q_proj", "no_proj"]}}, "has no layer 'no_proj'"),
        ({"lora": {"targets": "lm_head"}}, "has no layer 'lm_head'"),
        ({"data": "missing.jsonl"}, "there is no such file"),
        ({"candidates": {"method": "nonsense"}}, "finforce has no method 'nonsense'"),
    ],
)
def test_what_cannot_work_is_reported_before_anything_is_trained(
    write_config, tmp_path, changes, message
):
    with pytest.raises(InputError, match=message):
        run(write_config(tmp_path, **changes), tmp_path / "out")
    assert not (tmp_path / "out" / "data").exists()


def test_candidates_can_be_those_of_counterfactuals_under_held_noise(
    small_model, write_config, tmp_path
):
    method = {"method": "lm-counterfactuals:prompts=one", "per_headline": 3}
    settings = load_config(TrainConfig, str(write_config(tmp_path, candidates=method)), SPECS)
    about = ["Osk Mills cuts grain exports", "Corvin opens a pipeline"]
    spec = SPECS["finforce"]

    def made(model: str) -> list[Candidate]:
        training = TrainingContext(settings, spec, tmp_path, print)
        with Journal(tmp_path / "journal", {}) as journal:
            return write_candidates(training, model, about, iteration=1, journal=journal)

    first = made(str(small_model))
    assert [one.item for one in first] == [about[0]] * 3 + [about[1]] * 3
    valid = [one for one in first if one.reply.text]
    assert len({one.reply.text for one in valid}) > 1
    assert all(spec.read(one.reply.text, True).answer is not None for one in valid)
    assert made(str(small_model)) == first  # from the journal


def test_weights_that_are_not_numbers_are_refused(write_config, small_model, tmp_path):
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(small_model, broken)
    tensors = load_file(broken / "model.safetensors")
    tensors["model.norm.weight"][0] = float("nan")
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="not finite"):
        run(write_config(tmp_path, model=str(broken)), tmp_path / "out")


def test_the_command_refuses_a_wrong_config_and_shows_what_a_finished_training_found(
    finished, config, quick_contrafact, tmp_path
):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("model: m\nheadlines: {count: 3}\ndpo: {bta: 1}\n", encoding="utf-8")
    done = quick_contrafact("train", "srlm", str(wrong))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"{wrong}:3: dpo.bta: is not known here" in done.stderr

    out, _ = finished
    done = quick_contrafact("train", "srlm", str(config), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "iteration-1" in done.stdout
    assert f"--model whitebox/{out}/iteration-1/model" in done.stdout
