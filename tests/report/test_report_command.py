"""The command: its help, and a folder that is no run."""

from pathlib import Path
from typing import Any


def test_help_shows_an_example(quick_contrafact: Any) -> None:
    done = quick_contrafact("report", "--help")
    assert done.returncode == 0
    assert "--with-published" in done.stdout
    assert "contrafact report" in done.stdout


def test_a_folder_that_is_no_run_is_one_clear_line(quick_contrafact: Any, tmp_path: Path) -> None:
    done = quick_contrafact("report", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
