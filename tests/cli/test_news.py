"""``contrafact news``, against loopback servers that speak the services' formats."""

import json
import os

import pytest
from tests.support.lines import one_line, read_lines, write_lines
from tests.support.news_server import KEY, NewsServer, article, feed

DAY = "Fri, 02 May 2025 08:00:00 GMT"


@pytest.fixture
def server():
    running = NewsServer()
    yield running
    running.close()


@pytest.fixture
def news(quick_contrafact, server):
    def run(*arguments, key=KEY, **options):
        environment = {
            **os.environ,
            "NEWSAPI_BASE_URL": server.url,
            "YAHOO_BASE_URL": server.url,
            "NEWSAPI_API_KEY": key,
        }
        pause = ("--pause", "0") if arguments[0] == "fetch" else ()
        return quick_contrafact("news", *arguments, *pause, env=environment, **options)

    return run


def searches(server):
    return [path for path in server.asked if path.startswith("/everything")]


def test_newsapi_is_asked_the_papers_keywords_over_its_window(news, server, tmp_path):
    news("fetch", "newsapi", "--out", "n.jsonl", code=0)
    assert len(searches(server)) == 12
    assert "q=GDP+growth" in server.asked[0] or "q=GDP%20growth" in server.asked[0]
    assert "from=2024-09-01" in server.asked[0]
    assert "to=2025-04-18" in server.asked[0]
    assert read_lines(tmp_path / "n.jsonl") == []


def test_newsapi_pages_are_all_read_and_each_article_is_kept_once(news, server, tmp_path):
    server.articles = {
        "pumps": [article(n) for n in range(230)],
        "valves": [article(n) for n in range(225, 235)],
    }
    result = news("fetch", "newsapi", "pumps", "valves", "--out", "n.jsonl", code=0)
    found = read_lines(tmp_path / "n.jsonl")
    assert len(found) == 235
    assert found[0] == {
        "id": found[0]["id"],
        "title": "Orders at Veltra rise for month 0",
        "summary": "The maker of pumps booked 0 orders.",
        "ticker": None,
        "date": "2024-10-02",
        "url": "https://news.example/0",
        "source": "The Example Ledger",
        "category": None,
        "found_by": ["pumps"],
    }
    assert found[227]["found_by"] == ["pumps", "valves"]
    assert "235 items; 5 repeated" in result.stdout
    ledger = read_lines(tmp_path / "n.jsonl.ledger.jsonl")
    assert {event["decision"] for event in ledger} == {"kept"}
    assert len(ledger) == 235


def test_malformed_articles_are_kept_apart_with_their_reasons(news, server, tmp_path):
    bad = [
        article(1, title=None),
        article(2, title="[Removed]", description="[Removed]"),
        "no article",
        article(3, description=["x"]),
        article(4, publishedAt="soon"),
        article(5, title="Veltra &amp; Sons <b>rise</b>", description="<p>One.</p><p>Two.</p>"),
    ]
    server.articles = {"pumps": bad}
    result = news("fetch", "newsapi", "pumps", "--out", "n.jsonl", code=0)
    titles = [(row["title"], row["summary"]) for row in read_lines(tmp_path / "n.jsonl")]
    assert titles == [("Veltra & Sons rise", "One. Two.")]
    dropped = read_lines(tmp_path / "n.jsonl.dropped.jsonl")
    assert sorted(row["dropped_because"] for row in dropped) == [
        "has a date that cannot be read, and a window of days is asked for",
        "has a description that is not text",
        "has no title",
        "is not an object",
        "was withdrawn by its publisher",
    ]
    events = read_lines(tmp_path / "n.jsonl.ledger.jsonl")
    assert {event["why_code"] for event in events if event["decision"] == "dropped"} == {
        *("no-day", "description-no-text", "no-title", "no-object", "withdrawn"),
    }
    assert "4 malformed" in result.stdout
    assert "1 outside the window" in result.stdout


def test_a_429_is_waited_out_and_the_wait_is_the_servers(news, server, tmp_path):
    server.articles = {"pumps": [article(1)]}
    server.faults = [(429, {"Retry-After": "0"}, b"{}"), (503, {"Retry-After": "0"}, b"")]
    news("fetch", "newsapi", "pumps", "--out", "n.jsonl", code=0)
    assert len(server.asked) == 3
    assert len(read_lines(tmp_path / "n.jsonl")) == 1


