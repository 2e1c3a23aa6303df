"""The command: its help, and a folder that is no run."""

import subprocess
import sys
from pathlib import Path


def contrafact(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "contrafact.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help_shows_an_example() -> None:
    done = contrafact("report", "--help")
    assert done.returncode == 0
    assert "--with-published" in done.stdout
    assert "contrafact report" in done.stdout


def test_a_folder_that_is_no_run_is_one_clear_line(tmp_path: Path) -> None:
    done = contrafact("report", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
