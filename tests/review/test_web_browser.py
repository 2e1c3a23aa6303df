"""The studio in a real Chromium: by keyboard alone, without a script error, readable by all."""

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

WORK = "/r/ours/work"
PASSWORD = "otter lantern gravel 7"
AXE = "axe-core@4.10.3"
pytestmark = pytest.mark.slow


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


@pytest.fixture
def served(site):
    """A studio served over HTTP on a free port of loopback."""
    import uvicorn

    from contrafact.review.web.serve import bind

    started = []

    def serve(**options):
        studio = site(**options)
        listening = bind("127.0.0.1", 0, tls=False, allow_remote=False)
        config = uvicorn.Config(studio.app, access_log=False, log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        started.append((server, thread, listening))
        studio.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        return studio

    yield serve
    for server, thread, listening in started:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()


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
        self.said, self.asked = [], []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
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
        assert self.said == []
        assert all(url.startswith(self.base) for url in self.asked)
        self.context.close()


def test_ten_items_by_keyboard_alone_then_a_flag_an_undo_and_a_ruling(served, chromium):
    studio = served()
    studio.review("ours", "rfc-rewrite", items=10)
    for who, answers in (("Ada", {"review": "pass"}), ("Ben", {"audit": "pass"})):
        browser = studio.browser(who)
        while "answer." in (page := browser.get(WORK)).text:
            browser.submit(page, answers)

    tab = Tab(chromium, studio.base)
    tab.sign_in("Cem")
    tab.page.goto(WORK)
    for number in range(10):
        assert f"You have decided {number};" in tab.page.inner_text("#progress")
        if number == 3:
            tab.page.keyboard.press("f")
            tab.page.keyboard.type("1 figure is not turned")
            tab.page.keyboard.press("Escape")
        # The second question appears when the first is answered so that it is asked.
        assert not tab.page.is_visible("#q-rewrite_valid")
        tab.page.keyboard.press("1")
        assert tab.page.is_visible("#q-rewrite_valid")
        tab.press("2" if number == 9 else "p", "Enter")
    tab.press("u")
    assert tab.page.is_checked("#q-rewrite_valid input[value=fail]")
    tab.press("k", "j", "1", "Enter")
    assert "Nothing for you now" in tab.page.inner_text("h1")
    tab.done()
    votes = studio.store.read("ours", lambda b: [i.votes[-1] for i in b.items.values()])
    cems = [v for v in votes if v.who == "Cem"]
    assert len(cems) == 10 and {v.ballot.verdict for v in cems} == {"pass"}
    assert [v.ballot.comment for v in cems if v.ballot.flagged] == ["1 figure is not turned"]

    dia = studio.browser("Dia")
    while "answer." in (page := dia.get(WORK)).text:
        dia.submit(page, {"category_correct": "true", "rewrite_valid": "pass"})
    ben = Tab(chromium, studio.base)
    ben.sign_in("Ben")
    ben.page.goto(WORK)
    assert ben.page.url.endswith("/adjudicate")
    assert "1 figure is not turned" in ben.page.inner_text("main")
    ben.press("1", "Enter")
    ben.done()
    assert studio.store.decided("ours", "Ben") == 1 + sum(
        v.stage == "audit"
        for i in studio.store.read("ours", lambda b: b.items).values()
        for v in i.votes
    )


def test_a_flag_without_a_word_is_stopped_and_keys_can_be_turned_off(served, chromium):
    studio = served()
    studio.review("ours", "cobe-rating", items=1)
    tab = Tab(chromium, studio.base)
    tab.sign_in("Cem")
    tab.page.goto(WORK)
    for key in ("1", "f", "Escape", "Enter"):
        tab.page.keyboard.press(key)
    assert tab.page.evaluate("document.activeElement.id") == "comment"
    assert studio.store.decided("ours", "Cem") == 0
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("?")
    assert tab.page.is_visible("#help")
    tab.page.uncheck("#keys-on")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("2")
    assert tab.page.is_checked("input[value=Yes]"), "single keys do nothing any more"
    tab.done()


def test_it_works_on_a_phone_and_without_javascript(served, chromium):
    studio = served()
    studio.review("ours", "rfc-rewrite", items=1)
    tab = Tab(
        chromium,
        studio.base,
        java_script_enabled=False,
        viewport={"width": 360, "height": 740},
        has_touch=True,
    )
    tab.page.goto("/sign-in")
    tab.page.fill("#name", "Ada")
    tab.page.fill("#password", PASSWORD)
    tab.page.click("main button")
    tab.page.goto(WORK)
    width = tab.page.locator("main").bounding_box()["width"]
    assert width <= 360
    boxes = [s.bounding_box() for s in tab.page.locator(".sides > section").all()]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"] - 1, "one below the other"
    tab.page.check("input[value=revise]")
    tab.page.fill("#correction", "Shares of Alder Works sank.")
    tab.page.click("#submit")
    assert "All" in tab.page.inner_text("h1") or "Nothing" in tab.page.inner_text("h1")
    assert studio.store.decided("ours", "Ada") == 1
    tab.done()


def test_axe_finds_nothing(served, chromium, axe):
    studio = served()
    studio.review("ours", "rfc-rewrite", items=1)
    cem = {"category_correct": "true", "rewrite_valid": "pass"}
    invite = studio.accounts.invite("New", by="Max")
    tab = Tab(chromium, studio.base)

    def check(path=None):
        if path:
            tab.page.goto(path)
        tab.page.evaluate(axe)
        found = tab.page.evaluate("axe.run()")
        shown = [(v["id"], [n["html"] for n in v["nodes"]]) for v in found["violations"]]
        assert shown == [], json.dumps(shown, indent=1)

    check("/sign-in")
    check(f"/invite/{invite}")
    check("/invite/none")
    tab.said.clear()  # the browser says that this one was a 404
    tab.sign_in("Ada")
    for path in ("/", "/r/ours", WORK):
        check(path)
    tab.page.keyboard.press("2")
    tab.page.keyboard.press("?")
    check()
    tab.page.keyboard.press("Escape")
    ada = studio.browser("Ada")
    ada.submit(ada.get(WORK), {"review": "pass"})
    check(WORK)  # nothing to do
    ben = studio.browser("Ben")
    ben.submit(ben.get(WORK), {"audit": "pass"}, comment="fine")
    for who, answers in (("Cem", cem), ("Dia", {"category_correct": "false"})):
        browser = studio.browser(who)
        browser.submit(browser.get(WORK), answers, comment="why", flag="1")
    tab.context.clear_cookies()
    tab.sign_in("Eve")
    check("/r/ours/adjudicate")
    tab.press("Enter")
    tab.page.wait_for_selector(".wrong")
    check()
    studio.account("Man", manager=True)
    tab.context.clear_cookies()
    tab.sign_in("Man")
    check("/manage")
    check("/manage/people")
    check("/manage/log")
    for path in ("", "/team", "/import"):
        check(f"/manage/r/ours{path}")
