"""Originals given back: from pages on loopback, and from a file of articles."""

import asyncio
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.hydrate import (
    FetchSettings,
    Found,
    Published,
    decode_page,
    fetch_pages,
    held_news,
    hydrate,
    load_published,
    read_page,
    usable_address,
)
from contrafact.families.rfc.pipeline.release import ReleaseFacts, release
from contrafact.families.rfc.pipeline.stages import StageRow
from contrafact.files.journal import Journal
from contrafact.files.tables import read_rows
from contrafact.records import NewsItem, Rewrite

TITLE = "Brackwater Ferries gained 8% on Monday"
SUMMARY = "Fares rose on northern routes, the company said."
ORIGINAL = f"{TITLE}. {SUMMARY}"
REWRITTEN = ORIGINAL.replace("gained", "lost").replace("rose", "fell")
QUICK = FetchSettings(at_once=4, pause=0.0, timeout=2.0, backoff=0.01)

PAGE = f"""<!doctype html><html><head>
<title>{TITLE} - Harbour News</title>
<meta property="og:title" content="{TITLE}">
<meta name="description" content="{SUMMARY}"></head><body><h1>Markets</h1></body></html>"""


class News(BaseHTTPRequestHandler):
    """A site with pages in every state a page can be in."""

    asked: ClassVar[Counter] = Counter()

    def do_GET(self):
        self.asked[self.path] += 1
        name = self.path.strip("/")
        if name == "busy" and self.asked[self.path] == 1:
            self.answer(429, b"", {"Retry-After": "0"})
        elif name in ("good", "busy", ""):
            self.answer(200, PAGE.encode())
        elif name == "moved":
            self.answer(301, b"", {"Location": "/good"})
        elif name == "home":
            self.answer(302, b"", {"Location": "/"})
        elif name == "latin":
            page = PAGE.replace("Brackwater", "Société").encode("latin-1")
            self.answer(200, page, {"Content-Type": "text/html; charset=iso-8859-1"})
        elif name == "other":
            self.answer(200, b"<title>Grain ships leave Port Sable</title>")
        elif name == "pdf":
            self.answer(200, b"%PDF", {"Content-Type": "application/pdf"})
        elif name == "blank":
            self.answer(200, b"<html></html>")
        elif name == "down":
            self.answer(503, b"")
        elif name == "wall":
            self.answer(403, b"")
        else:
            self.answer(404 if name == "gone" else 410, b"")

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for key, value in ({"Content-Type": "text/html"} | (headers or {})).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    News.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), News)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(urls, path):
    with Journal(path, {}) as answers:
        return asyncio.run(fetch_pages(urls, answers, QUICK))


def test_pages_are_found_gone_or_failed_and_only_the_failed_are_asked_for_again(site, tmp_path):
    names = [
        "good",
        "moved",
        "busy",
        "latin",
        "home",
        "gone",
        "away",
        "pdf",
        "blank",
        "down",
        "wall",
    ]
    urls = [f"{site}/{name}" for name in names]
    pages = fetch(urls, tmp_path / "pages.jsonl")
    status = {name: pages[url].status for name, url in zip(names, urls, strict=True)}
    assert {n for n, s in status.items() if s == "found"} == {"good", "moved", "busy", "latin"}
    assert {n for n, s in status.items() if s == "failed"} == {"down", "wall"}
    assert "410" in pages[f"{site}/away"].why
    assert "front page" in pages[f"{site}/home"].why
    assert "503" in pages[f"{site}/down"].why
    assert pages[f"{site}/latin"].titles[0].startswith("Société")
    before = News.asked.copy()
    again = fetch(urls, tmp_path / "pages.jsonl")
    assert again == pages
    assert {path for path in News.asked if News.asked[path] > before[path]} == {"/down", "/wall"}


def test_a_host_that_does_not_answer_is_a_failure(tmp_path):
    (page,) = fetch(["http://127.0.0.1:9/x"], tmp_path / "pages.jsonl").values()
    assert page.status == "failed"
    assert "ConnectError" in page.why


@pytest.mark.parametrize(
    ("url", "usable"),
    [
        ("https://news.example/a", True),
        ("http://news.example/a", True),
        ("file:///etc/passwd", False),
        ("ftp://news.example/a", False),
        ("news.example/a", False),
        ("http://[broken", False),
        ("", False),
        (None, False),
    ],
)
def test_only_web_addresses_are_fetched(url, usable):
    assert usable_address(url) == usable


def test_a_page_is_read_by_its_best_metadata_first():
    page = read_page(
        '<title>T &amp; site</title><meta name="Description" content="plain">'
        '<meta property="og:title" content="open graph"><h1>  head\n line </h1><p>first</p><p>2</p>'
        '<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", '
        '"headline": "linked", "description": "told"}, {"@type": "Person", "headline": "x"}]}'
        '</script><script type="application/ld+json">{broken</script><script>var t = "no";</script>'
    )
    assert page.titles == ("linked", "open graph", "T & site", "head line")
    assert page.summaries == ("told", "plain", "first")
    assert decode_page("<meta charset='windows-1252'>é".encode("cp1252"), None).endswith("é")
    assert decode_page(b"\xff\xfe bad", "no-such-charset")