def test_a_wait_of_hours_ends_the_command_and_a_later_one_goes_on(news, server, tmp_path):
    server.articles = {"pumps": [article(n) for n in range(150)], "valves": [article(200)]}
    news("fetch", "newsapi", "pumps", "--out", "whole.jsonl", code=0)
    server.asked.clear()

    # The second page is met by a limit that lasts.
    original = server.search

    def limited(handler, query):
        if query["page"] == "2":
            server.send(handler, 429, {"Retry-After": "7200"}, b"{}")
        else:
            original(handler, query)

    server.search = limited
    stopped = news("fetch", "newsapi", "pumps", "--out", "n.jsonl")
    assert stopped.returncode == 2
    assert "asks to wait 7200 seconds" in stopped.stderr
    assert "goes on where it stopped" in stopped.stderr
    assert not (tmp_path / "n.jsonl").exists()

    server.search = original
    server.asked.clear()
    news("fetch", "newsapi", "pumps", "--out", "n.jsonl", code=0)
    assert len(server.asked) == 1  # the first page had come
    assert (tmp_path / "n.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_the_same_command_again_asks_nothing(news, server, tmp_path):
    server.articles = {"pumps": [article(1), article(2)]}
    command = ("fetch", "newsapi", "pumps", "--out", "n.jsonl")
    news(*command)
    before = (tmp_path / "n.jsonl").read_bytes()
    server.asked.clear()
    news(*command, code=0)
    assert server.asked == []
    assert (tmp_path / "n.jsonl").read_bytes() == before

    other = news("fetch", "newsapi", "valves", "--out", "n.jsonl")
    assert other.returncode == 2
    assert "it differs in what" in other.stderr


def test_the_key_is_sent_in_a_header_and_shown_nowhere(news, server, tmp_path):
    server.articles = {"pumps": [article(1)]}
    good = news("fetch", "newsapi", "pumps", "--out", "n.jsonl")
    assert all(KEY not in path for path in server.asked)
    bad = news("fetch", "newsapi", "pumps", "--out", "m.jsonl", key="wrong-key-98765")
    assert "refuses the key" in one_line(bad)
    shown = good.stdout + good.stderr + bad.stdout + bad.stderr
    kept = "".join(p.read_text() for p in tmp_path.iterdir() if p.is_file())
    for key in (KEY, "wrong-key-98765"):
        assert key not in shown + kept
    server.asked.clear()
    assert "set NEWSAPI_API_KEY" in one_line(news("fetch", "newsapi", "--out", "x", key=""))
    assert server.asked == []


def test_the_key_does_not_follow_a_redirect_to_another_host(news, server):
    other = NewsServer()
    try:
        there = other.url.replace("127.0.0.1", "localhost") + "/everything"
        server.faults = [(302, {"Location": there}, b"")]
        news("fetch", "newsapi", "pumps", "--out", "n.jsonl")
        assert other.asked
        assert all("X-Api-Key" not in headers for headers in other.headers)
    finally:
        other.close()


def test_what_the_account_does_not_give_is_reported(news, server, tmp_path):
    server.articles = {"pumps": [article(n) for n in range(250)]}
    server.limit = 100
    result = news("fetch", "newsapi", "pumps", "--out", "n.jsonl", code=0)
    assert len(read_lines(tmp_path / "n.jsonl")) == 100
    assert "--days" in result.stderr
    server.asked.clear()
    window = ("--from", "2024-09-01", "--to", "2024-09-10", "--days", "4")
    news("fetch", "newsapi", "valves", *window, "--out", "d.jsonl")
    days = [path.split("from=")[1][:10] for path in server.asked]
    assert days == ["2024-09-01", "2024-09-05", "2024-09-09"]


def test_yahoo_gives_each_article_the_ticker_it_was_found_under(news, server, tmp_path):
    server.feeds["/rss/2.0/headline"] = feed(("Veltra rises", "It sold pumps.", DAY))
    server.feeds["/rss/2.0/headline?s=NRDX&region=US&lang=en-US"] = feed(
        ("Nordax falls", "It sold no pumps.", DAY), ("Veltra rises", "It sold pumps.", DAY)
    )
    news("fetch", "yahoo", "vltx", "NRDX", "--out", "y.jsonl", code=0)
    found = [(row["title"], row["ticker"], row["date"]) for row in read_lines(tmp_path / "y.jsonl")]
    assert found == [("Veltra rises", "VLTX", "2025-05-02"), ("Nordax falls", "NRDX", "2025-05-02")]
    assert read_lines(tmp_path / "y.jsonl")[0]["found_by"] == ["VLTX", "NRDX"]
    (tmp_path / "more.csv").write_text("title,summary\nVeltra rises,It sold pumps.\n")
    news("fetch", "file", "y.jsonl", "more.csv", "--out", "all.jsonl", code=0)
    assert read_lines(tmp_path / "all.jsonl")[0]["found_by"] == ["VLTX", "NRDX", "more.csv"]


def test_yahoo_asks_for_the_papers_223_tickers_by_default(news, server):
    server.feeds["/rss/2.0/headline"] = feed(("Veltra rises", "It sold pumps.", DAY))
    news("fetch", "yahoo", "--out", "y.jsonl")
    assert len(set(server.asked)) == 223


def test_feeds_of_every_kind_are_read(news, server, tmp_path):
    server.feeds["/first.xml"] = feed(
        ("One &amp;amp; one", "A &lt;b&gt;b&lt;/b&gt;", DAY), ("", "no title", DAY)
    )
    server.feeds["/atom.xml"] = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>Three</title>'
        b'<updated>2025-05-03T00:00:00Z</updated><summary type="html">E &amp;lt;5%</summary>'
        b'<link href="https://news.example/3"/></entry></feed>'
    )
    result = news(
        "fetch", "rss", f"{server.url}/first.xml", f"{server.url}/atom.xml", "--out", "r.jsonl"
    )
    assert result.returncode == 0, result.stderr
    found = [(row["title"], row["summary"]) for row in read_lines(tmp_path / "r.jsonl")]
    assert found == [("One & one", "A b"), ("Three", "E <5%")]
    (gone,) = read_lines(tmp_path / "r.jsonl.dropped.jsonl")
    assert gone["why"] == "has no title"


