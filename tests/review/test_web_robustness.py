"""What strangers and broken things do to the studio: slow lines, large files, a dead database."""

import html
import io
import json
import re
import socket
import time
import zipfile

import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlalchemy.exc import OperationalError

from contrafact.errors import InputError
from contrafact.review.store.store import Store
from contrafact.review.web.connections import TimedProtocol
from contrafact.review.web.serve import public_name
from contrafact.review.web.uploads import MOST_ROWS

WORK = "/r/ours/work"
HEAD = b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n"


def line_to(studio):
    host, port = studio.base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def everything(line):
    """What comes back until the other side ends the line."""
    found = b""
    try:
        while part := line.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"".join(b"X-%d: 1\r\n" % n for n in range(90_000)) + b"\r\n",
        HEAD + b"X-Long: " + b"x" * 900_000 + b"\r\n\r\n",
        HEAD + b"X-Endless: " + b"x" * 900_000,
        b"GET /" + b"x" * 900_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["many", "long", "endless", "address"],
)
def test_headers_have_a_size(served, sent):
    studio = served()
    with line_to(studio) as line:
        try:
            line.sendall(sent)
        except ConnectionResetError:
            return
        assert everything(line)[:12] in (b"", b"HTTP/1.1 400")
    with line_to(studio) as line:
        line.sendall(HEAD + b"Connection: close\r\n\r\n")
        assert everything(line).startswith(b"HTTP/1.1 200"), "others are served"


def test_whoever_dawdles_over_headers_or_body_is_cut_off(served, monkeypatch):
    monkeypatch.setattr(TimedProtocol, "seconds", dict.fromkeys(TimedProtocol.seconds, 0.5))
    studio = served()
    post = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nname="
    for begun in (b"", HEAD, post):
        with line_to(studio) as line:
            line.sendall(begun)
            began = time.monotonic()
            assert b"200 OK" not in everything(line)
            assert time.monotonic() - began < 10
    with line_to(studio) as line:  # a line that is only quiet between two requests stays
        for end in (b"\r\n", b"Connection: close\r\n\r\n"):
            line.sendall(HEAD + end)
            time.sleep(0.6)
        assert everything(line).count(b"HTTP/1.1 200") == 2
    with line_to(studio) as line:  # but not one that begins its second and lets it lie
        line.sendall(HEAD + b"\r\n" + HEAD)
        began = time.monotonic()
        assert everything(line).count(b"HTTP/1.1 200") == 1
        assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("review.example.org", 200),
        ("REVIEW.example.org:8443", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("review.example.org.evil.example", 400),
        ("", 400),
    ],
)
def test_only_its_own_name_is_answered_to(site, host, status):
    studio = site(names=frozenset({"review.example.org"}), url="https://review.example.org")
    answer = studio.browser().http.get("/sign-in", headers={"host": host})
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers


def test_links_carry_the_address_that_was_given(site):
    studio = site(url="https://review.example.org")
    studio.account("Max", manager=True)
    page = studio.browser("Max").post("/manage/people/invite", {"name": "Ada"})
    assert re.search(r"https://review\.example\.org/invite/[\w-]{20,}", page.text)
    assert public_name("https://Review.example.org:8443/") == "review.example.org"
    for wrong in ("review.example.org", "ftp://x", "https://", "https://x/studio"):
        with pytest.raises(InputError, match="a studio's address"):
            public_name(wrong)


def packed_parquet(column, rows):
    table = pa.table(
        {"text": column, "query": pa.array(["Q?"] * rows), "edit": pa.array(["e"] * rows)}
    )
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def bombs():
    long = pa.array(["x" * 200_000]).dictionary_encode()
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000), long.dictionary)
    yield "a thousand times its size", "a.parquet", packed_parquet(repeated, 2_000)
    many = pa.array(["x"] * (MOST_ROWS + 1))
    yield "200,000 rows", "a.parquet", packed_parquet(many, MOST_ROWS + 1)
    sheet = io.BytesIO()
    with zipfile.ZipFile(sheet, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b" " * (300 * 1024 * 1024))
    yield "unpacks to", "a.xlsx", sheet.getvalue()
    yield "4,000,000 cells", "a.json", b'[{"a":[' + b"[]," * 3_000_000 + b"[]]}]"
    yield "200,000 rows", "a.jsonl", b"{}\n" * (MOST_ROWS + 1)


@pytest.mark.parametrize(
    ("limit", "name", "content"), list(bombs()), ids=["same", "rows", "xlsx", "json", "lines"]
)
def test_what_unpacks_to_too_much_is_refused_before_it_is_read(site, limit, name, content):
    studio = site()
    studio.account("Max", manager=True)
    studio.review("ours", "cobe-rating", items=0)
    assert len(content) < 10_000_000
    page = studio.browser("Max").post(
        "/manage/r/ours/import/items", {}, files={"file": (name, content)}
    )
    assert page.status_code == 422
    text = html.unescape(page.text)
    assert limit in text and "CONTRAFACT_UPLOAD_LIMITS" in text


