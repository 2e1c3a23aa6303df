"""Who gets in, how, and how far: sign-in, invitations, forms, roles, headers, sizes."""

import logging
import re

import pytest

from contrafact.errors import InputError
from contrafact.review.events import NotAllowed
from contrafact.review.setup import set_roles
from contrafact.review.web.security import cookie_name

PASSWORD = "otter lantern gravel 7"
KEY = "k" * 20
NASTY = [
    "'; DROP TABLE accounts; --",
    '"><script>alert(1)</script>',
    "Ünï ✓",
    "a/b?c#d",
    "%00",
    "..",
]


def location(response):
    assert response.status_code == 303
    # Which form was taken is for the page's script.
    return re.sub(r"(?<=[?&])taken=[\w-]+&?", "", response.headers["location"]).rstrip("?&")


# What each role gets of each route: signed out, without a part in the review, an annotator, an
# adjudicator, a manager. Whoever adds a route says here who may.
ALLOWED = {
    ("GET", "/sign-in"): (200, 303, 303, 303, 303),
    ("POST", "/sign-in"): (401, 401, 401, 401, 401),
    ("POST", "/sign-out"): (303, 303, 303, 303, 303),
    ("GET", "/invite/{secret}"): (404, 404, 404, 404, 404),
    ("POST", "/invite/{secret}"): (404, 404, 404, 404, 404),
    ("GET", "/account"): (303, 200, 200, 200, 200),
    ("POST", "/account"): (401, 422, 422, 422, 422),
    ("GET", "/"): (303, 200, 200, 200, 200),
    ("GET", "/r/{review}"): (303, 404, 200, 200, 404),
    ("GET", "/r/{review}/work"): (303, 404, 200, 200, 404),
    ("POST", "/r/{review}/work"): (401, 404, 409, 409, 404),
    ("GET", "/r/{review}/discuss"): (303, 404, 200, 200, 404),
    ("GET", "/r/{review}/discuss/one"): (303, 404, 422, 422, 404),
    ("POST", "/r/{review}/discuss"): (401, 404, 409, 409, 404),
    ("POST", "/r/{review}/check"): (401, 404, 409, 409, 404),
    ("POST", "/r/{review}/undo"): (401, 404, 409, 409, 404),
}
SENT = {
    "name": "Cem",
    "password": "wrong but long enough",
    "again": "x",
    "new": "y",
    "item": "none",
    "stage": "annotation",
    "round": "1",
    "request": KEY,
    "text": "so",
}


def routes(app):
    paths = app.openapi()["paths"]
    found = [(m.upper(), path) for path, methods in paths.items() for m in methods]
    assert len(found) > len(ALLOWED)
    return found


def test_each_role_gets_of_each_route_what_it_may(site):
    studio = site().review("ours", "rfc-rewrite")
    for who in ("Out", "Man"):
        studio.account(who, manager=who == "Man")
    people = (None, "Out", "Cem", "Ben", "Man")
    browsers = {who: studio.browser(who) for who in people}
    managing = 0
    for method, path in routes(studio.app):
        if path.startswith("/manage"):
            # Whatever is asked of a manager's page: nobody else gets as far as an answer.
            managing += 1
            refused = 303 if method == "GET" else 401
            wanted = (refused, 403, 403, 403, None)
        else:
            wanted = ALLOWED[method, path]
        filled = re.sub(r"\{\w+\}", "x", path.replace("{review}", "ours"))
        for who, status in zip(people, wanted, strict=True):
            if status is None:
                continue
            browser = browsers[who]
            response = browser.get(filled) if method == "GET" else browser.post(filled, dict(SENT))
            assert response.status_code == status, f"{method} {path} as {who}"
            if path in ("/sign-in", "/sign-out"):
                studio.now += 1000  # what failed here slows nobody in the next case
                browsers[who] = studio.browser(who)  # the session may have ended
    assert managing and not studio.accounts.find("Cem").manager


