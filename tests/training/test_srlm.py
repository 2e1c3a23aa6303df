"""Self-rewarding training from end to end, with a small model that was taught its form."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.training.config import load_config
from contrafact.training.run import train

pytestmark = pytest.mark.slow


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
    said: list[str] = []
    progress = Quiet(options.pop("kill", None))
    outcome = train(load_config(str(config), **options), out, say=said.append, progress=progress)
    return outcome, said


def losses(out: Path, step: str) -> list[dict[str, float]]:
    text = (out / step / "model" / "losses.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def stamps(out: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in out.glob("*/*/*")}


def test_all_stages_are_done_once_and_killed_ones_are_gone_on_with(write_config, tmp_path):
    config = write_config()
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    outcome, _ = run(config, whole)

    # What it left, and that a checkpoint is a model as any other.
    assert outcome.saturated is None
    assert [path.relative_to(whole).as_posix() for path in outcome.checkpoints] == [
        "warm-up/model",
        "iteration-1/model",
    ]
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (outcome.checkpoints[-1] / name).is_file()
    assert [row["checkpoint"] for row in outcome.metrics] == ["base", "warm-up", "iteration-1"]
    for name in ("metrics", "saturation", "losses"):
        assert (whole / f"{name}.png").stat().st_size > 5_000
        assert len(pd.read_csv(whole / f"{name}.csv"))
    assert not list(whole.rglob(".*.part"))

    # What it learned: losses on validation fall, rewards part.
    supervised = [row["eval_loss"] for row in losses(whole, "warm-up") if "eval_loss" in row]
    assert supervised[-1] < supervised[0]
    margins = [
        row["eval_rewards/margins"]
        for row in losses(whole, "iteration-1")
        if "eval_rewards/margins" in row
    ]
    assert margins[0] == pytest.approx(0, abs=1e-4)
    assert margins[-1] > 0

    # The same command again does nothing, without a word and without a model.
    before = stamps(whole)
    again, silence = run(config, whole)
    assert (again.metrics, again.saturation) == (outcome.metrics, outcome.saturation)
    assert silence == []
    assert stamps(whole) == before

    # Killed in the midst of one stage after the other, it comes to the same losses.
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
    run(config, killed)
    for step in ("warm-up", "iteration-1"):
        assert losses(killed, step) == losses(whole, step)
    for name in ("candidates/candidates", "scores/scores", "preferences/preferences"):
        path = f"iteration-1/{name}.jsonl"
        assert (killed / path).read_text() == (whole / path).read_text()

    # More iterations may be asked for later; anything else is another training.
    more, _ = run(config, whole, iterations=2)
    assert len(more.metrics) == 4 or more.saturated == 2
    with pytest.raises(InputError, match=r"holds another training \(it differs in seed\)"):
        run(config, whole, seed=9)


def test_an_iteration_with_too_few_pairs_is_saturated_and_says_its_figures(write_config, tmp_path):
    config = write_config(
        judge={"by": "self", "samples": 2, "max_tokens": 12}, preferences={"margin": 9.5}
    )
    for _ in range(2):  # again says it again
        outcome, said = run(config, tmp_path / "out")
        assert outcome.saturated == 1
        assert "saturated: 0 preference pairs of" in said[-1]
        assert "ties" in said[-1]
    assert not (tmp_path / "out" / "iteration-1" / "model").exists()
    scores = pd.read_json(tmp_path / "out" / "iteration-1" / "scores" / "scores.jsonl", lines=True)
    judged = scores[scores["valid"]]
    assert ((judged["samples"].map(len) + judged["unreadable"]) == 2).all()
    assert (scores.loc[~scores["valid"], "score"] == 0).all()
    assert (scores["score"].dropna() >= 0).all()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": "no/such/folder"}, "no such"),
        ({"candidates": {"max_tokens": 250}}, "context of"),
        ({"data": "missing.jsonl"}, "there is no such file"),
        ({"dpo": {"batch": 4}}, "effective_batch"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_trained(
    write_config, quick_contrafact, tmp_path, changes, told
):
    done = quick_contrafact("train", "srlm", str(write_config(**changes)), "--out", "out")
    assert done.returncode == 2, done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("contrafact: ")
    assert told in line
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told_in_one_line_and_earlier_checkpoints_stay(write_config, tmp_path):
    config = write_config()
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(config, out, kill=("iteration-1: new headlines", 1))
    before = (out / "warm-up" / "model" / "model.safetensors").read_bytes()

    code = (
        "import resource, sys; from contrafact.cli.main import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        f"sys.argv = ['contrafact', 'train', 'srlm', {str(config)!r}, '--out', {str(out)!r}];"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2, done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert "iteration-1/model: the stage cannot be written" in line
    assert "Traceback" not in done.stderr
    assert (out / "warm-up" / "model" / "model.safetensors").read_bytes() == before
    assert not (out / "iteration-1" / "model").exists()

    outcome, _ = run(config, out)  # and with room again it goes on
    assert len(outcome.checkpoints) == 2