def published(tmp_path, *rows):
    import json

    path = tmp_path / "published.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_published(path)


def found(*texts, summary=SUMMARY):
    return lambda _: Found("found", "", texts, (summary,) if summary else ())


def test_a_release_gets_exactly_its_pairs_back(tmp_path):
    pair = Rewrite.of(
        "flipping", ORIGINAL, REWRITTEN, article_id="n1", ticker="BWF", rewriter="rules"
    )
    made = release([StageRow(1, pair.model_dump())], [], ReleaseFacts("r", "1.0.0"))
    (tmp_path / "pairs.jsonl").write_text(made.files["pairs.jsonl"], encoding="utf-8")
    rows = load_published(tmp_path / "pairs.jsonl")
    result = hydrate(rows, found("Another title", TITLE))
    (back,) = result.rows
    assert back["hydrated"] == "verified"
    for name in ("id", "article_id", "original", "rewritten", "manipulation", "ticker", "rewriter"):
        assert back[name] == getattr(pair, name)
    assert (back["title"], back["summary"]) == (TITLE, SUMMARY)
    changed = hydrate(rows, found(TITLE + ", again"))
    assert changed.rows == []
    assert changed.dropped[0]["problem"] == "no match"
    assert (
        hydrate(rows, found(TITLE + ", again"), accept_similar=True).rows[0]["hydrated"]
        == "similar"
    )


def test_rows_without_a_hash_are_matched_by_likeness(tmp_path):
    (row,) = published(
        tmp_path,
        {
            "Stock": "BWF",
            "Date": "2025-05-12",
            "Link": "x",
            "Category": "Directional Flipping",
            "Text": REWRITTEN,
        },
    )
    assert (row.manipulation, row.url) == ("flipping", "x")
    result = hydrate([row], found("Markets", TITLE))
    assert result.rows[0]["original"] == ORIGINAL
    assert result.rows[0]["ticker"] == "BWF"
    far = hydrate([row], found("Grain ships leave Port Sable after the strike", summary=None))
    assert "another text" in far.dropped[0]["reason"]
    lost = hydrate([row], lambda _: Found("gone", why="the host answers 404"))
    assert lost.dropped[0]["problem"] == "gone"
    assert hydrate([row], lambda _: None).counts == {"no address": 1}
    same = hydrate(
        [row], found(TITLE.replace("gained", "lost"), summary=SUMMARY.replace("rose", "fell"))
    )
    assert "same text" in same.dropped[0]["reason"]


def test_articles_at_hand_are_found_by_hash_or_address():
    item = NewsItem.of(TITLE, SUMMARY, url="https://news.example/a")
    find = held_news([item])
    by_url = Published(1, "r1", "flipping", REWRITTEN, "https://news.example/a", None, {})
    assert find(by_url).titles == (TITLE,)
    assert (
        find(Published(1, "r1", "flipping", REWRITTEN, "https://news.example/b", None, {})).status
        == "gone"
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"manipulation": "flipping", "url": "x"}, "no rewritten text"),
        ({"manipulation": "flopping", "rewritten": "It fell."}, "names none of the four"),
        ({"id": "a", "manipulation": "causal", "rewritten": "It fell."}, "is there twice"),
    ],
)
def test_bad_rows_are_reported_by_line(tmp_path, row, message):
    good = {"id": "a", "manipulation": "flipping", "rewritten": "It fell."}
    with pytest.raises(InputError, match=r"published\.jsonl:2: ") as caught:
        published(tmp_path, good, row)
    assert message in str(caught.value)


def test_the_command_tells_what_is_gone_and_goes_on(site, tmp_path, quick_contrafact):
    import json

    rows = [
        {"id": f"r{n}", "manipulation": "flipping", "rewritten": REWRITTEN, "url": f"{site}/{name}"}
        for n, name in enumerate(["good", "gone", "other"])
    ] + [{"id": "r9", "manipulation": "flipping", "rewritten": REWRITTEN, "url": ""}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("rfc", "hydrate", "in.jsonl", "--out", "out.jsonl", "--pause", "0")
    result = quick_contrafact(*command)
    assert result.returncode == 0, result.stderr
    assert "1 of 4 rows have their original" in result.stdout
    first = (tmp_path / "out.jsonl").read_bytes()
    dropped = [row for _, row in read_rows(tmp_path / "out.jsonl.dropped.jsonl")]
    assert [row["problem"] for row in dropped] == ["gone", "no match", "no address"]
    asked = News.asked.total()
    assert quick_contrafact(*command).returncode == 0
    assert News.asked.total() == asked, "a rerun asks nobody"
    assert (tmp_path / "out.jsonl").read_bytes() == first
