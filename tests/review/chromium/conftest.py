"""A studio served over HTTP, and a real Chromium that looks at it."""

import pytest
from tests.support.browser import axe, chromium

__all__ = ["axe", "chromium"]

PASSWORD = "otter lantern gravel 7"


class Tab:
    """A page that remembers what went wrong on it, and what it asked for."""

    def __init__(self, browser, base, **options):
        self.context = browser.new_context(base_url=base, **options)
        self.page = self.context.new_page()
        self.base = base
        self.console, self.asked = [], []
        self.page.on("console", lambda m: self.console.append(m.text))
        self.page.on("pageerror", lambda e: self.console.append(str(e)))
        self.page.on("dialog", lambda d: d.accept())  # whoever closes a stage means it
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

    def follow(self, selector):
        """Click on what leads to another page, and wait until its script has run too."""
        with self.page.expect_navigation():
            self.page.click(selector)

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
