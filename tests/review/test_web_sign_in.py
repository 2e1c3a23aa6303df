"""Signing in and out, invitations, sessions, and guessing at passwords."""

import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from contrafact.review.events import NotAllowed
from contrafact.review.store.database import attempts, sessions
from contrafact.review.store.sessions import FREE, FREE_ACCOUNT, IDLE, LIFE, TooManyAttempts
from contrafact.review.web.security import cookie_name
from contrafact.review.web.studio import HashingQueue

PASSWORD = "otter lantern gravel 7"


@pytest.fixture
def studio(site):
    """A studio in which Ada has an account."""
    made = site()
    made.account("Ada")
    return made


def location(response):
    assert response.status_code == 303
    return response.headers["location"]


def test_signing_in_always_gives_a_new_session(studio):
    planted, session = "planted-by-somebody-else", cookie_name(studio.studio, "session")
    browser = studio.browser()
    browser.http.cookies.set(session, planted)
    browser.sign_in("Ada")
    first = [c.value for c in browser.http.cookies.jar if c.name == session]
    assert first and planted not in first[-1:]
    other = studio.browser()
    other.http.cookies.set(session, planted)
    assert location(other.get("/")).startswith("/sign-in")

    # Signing in again ends the session that the browser had.
    again = studio.browser("Ada")
    old = again.http.cookies[session]
    page = again.get("/").text
    fields = again.fields(page) | {"name": "Ada", "password": PASSWORD}
    assert location(again.http.post("/sign-in", data=fields)) == "/"
    assert again.http.cookies[session] != old
    other.http.cookies.set(session, old)
    assert location(other.get("/")).startswith("/sign-in")


def test_signing_out_ends_the_session_on_the_server(studio):
    browser = studio.browser("Ada")
    session = cookie_name(studio.studio, "session")
    kept = browser.http.cookies[session]
    assert location(browser.http.post("/sign-out", data=browser.fields(browser.get("/").text)))
    browser.http.cookies.set(session, kept)
    assert location(browser.get("/")) == "/sign-in?next=%2F"
    with studio.store.engine.begin() as connection:
        assert connection.execute(select(sessions)).all() == []


def test_sessions_end_when_idle_and_at_the_end_of_the_day(studio):
    browser = studio.browser("Ada")
    for _ in range(5):
        studio.now += IDLE - 60
        assert browser.get("/").status_code == 200
    studio.now += LIFE - 5 * (IDLE - 60) + 1
    assert browser.get("/").status_code == 303, "12 hours are over, busy or not"
    idle = studio.browser("Ada")
    studio.now += IDLE + 1
    assert idle.get("/").status_code == 303


def test_cookies_are_kept_from_scripts_and_other_sites(site, tmp_path):
    plain = site()
    plain.account("Ada")
    cookie = plain.browser().sign_in("Ada").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    safe = site(str(tmp_path / "tls.db"), secure=True)
    safe.account("Ada")
    answer = safe.browser().sign_in("Ada")
    assert re.match(
        "__Host-contrafact-session-[0-9a-f]{8}=.*; Secure", answer.headers["set-cookie"]
    )
    assert "max-age" in answer.headers["strict-transport-security"]


def test_an_invitation_works_once(site):
    studio = site()
    secret = studio.accounts.invite("Ada", by="Max")
    browser = studio.browser()
    page = browser.get(f"/invite/{secret}")
    assert page.status_code == 200 and "Welcome, Ada" in page.text
    fields = browser.fields(page.text)
    short = browser.http.post(
        f"/invite/{secret}", data={**fields, "password": "short", "again": "short"}
    )
    assert short.status_code == 422 and "shorter than 12" in short.text
    other = browser.http.post(
        f"/invite/{secret}", data={**fields, "password": PASSWORD, "again": "other"}
    )
    assert other.status_code == 422 and "not the same" in other.text
    taken = browser.http.post(
        f"/invite/{secret}", data={**fields, "password": PASSWORD, "again": PASSWORD}
    )
    assert location(taken) == "/?joined=1"
    assert "Ada" in browser.get("/").text
    assert studio.browser().get(f"/invite/{secret}").status_code == 404
    with pytest.raises(NotAllowed, match="no longer valid"):
        studio.accounts.accept(secret, PASSWORD)


def test_a_later_invitation_voids_the_earlier_and_ends_sessions_when_used(studio):
    browser = studio.browser("Ada")
    first, second = (studio.accounts.invite("Ada", by="Max") for _ in range(2))
    assert studio.accounts.invited(first) is None
    assert browser.get("/").status_code == 200, "an unused link changes nothing"
    studio.accounts.accept(second, "another lantern of gravel")
    assert browser.get("/").status_code == 303
    assert studio.browser().sign_in("Ada").status_code == 401
    assert studio.browser().sign_in("Ada", "another lantern of gravel").status_code == 303
    old = studio.accounts.invite("Ben", by="Max")
    studio.now += 8 * 86_400
    assert studio.accounts.invited(old) is None