def test_a_feed_that_fails_does_not_stop_the_others_and_is_tried_again(news, server, tmp_path):
    server.feeds["/good.xml"] = feed(("One", "A.", DAY))
    server.feeds["/late.xml"] = b"<html><body>Not now</body></html>"
    command = ("fetch", "rss", f"{server.url}/late.xml", f"{server.url}/good.xml")
    first = news(*command, "--out", "r.jsonl")
    assert first.returncode == 1
    assert "neither RSS nor Atom" in first.stderr
    assert [row["title"] for row in read_lines(tmp_path / "r.jsonl")] == ["One"]
    server.feeds["/late.xml"] = feed(("Two", "B.", DAY))
    server.asked.clear()
    news(*command, "--out", "r.jsonl", code=0)
    assert server.asked == ["/late.xml"]
    assert [row["title"] for row in read_lines(tmp_path / "r.jsonl")] == ["Two", "One"]


def test_a_feed_that_fails_alone_writes_nothing_and_is_tried_again(news, server, tmp_path):
    command = ("fetch", "rss", f"{server.url}/late.xml", "--out", "r.jsonl")
    for _ in range(2):
        failed = news(*command)
        assert failed.returncode == 1
        assert "run the same command again to retry" in failed.stderr
        assert list(tmp_path.glob("*r.jsonl*")) == []
    server.feeds["/late.xml"] = feed(("Two", "B.", DAY))
    news(*command, code=0)
    assert [row["title"] for row in read_lines(tmp_path / "r.jsonl")] == ["Two"]


