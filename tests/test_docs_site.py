"""The documentation as a site: built strictly, whole, without dead ends, and read in a browser."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from tests.support.browser import axe, axe_violations, chromium
from tests.support.loopback import folder_served

import contrafact

__all__ = ["axe", "chromium"]

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
pytest.importorskip("material", reason="mkdocs-material is not installed")

pytestmark = pytest.mark.slow  # the site is built

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def site(make_once):
    """The built site of this version."""

    def build(folder):
        target = folder / "site" / contrafact.__version__
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
            cwd=ROOT,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]

    return make_once("docs-site", build) / "site" / contrafact.__version__


class Links(HTMLParser):
    """What a page names: addresses it leads to, addresses it loads, and its own anchors."""

    def __init__(self, page):
        super().__init__()
        self.leads, self.loads, self.anchors, self.words = [], [], set(), []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.anchors.update(filter(None, (known.get("id"), known.get("name"))))
        if tag == "a" and known.get("href"):
            self.leads.append(known["href"])
        if tag in ("script", "img", "iframe") and known.get("src"):
            self.loads.append(known["src"])
        if tag == "link" and known.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(known["href"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}


def test_no_link_and_no_anchor_leads_nowhere(site, pages):
    dead = []
    for page, links in pages.items():
        for address in (*links.leads, *links.loads):
            if urlsplit(address).scheme:
                continue
            path, anchor = urldefrag(unquote(address))
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].anchors if target in pages else {anchor}
            if not target.is_file() or (anchor and anchor not in known):
                dead.append((page.relative_to(site).as_posix(), address))
    assert dead == []
    assert sum(len(links.leads) for links in pages.values()) > 3_000


def test_a_page_loads_nothing_from_elsewhere(pages):
    for page, links in pages.items():
        elsewhere = [urlsplit(one) for one in links.loads if not one.startswith("data:")]
        assert not [one for one in elsewhere if one.scheme or one.netloc], page


def test_every_page_is_in_the_navigation(site, pages):
    shown = {
        (site / "index.html").parent.joinpath(unquote(urldefrag(one)[0])).resolve()
        for one in pages[site / "index.html"].leads
        if not urlsplit(one).scheme
    }
    for page in pages:
        if page.name == "index.html":
            assert page.parent in shown, f"{page.relative_to(site)} is in no menu"


def test_every_command_has_a_page_with_its_options_and_its_example(pages, site):
    from contrafact.families.finforce.methods import METHODS

    text = "".join(pages[site / "commands" / "run" / "index.html"].words)
    for shown in ("contrafact run finforce --model", "--limit N", "--fluency-model F"):
        assert shown in text
    text = "".join(pages[site / "catalogue" / "index.html"].words)
    for name in (*METHODS.names(), "directionality", "pairwise_accuracy"):
        assert name in text
    commands = {page.parent.name for page in (site / "commands").glob("*/index.html")}
    assert {"demo", "run", "report", "diff", "exam", "rfc", "cobe", "review"} <= commands


def test_the_api_pages_show_signatures_and_arguments(pages, site):
    text = "".join(pages[site / "api" / "stats" / "index.html"].words)
    assert "correct_rate" in text and "paired_comparison" in text and "Parameters" in text
    text = "".join(pages[site / "api" / "index.html"].words)
    for name in contrafact.__all__:
        assert name in text or not name[0].islower(), name


def test_versions_lie_side_by_side(site):
    listed = json.loads((site.parent / "versions.json").read_text("utf-8"))
    assert listed == [
        {"version": contrafact.__version__, "title": contrafact.__version__, "aliases": ["latest"]}
    ]
    assert f"{contrafact.__version__}/" in (site.parent / "index.html").read_text("utf-8")


def test_the_front_page_is_the_readme(site, pages):
    shown = " ".join(" ".join(pages[site / "index.html"].words).split())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for text in re.findall(r"^```(?:text|bash)\n(.*?)^```", readme, re.DOTALL | re.MULTILINE):
        assert all(word in shown for word in text.split())
    assert "images/story.svg" in pages[site / "index.html"].loads


@pytest.fixture(scope="module")
def served(site):
    with folder_served(site.parent) as url:
        yield f"{url}/{contrafact.__version__}/"


@pytest.fixture
def open_page(chromium):
    """Open pages of the site; none may say that something went wrong, or ask another server."""
    opened = []

    def open_one(address, width=1280, scheme="light"):
        page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        opened.append((page, said, asked))
        return page

    yield open_one
    for page, said, asked in opened:
        page.close()
        assert said == []
        assert {urlsplit(url).hostname for url in asked} <= {"127.0.0.1", None}


def first_found(page, words):
    """Return the link of the first thing that the site finds, its script and index being there."""
    page.keyboard.press("s")
    page.locator(".md-search__input").fill(words)  # at once: half a word finds others
    first = page.locator(".md-search-result__item a").first
    page.wait_for_timeout(1500)
    if not first.count():  # it was typed before the index was there
        page.locator(".md-search__input").press("Space")
        first.wait_for(state="attached", timeout=120_000)
    return first


@pytest.mark.parametrize("word", ["judge", "resume", "cost"])
def test_search_finds(word, served, open_page):
    page = open_page(served)
    first_found(page, word)
    found = page.locator(".md-search-result__item").first
    found.wait_for()
    assert word in found.inner_text().lower()
    with page.expect_navigation():
        found.locator("a").first.click()
    assert word in page.locator("article").inner_text().lower()


FIRST = {
    "which method": "faq",
    "judge sensitivity": "exam",
    "how good is my judge": "tutorials/judges-keeper",
    "max tokens": "models",
    "ray cluster": "bulk",
    "excel": "data",
    "ollama": "models",
    "agreement kappa": "agree",
    "undecided": "check",
    "resume a run": "recipes",
    "what is a counterfactual": "concepts/counterfactual",
    "how do I cite": "faq",
    "other languages": "faq",
    "how many labels": "faq",
    "licence": "faq",
    "own judge as a Python function": "faq",
    "add my own dataset": "faq",
    "my own columns": "faq",
    "how much does it cost": "faq",
    "what does undecided mean": "faq",
    "local GGUF model": "models",
    "vllm": "models",
}
"""What a newcomer looks for, and the page that answers it."""


def test_the_search_begins_with_the_page_that_answers(served, open_page):
    page = open_page(served)
    found = {}
    for asked in FIRST:
        page.goto(served)
        first = first_found(page, asked)
        found[asked] = urlsplit(first.get_attribute("href").removeprefix(served)).path.strip("/")
    assert found == FIRST


# One page of each kind; of the API's a short one that has all that they are made of.
KINDS = (
    "",
    "tutorials/evaluator/",
    "concepts/correction/",
    "commands/run/",
    "api/text/",
    "comparison/",
)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(
    width, scheme, served, open_page, axe
):
    page = open_page(served, width, scheme)
    for kind in KINDS:
        page.goto(f"{served}{kind}")
        shown = axe_violations(page, axe)
        assert shown == [], f"{kind}: {json.dumps(shown, indent=1)}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{kind} is {wide} wide"