def test_a_closed_account_and_a_person_who_left_are_out_at_once(site):
    studio = site().review("ours", "cobe-rating")
    cem, dia = studio.browser("Cem"), studio.browser("Dia")
    assert cem.get("/r/ours/work").status_code == dia.get("/r/ours/work").status_code == 200
    studio.accounts.set_active("Cem", False, by="Max")
    studio.store.act("ours", set_roles, "Max", "Dia", ["rater"], active=False)
    assert cem.get("/r/ours/work").status_code == 303
    assert dia.get("/r/ours/work").status_code == 404
    assert studio.browser().sign_in("Cem").status_code == 401


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é" * 8])
def test_no_form_is_taken_without_its_token(site, token):
    studio = site().review("ours", "cobe-rating")
    studio.account("Man", manager=True)
    for browser in map(studio.browser, ("Cem", "Man")):
        for method, path in routes(studio.app):
            if method == "GET":
                continue
            filled = re.sub(r"\{\w+\}", "x", path.replace("{review}", "ours"))
            fields = SENT if token is None else {**SENT, "csrf": token}
            assert browser.http.post(filled, data=fields).status_code == 403, path
        assert browser.get("/").status_code == 200, "still signed in"


def test_a_token_is_good_for_its_own_session_only(site):
    studio = site().review("ours", "cobe-rating")
    cem, dia = studio.browser("Cem"), studio.browser("Dia")
    fields = dia.fields(dia.get("/r/ours/work").text, "sheet")
    sent = cem.http.post("/r/ours/work", data={**fields, "answer.rating": "Yes"})
    assert sent.status_code == 403
    assert studio.store.read("ours", lambda state: state.decided["Cem"]) == 0


def test_every_answer_has_strict_headers(site):
    studio = site(form_limit=2000)
    studio.account("Ada")
    browser = studio.browser("Ada")
    big = {"content-type": "application/x-www-form-urlencoded"}
    answers = [
        browser.get("/"),
        browser.get("/nowhere"),
        browser.get("/static/studio.css"),
        studio.browser().get("/"),
        browser.http.post("/sign-out", data={}),
        browser.http.post("/sign-out", content=b"x" * 3000, headers=big),
        browser.http.put("/"),
    ]
    assert [a.status_code for a in answers] == [200, 404, 200, 303, 403, 413, 405]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
    assert answers[0].headers["cache-control"] == "no-store"


def test_pages_name_no_other_host_and_no_script_of_their_own(site):
    studio = site().review("ours", "rfc-rewrite")
    browser = studio.browser("Ada")
    for path in ("/", "/r/ours", "/r/ours/work", "/sign-in", "/nowhere"):
        page = browser.get(path, follow_redirects=True).text
        assert not re.search(r"""(src|href|action)=["']?(https?:)?//""", page)
        assert not re.search(r"<script(?![^>]+src=)|<style|\sstyle=|\son\w+=", page)


@pytest.mark.parametrize("message", [True, False])
def test_what_is_too_large_is_refused(site, message):
    studio = site(form_limit=5000, upload_limit=50_000)
    studio.account("Ada")
    studio.account("Man", manager=True)

    def parts():
        yield b"name="
        for _ in range(20):
            yield b"x" * 1000

    content = b"".join(parts()) if message else parts()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for who, status in ((None, 413), ("Ada", 413), ("Man", 403)):
        if not message:
            content = parts()
        sent = studio.browser(who).http.post("/sign-out", content=content, headers=headers)
        assert sent.status_code == status, who


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 5000, "ten"])
def test_a_length_that_is_none_is_refused(site, length):
    browser = site().browser()
    sent = browser.http.post("/sign-in", content=b"", headers={"content-length": length})
    assert sent.status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/",
    ],
)
def test_static_files_are_those_of_the_folder(site, path):
    answer = site().browser().get(path)
    assert answer.status_code == 404, answer.text[:100]


