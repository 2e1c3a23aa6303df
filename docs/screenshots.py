"""Takes the pictures in ``docs/images``: a made-up review, or a report, in a real Chromium.

Needs the extra ``dev`` and Chromium: ``python docs/screenshots.py`` takes the studio's, and
``python docs/screenshots.py demo/report.html`` the report's, of what `make demo` left.
"""

import shutil
import sys
import tempfile
import threading
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from contrafact.review.answers import Decision
from contrafact.review.field_mapping import read_items
from contrafact.review.project import load_project
from contrafact.review.setup import import_items, set_roles
from contrafact.review.web.serve import bind, create_app
from contrafact.review.web.studio import Studio, open_studio
from contrafact.review.workflow import settle

IMAGES = Path(__file__).parent / "images"
PASSWORD = "four words of no sentence"
TEAM = {
    "Ada": ["expert-a"],
    "Ben": ["expert-b"],
    "Cem": ["annotator"],
    "Dia": ["annotator"],
    "Eve": ["strict-annotator"],
}


def main() -> None:
    """Make the review, serve it, and take the pictures."""
    chromium = shutil.which("chromium")
    if len(sys.argv) > 1:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1100, "height": 760})
            page.goto(Path(sys.argv[1]).resolve().as_uri())
            save(page, "report")
        return
    with tempfile.TemporaryDirectory() as folder:
        studio = open_studio(f"{folder}/review.db")
        prepare(studio)
        listening = bind("127.0.0.1", 0, tls=False, allow_remote=False)
        app = create_app(studio)
        server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                take(browser, f"http://127.0.0.1:{listening.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()


def prepare(studio: Studio) -> None:
    """Fill a studio with the bundled pairs; one of them is in dispute."""
    store, project = studio.store, load_project("rfc-rewrite")
    store.define("spring", project, "Max")
    for name, roles in TEAM.items():
        store.act("spring", set_roles, "Max", name, roles)
    for name in (*TEAM, "Max"):
        secret = studio.accounts.invite(name, by="command line", manager=name == "Max")
        studio.accounts.accept(secret, PASSWORD)
    with_samples = str(files("contrafact.families.rfc").joinpath("samples", "pairs.jsonl"))
    store.act("spring", import_items, "Max", read_items(with_samples, project))
    decide(studio, "Ada", {"review": "pass"})
    decide(studio, "Ben", {"audit": "pass"})
    right = {"category_correct": "true", "rewrite_valid": "pass"}
    wrong = {"category_correct": "true", "rewrite_valid": "fail"}
    decide(studio, "Cem", right, 6, "Reads like news, and only what had to change did.")
    decide(studio, "Dia", right, 2)
    decide(studio, "Dia", wrong, 1, "The tone is pushed further than the rest of the text bears.")
    decide(studio, "Dia", right, 3)
    decide(studio, "Cem", right)
    decide(studio, "Dia", right, 4)
    store.act("spring", settle, force="disagreement")


def decide(
    studio: Studio, who: str, answers: dict[str, str], most: int = 1000, comment: str = ""
) -> None:
    """Let somebody decide alike on so many items."""
    for _ in range(most):
        given = studio.store.next("spring", who)
        if given is None:
            return
        studio.store.answer("spring", who, given, Decision(answers, comment=comment))


def take(browser: Browser, base: str) -> None:
    """Take every picture."""
    shot(browser, base, "sign-in", None, "/sign-in", height=420)
    shot(browser, base, "home", "Ada", "/", height=420)
    shot(browser, base, "about", "Dia", "/r/spring")
    shot(browser, base, "work", "Dia", "/r/spring/work", first="true", keys="1")
    shot(browser, base, "work-phone", "Dia", "/r/spring/work", width=390, height=780)
    shot(browser, base, "work-dark", "Dia", "/r/spring/work", first="true", keys="1", dark=True)
    shot(browser, base, "stages-phone", "Max", "/manage/r/spring", width=390, height=780)
    shot(browser, base, "figures-dark", "Max", "/manage/r/spring/figures", height=900, dark=True)
    shot(browser, base, "adjudicate", "Eve", "/r/spring/work", keys="2")
    shot(browser, base, "manage", "Max", "/manage", height=560)
    shot(browser, base, "people", "Max", "/manage/people", height=640)
    shot(browser, base, "figures", "Max", "/manage/r/spring/figures", height=1500)
    shot(browser, base, "stages", "Max", "/manage/r/spring", height=900)
    shot(browser, base, "items", "Max", "/manage/r/spring/items?state=open", height=700)
    shot(browser, base, "team", "Max", "/manage/r/spring/team")
    shot(browser, base, "import", "Max", "/manage/r/spring/import")
    shot(browser, base, "log", "Max", "/manage/log", height=640)


def shot(
    browser: Browser,
    base: str,
    name: str,
    who: str | None,
    path: str,
    *,
    width: int = 1100,
    height: int = 800,
    first: str = "",
    keys: str = "",
    dark: bool = False,
) -> None:
    """Take one picture, as somebody sees it."""
    context = browser.new_context(
        base_url=base,
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
    )
    page = context.new_page()
    if who is not None:
        sign_in(page, who)
    page.goto(path)
    if first:
        page.check(f"#sheet input[value={first}]")
        with page.expect_navigation():
            page.click("#submit")
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_load_state("networkidle")
    save(page, f"review-{name}")
    context.close()


def save(page: Page, name: str) -> None:
    """Write what a page shows, with few colours."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        few.save(IMAGES / f"{name}.png", optimize=True)


def sign_in(page: Page, name: str) -> None:
    """Sign somebody in."""
    page.goto("/sign-in")
    page.fill("#name", name)
    page.fill("#password", PASSWORD)
    page.click("main button")


if __name__ == "__main__":
    main()