def test_keys_of_a_feeds_address_are_sent_and_kept_nowhere(news, server, tmp_path):
    key, other, password = "k3y-Pl4nted-001", "0a1b2c3d4e5f6a7b8c9d", "Pl4nted-pass"
    host = server.url.removeprefix("http://")
    repeated = f"/a.xml?api_key={key}&amp;page=2"
    server.feeds[f"/a.xml?topic=ore&api_key={key}"] = feed(
        ("One", f"From {repeated}.", DAY),
        ("Two", f"Of anna:{password} and {password}.", DAY),
        ("", f"no title: {key}", DAY),
        head=f'<atom:link rel="next" href="{repeated}"/>',
    )
    server.feeds[f"/hooks/{other}/rss.xml"] = feed(("Three", "C.", DAY))
    command = (
        *("fetch", "rss", f"{server.url}/a.xml?topic=ore&api_key={key}"),
        f"http://anna:{password}@{host}/hooks/{other}/rss.xml",
        f"{server.url}/late.xml?token=t-{key}",
        f"{server.url}/b.xml?keyword=markets",
    )
    first = news(*command, "--out", "r.jsonl", code=1)
    assert [row["title"] for row in read_lines(tmp_path / "r.jsonl")] == ["One", "Two", "Three"]
    assert "Authorization" in server.headers[1]
    server.feeds[f"/late.xml?token=t-{key}"] = feed(("Four", "D.", DAY))
    server.feeds["/b.xml?keyword=markets"] = feed(("Five", "E.", DAY))
    server.asked.clear()
    again = news(*command, "--out", "r.jsonl", code=0)
    assert server.asked == [f"/late.xml?token=t-{key}", "/b.xml?keyword=markets"]
    refused = news("fetch", "rss", f"ftp://anna:{password}@x.example/?api_key={key}", "--out", "x")
    shown = "".join(run.stdout + run.stderr for run in (first, again, refused))
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (key, other, password, "anna:"):
        assert secret not in shown and secret.encode() not in kept
    rows = {row["title"]: row["found_by"] for row in read_lines(tmp_path / "r.jsonl")}
    assert rows["One"] == [f"{server.url}/a.xml?topic=ore&api_key=(left-out)"]
    assert rows["Five"] == [f"{server.url}/b.xml?keyword=markets"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_feed_with_an_entity_bomb_is_refused(news, server, tmp_path, encoding):
    levels = "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(9)
    )
    bomb = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE rss [{levels}]>'
        '<rss version="2.0"><channel><item><title>&l8;</title></item></channel></rss>'
    )
    server.feeds["/bomb.xml"] = bomb.encode(encoding)
    result = news("fetch", "rss", f"{server.url}/bomb.xml", "--out", "r.jsonl")
    assert result.returncode == 1
    assert "declares XML entities" in result.stderr


def test_files_of_news_are_joined_and_bad_rows_kept_apart(news, server, tmp_path):
    (tmp_path / "a.csv").write_text("headline,description,date\nOne,A.,2025-05-01\n,B.,\n")
    (tmp_path / "b.json").write_text(json.dumps([{"title": "One", "summary": "A.", "mark": 7}]))
    window = ("--from", "2025-04-25", "--to", "2025-12-15")
    news("fetch", "file", "a.csv", "b.json", *window, "--out", "f.jsonl", code=0)
    (row,) = read_lines(tmp_path / "f.jsonl")
    assert row["found_by"] == ["a.csv", "b.json"]
    (gone,) = read_lines(tmp_path / "f.jsonl.dropped.jsonl")
    assert (gone["place"], gone["why"]) == ("a.csv:3", "the title is empty")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fetch", "file", "--out", "x"), "no file is named"),
        (("fetch", "file", "nowhere.csv", "--out", "x"), "nowhere.csv: no such file"),
        (("fetch", "rss", "--out", "x"), "no feed is named"),
        (("fetch", "rss", "http://news.example/f", "--out", "x"), "not an https:// address"),
        (("fetch", "rss", "file:///etc/passwd", "--out", "x"), "not an https:// address"),
        (("fetch", "yahoo", "A B", "--out", "x"), "'A B' is not a ticker"),
        (("fetch", "newsapi", "--from", "yesterday", "--out", "x"), "'yesterday' is not a day"),
        (
            ("fetch", "newsapi", "--from", "2025-05-01", "--to", "2025-04-01", "--out", "x"),
            "the window ends before it begins",
        ),
        (("fetch", "elsewhere", "--out", "x"), "elsewhere"),
        (("fetch", "file", "n.csv", "--out", "x"), "n.csv: the file holds no rows"),
        (("dedupe", "n.jsonl", "--out", "n.jsonl"), "is the input"),
    ],
)
def test_bad_usage_is_one_line_and_writes_nothing(news, tmp_path, arguments, message):
    given = {"n.csv": "title,summary\n", "n.jsonl": '{"title": "A mill grows"}\n'}
    for name, text in given.items():
        (tmp_path / name).write_text(text)
    assert message in one_line(news(*arguments))
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == given


