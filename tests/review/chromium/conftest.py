"""A studio served over HTTP, and a real Chromium that looks at it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PASSWORD = "otter lantern gravel 7"
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


class Tab:
    """A page that remembers what went wrong on it, and what it asked for."""

    def __init__(self, browser, base, **options):
        self.context = browser.new_context(base_url=base, **options)
        self.page = self.context.new_page()
        self.base = base
        self.console, self.asked = [], []
        self.page.on("console", lambda m: self.console.append(m.text))
        self.page.on("pageerror", lambda e: self.console.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))

    def sign_in(self, name):
        self.page.goto("/sign-in")
        self.page.keyboard.press("Tab")  # the skip link
        self.page.get_by_label("Name").focus()
        self.page.keyboard.type(name)
        self.page.keyboard.press("Tab")
        self.page.keyboard.type(PASSWORD)
        self.press("Enter")
        assert self.page.url == f"{self.base}/"

    def press(self, *keys):
        """Press keys; the last one leads to another page."""
        for key in keys[:-1]:
            self.page.keyboard.press(key)
        with self.page.expect_navigation():
            self.page.keyboard.press(keys[-1])

    def done(self):
        assert self.console == []
        assert all(url.startswith(self.base) for url in self.asked)
        self.context.close()


@pytest.fixture
def open_tab(chromium):
    """Open tabs, each as a browser of its own; none may tell of an error until the end."""
    opened = []

    def open_one(base, **options):
        opened.append(Tab(chromium, base, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.done()
