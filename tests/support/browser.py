"""A real Chromium, and axe-core to look for what keeps people out."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["axe", "chromium"]

AXE = "axe-core@4.10.3"


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Return axe-core's source, got from npm; or the file that ``CONTRAFACT_AXE`` names."""
    given = os.environ.get("CONTRAFACT_AXE")
    if given:
        return Path(given).read_text("utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed (apt-get install npm)")
    folder = tmp_path_factory.mktemp("npm")
    run = subprocess.run(
        [npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", AXE],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if run.returncode:
        pytest.skip(f"npm could not get {AXE}: {run.stderr[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()