def test_guessing_at_an_account_is_slowed_and_logged(studio, caplog):
    caplog.set_level(logging.INFO)
    browser = studio.browser()
    for _ in range(5):
        assert browser.sign_in("Ada", "not the password").status_code == 401
    slowed = studio.browser().sign_in("Ada")
    assert slowed.status_code == 429, "with the right password too"
    assert int(slowed.headers["retry-after"]) >= 1
    waits = []
    for _ in range(9):
        with pytest.raises(TooManyAttempts) as refused:
            studio.studio.sessions.prove("Ada", "not the password", address="192.0.2.7")
        waits.append(refused.value.seconds)
        studio.now += refused.value.seconds
        with pytest.raises(NotAllowed, match="name or the password is wrong"):
            studio.studio.sessions.prove("Ada", "not the password", address="192.0.2.7")
    assert waits == [2, 3, 5, 9, 17, 33, 65, 121, 121]
    studio.now += 121
    assert browser.sign_in("Ada").status_code == 303
    assert studio.browser("Ada"), "a success ends it"
    failed = [e for e in studio.accounts.audit_log() if e.action == "sign-in failed"]
    assert len(failed) == 14
    assert {(e.who, e.address) for e in failed} == {("Ada", "192.0.2.7")}
    assert "next attempt in" in failed[0].detail
    assert "from 192.0.2.7 failed" in caplog.text
    assert "not the password" not in caplog.text


def test_trying_many_names_from_one_address_is_slowed(studio):
    browser = studio.browser()
    answers = [browser.sign_in(f"Nobody{n}").status_code for n in range(21)]
    assert answers == [401] * 20 + [429]
    assert studio.browser(address="198.51.100.1").sign_in("Ada").status_code == 303


def test_a_whole_team_may_sign_in_at_once_from_one_address(site):
    studio = site()
    names = [studio.account(f"P{n}") for n in range(30)]

    def sign_in(name):
        studio.studio.sessions.prove(name, PASSWORD, address="192.0.2.1")
        return studio.studio.sessions.begin(name, address="192.0.2.1")

    with ThreadPoolExecutor(30) as pool:
        secrets = list(pool.map(sign_in, names))
    assert [studio.studio.sessions.account(s).name for s in secrets] == names


@pytest.mark.parametrize(("address", "free"), [("192.0.2.1", FREE), ("192.0.2.{}", FREE_ACCOUNT)])
def test_many_guesses_at_once_do_not_get_round_the_waiting(studio, address, free):

    def guess(n):
        try:
            studio.studio.sessions.prove("Ada", f"guess number {n}", address=address.format(n))
        except TooManyAttempts:
            return "slowed"
        except NotAllowed:
            return "looked at"

    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(guess, range(40)))
    assert done.count("looked at") == free


def test_everybody_changes_their_own_password(studio):
    ada, elsewhere = studio.browser("Ada"), studio.browser("Ada")
    new = "violet harbour tin 40"
    for wrong, status in (
        ({"password": "not the password", "new": new, "again": new}, 422),
        ({"password": PASSWORD, "new": new, "again": new + "!"}, 422),
        ({"password": PASSWORD, "new": "password1234", "again": "password1234"}, 422),
    ):
        assert ada.post("/account", wrong).status_code == status
    assert studio.browser().sign_in("Ada", new).status_code == 401
    studio.now += 1000
    form = {"password": PASSWORD, "new": new, "again": new}
    assert location(ada.post("/account", form)) == "/account?done=1"
    assert ada.get("/").status_code == 200 and elsewhere.get("/").status_code == 303
    assert studio.browser().sign_in("Ada").status_code == 401
    assert studio.browser().sign_in("Ada", new).status_code == 303
    assert "password changed" in [e.action for e in studio.accounts.audit_log()]


def test_two_studios_on_one_host_keep_each_its_own_session(site, tmp_path):
    first, second = site(), site(str(tmp_path / "other.db"))
    names = {cookie_name(one.studio, "session") for one in (first, second)}
    assert len(names) == 2
    again = site(str(tmp_path / "other.db"))
    assert cookie_name(again.studio, "session") in names, "the same after a restart"


def test_strangers_who_sign_in_do_not_take_the_threads_of_pages(studio):
    ada = studio.browser("Ada")
    queue, gate = studio.studio.hashing, threading.Event()
    strangers = [studio.browser(address=f"198.51.100.{n}") for n in range(6)]
    for one in strangers:
        one.csrf()
    object.__setattr__(studio.studio, "hashing", HashingQueue(threads=1, waiting=3))
    assert queue is not studio.studio.hashing
    prove = studio.studio.sessions.prove

    def slow(*args, **options):
        gate.wait(30)
        return prove(*args, **options)

    studio.studio.sessions.prove = slow
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(one.sign_in, "Ada", "not the password") for one in strangers]
        assert ada.get("/").status_code == 200
        gate.set()
        codes = sorted(one.result().status_code for one in waiting)
    assert set(codes) <= {401, 503} and codes.count(401) >= 4


def test_it_does_not_tell_whether_a_name_is_known(studio):
    pages = [
        re.sub(r'value="[^"]*"', "", studio.browser().sign_in(name, "not the password").text)
        for name in ("Ada", "Nobody", "\x00", "x" * 201)
    ]
    assert len(set(pages)) == 1
    with studio.store.engine.begin() as connection:
        assert len(connection.execute(select(attempts)).all()) == 4


@pytest.mark.parametrize(
    ("wanted", "gone"),
    [
        ("/r/ours/work?last=a", "/r/ours/work?last=a"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/a\r\nset-cookie: x=1", "/"),
    ],
)
def test_signing_in_leads_nowhere_else(studio, wanted, gone):
    form = {"name": "Ada", "password": PASSWORD, "next": wanted}
    assert location(studio.browser().post("/sign-in", form)) == gone
