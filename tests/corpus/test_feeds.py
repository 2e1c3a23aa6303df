import pytest

from contrafact.corpus.sources.base import Request, RequestFailed, Response
from contrafact.corpus.sources.feeds import html_to_text, read_feed, rss
from contrafact.errors import InputError

ADDRESS = "https://news.example/feed.xml"
RSS = '<?xml version="1.0" encoding="{}"?><rss version="2.0"><channel>{}</channel></rss>'


def read(body, status=200, encoding="utf-8"):
    data = body if isinstance(body, bytes) else body.encode(encoding)
    return read_feed(Response(status, data), Request("feed", ADDRESS, {}, {"found_by": "f"}))


@pytest.mark.parametrize(
    "body", [b"", b"\x00\x01", b"{}", b"<html><body>Sorry</body></html>", b"plain words"]
)
def test_what_is_no_feed_is_refused(body):
    with pytest.raises(RequestFailed, match="neither RSS nor Atom"):
        read(body)


def test_a_missing_feed_is_refused_with_its_status():
    with pytest.raises(RequestFailed, match="404"):
        read(b"", status=404)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_a_feed_is_read_in_the_encoding_it_names(encoding):
    item = "<item><title>Café prices rise</title><description>By 4%.</description></item>"
    (row,) = read(RSS.format(encoding, item), encoding=encoding).rows
    assert (row["title"], row["summary"], row["found_by"]) == ("Café prices rise", "By 4%.", "f")


def test_a_feed_that_breaks_off_is_read_as_far_as_it_goes_and_that_is_reported():
    item = "<item><title>One</title><description>A.</description></item>"
    whole = RSS.format("utf-8", item * 2)
    page = read(whole[: whole.rindex("<description>")])
    assert page.rows[0]["title"] == "One"
    assert "not well-formed" in page.notes[0]


def test_an_entry_names_its_source_or_has_the_feeds():
    items = (
        '<title>The Feed</title><item><title>One</title><source url="u">The Ledger</source></item>'
        "<item><title>Two</title></item>"
    )
    assert [row["source"] for row in read(RSS.format("utf-8", items)).rows] == [
        "The Ledger",
        "The Feed",
    ]


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("A <b>bold</b> rise", "A bold rise"),
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("Fish &amp; Chips &#8211; up", "Fish & Chips – up"),
        ("P&G gains, a < b and 3<5", "P&G gains, a < b and 3<5"),
        ("Read<script>alert(1)</script> on", "Read on"),
        ("up\n\t 5%  ", "up 5%"),
        ("One<br/>two <!-- hidden --> three", "One two three"),
    ],
)
def test_markup_goes_and_what_only_looks_like_it_stays(given, plain):
    assert html_to_text(given) == plain


def test_a_feed_that_calls_itself_latin_1_is_read_as_windows_1252():
    item = (
        "<item><title>“Rates” rise by 4 € … or so</title><description>It’s so.</description></item>"
    )
    (row,) = read(RSS.format("ISO-8859-1", item), encoding="cp1252").rows
    assert (row["title"], row["summary"]) == ("“Rates” rise by 4 € … or so", "It’s so.")


@pytest.mark.parametrize("address", ["https://example.com/feed/", "https://example.com/feed?a=1"])
def test_a_feed_is_asked_for_at_the_address_that_was_named(address):
    (request,) = rss([address]).first
    assert request.url == address


def test_a_key_in_a_feeds_path_stands_in_no_item():
    key = "3f2b8c1e-1234-4abc-9def-001122334455"
    source = rss([f"https://example.com/{key}.xml"])
    assert key not in str(source.first) and [*source.hidden.values()] == [f"{key}.xml"]


def test_an_address_that_cannot_be_read_is_refused():
    with pytest.raises(InputError, match="address"):
        rss(["https://[bad/x"])
