"""A family outside the package, built from the page that teaches it, and used by every engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "flip"
PAGE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("your-own-family.md", "your-own-family-report.md")
)
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
HUMAN = ("--method", "human", "--fluency-model", "none")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package as the page builds it, installed: on the path, with its entry points."""
    place = tmp_path_factory.mktemp("flip")
    source = place / "src"
    shutil.copytree(EXAMPLE / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf-8")
    facts = source / "contrafact_flip-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: contrafact-flip\nVersion: 0.1.0\n"
    )
    groups = re.findall(
        r"^\[project\.entry-points\.(.+)\]\n((?:.+\n)+)", FILES["pyproject.toml"], re.M
    )
    lines = [f"[{name.strip(chr(34))}]\n{entries.replace(chr(34), '')}" for name, entries in groups]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    return source


@pytest.fixture(scope="module")
def python_path(package):
    return os.pathsep.join([str(package), *filter(None, sys.path)])


@pytest.fixture
def flip(quick_contrafact, python_path):
    """Run a command with the family installed, in a folder of its own."""

    def run(*words, env=None):
        added = {"COLUMNS": "200", "PYTHONPATH": python_path}
        return quick_contrafact(*words, env={**os.environ, **(env or {}), **added})

    return run


@pytest.fixture
def with_flip(python_path, tmp_path):
    """Run a program where the family is installed."""

    def run(*words):
        return subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "200", "PYTHONPATH": python_path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_page_shows_the_files_of_the_example_as_they_are():
    assert len(FILES) >= 11
    for name, text in FILES.items():
        assert (EXAMPLE / name).read_text(encoding="utf-8") == text, name


PARSE = """
import shlex, sys, typer
from contrafact.cli.main import app
for line in sys.argv[1:]:
    command, words = typer.main.get_command(app), shlex.split(line)[1:]
    while hasattr(command, "list_commands"):
        assert words[0] in command.list_commands(None), line
        command = command.get_command(None, words.pop(0))
    command.make_context("contrafact", words)
"""


@pytest.mark.slow
def test_every_command_line_of_the_page_parses(with_flip):
    lines = re.findall(r"^contrafact .+$", PAGE, re.MULTILINE)
    assert len(lines) >= 6
    result = with_flip(sys.executable, "-c", PARSE, *lines)
    assert result.returncode == 0, result.stderr


def test_the_example_keeps_within_its_size():
    files = [
        path
        for path in EXAMPLE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    ]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 600


def test_human_revisions_are_a_system_with_a_report(flip, tmp_path):
    result = flip("run", "flip", *HUMAN, "--out", "run")
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert len(items) == 40
    assert items["flipped_by_classifier"].mean() > 0.9
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    measured = {row["measure"] for row in results["figures"]}
    assert {"flipped_by_classifier", "edit_distance"} <= measured
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert page.count('id="results"') == 1
    assert "Reviews edited until their label flips" in page
    again = flip("run", "flip", *HUMAN, "--out", "run")
    assert "no model was called" in again.stdout


@pytest.mark.slow
def test_outputs_made_elsewhere_are_scored_without_a_line_of_the_family(flip, package, tmp_path):
    reviews = package / "contrafact_flip" / "samples" / "reviews.jsonl"
    rows = [json.loads(line) for line in reviews.read_text(encoding="utf-8").splitlines()]
    outputs = [{"input": row["text"], "output": row["revision"]} for row in rows]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs))
    words = ("--system", "people", "--fluency-model", "none", "--data", str(reviews))
    scored = flip("score", "flip", "o.jsonl", *words, "--out", "scored")
    assert scored.returncode == 0, scored.stderr
    assert flip("run", "flip", *HUMAN, "--data", str(reviews), "--out", "run").returncode == 0
    found, made = (pd.read_parquet(tmp_path / name / "items.parquet") for name in ("scored", "run"))
    assert set(found["system"]) == {"people"}
    same = [name for name in made if name not in ("system", "model", "method")]
    pd.testing.assert_frame_equal(found[same], made[same])


@pytest.mark.slow
def test_a_grid_with_a_judge_an_exam_and_a_study(flip, service, tmp_path):
    env = service.environment
    judge, writer = service.model, service.model
    grid = ("--method", "plain", "--method", "mark-then-edit", "--method", "human")
    common = ("--model", writer, "--judge", judge, *grid, "--fluency-model", "none")
    shown = flip("run", "flip", *common, "--limit", "6", "--estimate", env=env)
    assert "judge" in shown.stdout and shown.returncode == 0, shown.stderr
    result = flip("run", "flip", *common, "--limit", "6", "--outputs", "2", "--out", "run", env=env)
    assert result.returncode == 0, result.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert items.groupby("method").size().to_dict() == {
        "human": 6,
        "mark-then-edit": 12,
        "plain": 12,
    }
    assert items.loc[items["method"] == "human", "flipped"].notna().all()
    assert (tmp_path / "run" / "verdicts.parquet").exists()
    exam = flip(
        "exam", "--family", "flip", "--judge", judge, "--n", "8", "--out", "exam.json", env=env
    )
    assert exam.returncode == 0, exam.stderr
    assert set(json.loads((tmp_path / "exam.json").read_text())["criteria"]) == {
        "flipped",
        "fluent",
    }
    reported = flip("report", "run", "--exam", "exam.json", "--out", "report")
    assert reported.returncode == 0, reported.stderr
    sheet = flip("flip", "study", "sample", "run", "--n", "6", "--out", "sheet.csv")
    assert sheet.returncode == 0, sheet.stderr
    rows = pd.read_csv(tmp_path / "sheet.csv")
    assert {"flipped", "fluent", "review"} <= set(rows.columns)
    filled = rows.assign(flipped="TRUE", fluent="FALSE")
    filled.to_csv(tmp_path / "sheet.csv", index=False)
    scored = flip("flip", "study", "score", "sheet.csv")
    assert scored.returncode == 0, scored.stderr


def test_wrong_input_is_one_line(flip, tmp_path):
    (tmp_path / "bad.csv").write_text("text,label\nFine,maybe\n")
    result = flip("run", "flip", *HUMAN, "--data", "bad.csv")
    assert result.returncode == 2
    assert result.stderr.strip().endswith("use positive or negative")
    assert len(result.stderr.strip().splitlines()) == 1
    for words in (("--method", "humane"), ("--outputs", "0"), ("--rationale",)):
        assert flip("run", "flip", "--model", "m/x", *words).returncode == 2


@pytest.mark.slow
def test_inspect_runs_the_task_and_the_example_s_own_tests_pass(
    quick_inspect, with_flip, python_path, package
):
    task = f"{package}/contrafact_flip/run.py@flip"
    words = ("eval", task, "--model", "none", "-T", "method=human")
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": python_path}
    result = quick_inspect(*words, "-T", "judged=false", "--display", "plain", env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "valid" in result.stdout
    words = ("-q", "-p", "no:cacheprovider", "-n0", "--import-mode=importlib")
    own = with_flip(sys.executable, "-m", "pytest", *words, str(EXAMPLE / "tests"))
    assert own.returncode == 0, own.stdout
