"""The first project: what `init` writes runs as its README says, and fails where it got worse."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EMBEDDED = "embedded/smollm2-135m"


@pytest.fixture
def project(quick_contrafact, tmp_path, service):
    """A fresh project whose model is the one of the server on loopback."""
    done = quick_contrafact("init", "project")
    assert (done.returncode, done.stderr) == (0, "")
    folder = tmp_path / "project"
    config = folder / "run.yaml"
    text = config.read_text(encoding="utf-8")
    assert f"model: {EMBEDDED}" in text
    config.write_text(text.replace(EMBEDDED, service.model), encoding="utf-8")
    return folder


def commands(page):
    return re.findall(r"^\$ (?:PYTHONPATH=\. )?contrafact (.*)$", page.read_text(), re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_a_projects_readme_run_and_find_no_regression(
    project, quick_contrafact, service
):
    paths = os.pathsep.join((str(project), str(ROOT / "src")))
    environment = {**os.environ, **service.environment, "PYTHONPATH": paths}
    lines = commands(project / "README.md")
    assert [line.split()[0] for line in lines] == ["methods", "run", "run", "run", "diff"]
    printed = ""
    for line in lines:
        done = quick_contrafact(*line.split(), folder=project, env=environment)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        printed += done.stdout
        if "--dry-run" in line:
            assert not service.stats().get("answered") and not (project / "runs").exists()
    assert "no errors were found, and no model was called" in printed
    assert (project / "runs/base/report.html").stat().st_size > 10_000
    last = lines[-1].replace("valid:5%", "velid")
    wrong = quick_contrafact(*last.split(), folder=project, env=environment)
    assert wrong.returncode == 2 and "there is no measure 'velid'" in wrong.stderr


def test_a_project_is_written_into_no_folder_that_holds_something(quick_contrafact, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    done = quick_contrafact("init", "full")
    assert done.returncode == 2 and "holds something else" in done.stderr
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["a.txt"]


@pytest.mark.parametrize("git", [False, True])
@pytest.mark.parametrize("named", [".", "../here"])
def test_a_project_is_written_into_a_fresh_repository_and_into_this_folder(
    quick_contrafact, tmp_path, git, named
):
    here = tmp_path / "here"
    here.mkdir()
    if git:
        subprocess.run(["git", "init", "-q", str(here)], check=True)
    for _ in range(2):
        done = quick_contrafact("init", named, folder=here)
        assert (done.returncode, done.stderr) == (0, "")
    assert {"README.md", "run.yaml", "mine", ".gitignore"} < {one.name for one in here.iterdir()}
    assert (here / ".git" / "HEAD").exists() is git
    assert [one.name for one in tmp_path.iterdir() if "draft" in one.name] == []


def test_the_projects_workflow_runs_what_its_readme_does(project):
    workflow = yaml.safe_load((project / ".github/workflows/check.yml").read_text())
    runs = " ".join(step.get("run", "") for step in workflow["jobs"]["check"]["steps"])
    for line in commands(project / "README.md")[3:]:
        assert line in runs
    assert workflow["permissions"] == {"contents": "read"} and "secrets" not in runs


def test_methods_are_listed_with_a_line_each(quick_contrafact):
    done = quick_contrafact("methods", "cobe")
    assert "abduct-act-predict" in done.stdout and "(default)" in done.stdout
    everything = quick_contrafact("methods").stdout
    assert "surface" in everything and everything.count("(default)") >= 4
    assert re.search(r"majority +.*always the label", everything), everything
    wrong = quick_contrafact("methods", "nope")
    assert wrong.returncode == 2 and "use finforce, rfc-detect" in wrong.stderr


def test_a_dry_run_finds_what_a_run_would_end_at(quick_contrafact, service):
    run = ["run", "finforce", "--dry-run", "--limit", "2", "--model"]
    good = quick_contrafact(*run, service.model, env=service.environment)
    assert good.returncode == 0 and "2 samples of bundled samples" in good.stdout
    assert "about 2 calls" in good.stdout
    judged = ["run", "cobe", "--dry-run", "--data", "cobe-written", "--limit", "2"]
    judged += ["--model", service.model, "--judge", "proof"]
    told = quick_contrafact(*judged, env=service.environment, code=0).stdout
    assert "6 samples of cobe-written@" in told
    assert "about 6 calls" in told, "a verifier's verdict is no call"
    for wrong in (
        ["nowhere/m"],
        [service.model, "--method", "zeroshot"],
        [service.model, "-M", "x"],
    ):
        done = quick_contrafact(*run, *wrong, env=service.environment)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
    assert not service.stats().get("answered")
