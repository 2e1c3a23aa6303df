"""A real Chromium, and axe-core to look for what keeps people out."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["axe", "axe_violations", "chromium"]

AXE = "axe-core@4.10.3"


@pytest.fixture(scope="session")
def axe(make_once):
    """Return axe-core's source, got from npm; or the file that ``CONTRAFACT_AXE`` names."""
    given = os.environ.get("CONTRAFACT_AXE")
    if given:
        return Path(given).read_text("utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed (apt-get install npm)")

    def install(folder):
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

    folder = make_once("axe", install)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def axe_violations(page, axe, *only):
    """Return what axe-core finds on a page: its rule, and the elements that break it.

    Where rules are named, only those are looked at.

    What passes is not collected: to describe every element takes longer than to look at it.
    """
    page.evaluate(axe)
    asked = {"resultTypes": ["violations"], **({"runOnly": list(only)} if only else {})}
    found = page.evaluate("asked => axe.run(asked)", asked)
    return [(v["id"], [n["html"][:300] for n in v["nodes"]]) for v in found["violations"]]


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
