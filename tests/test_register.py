"""The entries for the register of Inspect Evals are true of the tasks they name."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from contrafact.family import tasks

ROOT = Path(__file__).parents[1]
ENTRIES = sorted((ROOT / "register").glob("*.yaml"))
FIELDS = {"id", "full_title", "common_title", "paper_title", "description", "tasks", "tags"}


def test_every_task_of_ours_has_an_entry() -> None:
    ours = {name for name, task in tasks().items() if task.run.path.startswith("contrafact.")}
    assert {path.stem for path in ENTRIES} == ours


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.stem)
def test_an_entry_names_a_task_that_is_there(path: Path) -> None:
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(entry) == FIELDS
    assert "\n" not in entry["description"]
    (task,) = entry["tasks"]
    assert task["name"] == path.stem
    source = ast.parse((ROOT / task["task_path"]).read_text(encoding="utf-8"))
    decorated = {
        one.name: [ast.unparse(decorator) for decorator in one.decorator_list]
        for one in source.body
        if isinstance(one, ast.FunctionDef)
    }
    (marks,) = [marks for name, marks in decorated.items() if name == path.stem.replace("-", "_")]
    assert any(mark.startswith("task") for mark in marks)
    run = tasks()[path.stem].run.load()
    items, _ = run.load(run.bundled)
    assert task["dataset_samples"] == len(run.units(items))


def test_what_is_written_is_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    manifest = {
        "status": "finished", "task": "rfc-detect", "task_version": "1-A", "finished": "2026-11-22",
        "data": {"name": "bundled samples", "items": 48},
    }  # fmt: skip
    figure = {"system": "x/y · plain", "measure": "accuracy", "form": "valid", "estimate": 0.5,
              "low": 0.4, "high": None, "manipulation": None}  # fmt: skip
    figures = [figure, {**figure, "manipulation": "causal"}]
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (run / "results.json").write_text(json.dumps({"figures": figures}), encoding="utf-8")
    command = [
        sys.executable, str(ROOT / "tools" / "register.py"), "--repository",
        "https://code.example/owner/contrafact", "--commit", "0" * 40, "--contributor", "owner",
        "--results", str(run), "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    written = sorted((tmp_path / "out").glob("*/eval.yaml"))
    assert len(written) == len(ENTRIES)
    found = {path.parent.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in written}
    report = found["contrafact_rfc_detect"]["evaluation_report"]
    (row,) = report["results"]
    assert row["metrics"] == [{"key": "accuracy_valid", "value": 0.5, "low": 0.4}]
    for name, entry in found.items():
        assert entry["id"] == name
        assert entry["source"]["repository_commit"] == "0" * 40
        assert ("evaluation_report" in entry) == (name == "contrafact_rfc_detect")