@pytest.mark.parametrize("text", ["x = " + "[" * 50_000, "[" + "a." * 5_000 + "b]", "= = ="])
def test_a_project_that_is_nested_without_end_is_a_bad_form(site, text):
    studio = site()
    studio.account("Max", manager=True)
    page = studio.browser("Max").post(
        "/manage", {"name": "deep"}, files={"file": ("p.toml", text.encode())}
    )
    assert page.status_code == 422 and studio.store.reviews() == []


def test_a_key_that_comes_back_with_other_answers_is_refused(site):
    studio = site().review("ours", "cobe-rating")
    cem = studio.browser("Cem")
    page = cem.get(WORK)
    assert cem.submit(page, {"rating": "Yes"}).status_code == 303
    assert cem.submit(page, {"rating": "Yes"}).status_code == 303, "sent twice counts once"
    for changed in ({"rating": "No"}, {"rating": "Yes", "comment": "Why not?"}):
        more = {"comment": changed.pop("comment")} if "comment" in changed else {}
        again = cem.submit(page, changed, **more)
        assert again.status_code == 409
        assert "sent before with other answers" in html.unescape(again.text)
        assert (more.get("comment") or "No") in html.unescape(again.text), "and nothing is lost"
    other = cem.submit(page, {"rating": "Yes"}, item="i2")
    assert other.status_code == 409, "one key is for one item"
    (event,) = [e for e in studio.store.history("ours") if e.kind == "answered"]
    assert event.body["answers"] == {"rating": "Yes"}


def test_a_database_that_is_down_costs_nothing_that_was_typed(site, monkeypatch):
    studio = site().review("ours", "cobe-rating")
    cem = studio.browser("Cem")
    page = cem.get(WORK)
    down = OperationalError("select", {}, Exception("the server closed the connection: s3cret"))

    def fails(*args, **options):
        raise down

    typed = 'It "rains" on,\nand <b>on</b>.'
    for broken, name in ((Store, "answer"), (type(studio.studio.sessions), "account")):
        with monkeypatch.context() as patch:
            patch.setattr(broken, name, fails)
            answer = cem.submit(page, {"rating": "No"}, comment=typed)
            assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
            assert "s3cret" not in answer.text and "content-security-policy" in answer.headers
            assert cem.get(WORK).status_code in (503, 200)
        assert "Send it again" in answer.text
    kept = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', answer.text, re.S)
    fields = {name: html.unescape(text) for name, text in kept}
    action = html.unescape(re.search(r'<form method="post" action="(/r[^"]+)"', answer.text)[1])
    assert cem.http.post(action, data=fields).status_code == 303
    (event,) = [e for e in studio.store.history("ours") if e.kind == "answered"]
    assert (event.body["answers"], event.body["comment"]) == ({"rating": "No"}, typed)


EASY = "easy to guess"


@pytest.mark.parametrize(
    ("password", "why"),
    [
        *(("password1234", EASY), ("qwertyuiop12", EASY), ("123456789012", EASY)),
        *(("letmeinletmein", EASY), ("ababababababab", EASY), ("a" * 16, EASY)),
        *(("Ada Ada Ada Ada", EASY), ("AdaAdaAdaAdaAda1", EASY), ("x" * 201, "longer than 200")),
    ],
)
def test_passwords_that_everybody_guesses_first_are_refused(site, password, why):
    studio = site()
    secret = studio.accounts.invite("Ada", by="Max")
    browser = studio.browser()
    path = f"/invite/{secret}"
    page = browser.post(path, {"password": password, "again": password})
    assert page.status_code == 422 and why in html.unescape(page.text)
    assert json.dumps(password) not in page.text
    assert studio.accounts.invited(secret) == "Ada"


def test_what_was_typed_is_shown_where_a_form_of_an_ended_session_is_refused(site):
    studio = site().review("ours", "cobe-rating")
    cem = studio.browser("Cem")
    page = cem.get(WORK)
    cem.http.cookies.clear()
    typed = "Typed <b>for long</b>,\nabout the rain."
    lost = cem.submit(page, {"rating": "No"}, comment=typed)
    assert lost.status_code == 401 and typed in html.unescape(lost.text) and typed not in lost.text
    cem.sign_in("Cem")
    again = cem.submit(page, {"rating": "No"}, comment=typed)
    assert again.status_code == 403 and typed in html.unescape(again.text)
    forms = re.findall(r'<form method="post" action="([^"]+)"', again.text)
    assert not [action for action in forms if action.startswith("/r/")], "it is not sent again"
    assert not [e for e in studio.store.history("ours") if e.kind == "answered"]