def test_without_a_connection_it_says_so_soon(news, server):
    server.close()
    result = news("fetch", "yahoo", "VLTX", "NRDX", "--out", "y.jsonl")
    assert result.returncode == 2
    assert "no connection" in result.stderr


PLAIN = [
    {"title": "Veltra names Keller as chief", "summary": "Keller led its pumps unit.", "x": 1},
    {"title": "Orders rise at Nordax in May", "summary": "They were up 4% at the valve maker."},
    {"title": "Orders rise at Nordax in May!", "summary": "They were up 4% at the valve maker"},
    {"title": "Prices rise in Norvania", "summary": "Inflation was 3%."},
]


def test_dedupe_leaves_out_what_came_before_here_or_in_another_set(news, tmp_path):
    write_lines(tmp_path / "n.jsonl", PLAIN)
    old = {"headline": "PRICES rise in Norvania", "description": "Inflation was 3%"}
    write_lines(tmp_path / "old.jsonl", [old, old])
    result = news("dedupe", "n.jsonl", "--against", "old.jsonl", "--out", "d.jsonl", code=0)
    kept, dropped = read_lines(tmp_path / "d.jsonl"), read_lines(tmp_path / "d.jsonl.dropped.jsonl")
    assert [row["title"] for row in kept] == [PLAIN[0]["title"], PLAIN[1]["title"]]
    assert kept[0]["x"] == 1
    assert dropped[0]["duplicate_of"] == kept[1]["id"]
    assert "of the other set" in dropped[1]["dropped_because"]
    ledger = read_lines(tmp_path / "d.jsonl.ledger.jsonl")
    assert [event["decision"] for event in ledger] == ["kept", "kept", "dropped", "dropped"]
    assert "2 of 4 items; duplicates: 2 exact, 0 address, 0 near" in result.stdout
    assert "old.jsonl: 1 row left out" in result.stderr  # and of the other set, what is odd


@pytest.mark.parametrize("date", ["last Tuesday", "2024-13-45", "Q3 FY24"])
def test_a_date_that_cannot_be_read_stays_as_it_stands_and_is_said(
    news, quick_contrafact, tmp_path, date
):
    summary = "Harrow Mills shares rose 12% due to strong demand, the firm said."
    row = {"title": "Harrow Mills shares rose 12%", "summary": summary, "date": date}
    write_lines(tmp_path / "in.jsonl", [row])
    for command in (
        ("news", "fetch", "file"), ("news", "dedupe"), ("finforce", "screen"), ("rfc", "bucket")
    ):  # fmt: skip
        run, words = (news, command[1:]) if command[0] == "news" else (quick_contrafact, command)
        done = run(*words, "in.jsonl", "--out", "o.jsonl")
        assert done.returncode == 0, done.stderr
        assert read_lines(tmp_path / "o.jsonl")[0]["date"] == date
        assert "date that is not a single day" in done.stdout + done.stderr
        (tmp_path / "o.jsonl").unlink()
    news("fetch", "file", "in.jsonl", "--from", "2024-01-01", "--out", "w.jsonl")
    (gone,) = read_lines(tmp_path / "w.jsonl.dropped.jsonl")
    assert (gone["date"], "cannot be read" in gone["dropped_because"]) == (date, True)


@pytest.mark.parametrize(
    "command",
    ["news dedupe", "finforce screen", "rfc bucket", "rfc label", "rfc calibrate"],
)
def test_a_result_in_json_is_not_named_as_another_table(quick_contrafact, tmp_path, command):
    (tmp_path / "in.jsonl").write_text('{"title": "A mill grows", "summary": "It rose 5%."}\n')
    result = quick_contrafact(*command.split(), "in.jsonl", "--out", "out.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("contrafact: out.csv: the result is JSON")
    assert [one.name for one in tmp_path.iterdir()] == ["in.jsonl"]