@pytest.mark.parametrize("name", NASTY)
def test_any_name_can_be_anybodys_and_is_shown_as_text(site, name):
    studio = site()
    studio.account("Ada")
    studio.account(name)
    browser = studio.browser(name)
    page = browser.get("/").text
    assert "<script>alert" not in page
    assert [a.name for a in studio.accounts.all()] == sorted(["Ada", name])
    assert studio.browser("Ada")


@pytest.mark.parametrize("name", ["ours", *NASTY, "~b3Vycw==", ".hidden", "x" * 200])
def test_any_review_has_an_address_or_no_such_name(site, name):
    studio = site()
    if set("/%") & set(name) or name == "..":
        with pytest.raises(NotAllowed, match="a review's name"):
            studio.review(name, "cobe-rating")
        return
    studio.review(name, "cobe-rating", items=1)
    browser = studio.browser("Cem")
    (link,) = re.findall(r'href="(/r/[^"]+)"', browser.get("/").text)
    assert browser.get(link).status_code == 200
    page = browser.get(f"{link}/work")
    assert location(browser.submit(page, {"rating": "Yes"})) == f"{link}/work"
    assert studio.store.read(name, lambda state: state.decided["Cem"]) == 1


@pytest.mark.parametrize("path", ["/r/~/work", "/r/%ff/work", "/r/%00/work"])
def test_what_is_no_review_is_not_found(site, path):
    studio = site()
    studio.account("Ada")
    assert studio.browser("Ada").get(path).status_code == 404


def test_the_last_manager_stays(site):
    studio = site()
    assert not studio.accounts.has_manager()
    studio.account("Man", manager=True)
    for change in (studio.accounts.set_active, studio.accounts.set_manager):
        with pytest.raises(NotAllowed, match="only manager"):
            change("Man", False, by="Man")
    studio.account("Max")
    studio.accounts.set_manager("Max", True, by="Man")
    studio.accounts.set_active("Man", False, by="Max")
    assert studio.accounts.has_manager()
    with pytest.raises(NotAllowed, match="is closed"):
        studio.accounts.invite("Man", by="Max")
    assert [e.action for e in studio.accounts.audit_log()][:2] == ["closed", "made manager"]


@pytest.mark.parametrize("name", ["", " Ada", "rule:workflow", "a\nb", "x" * 201])
def test_what_is_no_name_gets_no_account(site, name):
    with pytest.raises(InputError, match="name of a person"):
        site().accounts.invite(name, by="Max")


def test_accounts_live_in_postgresql_too(site, postgresql_database):
    studio = site(postgresql_database).review("ours", "cobe-rating", items=1)
    browser = studio.browser("Cem")
    assert studio.browser().sign_in("\x00").status_code == 401
    page = browser.get("/r/ours/work")
    assert page.status_code == 200
    sent = browser.submit(page, {"rating": "Other"}, comment="\x00 and '; DROP TABLE events; --")
    assert location(sent) == "/r/ours/work"
    studio.accounts.set_active("Cem", False, by="Max")
    assert browser.get("/").status_code == 303


def test_the_audit_log_cannot_be_changed(site):
    from sqlalchemy import delete, update
    from sqlalchemy.exc import DBAPIError

    from contrafact.review.store.database import audit

    studio = site()
    studio.account("Ada")
    for change in (update(audit).values(who="nobody"), delete(audit)):
        with pytest.raises(DBAPIError, match="only ever added"), studio.store.engine.begin() as c:
            c.execute(change)


def test_the_log_of_requests_names_no_secret(site, caplog):
    studio = site()
    secret = studio.accounts.invite("Ada", by="Max")
    caplog.set_level(logging.INFO)
    browser = studio.browser()
    browser.get(f"/invite/{secret}")
    fields = browser.fields(browser.get(f"/invite/{secret}").text)
    browser.http.post(f"/invite/{secret}", data={**fields, "password": PASSWORD, "again": PASSWORD})
    assert "GET '/invite/[secret]' 200" in caplog.text
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("contrafact"))
    assert secret not in ours and PASSWORD not in ours
    assert browser.http.cookies[cookie_name(studio.studio, "session")] not in ours
